mod attach;
mod boot;
mod cancel;
mod doctor;
mod events;
mod follow;
mod init;
mod lasting;
mod logs;
mod metrics;
mod run;
mod runs;
mod start;
mod status;
mod stop;
mod upgrade;
mod wait;
mod why;
mod write;

pub use init::init;

use crate::args::{Arguments, Verb};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::supervisor::Purpose;
use clap::CommandFactory;

pub fn carry_out(arguments: Arguments) -> Result<Exit, Failure> {
    match arguments.verb {
        Verb::Completions { shell } => {
            clap_complete::generate(
                shell,
                &mut Arguments::command(),
                "ostler",
                &mut std::io::stdout(),
            );
            return Ok(Exit::DONE);
        }
        Verb::Supervisor { then_stop } => {
            let purpose = if then_stop { Purpose::EndAll } else { Purpose::Serve };
            return crate::supervisor::supervise(purpose);
        }
        Verb::Guardian { home } => return Ok(Exit(ostler_guardian::guard(&home))),
        Verb::Init(arguments) => return Ok(init(&arguments.command)),
        Verb::Sweep => return Ok(init::sweep()),
        _ => {}
    }
    let context = Context::new(arguments.no_start)?;
    match arguments.verb {
        Verb::Run(run) => run::run(&context, *run).map_err(Failure::while_running),
        Verb::Runs(runs) => runs::runs(&context, &runs),
        Verb::Wait(wait) => wait::wait(&context, &wait),
        Verb::Cancel(cancel) => cancel::cancel(&context, &cancel),
        Verb::Write(write) => write::write(&context, &write),
        Verb::Attach(attach) => attach::attach(&context, &attach),
        Verb::Logs(logs) => logs::logs(&context, &logs),
        Verb::Events(events) => events::events(&context, &events),
        Verb::Why(why) => why::why(&context, &why),
        Verb::Metrics(metrics) => metrics::metrics(&context, &metrics),
        Verb::Doctor(doctor) => doctor::doctor(&context, &doctor),
        Verb::Stop(stop) => stop::stop(&context, &stop),
        Verb::Start(start) => start::start(&context, &start),
        Verb::Status(status) => status::status(&context, &status),
        Verb::Upgrade(upgrade) => upgrade::upgrade(&context, upgrade.path, upgrade.json),
        Verb::Enable(enable) => boot::enable(&context, &enable),
        Verb::Disable(disable) => boot::disable(&disable),
        Verb::Reload(reload) => upgrade::upgrade(&context, None, reload.json),
        Verb::Completions { .. }
        | Verb::Supervisor { .. }
        | Verb::Guardian { .. }
        | Verb::Init(_)
        | Verb::Sweep => Ok(Exit::DONE),
    }
}
