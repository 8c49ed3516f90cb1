//! Orders from people, and reports of agents about themselves.

use super::{failure, plan};
use crate::args::{SaidState, SayArguments};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::{errln, outln};
use ostler_client::{ClientError, UnitAsk};
use ostler_model::{
    Declared, DeclaredState, Desired, Order, PatrolOrders, PendingSpawn, WatchReport,
};
use ostler_ops::patrol;
use ostler_ops::wire::ErrorCode;
use ostler_patrol::{Connection, PatrolError, Plan, show_paused, show_stopped};

pub fn pause(context: &Context, reason: &str) -> Result<Exit, Failure> {
    let given = order(reason);
    let plan = change(context, |orders| orders.paused = Some(given.clone()))?;
    complain(show_paused(&plan, Some(&given)));
    outln!("paused: the patrol checks every agent but does not act, until `ostler patrol resume`");
    Ok(Exit::DONE)
}

pub fn resume(context: &Context) -> Result<Exit, Failure> {
    // Remove the file first: the patrol obeys it as long as it exists.
    let (_, plan) = plan::open(context)?;
    show_paused(&plan, None).map_err(failure)?;
    change(context, |orders| orders.paused = None)?;
    outln!("no longer paused");
    Ok(Exit::DONE)
}

/// Stores the order before it stops the agents, so that no tick restarts one in between.
pub fn stop(context: &Context, reason: &str) -> Result<Exit, Failure> {
    let (connector, plan) = plan::open(context)?;
    let mut connection = connector.open().map_err(failure)?;
    let names: Vec<String> = plan.spec.agents.iter().map(|agent| agent.name.clone()).collect();
    let looks = connection.looks(names).map_err(failure)?;
    let wanted = looks.into_iter().filter(|look| look.view.desired == Desired::Running);
    let wanted: Vec<String> = wanted.map(|look| look.view.name).collect();
    let given = order(reason);
    change(context, |orders| {
        orders.stopped = Some(given.clone());
        for name in &wanted {
            if !orders.ended.contains(name) {
                orders.ended.push(name.clone());
            }
        }
    })?;
    complain(show_stopped(&plan, Some(&given)));
    // A failure to stop one agent must not keep the others running.
    let asked: Vec<_> =
        wanted.iter().map(|name| (name, connection.ask_unit(name, UnitAsk::Stop))).collect();
    let mut wrong = None;
    for (name, asked) in asked {
        match asked.and_then(|()| connection.stopped(name)) {
            Ok(()) => outln!("{name}: stopped"),
            Err(error) => {
                errln!("{name}: {error}");
                wrong = Some(error);
            }
        }
    }
    if let Some(error) = wrong {
        return Err(failure(error));
    }
    outln!("every agent stays stopped until `ostler patrol estop --clear`");
    Ok(Exit::DONE)
}

/// Ends the emergency stop and starts the agents that it stopped.
pub fn lift(context: &Context) -> Result<Exit, Failure> {
    let (connector, plan) = plan::open(context)?;
    show_stopped(&plan, None).map_err(failure)?;
    let mut ended = Vec::new();
    change(context, |orders| {
        orders.stopped = None;
        ended = std::mem::take(&mut orders.ended);
    })?;
    let mut connection = connector.open().map_err(failure)?;
    for name in &ended {
        match connection.ask_unit(name, UnitAsk::Start) {
            Ok(()) => outln!("{name}: started"),
            Err(error) => outln!("{name}: {error}"),
        }
    }
    outln!("emergency stop ended");
    Ok(Exit::DONE)
}

pub fn busy(context: &Context, agent: Option<&str>, time_ms: u64) -> Result<Exit, Failure> {
    let (mut connection, name, before) = said_of(context, agent)?;
    if time_ms > WatchReport::BUSY_MOST_MS {
        return Err(Failure::usage("the maximum is 24h; repeat the command later"));
    }
    let until = (time_ms > 0).then(|| ostler_os::wall_ms() + time_ms);
    speak(&mut connection, &name, WatchReport { busy_until_ms: until, ..before })?;
    match until {
        Some(_) => outln!("{name}: busy for {}", ostler_sys::short_duration(time_ms)),
        None => outln!("{name}: no longer busy"),
    }
    Ok(Exit::DONE)
}

pub fn said(context: &Context, arguments: &SayArguments) -> Result<Exit, Failure> {
    let (mut connection, name, before) = said_of(context, arguments.agent.as_deref())?;
    let state = match arguments.state {
        SaidState::Stuck => Some(DeclaredState::Stuck),
        SaidState::AwaitingGate => Some(DeclaredState::AwaitingGate),
        SaidState::Clear => None,
    };
    let declared = state.map(|state| Declared {
        state,
        reason: arguments.reason.clone(),
        at_ms: ostler_os::wall_ms(),
    });
    speak(&mut connection, &name, WatchReport { declared, ..before })?;
    match arguments.state {
        SaidState::Stuck => outln!("{name}: stuck"),
        SaidState::AwaitingGate => outln!("{name}: waiting for an approval"),
        SaidState::Clear => outln!("{name}: neither stuck nor waiting for an approval"),
    }
    Ok(Exit::DONE)
}

pub fn spawn(context: &Context, agent: &str, message: &str) -> Result<Exit, Failure> {
    let (_, plan) = plan::open(context)?;
    let name = plan.agent(agent).map_err(failure)?.name.clone();
    let spawn = PendingSpawn {
        agent: name.clone(),
        message: message.to_owned(),
        asked_at_ms: ostler_os::wall_ms(),
    };
    change(context, |orders| {
        orders.spawns.retain(|other| other.agent != name);
        orders.spawns.push(spawn.clone());
    })?;
    outln!("{name}: starts at the next tick (to start it now: ostler patrol tick)");
    Ok(Exit::DONE)
}

pub fn clear(context: &Context, agent: &str) -> Result<Exit, Failure> {
    let (connector, plan) = plan::open(context)?;
    let name = plan.agent(agent).map_err(failure)?.name.clone();
    ostler_patrol::forget(&connector, &plan, &name).map_err(failure)?;
    outln!("{name}: crash loop and delays are reset");
    Ok(Exit::DONE)
}

fn order(reason: &str) -> Order {
    let by = std::env::var("OSTLER_AGENT").or_else(|_| std::env::var("USER"));
    Order {
        by: by.unwrap_or_else(|_| format!("uid {}", ostler_os::user_id())),
        reason: reason.to_owned(),
        at_ms: ostler_os::wall_ms(),
        is_manual: true,
    }
}

fn said_of(
    context: &Context,
    agent: Option<&str>,
) -> Result<(Connection, String, WatchReport), Failure> {
    let own = std::env::var("OSTLER_AGENT").ok().filter(|name| !name.is_empty());
    let agent = agent.map(str::to_owned).or(own).ok_or_else(|| {
        Failure::usage(
            "the agent is unknown; name it with --as, or run this inside an agent ($OSTLER_AGENT)",
        )
    })?;
    let (connector, plan) = plan::open(context)?;
    let name = plan.agent(&agent).map_err(failure)?.name.clone();
    let mut connection = connector.open().map_err(failure)?;
    let before = connection.memory().map_err(failure)?.said.remove(&name).unwrap_or_default();
    Ok((connection, name, before))
}

fn speak(connection: &mut Connection, name: &str, said: WatchReport) -> Result<(), Failure> {
    let call = patrol::Say { agent: name.to_owned(), said };
    connection.call(&call).map(|_| ()).map_err(failure)
}

/// Changes the orders by compare-and-swap: retries if another process changed them in between.
fn change(context: &Context, mut with: impl FnMut(&mut PatrolOrders)) -> Result<Plan, Failure> {
    let (connector, plan) = plan::open(context)?;
    let mut connection = connector.open().map_err(failure)?;
    loop {
        let seen = connection.memory().map_err(failure)?.orders;
        let mut now = seen.clone();
        with(&mut now);
        match connection.call(&patrol::Order { seen, now }) {
            Ok(_) => return Ok(plan),
            Err(PatrolError::Client(error)) if is_conflict(&error) => {}
            Err(error) => return Err(failure(error)),
        }
    }
}

/// A failed write of the file is only a warning: the order is valid without it, the file is for other tools.
fn complain(shown: Result<(), PatrolError>) {
    if let Err(error) = shown {
        errln!(
            "the order is valid, but its file for other tools was not written: {}",
            failure(error).description()
        );
    }
}

fn is_conflict(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused(refusal) if refusal.code == ErrorCode::Conflict)
}
