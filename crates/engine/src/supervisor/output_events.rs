//! What the output writer reports.

use crate::output::{OutputEvent, Sweep, Swept, recent_gaps};
use ostler_core::Event;
use ostler_model::{RunRecord, What};
use serde_json::json;
use std::sync::Arc;

use super::*;

impl Supervisor {
    pub(super) fn sweep_output(&self) {
        let notify = Arc::clone(&self.threads.notify_output);
        let sweep = Sweep {
            runs: self.identity.home.path().join("runs"),
            registry: Arc::clone(self.identity.home.registry()),
            total: Arc::clone(&self.threads.output_total),
        };
        sweep.begin(move |event| notify(event));
    }

    pub(super) fn note_swept(&mut self, swept: Swept) {
        let most = self.threads.output_total.most();
        for (run, bytes) in swept.dropped {
            let why = "its output was removed: that of all runs together has a bound, and it is among the oldest";
            let evidence = json!({ "bytes": bytes, "mostBytes": most });
            self.run_entry(run, What::OutputDropped, why, evidence);
        }
        for (run, keeps) in swept.trimmed {
            self.threads.output_writer.trim(run, keeps);
            let why = "its oldest output is removed: the output of all live runs together exceeds its limit";
            let evidence = json!({ "keepsBytes": keeps, "mostBytes": most });
            self.run_entry(run, What::OutputDropped, why, evidence);
        }
    }

    /// Journals the output that was lost under an earlier supervisor, if that one was killed before it could.
    pub(crate) fn note_gaps(&mut self, record: &RunRecord) {
        for gap in recent_gaps(&self.identity.home.run_folder(record.run_id)) {
            let noted = self.store.registry.offsets_noted(record.run_id, What::OutputLost);
            // An unreadable journal: one entry too many is better than one too few.
            if !noted.is_ok_and(|offsets| offsets.contains(&gap.from)) {
                self.run_entry(
                    record.run_id,
                    What::OutputLost,
                    "its log could not be written; what came between is lost",
                    json!({ "fromOffset": gap.from, "toOffset": gap.to }),
                );
            }
        }
    }

    pub(super) fn take_output_event(&mut self, event: OutputEvent) {
        match event {
            OutputEvent::TooMuch => self.sweep_output(),
            OutputEvent::Swept(swept) => self.note_swept(swept),
            OutputEvent::Ended { run } => {
                self.runs.kept_inputs.remove(&run);
                self.core.events.push_back(Event::OutputEnded { run });
            }
            OutputEvent::GapBegan { run, from, error } => {
                self.run_entry(
                    run,
                    What::OutputLost,
                    "its log cannot be written; it goes on, only its newest output is in memory",
                    json!({ "fromOffset": from, "error": error }),
                );
            }
            OutputEvent::GapEnded { run, from, to } => {
                self.run_entry(
                    run,
                    What::OutputLost,
                    "its log is written again; what came between is lost",
                    json!({ "fromOffset": from, "toOffset": to }),
                );
            }
        }
    }
}
