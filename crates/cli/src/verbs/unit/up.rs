use super::file;
use super::follow::{Foreground, catch_signals, follow};
use super::look::look;
use super::wait::await_units;
use crate::args::{DownArguments, ExitOn, ReloadUnitsArguments, UpArguments};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::{errln, outln};
use crate::render::unit_line;
use crate::saved_settings;
use crate::verbs::stop::describe_survivor;
use crate::verbs::upgrade;
use ostler_client::{Client, ClientError};
use ostler_config::{Config, Selection, SupervisorSettings};
use ostler_model::{Change, ChangeKind, Depth, Extinct, Order, PatrolSpec, TmuxOwner, UnitSpec};
use ostler_ops::patrol::Load;
use ostler_ops::runs::Wait;
use ostler_ops::units::{AwaitUntil, Declare, Stop};
use ostler_ops::wire::ErrorCode;
use std::collections::BTreeMap;
use std::path::Path;

/// Makes the daemon match the file: starts new and stopped units, restarts changed ones, and removes those no longer in
/// the file.
pub fn up(context: &Context, arguments: &UpArguments) -> Result<Exit, Failure> {
    let path = file::find(arguments.file.as_deref(), arguments.owner.as_deref())?;
    report_file(&path, arguments.json);
    let config = with_deacons_place(&path, file::read(&path)?)?;
    let Selection { units, others } =
        config.select(&arguments.names, &arguments.profile).map_err(Failure::usage)?;
    // Before any thread is started, so that every thread leaves the signals to this one.
    let signals = arguments.follow.then(catch_signals).transpose()?;
    start_servers(&units)?;
    let since_ms = ostler_os::wall_ms();
    let mut client = connect_as_configured(context, &config.supervisor)?;
    let stopped = match &config.patrol {
        Some(patrol) => town_stop(&mut client, &patrol.root)?,
        None => None,
    };
    let plan = declare(
        &mut client,
        Declare {
            units,
            pools: config.pools,
            file: Some(path.display().to_string()),
            keep: others,
            gone: Vec::new(),
            start: stopped.is_none(),
            dry_run: false,
        },
    )?;
    if let (Some(order), Some(patrol)) = (stopped, &config.patrol) {
        return stay_stopped(&mut client, &order, patrol, &plan, arguments.json);
    }
    if let Some(signals) = signals {
        print_plan(&plan, false)?;
        return follow(context, foreground(&plan, arguments.exit_on, since_ms), signals);
    }
    let all = plan.iter().map(|change| change.unit.clone()).collect();
    finish(context, &mut client, &plan, all, arguments.no_wait, arguments.json)
}

/// Everything of the plan is shown; what this command started, it stops.
fn foreground(plan: &[Change], exit_on: ExitOn, since_ms: u64) -> Foreground {
    let units = |is_meant: fn(ChangeKind) -> bool| {
        let meant = plan.iter().filter(|change| is_meant(change.kind));
        meant.map(|change| change.unit.clone()).collect()
    };
    Foreground {
        shown: units(|kind| kind != ChangeKind::Remove),
        started: units(|kind| match kind {
            ChangeKind::Add | ChangeKind::Start | ChangeKind::Restart => true,
            ChangeKind::Keep | ChangeKind::Update | ChangeKind::Remove => false,
        }),
        exit_on,
        since_ms,
    }
}

/// Gas Town's deacon runs in its own directory, which exists at the latest after its first heartbeat. It is created
/// now; otherwise the deacon's declaration would change at the next `up`, which would restart it.
fn with_deacons_place(path: &Path, config: Config) -> Result<Config, Failure> {
    let watched = config.patrol.iter().flat_map(|patrol| {
        let root = Path::new(&patrol.root);
        patrol.agents.iter().map(move |agent| root.join(&agent.name))
    });
    let place = watched.into_iter().find(|place| place.ends_with("deacon"));
    match place.filter(|place| !place.exists()) {
        Some(place) if std::fs::create_dir(&place).is_ok() => file::read(path),
        Some(_) | None => Ok(config),
    }
}

/// Prints which file is used, because it may come from a distant parent directory. With JSON output, it goes to
/// standard error.
fn report_file(path: &Path, json: bool) {
    if json {
        errln!("using {}", path.display());
    } else {
        outln!("using {}", path.display());
    }
}

/// The operator's order that stops every agent of this root, if there is one.
fn town_stop(client: &mut Client, root: &str) -> Result<Option<Order>, Failure> {
    let memory = client.call(&Load {})?;
    Ok(ostler_patrol::orders_in_force(root, &memory.orders).stopped)
}

/// Applies the file while the agents are stopped by order: stopped units stay stopped, and so do new agents.
fn stay_stopped(
    client: &mut Client,
    order: &Order,
    patrol: &PatrolSpec,
    plan: &[Change],
    json: bool,
) -> Result<Exit, Failure> {
    let is_watched = |name: &str| patrol.agents.iter().any(|agent| agent.name == name);
    let new = plan.iter().filter(|change| change.kind == ChangeKind::Add);
    let names: Vec<String> =
        new.map(|change| change.unit.clone()).filter(|name| is_watched(name)).collect();
    if !names.is_empty() {
        client.call(&Stop { names })?;
    }
    print_plan(plan, json)?;
    errln!(
        "all agents are stopped by order of {} ({}); stopped units were not started; end the order with `ostler patrol estop --clear`",
        order.by,
        order.reason
    );
    Ok(Exit::FAILED)
}

/// Starts the user's own tmux servers from this process. A server started by a run would end with the run.
fn start_servers(units: &[UnitSpec]) -> Result<(), Failure> {
    let wanted: BTreeMap<&str, &str> = units
        .iter()
        .filter_map(|unit| unit.tmux.as_deref())
        .filter(|tmux| tmux.server == TmuxOwner::Other)
        .filter_map(|tmux| Some((tmux.socket.as_str(), tmux.program.as_deref()?)))
        .collect();
    for (socket, program) in wanted {
        let server = ostler_tmux::Server::at(socket).with_program(program);
        server.start().map_err(Failure::failed)?;
    }
    Ok(())
}

/// Applies the changes of the file, and nothing else: stopped units stay stopped.
pub fn reload(context: &Context, arguments: &ReloadUnitsArguments) -> Result<Exit, Failure> {
    let path = file::find(arguments.file.as_deref(), arguments.owner.as_deref())?;
    report_file(&path, arguments.json);
    let config = file::read(&path)?;
    let Selection { units, others } =
        config.select(&arguments.names, &arguments.profile).map_err(Failure::usage)?;
    let mut client = if arguments.dry_run {
        context.connect()?
    } else {
        connect_as_configured(context, &config.supervisor)?
    };
    let plan = declare(
        &mut client,
        Declare {
            units,
            pools: config.pools,
            file: Some(path.display().to_string()),
            keep: others,
            gone: Vec::new(),
            start: false,
            dry_run: arguments.dry_run,
        },
    )?;
    if arguments.dry_run {
        return print_plan(&plan, arguments.json);
    }
    let touched = plan
        .iter()
        .filter(|change| change.kind != ChangeKind::Keep)
        .map(|change| change.unit.clone())
        .collect();
    finish(context, &mut client, &plan, touched, arguments.no_wait, arguments.json)
}

/// Stops and removes every unit of the file, or the named units; dependents first.
pub fn down(context: &Context, arguments: &DownArguments) -> Result<Exit, Failure> {
    let mut client = context.connect_running()?;
    let file = if arguments.names.is_empty() {
        Some(
            file::find(arguments.file.as_deref(), arguments.owner.as_deref())?
                .display()
                .to_string(),
        )
    } else {
        None
    };
    let call = |dry_run| Declare {
        units: Vec::new(),
        pools: Vec::new(),
        file: file.clone(),
        keep: Vec::new(),
        gone: arguments.names.clone(),
        start: false,
        dry_run,
    };
    let plan = declare(&mut client, call(true))?;
    let names: Vec<String> = plan.iter().map(|change| change.unit.clone()).collect();
    let before =
        if names.is_empty() { Vec::new() } else { look(&mut client, names.clone(), Depth::None)? };
    let replaced = client.replaced();
    match client.call(&call(false)) {
        Ok(_) => {}
        // The previous supervisor had already removed the units.
        Err(ClientError::Refused(refusal))
            if refusal.code == ErrorCode::NotFound && client.replaced() > replaced => {}
        Err(error) => return Err(error.into()),
    }
    await_units(context, &mut client, names, AwaitUntil::Stopped)?;
    // A successor that no longer knows the units ends their runs too.
    let mut survived = Vec::new();
    for run in before.iter().filter_map(|look| look.view.run_id) {
        match client.call(&Wait::of(run)) {
            Ok(result) if result.extinct == Extinct::No => {
                survived.push(describe_survivor(&result))
            }
            Ok(_) | Err(ClientError::Refused(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let exit = print_plan(&plan, arguments.json)?;
    for line in &survived {
        errln!("ostler: {line}");
    }
    Ok(if survived.is_empty() { exit } else { Exit::FAILED })
}

/// Connects to a supervisor that uses the settings of the file; restarts it if they changed.
fn connect_as_configured(
    context: &Context,
    settings: &SupervisorSettings,
) -> Result<Client, Failure> {
    let client = context.connect()?;
    if !saved_settings::keep(context.home.path(), settings)? {
        return Ok(client);
    }
    drop(client);
    upgrade::take_up_settings(context)?;
    context.connect()
}

pub fn declare(client: &mut Client, call: Declare) -> Result<Vec<Change>, Failure> {
    let replaced = client.replaced();
    let plan = client.call(&call)?;
    if client.replaced() > replaced {
        errln!(
            "ostler: the supervisor was replaced meanwhile; changes made before that are shown as kept"
        );
    }
    Ok(plan)
}

fn print_plan(plan: &[Change], json: bool) -> Result<Exit, Failure> {
    if json {
        outln!("{}", serde_json::to_string(plan)?);
        return Ok(Exit::DONE);
    }
    for change in plan {
        let word = match change.kind {
            ChangeKind::Add => "+ add",
            ChangeKind::Remove => "- remove",
            ChangeKind::Restart => "~ restart",
            ChangeKind::Update => "~ update",
            ChangeKind::Start => "+ start",
            ChangeKind::Keep => "= keep",
        };
        outln!("{word:<10} {}", change.unit);
    }
    Ok(Exit::DONE)
}

/// Waits until the changes are applied, and prints the result. A removed unit is done when none of its processes is
/// left.
fn finish(
    context: &Context,
    client: &mut Client,
    plan: &[Change],
    names: Vec<String>,
    no_wait: bool,
    json: bool,
) -> Result<Exit, Failure> {
    if no_wait {
        return print_plan(plan, json);
    }
    let views = await_units(context, client, names, AwaitUntil::Settled)?;
    if json {
        outln!("{}", serde_json::to_string(&views)?);
    } else {
        print_plan(plan, false)?;
        for view in &views {
            outln!("{}", unit_line(view));
        }
        let removed = plan.iter().filter(|change| change.kind == ChangeKind::Remove);
        for change in removed.filter(|gone| !views.iter().any(|view| view.name == gone.unit)) {
            outln!("{}: removed", change.unit);
        }
    }
    let is_well = views.iter().all(|view| view.state.is_well());
    Ok(if is_well { Exit::DONE } else { Exit::FAILED })
}
