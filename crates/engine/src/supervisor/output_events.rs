//! What the output writer reports.

use crate::output::{OutputEvent, Sweep, Swept};
use ostler_core::Event;
use ostler_model::What;
use serde_json::json;
use std::sync::Arc;

use super::*;

impl Supervisor {
    pub(super) fn sweep_output(&self) {
        let notify = Arc::clone(&self.threads.notify_output);
        let sweep = Sweep {
            runs: self.identity.home.path().join("runs"),
            registry: self.identity.home.registry().to_owned(),
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
            let why = "its oldest output is removed: the output of all live runs together is more than is kept";
            let evidence = json!({ "keepsBytes": keeps, "mostBytes": most });
            self.run_entry(run, What::OutputDropped, why, evidence);
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
