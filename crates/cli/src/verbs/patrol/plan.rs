//! What is on patrol: by the file of which the daemon has its unit.

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::errln;
use crate::verbs::unit::file;
use ostler_ops::units::List;
use ostler_patrol::{Connector, Plan};
use std::path::{Path, PathBuf};

const UNIT: &str = "patrol";

/// The way in, and what the daemon's file says now.
pub fn open(context: &Context) -> Result<(Connector, Plan), Failure> {
    let path = declared_in(context)?;
    let Read { plan, wrong } = read(context, &path)?;
    if let Some(wrong) = wrong {
        errln!("{wrong}");
    }
    Ok((door(context), plan))
}

pub fn door(context: &Context) -> Connector {
    let context = context.clone();
    Connector::new(move || context.connect_patiently())
}

fn declared_in(context: &Context) -> Result<PathBuf, Failure> {
    let none = || Failure {
        exit: Exit::NO_SUCH,
        cause: anyhow::anyhow!(
            "no patrol is declared: write [patrol] and [patrol.watch.NAME] into ostler.toml, then call `ostler up`"
        ),
    };
    let views = context.connect_running()?.call(&List {})?;
    let view = views.into_iter().find(|view| view.name == UNIT).ok_or_else(none)?;
    view.file.map(PathBuf::from).ok_or_else(none)
}

/// What the file says; or what it said when it could last be read, and what is wrong with it now.
pub struct Read {
    pub plan: Plan,
    pub wrong: Option<String>,
}

/// A slip in the file is no reason to leave the agents alone, nor to refuse to stop them.
pub fn read(context: &Context, path: &Path) -> Result<Read, Failure> {
    let home = context.home.path();
    let instance = std::fs::read_to_string(home.join("instance"))?.trim().to_owned();
    let problems = match file::attempt(path) {
        Ok(Ok(config)) => {
            let spec = config.patrol.ok_or_else(|| {
                let description =
                    format!("{} declares no [patrol] any more; call `ostler up`", path.display());
                Failure::failed(anyhow::anyhow!(description))
            })?;
            let plan = Plan::new(spec, &config.units, instance, home.to_owned());
            plan.keep();
            return Ok(Read { plan, wrong: None });
        }
        Ok(Err(problems)) => problems,
        Err(failure) => {
            let Some(plan) = Plan::kept(home, instance) else { return Err(failure) };
            let wrong = format!("{}: what it said before counts", failure.description());
            return Ok(Read { plan, wrong: Some(wrong) });
        }
    };
    let Some(plan) = Plan::kept(home, instance) else {
        return Err(file::refused(path, &problems));
    };
    let first = problems.first().map(ToString::to_string).unwrap_or_default();
    let wrong = format!("{first}\n{} is wrong: what it said before counts", path.display());
    Ok(Read { plan, wrong: Some(wrong) })
}
