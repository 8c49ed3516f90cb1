//! What is on patrol: by the file of which the daemon has its unit.

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::verbs::unit::file;
use ostler_client::ClientError;
use ostler_model::wire::{Answer, Call};
use ostler_patrol::{Door, Plan};
use std::path::{Path, PathBuf};

const UNIT: &str = "patrol";

/// The way in, and what the daemon's file says now.
pub fn open(context: &Context) -> Result<(Door, Plan), Failure> {
    let path = declared_in(context)?;
    Ok((door(context), read(context, &path)?))
}

pub fn door(context: &Context) -> Door {
    let context = context.clone();
    Door::new(move || context.connect_patiently())
}

fn declared_in(context: &Context) -> Result<PathBuf, Failure> {
    let none = || Failure {
        exit: Exit::NO_SUCH,
        cause: anyhow::anyhow!(
            "no patrol is declared: write [patrol] and [patrol.watch.NAME] into ostler.toml, then call `ostler up`"
        ),
    };
    let views = match context.connect_running()?.call(Call::UnitViews)? {
        Answer::Units(views) => views,
        _ => return Err(ClientError::Unexpected.into()),
    };
    let view = views.into_iter().find(|view| view.name == UNIT).ok_or_else(none)?;
    view.file.map(PathBuf::from).ok_or_else(none)
}

pub fn read(context: &Context, path: &Path) -> Result<Plan, Failure> {
    let config = file::read(path)?;
    let spec = config.patrol.ok_or_else(|| {
        let told = format!("{} declares no [patrol] any more; call `ostler up`", path.display());
        Failure::failed(anyhow::anyhow!(told))
    })?;
    let instance = std::fs::read_to_string(context.home.path().join("instance"))?;
    Ok(Plan::new(spec, &config.units, instance.trim().to_owned(), context.home.path().to_owned()))
}
