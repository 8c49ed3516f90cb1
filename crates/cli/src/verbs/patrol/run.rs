//! The patrol process: sleeps until the next tick. It reads the file again at each tick, so that changes take effect.

use super::plan;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::{errln, outln};
use ostler_patrol::{PatrolError, TickOptions, TickReport, log, note_running, tick};
use std::path::Path;
use std::time::Duration;

/// The time until the next tick if the file cannot be read.
const USUAL_TICK_MS: u64 = 180_000;

pub fn run(context: &Context, path: &Path) -> Result<Exit, Failure> {
    let connector = plan::connector(context);
    let mut description = String::new();
    // The first tick is immediate. Agents that are still starting are checked at a later tick.
    let mut next_ms = ostler_os::mono_ms();
    loop {
        let wait_ms = next_ms.saturating_sub(ostler_os::mono_ms());
        ostler_os::nap(Duration::from_millis(wait_ms));
        let begun_ms = ostler_os::mono_ms();
        let mut tick_ms = USUAL_TICK_MS;
        let wrong = match plan::read(context, path) {
            Ok(plan::Read { plan, wrong }) => {
                tick_ms = plan.spec.tick_ms;
                note_running(&plan);
                match tick(&connector, &plan, &TickOptions::default()) {
                    Ok(ticked) => {
                        report_ticked(&ticked);
                        wrong.unwrap_or_default()
                    }
                    // Another process runs a tick now (`ostler patrol tick`), so this one is skipped.
                    Err(PatrolError::Overlapping { .. }) => wrong.unwrap_or_default(),
                    Err(error) => {
                        let description = super::failure(error).description();
                        log(&plan, &format!("the tick failed: {description}"));
                        description
                    }
                }
            }
            Err(failure) => failure.description(),
        };
        // The same error is printed once, not at every tick.
        if wrong != description && !wrong.is_empty() {
            errln!("{wrong}");
        }
        description = wrong;
        // Missed ticks are not repeated.
        next_ms = begun_ms + tick_ms;
    }
}

fn report_ticked(ticked: &TickReport) {
    for agent in ticked.agents.iter().filter(|agent| agent.is_news()) {
        outln!("{}", agent.description());
    }
}
