//! Run requests.

use super::{Simulation, instance};
use crate::kernel::BOOT;
use crate::random::Random;
use crate::units;
use ostler_core::{Event, NewRun};
use ostler_model::{
    Actor, Backend, Detach, Extinct, Fingerprint, Limits, RunId, RunRecord, RunState,
};

impl Simulation {
    pub(super) fn new_run(
        &mut self,
        index: usize,
        random: &mut Random,
        unit: Option<&str>,
    ) -> Event {
        self.next += 1;
        let mut bits = [0u8; 10];
        bits[..8].copy_from_slice(&self.next.to_le_bytes());
        let limits = Limits {
            timeout_ms: (!self.is_calm && random.chance(30)).then(|| 100 + random.below(2_000)),
            no_output_timeout_ms: (!self.is_calm && random.chance(30))
                .then(|| 100 + random.below(1_000)),
            grace_ms: random.below(1_000),
            stop_signal: None,
        };
        let strict = random.chance(30);
        let lives = |record: &&RunRecord| {
            record.state == RunState::Running && record.owner_instance_id == instance(index)
        };
        let living: Vec<RunId> =
            self.records.values().filter(lives).map(|record| record.run_id).collect();
        let parent = random.pick(&living).filter(|_| unit.is_none() && random.chance(40));
        let record = RunRecord {
            run_id: RunId::new(self.next, bits),
            session_id: "s".to_owned(),
            purpose: ostler_model::Purpose::Program,
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
            created_at_ms: self.now.wall_ms,
            updated_at_ms: self.now.wall_ms,
            last_output_at_ms: None,
            owner_instance_id: instance(index),
            lease_expires_at_ms: None,
            termination: None,
            exit_code: None,
            exit_signal: None,
            extinct: Extinct::No,
            scope_key: match unit {
                Some(unit) => Some(format!("unit {unit}")),
                None => random.chance(20).then(|| format!("key{}", random.below(2))),
            },
            command: String::new(),
            error: None,
            spawn_error_kind: None,
            started_at_ms: None,
            ended_at_ms: None,
            timeout_ms: limits.timeout_ms,
            no_output_timeout_ms: limits.no_output_timeout_ms,
            grace_ms: limits.grace_ms,
            stop_signal: None,
            detach_allowed: false,
            started_mono_ms: None,
            output_bytes: 0,
            enforced: None,
            out_of_memory: false,
            memory_kills: 0,
            escaped: Vec::new(),
            survivors: Vec::new(),
            strict,
            parent,
            keep: random.chance(30),
            client: random.chance(20).then(|| {
                let (pid, boot_id) = (self.next as i32, BOOT.to_owned());
                Box::new(Fingerprint { pid, start_time: 1, boot_id, unique: None })
            }),
            pool: (unit.is_none() && random.chance(30)).then(|| units::POOL.to_owned()),
            ticket: None,
            why: None,
            cancel_reason: None,
        };
        Event::SpawnRequested(Box::new(NewRun {
            by: Actor::Supervisor,
            record,
            limits,
            detach: if strict { Detach::Strict } else { Detach::Forbid },
        }))
    }
}
