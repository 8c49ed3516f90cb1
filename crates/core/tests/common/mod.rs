//! Helpers for tests that need a run.

use ostler_core::{Identity, NewRun};
use ostler_model::{
    Actor, Backend, Detach, Extinct, Fingerprint, InstanceId, Limits, RunId, RunRecord, RunState,
};

/// A plain run request.
pub fn asked(run_id: RunId, unit: Option<&str>) -> NewRun {
    let record = RunRecord {
        pool: None,
        ticket: None,
        why: None,
        cancel_reason: None,
        run_id,
        session_id: "s".to_owned(),
        purpose: ostler_model::Purpose::Program,
        backend_id: Backend::Pipe,
        unit: unit.map(str::to_owned),
        pid: None,
        start_time: None,
        boot_id: "boot".to_owned(),
        process_unique: None,
        process_group_id: None,
        cgroup: None,
        reaper: None,
        state: RunState::Starting,
        created_at_ms: 0,
        updated_at_ms: 0,
        last_output_at_ms: None,
        owner_instance_id: InstanceId::new(1, [1; 10]),
        lease_expires_at_ms: None,
        termination: None,
        exit_code: None,
        exit_signal: None,
        extinct: Extinct::No,
        scope_key: unit.map(|unit| format!("unit {unit}")),
        command: String::new(),
        error: None,
        spawn_error_kind: None,
        started_at_ms: None,
        ended_at_ms: None,
        timeout_ms: None,
        no_output_timeout_ms: None,
        grace_ms: 500,
        stop_signal: None,
        detach_allowed: false,
        started_mono_ms: None,
        output_bytes: 0,
        enforced: None,
        out_of_memory: false,
        memory_kills: 0,
        escaped: Vec::new(),
        survivors: Vec::new(),
        strict: false,
        parent: None,
        keep: false,
        client: None,
    };
    NewRun { by: Actor::Supervisor, record, limits: Limits::default(), detach: Detach::Forbid }
}

pub fn identity(pid: i32) -> Identity {
    let fingerprint = Fingerprint { pid, start_time: 1, boot_id: "boot".to_owned(), unique: None };
    Identity { fingerprint, process_group_id: pid, cgroup: None, reaper: None, enforced: None }
}

/// The run id for a number.
pub fn run_id(number: u64) -> RunId {
    let mut random = [0; 10];
    random[..8].copy_from_slice(&number.to_be_bytes());
    RunId::new(1_767_225_600_000, random)
}
