//! Keeps the journal within its limits. The thread exists only while entries must be removed. It works in slices of
//! about two milliseconds with pauses, so that a unit restart in between hardly waits.

use ostler_model::Settings;
use ostler_registry::{JournalBounds, Pruned, Registry, RegistryError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(10);
const ROWS_FIRST: u64 = 64;
const ROWS_LEAST: u64 = 16;
const ROWS_MOST: u64 = 512;
const LONG_MS: u64 = 3;

/// After this many new entries, check whether there are too many.
const LOOK_EVERY: u64 = 1_000;

#[derive(Debug, Default)]
pub(crate) struct Pruning {
    is_at_work: Arc<AtomicBool>,
    written: u64,
}

impl Pruning {
    /// Counts new entries.
    pub(crate) fn wrote(
        &mut self,
        entries: usize,
        settings: &Settings,
        registry: &Arc<dyn Registry>,
    ) {
        self.written += entries as u64;
        if self.written >= LOOK_EVERY.min(settings.journal_rows / 10).max(1) {
            self.begin(settings, registry);
        }
    }

    /// Starts the thread, unless it is running.
    pub(crate) fn begin(&mut self, settings: &Settings, registry: &Arc<dyn Registry>) {
        self.written = 0;
        if self.is_at_work.swap(true, Ordering::AcqRel) {
            return;
        }
        let (bounds, registry) = (bounds(settings), Arc::clone(registry));
        let is_at_work = Arc::clone(&self.is_at_work);
        let begun = std::thread::Builder::new()
            .name("pruner".to_owned())
            .stack_size(256 << 10)
            .spawn(move || {
                // A failed removal is retried at the next check.
                let _ = work(&bounds, &*registry);
                is_at_work.store(false, Ordering::Release);
            });
        if begun.is_err() {
            self.is_at_work.store(false, Ordering::Release);
        }
    }
}

fn bounds(settings: &Settings) -> JournalBounds {
    JournalBounds {
        rows: settings.journal_rows,
        bytes: settings.journal_bytes,
        story_rows: settings.journal_rows / Settings::STORIES_AT_LEAST,
        story_bytes: settings.journal_bytes / Settings::STORIES_AT_LEAST,
        oldest_ms: ostler_os::wall_ms().saturating_sub(settings.history_age_ms),
    }
}

fn work(bounds: &JournalBounds, registry: &dyn Registry) -> Result<(), RegistryError> {
    let mut pruner = registry.pruner()?;
    let mut rows = ROWS_FIRST;
    let mut is_changed = false;
    loop {
        let begun_ms = ostler_os::mono_ms();
        if pruner.slice(bounds, rows)? == Pruned::Nothing {
            return if is_changed { pruner.finish() } else { Ok(()) };
        }
        is_changed = true;
        rows = match ostler_os::mono_ms() - begun_ms {
            0..=1 => (rows * 2).min(ROWS_MOST),
            LONG_MS.. => (rows / 2).max(ROWS_LEAST),
            _ => rows,
        };
        ostler_os::nap(PAUSE);
    }
}
