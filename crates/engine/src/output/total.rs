//! The disk space for the output of all runs, and which output is removed when the limit is exceeded.
//!
//! The output writer counts what it writes. Above the limit, a separate thread measures all output and removes some
//! until 5 % of the limit are free: first output of runs that succeeded, then of runs that failed, each the oldest
//! first. Their records stay. If that is not enough, the logs of live runs lose their oldest segments.

use super::segment::segments;
use super::writer::OutputEvent;
use ostler_model::{RunId, RunRecord, Termination};
use ostler_registry::{Registry, RunQuery};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The default limit: this much, or a tenth of the file system if that is less.
const MOST: u64 = 10_000_000_000;
const SHARE: u64 = 10;
/// The amount of new output after which another measurement is worthwhile.
const STEP_LEAST: u64 = 1 << 20;

/// The default limit for this home.
pub fn default_output_bytes(home: &Path) -> u64 {
    ostler_os::total_bytes(home).map_or(MOST, |total| (total / SHARE).min(MOST))
}

/// The size of all output in this home.
pub fn output_bytes(home: &Path) -> u64 {
    measure(&home.join("runs")).values().sum()
}

/// Shared by the threads that write, remove and report output.
#[derive(Debug)]
pub struct OutputTotal {
    most: u64,
    /// The last measured size plus the bytes written since. Bytes removed since still count.
    kept: AtomicU64,
    /// At this size, all output is measured again.
    measured_at: AtomicU64,
    is_sweeping: AtomicBool,
}

impl OutputTotal {
    pub(crate) fn new(most: u64) -> Self {
        Self {
            most,
            kept: AtomicU64::new(0),
            measured_at: AtomicU64::new(most),
            is_sweeping: AtomicBool::new(false),
        }
    }

    pub fn most(&self) -> u64 {
        self.most
    }

    pub fn kept(&self) -> u64 {
        self.kept.load(Ordering::Relaxed)
    }

    /// True if it is time to measure all output.
    pub(super) fn add(&self, bytes: u64) -> bool {
        let kept = self.kept.fetch_add(bytes, Ordering::Relaxed) + bytes;
        kept > self.measured_at.load(Ordering::Relaxed)
            && !self.is_sweeping.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn begin_sweep(&self) -> bool {
        !self.is_sweeping.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn end_sweep(&self, kept: u64) {
        let step = (self.most / 100).max(STEP_LEAST);
        self.kept.store(kept, Ordering::Relaxed);
        self.measured_at.store(self.most.max(kept + step), Ordering::Relaxed);
        self.is_sweeping.store(false, Ordering::Relaxed);
    }
}

/// What was removed, and what must be removed.
#[derive(Debug, Default)]
pub(crate) struct Swept {
    /// Ended runs that lost all their output, with its size.
    pub(crate) dropped: Vec<(RunId, u64)>,
    /// Live runs, with the size that they may keep.
    pub(crate) trimmed: Vec<(RunId, u64)>,
    pub(crate) kept: u64,
}

/// The data for one measurement and removal.
pub(crate) struct Sweep {
    pub(crate) runs: PathBuf,
    pub(crate) registry: Arc<dyn Registry>,
    pub(crate) total: Arc<OutputTotal>,
}

impl Sweep {
    /// Runs on its own thread. If the thread cannot start, the next write requests it again.
    pub(crate) fn begin(self, notify: impl FnOnce(OutputEvent) + Send + 'static) {
        let total = Arc::clone(&self.total);
        let work = move || {
            let swept = self.sweep();
            self.total.end_sweep(swept.kept);
            notify(OutputEvent::Swept(swept));
        };
        let thread = std::thread::Builder::new().name("sweep".to_owned()).stack_size(512 << 10);
        if thread.spawn(work).is_err() {
            total.end_sweep(total.kept());
        }
    }

    fn sweep(&self) -> Swept {
        let most = self.total.most;
        let mut sizes = measure(&self.runs);
        let mut swept = Swept { kept: sizes.values().sum(), ..Swept::default() };
        if swept.kept <= most {
            return swept;
        }
        let goal = most - most / 20;
        let query = RunQuery { newest: None };
        let ended = self.registry.reader().and_then(|reader| reader.ended(query));
        let mut ended = ended.unwrap_or_default();
        ended.sort_by_key(|run| (has_failed(run), run.ended_at_ms));
        for run in ended {
            let Some(bytes) = sizes.remove(&run.run_id).filter(|bytes| *bytes > 0) else {
                continue;
            };
            if swept.kept <= goal {
                return swept;
            }
            if fs::remove_dir_all(self.runs.join(run.run_id.to_string())).is_ok() {
                swept.kept -= bytes;
                swept.dropped.push((run.run_id, bytes));
            }
        }
        // Only live runs are left; trim the largest first.
        let mut live: Vec<(RunId, u64)> = sizes.into_iter().collect();
        live.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let mut kept = swept.kept;
        for (run, bytes) in live {
            if kept <= goal {
                break;
            }
            let keeps = bytes.saturating_sub(kept - goal).max(STEP_LEAST);
            if keeps < bytes {
                kept -= bytes - keeps;
                swept.trimmed.push((run, keeps));
            }
        }
        swept.kept = kept;
        swept
    }
}

fn has_failed(run: &RunRecord) -> bool {
    match run.termination {
        Some(Termination::Exit) => run.exit_code != Some(0) || run.out_of_memory,
        Some(Termination::ManualCancel | Termination::LeaseLost) | None => false,
        Some(
            Termination::Signal
            | Termination::OverallTimeout
            | Termination::NoOutputTimeout
            | Termination::SpawnError
            | Termination::OwnershipEscape
            | Termination::ReconciledStale,
        ) => true,
    }
}

fn measure(runs: &Path) -> HashMap<RunId, u64> {
    let entries = fs::read_dir(runs).into_iter().flatten().flatten();
    let sized = entries.filter_map(|entry| {
        let run = entry.file_name().to_str()?.parse().ok()?;
        let segments = segments(&entry.path()).ok()?;
        Some((run, segments.iter().map(|(_, length)| length).sum()))
    });
    sized.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_measured_once_when_it_exceeds_its_bound() {
        let total = OutputTotal::new(100 << 20);
        assert!(!total.add(100 << 20));
        assert!(total.add(1));
        assert!(!total.add(1), "it is being measured");
        total.end_sweep(101 << 20);
        assert!(!total.add(1), "above the limit, but nothing could be removed");
        assert!(total.add(2 << 20));
    }
}
