//! `enable` and `disable`: whether the daemon starts with the machine, and by whose means.

mod cron;
mod environment;
mod launchd;
mod quoting;
mod systemd;
mod tool;
mod written;

use super::status::Status;
use crate::args::{BootArguments, EnableArguments, Means};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use cron::Cron;
use launchd::Launchd;
use ostler_os::InitSystem;
use serde_json::json;
use std::path::{Path, PathBuf};
use systemd::Systemd;
use tool::failed;
use written::Change;

/// What is to be started at boot.
struct Daemon {
    /// This very executable.
    program: PathBuf,
    home: PathBuf,
    is_running: bool,
}

/// What `enable` came to.
struct Enabled {
    place: String,
    change: Change,
    /// In a person's words: what follows from it, and what is left to do.
    description: Vec<String>,
}

/// One of those who start things at boot.
trait BootManager {
    fn means(&self) -> Means;
    /// What would be written.
    fn text(&self, daemon: &Daemon) -> Result<String, Failure>;
    fn enable(&self, daemon: &Daemon) -> Result<Enabled, Failure>;
    /// Where something of ours was, if anything was, and what is left to do.
    fn disable(&self) -> Result<Option<Disabled>, Failure>;
}

struct Disabled {
    place: String,
    description: Vec<String>,
}

pub fn enable(context: &Context, arguments: &EnableArguments) -> Result<Exit, Failure> {
    let starter = choose(&arguments.boot)?;
    let mut daemon =
        Daemon { program: own_program()?, home: context.home.path().to_owned(), is_running: false };
    if arguments.print {
        outln!("{}", starter.text(&daemon)?.trim_end());
        return Ok(Exit::DONE);
    }
    daemon.is_running = Status::look(context)?.running;
    let enabled = starter.enable(&daemon)?;
    let means = starter.means().name();
    if arguments.boot.json {
        outln!(
            "{}",
            json!({
                "enabled": true,
                "with": means,
                "place": enabled.place,
                "changed": enabled.change != Change::None,
                "description": enabled.description,
            })
        );
        return Ok(Exit::DONE);
    }
    match enabled.change {
        Change::New => outln!("enabled with {means}: {}", enabled.place),
        Change::Other => outln!("enabled with {means}: {} was replaced", enabled.place),
        Change::None => outln!("already enabled with {means}: {}", enabled.place),
    }
    for line in enabled.description {
        outln!("{line}");
    }
    Ok(Exit::DONE)
}

/// The daemon that runs goes on; it is not started again at boot.
pub fn disable(arguments: &BootArguments) -> Result<Exit, Failure> {
    let starters = match arguments.with {
        None if !arguments.system => everyone()?,
        Some(_) | None => vec![choose(arguments)?],
    };
    let mut disabled = Vec::new();
    for starter in starters {
        if let Some(found) = starter.disable()? {
            disabled.push((starter.means().name(), found));
        }
    }
    if arguments.json {
        let list: Vec<_> = disabled
            .iter()
            .map(
                |(means, found)| json!({ "with": means, "place": found.place, "description": found.description }),
            )
            .collect();
        outln!("{}", json!({ "enabled": false, "disabled": list }));
        return Ok(Exit::DONE);
    }
    if disabled.is_empty() {
        outln!("was not enabled; nothing was changed");
    }
    for (means, found) in disabled {
        outln!("disabled with {means}: {}", found.place);
        for line in found.description {
            outln!("{line}");
        }
    }
    Ok(Exit::DONE)
}

/// The one that was named, or the best that this machine has.
fn choose(arguments: &BootArguments) -> Result<Box<dyn BootManager>, Failure> {
    let means = match arguments.with {
        Some(means) => means,
        None if arguments.system => Means::Systemd,
        None => available()?,
    };
    match means {
        Means::Systemd => Ok(Box::new(Systemd::new(arguments.system)?)),
        _ if arguments.system => Err(Failure::usage(
            "--system is a thing of systemd; leave it out, or use --with systemd",
        )),
        Means::Launchd => Ok(Box::new(Launchd::new()?)),
        Means::Cron => Ok(Box::new(Cron)),
    }
}

fn available() -> Result<Means, Failure> {
    let has = |tool: &str| ostler_os::find_tool(tool).is_some();
    match ostler_os::init_system() {
        Some(InitSystem::Systemd) if has("systemctl") => Ok(Means::Systemd),
        Some(InitSystem::Launchd) if has("launchctl") => Ok(Means::Launchd),
        _ if has("crontab") => Ok(Means::Cron),
        _ => Err(failed(
            "nothing here starts programs at boot: systemd does not run (or systemctl is not in PATH) and there is no \
             crontab; install cron, or let whatever starts this machine's programs call `ostler start`",
        )),
    }
}

/// Everyone who may have something of ours.
fn everyone() -> Result<Vec<Box<dyn BootManager>>, Failure> {
    let mut everyone: Vec<Box<dyn BootManager>> = vec![Box::new(Systemd::new(false)?)];
    if ostler_os::init_system() == Some(InitSystem::Launchd) {
        everyone.push(Box::new(Launchd::new()?));
    }
    if ostler_os::find_tool("crontab").is_some() {
        everyone.push(Box::new(Cron));
    }
    Ok(everyone)
}

/// Where it will be found again after a boot.
fn own_program() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe()?;
    if !program.is_file() {
        return Err(failed(format!(
            "{} is no longer there; call the new one by its own path",
            program.display()
        )));
    }
    Ok(program)
}

/// Files and crontabs that are not UTF-8 are nobody's friend.
fn utf8(path: &Path) -> Result<&str, Failure> {
    path.to_str().ok_or_else(|| {
        failed(format!("{} is not UTF-8, and cannot be written down", path.display()))
    })
}
