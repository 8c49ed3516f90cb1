use super::table::{Align, Cell, Column, Fit, cut};
use super::units::{duration, signal};
use ostler_model::{Extinct, RunId, RunRecord, RunResult, RunState, Termination};
use std::collections::{BTreeMap, BTreeSet};

/// The columns of `ostler runs`.
pub const RUN_COLUMNS: [Column; 6] = [
    Column { head: "RUN", align: Align::Left, fit: Fit::Fixed },
    Column { head: "STATE", align: Align::Left, fit: Fit::Fixed },
    Column { head: "WHY", align: Align::Left, fit: Fit::Shrinks(16) },
    Column { head: "PID", align: Align::Right, fit: Fit::Dropped(0) },
    Column { head: "AGE", align: Align::Right, fit: Fit::Dropped(1) },
    Column { head: "COMMAND", align: Align::Left, fit: Fit::Shrinks(10) },
];

/// Sorts each run below its parent and returns it with its depth. Runs without a shown parent keep their order.
pub fn families(runs: Vec<RunRecord>) -> Vec<(usize, RunRecord)> {
    let shown: BTreeSet<RunId> = runs.iter().map(|run| run.run_id).collect();
    let mut below: BTreeMap<RunId, Vec<RunRecord>> = BTreeMap::new();
    let mut waiting = Vec::new();
    for run in runs {
        match run.parent.filter(|parent| shown.contains(parent) && *parent != run.run_id) {
            Some(parent) => below.entry(parent).or_default().push(run),
            None => waiting.push((0, run)),
        }
    }
    waiting.reverse();
    let mut ordered = Vec::new();
    while let Some((depth, run)) = waiting.pop() {
        let own = below.remove(&run.run_id).unwrap_or_default();
        waiting.extend(own.into_iter().rev().map(|child| (depth + 1, child)));
        ordered.push((depth, run));
    }
    ordered
}

pub fn run_row(depth: usize, run: &RunRecord, now_ms: u64) -> Vec<Cell> {
    const DEPTH_SHOWN: usize = 8;
    let branch = match depth.min(DEPTH_SHOWN) {
        0 => String::new(),
        depth => format!("{}└ ", "  ".repeat(depth - 1)),
    };
    let cells = [
        format!("{branch}{}", short(run)),
        run.state.to_string(),
        why(run, now_ms),
        run.pid.map_or("-".to_owned(), |pid| pid.to_string()),
        duration(now_ms.saturating_sub(run.started_at_ms.unwrap_or(run.created_at_ms))),
        run.command.clone(),
    ];
    cells.map(Cell::from).to_vec()
}

/// The last part of the id. It is random, so it identifies the run.
pub fn short(run: &RunRecord) -> String {
    let id = run.run_id.to_string();
    id.rsplit('-').next().unwrap_or(&id).to_owned()
}

/// The reason for the present state.
fn why(run: &RunRecord, now_ms: u64) -> String {
    match run.state {
        RunState::Queued => run.why.clone().unwrap_or_default(),
        RunState::Starting => "process not started yet".to_owned(),
        RunState::Running => {
            let started = run.started_at_ms.unwrap_or(run.created_at_ms);
            let left = |limit: u64| duration((started + limit).saturating_sub(now_ms));
            match run.timeout_ms {
                Some(limit) => format!("time limit in {}", left(limit)),
                None => String::new(),
            }
        }
        RunState::Exiting => match run.termination {
            Some(reason) => format!("{reason}, stopping its process tree"),
            None => "exited, stopping its remaining processes".to_owned(),
        },
        RunState::Exited => ended(run.termination, &run.result()),
    }
}

fn ended(termination: Option<Termination>, result: &RunResult) -> String {
    let status = match (result.exit_code, result.exit_signal) {
        (_, Some(number)) => signal(number),
        (Some(code), None) => format!("exit {code}"),
        (None, None) => String::new(),
    };
    let mut description = match termination {
        Some(Termination::Exit | Termination::Signal) | None => status,
        Some(reason) if status.is_empty() => reason.to_string(),
        Some(reason) => format!("{reason}, {status}"),
    };
    if let Some(said) = &result.cancel_reason {
        description = format!("{description}: {}", cut(said, usize::MAX));
    }
    if result.out_of_memory {
        description.push_str(if description.is_empty() {
            "out of memory"
        } else {
            ", out of memory"
        });
    }
    match result.extinct {
        Extinct::Yes => {}
        Extinct::No => description.push_str(", some of its processes are still alive"),
        Extinct::Unknown => description.push_str(", unknown whether processes are still alive"),
    }
    description
}

/// One line with the result of a run.
pub fn result_line(result: &RunResult) -> String {
    let description = ended(result.termination, result);
    format!("{} {}: {description}{}", result.run_id, result.state, ran(result))
}

/// One line with the result of a unit's run, under the unit's name.
pub fn unit_result_line(unit: &str, result: &RunResult) -> String {
    let reason = result.termination.filter(|reason| *reason != Termination::ManualCancel);
    let description = ended(reason, result);
    let description = match (result.termination, description.is_empty()) {
        (Some(Termination::ManualCancel), true) => "stopped".to_owned(),
        (Some(Termination::ManualCancel), false) => format!("stopped, {description}"),
        _ => description,
    };
    format!("{unit}: {description}{}", ran(result))
}

fn ran(result: &RunResult) -> String {
    result.duration_ms.map(|ms| format!(" after {}", duration(ms))).unwrap_or_default()
}

/// One line with the present state of a run.
pub fn state_line(run: &RunRecord, now_ms: u64) -> String {
    let why = why(run, now_ms);
    let since = run.ended_at_ms.or(run.started_at_ms).unwrap_or(run.created_at_ms);
    let ago = duration(now_ms.saturating_sub(since));
    match (run.state, why.is_empty()) {
        (RunState::Exited, _) => format!("{}: {why} ({ago} ago)", run.state),
        (_, true) => format!("{} for {ago}", run.state),
        (_, false) => format!("{} for {ago}: {why}", run.state),
    }
}
