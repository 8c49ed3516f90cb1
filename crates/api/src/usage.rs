//! The resource usage of units. It is measured only on request, and outside of the server's thread.

use crate::background::beside;
use crate::find::stopping;
use crate::history::History;
use crate::patterns::expanded;
use crate::server::Shared;
use ostler_engine::RunHandles;
use ostler_model::{
    Depth, ProcessUsage, RunId, Step, TroubleKind, UnitLook, UnitView, Usage, WatchState,
};
use ostler_ops::units::Look;
use ostler_ops::wire::WireError;
use ostler_os::{Detail, TreeSubject, TreeUsage, look_at_trees};
use std::collections::HashMap;

/// The maximum number of units for a quick measurement. One unit takes about 50 µs, because the kernel sums up the
/// cgroup on request.
const QUICK_MOST: usize = 64;
/// A sample that is younger than this is not repeated.
const FRESH_MS: u64 = 200;
/// If the last sample is older than this, the average since the start is used.
const STALE_MS: u64 = 60_000;

/// The last samples and the history.
#[derive(Debug, Default)]
pub(crate) struct UsageSample {
    last: HashMap<RunId, Usage>,
    pub(crate) history: History,
}

/// Fails if the supervisor is stopping, or if a pattern matches nothing.
pub(crate) async fn look(mut call: Look, shared: &Shared) -> Result<Vec<UnitLook>, WireError> {
    let mut views = shared.engine.unit_views().await.ok_or_else(stopping)?;
    if !call.names.is_empty() {
        call.names = expanded(call.names, &views)?;
        views.retain(|view| call.names.contains(&view.name));
    }
    note_hung(&mut views, shared);
    let live = views.iter().filter(|view| view.pid.is_some()).count();
    let is_looked_at = match call.depth {
        Depth::None => false,
        Depth::Quick => (1..=QUICK_MOST).contains(&live),
        Depth::Whole | Depth::Tree => live > 0,
    };
    if is_looked_at {
        shared.looked.borrow_mut().history.usage_was_read(ostler_os::wall_ms());
        look_at(&views, call.depth, shared).await;
    }
    let looked = shared.looked.borrow();
    let with_usage = |mut view: UnitView| {
        if call.brief {
            view.command.clear();
            view.depends_on.clear();
            view.ends.clear();
            view.file = None;
        }
        let usage = view.run_id.and_then(|run| looked.last.get(&run)).cloned();
        let mut usage = usage.filter(|_| call.depth != Depth::None && view.pid.is_some());
        if let Some(usage) = usage.as_mut().filter(|_| call.depth != Depth::Tree) {
            usage.tree.clear();
        }
        let history = match view.run_id {
            Some(run) if call.names.len() == 1 => looked.history.of(run),
            Some(_) | None => Vec::new(),
        };
        UnitLook { view, usage, history }
    };
    Ok(views.into_iter().map(with_usage).collect())
}

/// Marks agents that the patrol found hung: it woke them, and they did not react. A new process after a restart is not
/// hung until the patrol finds so. An agent that asks a question or accepts input is not hung, and one that only takes
/// no text may be well.
fn note_hung(views: &mut [UnitView], shared: &Shared) {
    let memory = shared.read(|reader| reader.patrol(shared.engine.instance()));
    let states = memory.map(|memory| memory.states).unwrap_or_default();
    for (name, state) in states {
        let Some(at_ms) = hung_since_ms(&state) else { continue };
        let is_it = |view: &&mut UnitView| view.name == name && view.since_ms <= at_ms;
        if let Some(view) = views.iter_mut().find(is_it) {
            view.agent.get_or_insert_default().hung_since_ms = Some(at_ms);
        }
    }
}

fn hung_since_ms(state: &WatchState) -> Option<u64> {
    use TroubleKind::{Foreign, Hung, Unseen};
    let rung = state.rung.as_ref()?;
    let is_hung = match rung.step {
        Step::Interrupt => true,
        Step::Escalate => {
            let what = state.condition.as_ref().map(|trouble| trouble.what);
            matches!(what, Some(Hung | Foreign | Unseen))
        }
        Step::Nothing | Step::Start | Step::Nudge | Step::Wake | Step::Restart => false,
    };
    is_hung.then_some(rung.at_ms)
}

/// Adds one sample to each unit's history; returns false if nothing runs.
pub(crate) async fn sample(shared: &Shared) -> bool {
    let Some(mut views) = shared.engine.unit_views().await else { return false };
    views.retain(|view| view.pid.is_some());
    if views.is_empty() {
        return false;
    }
    look_at(&views, Depth::Whole, shared).await;
    true
}

async fn look_at(views: &[UnitView], depth: Depth, shared: &Shared) {
    let boundaries = shared.engine.boundaries().await;
    let now_ms = ostler_os::wall_ms();
    let subjects: Vec<(RunId, u64, TreeSubject)> = {
        let mut looked = shared.looked.borrow_mut();
        if looked.last.len() > 2 * views.len() + 16 {
            // Removes runs that have ended.
            looked.last.retain(|run, _| boundaries.contains_key(run));
            looked.history.keep_only(|run| boundaries.contains_key(&run));
        }
        let is_due =
            |seen: &Usage| depth == Depth::Tree || now_ms.saturating_sub(seen.at_ms) >= FRESH_MS;
        views
            .iter()
            .filter_map(|view| Some((view, view.run_id?, view.pid?)))
            .filter(|(_, run, _)| looked.last.get(run).is_none_or(is_due))
            .map(|(view, run, root)| {
                let held = boundaries.get(&run).cloned().unwrap_or_default();
                let RunHandles { boundary, pane_note, reaper } = held;
                let started_ms = view.started_at_ms.unwrap_or(now_ms);
                (run, started_ms, TreeSubject { root, boundary, reaper, pane_note })
            })
            .collect()
    };
    if subjects.is_empty() {
        return;
    }
    let detail = if depth == Depth::Tree { Detail::Processes } else { Detail::Sums };
    let looked = beside(move || {
        let trees: Vec<TreeSubject> =
            subjects.iter().map(|(_, _, subject)| subject.clone()).collect();
        (look_at_trees(&trees, detail), subjects)
    });
    let Some((seen, subjects)) = looked.await else { return };
    let now_ms = ostler_os::wall_ms();
    let mut looked = shared.looked.borrow_mut();
    for (seen, (run, started_ms, _)) in seen.into_iter().zip(subjects) {
        if let Some(seen) = seen {
            let usage = usage(seen, looked.last.get(&run), started_ms, now_ms);
            looked.history.add(run, &usage);
            looked.last.insert(run, usage);
        }
    }
}

fn usage(seen: TreeUsage, before: Option<&Usage>, started_ms: u64, now_ms: u64) -> Usage {
    let gap_ms = |before: &&Usage| now_ms.saturating_sub(before.at_ms);
    let near = before.filter(|before| (FRESH_MS..STALE_MS).contains(&gap_ms(before)));
    // Without a cgroup, the CPU time of a process is lost when it ends.
    let (since_ms, used_ms) = near
        .filter(|before| before.cpu_ms <= seen.cpu_ms)
        .map_or((started_ms, seen.cpu_ms), |before| (before.at_ms, seen.cpu_ms - before.cpu_ms));
    let over_ms = now_ms.saturating_sub(since_ms).max(1);
    let process = |member: ostler_os::MemberUsage| ProcessUsage {
        pid: member.pid,
        parent: member.parent,
        command: member.command,
        cpu_ms: member.cpu_ms,
        memory_bytes: member.memory_bytes,
    };
    Usage {
        at_ms: now_ms,
        cpu_percent: (used_ms as f64 * 1_000.0 / over_ms as f64).round() / 10.0,
        over_ms,
        cpu_ms: seen.cpu_ms,
        memory_bytes: seen.memory_bytes,
        processes: seen.members as u64,
        read_bytes: seen.read_bytes,
        written_bytes: seen.written_bytes,
        descriptors: seen.descriptors,
        tree: seen.processes.into_iter().map(process).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(cpu_ms: u64) -> TreeUsage {
        TreeUsage { cpu_ms, memory_bytes: 1, members: 1, ..TreeUsage::default() }
    }

    #[test]
    fn cpu_share_is_since_the_last_sample_or_since_the_start() {
        let first = usage(seen(500), None, 10_000, 20_000);
        assert_eq!((first.cpu_percent, first.over_ms), (5.0, 10_000));
        let second = usage(seen(1_500), Some(&first), 10_000, 21_000);
        assert_eq!((second.cpu_percent, second.over_ms), (100.0, 1_000));
        let late = usage(seen(3_000), Some(&first), 10_000, 110_000);
        assert_eq!((late.cpu_percent, late.over_ms), (3.0, 100_000));
    }
}
