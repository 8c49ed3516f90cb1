use super::{failure, plan};
use crate::args::TriageArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use ostler_patrol::{TickOptions, TickReport, tick as one_tick, would_ask};

/// Runs one tick now.
pub fn tick(context: &Context, json: bool) -> Result<Exit, Failure> {
    let (connector, plan) = plan::open(context)?;
    notify(&one_tick(&connector, &plan, &TickOptions::default()).map_err(failure)?, json)
}

/// Runs only the triage, for one agent or all agents.
pub fn triage(context: &Context, arguments: &TriageArguments) -> Result<Exit, Failure> {
    let (connector, plan) = plan::open(context)?;
    let only = match &arguments.agent {
        Some(name) => Some(plan.agent(name).map_err(failure)?.name.clone()),
        None => None,
    };
    if arguments.dry_run {
        let questions = would_ask(&connector, &plan, only.as_deref()).map_err(failure)?;
        for question in &questions {
            if arguments.json {
                outln!("{}", serde_json::to_string(question)?);
            } else {
                outln!("{}", super::show::question(question)?);
            }
        }
        return Ok(Exit::DONE);
    }
    let how = TickOptions { only, is_degraded: arguments.degraded, is_triage_alone: true };
    notify(&one_tick(&connector, &plan, &how).map_err(failure)?, arguments.json)
}

fn notify(ticked: &TickReport, json: bool) -> Result<Exit, Failure> {
    if json {
        outln!("{}", serde_json::to_string(ticked)?);
        return Ok(Exit::DONE);
    }
    for agent in &ticked.agents {
        outln!("{}", agent.description());
    }
    for note in &ticked.others {
        outln!("{note}");
    }
    Ok(Exit::DONE)
}
