//! Follows the list of agents that an ostler.toml names. It declares new agents; removed ones are no longer watched. It
//! runs as its own unit.

use super::file;
use super::up::declare;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::{errln, outln};
use ostler_config::{ReadContext, load};
use ostler_model::{ChangeKind, UnitSpec};
use ostler_ops::units::Declare;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// The polling interval.
const LOOK_EVERY: Duration = Duration::from_secs(1);

type Agents = BTreeMap<String, UnitSpec>;

pub fn agents(context: &Context, path: &Path) -> Result<Exit, Failure> {
    let mut known: Option<Agents> = None;
    let mut description = String::new();
    loop {
        let done = look(path).and_then(|now| {
            if known.as_ref() != Some(&now) {
                apply(context, &now).map_err(|failure| failure.cause.to_string())?;
                known = Some(now);
            }
            Ok(())
        });
        let wrong = done.err().unwrap_or_default();
        if wrong != description {
            if !wrong.is_empty() {
                errln!("{wrong}\nno change is applied until the file is valid");
            }
            description = wrong;
        }
        ostler_os::nap(LOOK_EVERY);
    }
}

fn look(path: &Path) -> Result<Agents, String> {
    let text = file::text(path).map_err(|failure| failure.cause.to_string())?;
    let around = ReadContext { is_following: true, ..file::circumstances() };
    let config = text.and_then(|text| load(path, &text, &around));
    let config = config.map_err(|problems| {
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    })?;
    let is_listed = |unit: &UnitSpec| {
        unit.container.as_ref().is_some_and(|container| container.listed.is_some())
    };
    let agents = config.units.into_iter().filter(is_listed);
    Ok(agents.map(|unit| (unit.name.clone(), unit)).collect())
}

/// Declares the listed agents. Agents that left the list are not declared as removed: the supervisor would stop them, and
/// reads the list itself.
fn apply(context: &Context, now: &Agents) -> Result<(), Failure> {
    let call =
        Declare { units: now.values().cloned().collect(), start: false, ..Declare::of_no_file() };
    let mut client = context.connect_running()?;
    for change in declare(&mut client, call)? {
        match change.kind {
            ChangeKind::Add => outln!("{}: watched", change.unit),
            ChangeKind::Remove => outln!("{}: no longer watched", change.unit),
            ChangeKind::Restart => outln!("{}: changed", change.unit),
            ChangeKind::Update | ChangeKind::Start | ChangeKind::Keep => {}
        }
    }
    Ok(())
}
