//! Being on patrol: asleep until the next tick. The file is read anew for each, so that what changed in it counts.

use super::plan;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::{errln, outln};
use ostler_patrol::{PatrolError, TickOptions, TickReport, log, note_running, tick};
use std::path::Path;
use std::time::Duration;

/// Where the file cannot be read, it is looked at again after this.
const USUAL_TICK_MS: u64 = 180_000;

pub fn run(context: &Context, path: &Path) -> Result<Exit, Failure> {
    let connector = plan::door(context);
    let mut description = String::new();
    // Those that were declared a moment ago are just being started: they are looked at when they are there.
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
                    // Somebody ticks by hand: that is this tick.
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
        // Once, and not at every tick.
        if wrong != description && !wrong.is_empty() {
            errln!("{wrong}");
        }
        description = wrong;
        // Ticks that were slept through are not made up for.
        next_ms = begun_ms + tick_ms;
    }
}

fn report_ticked(ticked: &TickReport) {
    for agent in ticked.agents.iter().filter(|agent| agent.is_news()) {
        outln!("{}", agent.description());
    }
}
