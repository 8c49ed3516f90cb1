//! The only finalizer: writes a run's last record, last journal entry and last count, once.

use super::machine::{Phase, Run};
use crate::action::{Effect, Step, Write};
use crate::event::ExitStatus;
use crate::time::Now;
use ostler_model::{Actor, Counter, Extinct, RunRecord, RunState, Termination, What};
use serde_json::json;

/// For a run that had a process.
pub(super) fn ended(
    run: &mut Run,
    reason: Option<Termination>,
    status: ExitStatus,
    extinct: Extinct,
    now: Now,
    out: &mut Step,
) -> Phase {
    keep_status(&mut run.record, status);
    let reason = reason.unwrap_or(match status {
        ExitStatus::Code(_) => Termination::Exit,
        ExitStatus::Signal(_) => Termination::Signal,
        ExitStatus::Unknown => Termination::ReconciledStale,
    });
    if status == ExitStatus::Unknown && run.record.error.is_none() {
        run.record.error =
            Some("exit status unknown: it ended while it was not our child".to_owned());
    }
    let mut description = description(status);
    if run.record.out_of_memory {
        description.push_str(", out of memory");
    }
    close(run, reason, extinct, description, now, out)
}

/// For a run that never had a process.
pub(super) fn never_started(run: &mut Run, reason: Termination, now: Now, out: &mut Step) -> Phase {
    close(run, reason, Extinct::Yes, "never started".to_owned(), now, out)
}

pub(super) fn keep_status(record: &mut RunRecord, status: ExitStatus) {
    match status {
        ExitStatus::Code(code) => record.exit_code = Some(code),
        ExitStatus::Signal(signal) => record.exit_signal = Some(signal),
        ExitStatus::Unknown => {}
    }
}

pub(super) fn description(status: ExitStatus) -> String {
    match status {
        ExitStatus::Code(code) => format!("exit code {code}"),
        ExitStatus::Signal(signal) => format!("signal {signal}"),
        ExitStatus::Unknown => "exit status unknown".to_owned(),
    }
}

fn close(
    run: &mut Run,
    reason: Termination,
    extinct: Extinct,
    description: String,
    now: Now,
    out: &mut Step,
) -> Phase {
    run.record.termination = Some(reason);
    run.record.extinct = extinct;
    run.record.ended_at_ms = Some(now.wall_ms);
    run.record.lease_expires_at_ms = None;
    out.write(run.save(RunState::Exited, now));
    out.write(run.note(
        Actor::Supervisor,
        What::Exited,
        format!("{reason}, {description}"),
        json!({
            "termination": reason,
            "exitCode": run.record.exit_code,
            "exitSignal": run.record.exit_signal,
            "extinct": extinct,
            "outOfMemory": run.record.out_of_memory,
            "error": run.record.error,
        }),
        now,
    ));
    out.write(Write::Count(Counter::Exit(reason), 1));
    out.effect(Effect::Finish(Box::new(run.record.clone())));
    Phase::Exited
}
