//! What the output of all runs takes on disk together, and whose goes first where it is too much.
//!
//! The drain counts what it writes. Beyond the bound, all of it is measured on a thread of its own, and output is
//! removed until 5 % of the bound are free again: first of runs that ended well, then of those that failed, each the
//! oldest first. Their records stay. If that is not enough, the logs of live runs lose their oldest segments.

use super::segment::segments;
use super::writer::OutputEvent;
use ostler_model::{RunId, RunRecord, Termination};
use ostler_registry::{Reader, RunQuery};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Where nothing is set: so much, or a tenth of the file system if that is less.
const MOST: u64 = 10_000_000_000;
const SHARE: u64 = 10;
/// A new measurement is worth it when so much has been added since the last one.
const STEP_LEAST: u64 = 1 << 20;

/// How much there may be in this home, where nothing is set.
pub fn default_output_bytes(home: &Path) -> u64 {
    ostler_os::total_bytes(home).map_or(MOST, |total| (total / SHARE).min(MOST))
}

/// How much there is in this home.
pub fn output_bytes(home: &Path) -> u64 {
    measure(&home.join("runs")).values().sum()
}

/// Shared between those who write, those who remove and those who tell.
#[derive(Debug)]
pub struct OutputTotal {
    most: u64,
    /// What was measured last, and what was written since. What was removed since still counts.
    kept: AtomicU64,
    /// When this is reached, it is measured again.
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

    /// True if it is time to look at all of it.
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

/// What was removed, and what is to be.
#[derive(Debug, Default)]
pub(crate) struct Swept {
    /// Of ended runs: all of their output.
    pub(crate) dropped: Vec<(RunId, u64)>,
    /// Of live runs: how much they may keep from now on.
    pub(crate) trimmed: Vec<(RunId, u64)>,
    pub(crate) kept: u64,
}

/// Where it is done.
pub(crate) struct Sweep {
    pub(crate) runs: PathBuf,
    pub(crate) registry: PathBuf,
    pub(crate) total: Arc<OutputTotal>,
}

impl Sweep {
    /// On a thread of its own; without one, the next that is written asks for it again.
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
        let ended = Reader::open(&self.registry).and_then(|reader| reader.ended(query));
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
        // Only those that live are left: the largest first.
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
    fn it_is_measured_when_the_bound_is_passed_and_not_at_every_write_beyond() {
        let total = OutputTotal::new(100 << 20);
        assert!(!total.add(100 << 20));
        assert!(total.add(1));
        assert!(!total.add(1), "it is being measured");
        total.end_sweep(101 << 20);
        assert!(!total.add(1), "more than may be, but there was nothing to remove");
        assert!(total.add(2 << 20));
    }
}
