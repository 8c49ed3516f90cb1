mod agents;
mod answer;
mod attach;
mod boot;
mod cancel;
mod doctor;
mod events;
mod follow;
mod init;
mod logs;
mod mail;
mod metrics;
mod nudge;
mod patrol;
mod queue;
mod reconnecting_view;
mod report;
mod restart;
mod run;
mod runs;
mod screen;
mod session;
mod shell;
mod start;
mod status;
mod stop;
#[cfg(feature = "http")]
mod token;
#[cfg(feature = "top")]
mod top;
mod unit;
mod upgrade;
mod wait;
mod watch;
mod why;
mod write;

pub use init::init;

use crate::args::{Arguments, LazyArgs, RestartArguments, StartArguments, Verb};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::supervisor::Purpose;
use ostler_client::UnitAsk;

pub fn carry_out(arguments: Arguments) -> Result<Exit, Failure> {
    match arguments.verb {
        Verb::Completions { shell } => {
            shell::completions(shell);
            return Ok(Exit::DONE);
        }
        Verb::Supervisor { then_stop } => {
            ostler_os::ignore_limit_signals();
            let purpose = if then_stop { Purpose::EndAll } else { Purpose::Serve };
            return crate::supervisor::supervise(purpose);
        }
        Verb::Guardian { home } => {
            ostler_os::ignore_limit_signals();
            return Ok(Exit(ostler_guardian::guard(&home)));
        }
        #[cfg(feature = "containers")]
        Verb::Shim { serve: Some(socket), .. } => {
            return Ok(Exit(ostler_container::serve(&socket) as u8));
        }
        #[cfg(feature = "containers")]
        Verb::Shim { conmon: Some(program), command, .. } => {
            return Ok(Exit(ostler_container::conmon(&program, &command) as u8));
        }
        Verb::Shim { left: true, .. } => return Ok(left_container()),
        Verb::Shim { sweep, command, .. } => return Ok(shim(sweep, command)),
        Verb::Init(arguments) => return Ok(init(&arguments.command)),
        Verb::Sweep => return Ok(init::sweep()),
        Verb::Man { folder } => return shell::man(&folder),
        Verb::Check(arguments) => return unit::check(&arguments),
        Verb::Import(arguments) => return unit::import(&arguments),
        _ => {}
    }
    let context = match Context::new(arguments.no_start) {
        Err(_) if matches!(arguments.verb, Verb::Complete { .. }) => return Ok(Exit::DONE),
        context => context?,
    };
    match arguments.verb {
        Verb::Run(run) => run::run(&context, *run.0).map_err(Failure::while_running),
        Verb::Runs(runs) => runs::runs(&context, &runs),
        Verb::Wait(wait) => wait::wait(&context, &wait),
        Verb::Cancel(cancel) => cancel::cancel(&context, &cancel),
        Verb::Write(write) => write::write(&context, &write),
        Verb::Attach(attach) => attach::attach(&context, &attach),
        Verb::Agents(arguments) => agents::agents(&context, arguments.0),
        Verb::Answer(arguments) => answer::answer(&context, &arguments),
        Verb::Report(arguments) => report::report(&context, arguments.0),
        Verb::Screen(arguments) => screen::screen(&context, &arguments),
        Verb::Logs(logs) => logs::logs(&context, &logs),
        Verb::Events(events) => events::events(&context, &events),
        Verb::Why(why) => why::why(&context, &why),
        Verb::Crashes(arguments) => unit::crashes(&context, &arguments),
        Verb::Metrics(metrics) => metrics::metrics(&context, &metrics),
        Verb::Doctor(doctor) => doctor::doctor(&context, &doctor),
        Verb::Watch(arguments) => {
            watch::watch(&context, *arguments.0).map_err(Failure::while_running)
        }
        Verb::Nudge(arguments) => nudge::nudge(&context, arguments.0),
        Verb::Mail(arguments) => mail::mail(&context, arguments.0.verb),
        Verb::Handoff(arguments) => mail::handoff(&context, arguments.0),
        Verb::Patrol(arguments) => patrol::patrol(&context, &arguments),
        Verb::Up(arguments) => unit::up(&context, &arguments),
        Verb::Down(arguments) => unit::down(&context, &arguments),
        #[cfg(feature = "top")]
        Verb::Top => top::top(&context),
        Verb::Ls(arguments) => unit::list(&context, &arguments),
        Verb::Start(LazyArgs(StartArguments {
            name: Some(name), no_wait, json, command, ..
        })) => unit::declare_one(&context, &name, &command, no_wait, json),
        Verb::Start(start) if start.names.is_empty() => start::start(&context, start.json),
        Verb::Start(start) => {
            unit::asked(&context, start.0.names, UnitAsk::Start, start.0.no_wait, start.0.json)
        }
        Verb::Stop(stop) if stop.names.is_empty() => stop::stop(&context, stop.json),
        Verb::Stop(stop) => {
            unit::asked(&context, stop.0.names, UnitAsk::Stop, stop.0.no_wait, stop.0.json)
        }
        Verb::Restart(restart) if restart.names.is_empty() && !restart.all => {
            restart::restart(&context, restart.json)
        }
        Verb::Restart(LazyArgs(RestartArguments { names, all, no_wait, json })) => {
            let names = if all { vec!["*".to_owned()] } else { names };
            unit::asked(&context, names, UnitAsk::Restart, no_wait, json)
        }
        Verb::Status(status) if status.names.is_empty() => status::status(&context, status.json),
        Verb::Status(status) => unit::show(&context, &status.names, status.json),
        #[cfg(feature = "http")]
        Verb::Token(token) => token::token(&context, &token),
        Verb::Upgrade(upgrade) => upgrade::upgrade(&context, upgrade.0.path, upgrade.0.json),
        Verb::Enable(enable) => boot::enable(&context, &enable),
        Verb::Disable(disable) => boot::disable(&disable),
        Verb::Reload(reload) if reload.own => upgrade::upgrade(&context, None, reload.units.json),
        Verb::Reload(reload) => unit::reload(&context, &reload.units),
        Verb::FollowAgents { file } => unit::agents(&context, &file),
        Verb::Complete { kinds } => Ok(shell::complete(&context, &kinds)),
        Verb::Shim { .. }
        | Verb::Completions { .. }
        | Verb::Man { .. }
        | Verb::Supervisor { .. }
        | Verb::Guardian { .. }
        | Verb::Init(_)
        | Verb::Sweep
        | Verb::Check(_)
        | Verb::Import(_) => Ok(Exit::DONE),
    }
}

#[cfg(feature = "containers")]
fn left_container() -> Exit {
    Exit(ostler_container::keep_left() as u8)
}

#[cfg(not(feature = "containers"))]
fn left_container() -> Exit {
    Exit::USAGE
}

/// The environment decides whether this is the shim of tmux or of a container.
fn shim(sweep: bool, command: Vec<String>) -> Exit {
    let code = match (ostler_tmux::is_meant(), sweep) {
        (true, true) => ostler_tmux::sweep(),
        (true, false) => ostler_tmux::keep(),
        #[cfg(feature = "containers")]
        (false, true) => ostler_container::sweep(),
        #[cfg(feature = "containers")]
        (false, false) if command.is_empty() => ostler_container::keep(),
        #[cfg(feature = "containers")]
        (false, false) => ostler_container::exec(command),
        #[cfg(not(feature = "containers"))]
        (false, _) => {
            drop(command);
            i32::from(Exit::USAGE.0)
        }
    };
    Exit(code as u8)
}
