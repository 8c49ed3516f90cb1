//! Every implementation of the registry, and records to put into it.

use ostler_model::{
    Actor, Backend, Entry, Extinct, InstanceId, Purpose, RunId, RunRecord, RunState, What,
};
use ostler_registry::{Batch, Claims, JournalBounds, Registry, SliceMost, Writer};
use std::path::Path;
use std::sync::Arc;

/// Every implementation at a new place below this folder. Another one is one more line here.
fn registries(folder: &Path) -> Vec<Arc<dyn Registry>> {
    vec![ostler_registry::at(folder.join("registry.db"))]
}

/// Runs a test against every implementation.
pub fn on_every_registry(test: impl Fn(&dyn Registry)) {
    let folder = tempfile::tempdir().expect("a folder");
    for registry in registries(folder.path()) {
        test(&*registry);
    }
}

pub const ALL: SliceMost = SliceMost { rows: 1_000, bytes: 1 << 20 };
pub const WIDE: JournalBounds = JournalBounds {
    rows: 1_000,
    bytes: 1 << 20,
    story_rows: 1_000,
    story_bytes: 1 << 20,
    oldest_ms: 0,
};

pub fn instance(number: u8) -> InstanceId {
    InstanceId::new(1, [number; 10])
}

pub fn record(number: u64, owner: InstanceId) -> RunRecord {
    let mut bits = [0u8; 10];
    bits[2..].copy_from_slice(&number.to_le_bytes());
    RunRecord {
        run_id: RunId::new(1_700_000_000_000 + number, bits),
        session_id: "s".to_owned(),
        purpose: Purpose::Check,
        backend_id: Backend::Pipe,
        unit: None,
        pid: Some(4_000_000),
        start_time: Some(u64::MAX >> 1),
        boot_id: "b".to_owned(),
        process_unique: Some(77),
        process_group_id: None,
        cgroup: Some("/x".to_owned()),
        reaper: None,
        state: RunState::Running,
        created_at_ms: number,
        updated_at_ms: number,
        last_output_at_ms: None,
        owner_instance_id: owner,
        lease_expires_at_ms: None,
        termination: None,
        exit_code: None,
        exit_signal: None,
        extinct: Extinct::No,
        scope_key: None,
        command: "sleep".to_owned(),
        error: None,
        spawn_error_kind: None,
        started_at_ms: Some(number),
        ended_at_ms: None,
        timeout_ms: None,
        no_output_timeout_ms: None,
        grace_ms: 3_000,
        stop_signal: None,
        detach_allowed: false,
        started_mono_ms: Some(number),
        enforced: None,
        out_of_memory: false,
        pool: Some("coders".to_owned()),
        ticket: Some(number),
        why: None,
        cancel_reason: None,
        memory_kills: 0,
        escaped: Vec::new(),
        survivors: Vec::new(),
        strict: false,
        parent: None,
        keep: false,
        client: None,
        output_bytes: 1 << 40,
    }
}

pub fn claims(at: u64) -> Claims {
    Claims {
        boot_id: "b".to_owned(),
        renewed_at_ms: at,
        expires_at_ms: at + 10,
        expires_mono_ms: at + 10,
    }
}

pub fn save(registry: &mut dyn Writer, runs: Vec<RunRecord>) {
    registry.commit(instance(1), &mut Batch { runs, ..Batch::default() }).expect("committed");
}

pub fn entry(run: Option<RunId>, what: What) -> Entry {
    Entry {
        seq: 0,
        at_ms: 5,
        who: Actor::Caller { uid: 1, pid: 2 },
        what,
        run_id: run,
        why: "because".to_owned(),
        evidence: serde_json::Map::from_iter([("pid".to_owned(), 7.into())]),
    }
}
