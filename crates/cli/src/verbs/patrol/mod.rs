//! `ostler patrol`: runs the patrol's checks by hand, and gives it orders.

mod orders;
mod plan;
mod run;
mod show;
mod status;
mod tick;

use crate::args::{PatrolArguments, PatrolVerb};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use ostler_client::UnitAsk;
use ostler_patrol::{Checked, PatrolError, health_check, killed};

pub fn patrol(context: &Context, arguments: &PatrolArguments) -> Result<Exit, Failure> {
    match &arguments.verb {
        PatrolVerb::Run { file } => run::run(context, file),
        PatrolVerb::Tick(tick) => tick::tick(context, tick.json),
        PatrolVerb::Status(status) => status::status(context, status.json),
        PatrolVerb::Triage(triage) => tick::triage(context, triage),
        PatrolVerb::HealthCheck(check) => {
            let (connector, plan) = plan::open(context)?;
            let checked =
                health_check(&connector, &plan, &check.agent, check.timeout).map_err(failure)?;
            if check.kill && matches!(checked, Checked::ShouldBeKilled { .. }) {
                let name = plan.agent(&check.agent).map_err(failure)?.name.clone();
                let mut connection = connector.open().map_err(failure)?;
                connection.ask_unit(&name, UnitAsk::Restart).map_err(failure)?;
                killed(&plan, &name).map_err(failure)?;
            }
            report_checked(&check.agent, &checked, check.json)
        }
        PatrolVerb::Pause(pause) => orders::pause(context, &pause.reason),
        PatrolVerb::Resume => orders::resume(context),
        PatrolVerb::Estop(estop) if estop.clear => orders::lift(context),
        PatrolVerb::Estop(estop) => orders::stop(context, &estop.reason),
        PatrolVerb::Busy(busy) => orders::busy(context, busy.agent.as_deref(), busy.time),
        PatrolVerb::Say(said) => orders::said(context, said),
        PatrolVerb::Spawn(spawn) => orders::spawn(context, &spawn.agent, &spawn.message),
        PatrolVerb::Clear(clear) => orders::clear(context, &clear.agent),
    }
}

fn report_checked(agent: &str, checked: &Checked, json: bool) -> Result<Exit, Failure> {
    if json {
        outln!("{}", serde_json::to_string(checked)?);
    } else {
        match checked {
            Checked::Responsive { why } => outln!("{agent} answers: {why}"),
            Checked::NotRunning { why } => outln!("{agent} was not checked: {why}"),
            Checked::Waiting { why } => outln!("{agent} waits for a person: {why}"),
            Checked::InCooldown { seconds } => {
                outln!("{agent} was killed recently; next check in {seconds} s");
            }
            Checked::Silent { failures } => {
                outln!("{agent} did not answer (failure {failures} of 3)");
            }
            Checked::ShouldBeKilled { failures } => {
                outln!(
                    "{agent} did not answer {failures} times in a row; restart it with `ostler restart {agent}`"
                );
            }
        }
    }
    Ok(match checked {
        Checked::ShouldBeKilled { .. } => Exit(2),
        Checked::Responsive { .. }
        | Checked::NotRunning { .. }
        | Checked::Waiting { .. }
        | Checked::InCooldown { .. }
        | Checked::Silent { .. } => Exit::DONE,
    })
}

fn failure(error: PatrolError) -> Failure {
    let exit = match &error {
        PatrolError::NoSuchAgent { .. } => Exit::NO_SUCH,
        PatrolError::Client(_)
        | PatrolError::Unexpected
        | PatrolError::File { .. }
        | PatrolError::NotRemoved { .. }
        | PatrolError::Overlapping { .. } => Exit::FAILED,
    };
    match error {
        PatrolError::Client(cause) => (*cause).into(),
        error => Failure { exit, cause: error.into() },
    }
}
