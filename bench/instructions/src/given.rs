//! What the paths begin with.

use ostler_config::{ReadContext, load};
use ostler_core::{ExitStatus, Identity, NewRun, Now, Survey};
use ostler_model::{
    Actor, Backend, Detach, Extinct, Fingerprint, InstanceId, Limits, Purpose, RunId, RunRecord,
    RunState, UnitSpec,
};
use std::path::Path;

pub const BOOT: &str = "6f1b2c3d-0000-4000-8000-123456789abc";
/// The first of January 2026.
pub const WALL_MS: u64 = 1_767_225_600_000;

pub fn now(after_ms: u64) -> Now {
    Now { mono_ms: 1_000_000 + after_ms, wall_ms: WALL_MS + after_ms }
}

pub fn instance() -> InstanceId {
    InstanceId::new(WALL_MS, [7; 10])
}

pub fn run_id(number: u64) -> RunId {
    let mut random = [0; 10];
    random[2..].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    RunId::new(WALL_MS + number, random)
}

pub fn record(number: u64, unit: Option<&str>) -> RunRecord {
    RunRecord {
        run_id: run_id(number),
        session_id: "default".to_owned(),
        purpose: Purpose::Program,
        backend_id: Backend::Pipe,
        unit: unit.map(str::to_owned),
        pid: None,
        start_time: None,
        boot_id: BOOT.to_owned(),
        process_unique: None,
        process_group_id: None,
        cgroup: None,
        reaper: None,
        state: RunState::Starting,
        created_at_ms: WALL_MS + number,
        updated_at_ms: WALL_MS + number,
        last_output_at_ms: None,
        owner_instance_id: instance(),
        lease_expires_at_ms: None,
        termination: None,
        exit_code: None,
        exit_signal: None,
        extinct: Extinct::No,
        scope_key: unit.map(|unit| format!("unit {unit}")),
        command: "/usr/bin/worker --queue mail --threads 4".to_owned(),
        error: None,
        cancel_reason: None,
        spawn_error_kind: None,
        started_at_ms: None,
        ended_at_ms: None,
        timeout_ms: None,
        no_output_timeout_ms: None,
        grace_ms: 3_000,
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
        pool: None,
        ticket: None,
        why: None,
    }
}

pub fn asked(number: u64, unit: Option<&str>) -> NewRun {
    NewRun {
        by: Actor::Caller { uid: 1000, pid: 4242 },
        record: record(number, unit),
        limits: Limits::default(),
        detach: Detach::Forbid,
    }
}

pub fn identity(number: u64) -> Identity {
    let pid = 10_000 + number as i32;
    Identity {
        fingerprint: Fingerprint {
            pid,
            start_time: 5_000 + number,
            boot_id: BOOT.to_owned(),
            unique: Some(number),
        },
        process_group_id: pid,
        cgroup: Some(format!("/sys/fs/cgroup/ostler/run-{}", run_id(number))),
        reaper: None,
        enforced: None,
    }
}

pub const KILLED: ExitStatus = ExitStatus::Signal(9);

pub fn nobody() -> Survey {
    Survey::default()
}

/// The text of a file that declares this many units.
pub fn file(units: usize) -> String {
    let mut text = String::from("[defaults]\nstop = { grace = \"5s\" }\n\n");
    for number in 0..units {
        text += &format!(
            "[units.worker-{number:04}]\ncommand = [\"/usr/bin/worker\", \"--queue\", \"mail-{number}\"]\n\
             env = {{ QUEUE = \"mail-{number}\", LEVEL = \"info\" }}\n\
             restart = {{ initial = \"0\", limit = {{ count = 0, window = \"1s\" }} }}\n\n"
        );
    }
    text
}

pub fn around() -> ReadContext {
    let environment = [("PATH", "/usr/bin:/bin"), ("HOME", "/home/user"), ("LANG", "C.UTF-8")];
    ReadContext {
        environment: environment.map(|(name, value)| (name.to_owned(), value.into())).to_vec(),
        umask: 0o22,
        user: 1000,
        ..ReadContext::default()
    }
}

pub fn units(count: usize) -> Vec<UnitSpec> {
    match load(Path::new("/home/user/ostler.toml"), &file(count), &around()) {
        Ok(config) => config.units,
        Err(problems) => panic!("{problems:?}"),
    }
}
