//! `enable` and `disable`: start of the daemon at boot by systemd, launchd or cron.

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

/// The daemon to start at boot.
struct Daemon {
    /// The executable of this command.
    program: PathBuf,
    home: PathBuf,
    is_running: bool,
}

/// The result of `enable`.
struct Enabled {
    place: String,
    change: Change,
    /// Lines for the user: the consequences, and commands to run.
    description: Vec<String>,
}

/// A system that starts the daemon at boot.
trait BootManager {
    fn means(&self) -> Means;
    /// The text to write.
    fn text(&self, daemon: &Daemon) -> Result<String, Failure>;
    fn enable(&self, daemon: &Daemon) -> Result<Enabled, Failure>;
    /// Removes Ostler's entry; `None` if there is none.
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

/// Disables the start at boot. A running daemon continues.
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
        outln!("not enabled; nothing was changed");
    }
    for (means, found) in disabled {
        outln!("disabled with {means}: {}", found.place);
        for line in found.description {
            outln!("{line}");
        }
    }
    Ok(Exit::DONE)
}

/// The named boot manager, or the best one on this machine.
fn choose(arguments: &BootArguments) -> Result<Box<dyn BootManager>, Failure> {
    let means = match arguments.with {
        Some(means) => means,
        None if arguments.system => Means::Systemd,
        None => available()?,
    };
    match means {
        Means::Systemd => Ok(Box::new(Systemd::new(arguments.system)?)),
        _ if arguments.system => Err(Failure::usage(
            "--system works only with systemd; remove it, or use --with systemd",
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
            "no supported boot system found: systemd is not running (or systemctl is not in PATH), and crontab is not \
             installed; install cron, or call `ostler start` from this machine's startup scripts",
        )),
    }
}

/// All boot managers that may have an entry of Ostler.
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

/// The path of this executable, which must exist at the next boot.
fn own_program() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe()?;
    if !program.is_file() {
        return Err(failed(format!(
            "{} no longer exists; run the new executable by its path",
            program.display()
        )));
    }
    Ok(program)
}

/// Unit files and crontabs are written as UTF-8 only.
fn utf8(path: &Path) -> Result<&str, Failure> {
    path.to_str().ok_or_else(|| {
        failed(format!(
            "{} is not UTF-8; `ostler enable` supports only UTF-8 paths",
            path.display()
        ))
    })
}
