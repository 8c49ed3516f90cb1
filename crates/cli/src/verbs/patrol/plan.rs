//! The plan of the patrol, from the ostler.toml that declares it to the daemon.

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::errln;
use crate::verbs::unit::file;
use ostler_ops::units::List;
use ostler_patrol::{Connector, Plan};
use std::path::{Path, PathBuf};

const UNIT: &str = "patrol";

/// The connection to the daemon, and the present plan in the daemon's file.
pub fn open(context: &Context) -> Result<(Connector, Plan), Failure> {
    let path = declared_in(context)?;
    let Read { plan, wrong } = read(context, &path)?;
    if let Some(wrong) = wrong {
        errln!("{wrong}");
    }
    Ok((connector(context), plan))
}

pub fn connector(context: &Context) -> Connector {
    let context = context.clone();
    Connector::new(move || context.connect_patiently())
}

fn declared_in(context: &Context) -> Result<PathBuf, Failure> {
    let none = || Failure {
        exit: Exit::NO_SUCH,
        cause: anyhow::anyhow!(
            "no patrol is declared; add [patrol] and [patrol.watch.NAME] to ostler.toml, then run `ostler up`"
        ),
    };
    let views = context.connect_running()?.call(&List {})?;
    let view = views.into_iter().find(|view| view.name == UNIT).ok_or_else(none)?;
    view.file.map(PathBuf::from).ok_or_else(none)
}

/// The plan of the file; or the plan that was last read, and the error in the file.
pub struct Read {
    pub plan: Plan,
    pub wrong: Option<String>,
}

/// Reads the plan. With an error in the file, the patrol continues with the last valid plan, so that it still watches
/// the agents and can stop them.
pub fn read(context: &Context, path: &Path) -> Result<Read, Failure> {
    let home = context.home.path();
    let instance = std::fs::read_to_string(home.join("instance"))?.trim().to_owned();
    let problems = match file::attempt(path) {
        Ok(Ok(config)) => {
            let spec = config.patrol.ok_or_else(|| {
                let description =
                    format!("{} no longer declares [patrol]; run `ostler up`", path.display());
                Failure::failed(anyhow::anyhow!(description))
            })?;
            let plan = Plan::new(spec, &config.units, instance, home.to_owned());
            plan.keep();
            return Ok(Read { plan, wrong: None });
        }
        Ok(Err(problems)) => problems,
        Err(failure) => {
            let Some(plan) = Plan::kept(home, instance) else { return Err(failure) };
            let wrong = format!("{}; the last valid version is used", failure.description());
            return Ok(Read { plan, wrong: Some(wrong) });
        }
    };
    let Some(plan) = Plan::kept(home, instance) else {
        return Err(file::refused(path, &problems));
    };
    let first = problems.first().map(ToString::to_string).unwrap_or_default();
    let wrong = format!("{first}\n{} is invalid; the last valid version is used", path.display());
    Ok(Read { plan, wrong: Some(wrong) })
}
