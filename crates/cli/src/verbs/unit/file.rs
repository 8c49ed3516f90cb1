//! Finding `ostler.toml`, or the manifest that is named instead of one, and reading it.

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::errln;
use ostler_config::{Config, MANIFEST_NAME, Problem, ReadContext, load, text_of};
use ostler_engine::Home;
use ostler_model::OsText;
use ostler_ops::pools;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const NAME: &str = "ostler.toml";

/// As it is named; else the nearest upward from here; else the user's own. What it says is run as this user: so it, and every
/// folder on the way to it, belongs to this user, to root, or to the owner that the caller named, and not everybody can write it.
pub fn find(named: Option<&Path>, owner: Option<&str>) -> Result<PathBuf, Failure> {
    if let Some(path) = named {
        let file = match path.is_dir() {
            false => path.to_owned(),
            // An app's folder needs no more than its manifest.
            true if !path.join(NAME).exists() && path.join(MANIFEST_NAME).exists() => {
                path.join(MANIFEST_NAME)
            }
            true => path.join(NAME),
        };
        let file = std::path::absolute(file)?;
        trust(&file, &file, owner)?;
        return Ok(file);
    }
    let here = std::env::current_dir()?;
    let upward = here.ancestors().map(|folder| folder.join(NAME));
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let own = set("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".config")))
        .map(|folder| folder.join("ostler").join(NAME));
    // Whatever lies there: a pipe is refused when it is read, and not passed over for another file.
    let found =
        upward.chain(own).find(|path| path.symlink_metadata().is_ok_and(|found| !found.is_dir()));
    let found = found.ok_or_else(|| {
        Failure::usage(format!(
            "there is no {NAME} here or above {}; name one with -f, or write one:\n\n  \
             [units.bot]\n  command = [\"node\", \"bot.js\"]\n",
            here.display()
        ))
    })?;
    let from = if here.starts_with(found.parent().unwrap_or(&found)) { &here } else { &found };
    trust(&found, from, owner)?;
    Ok(found)
}

/// The file and the folders from where we are up to it. What is not there is told when it is read.
fn trust(file: &Path, from: &Path, owner: Option<&str>) -> Result<(), Failure> {
    let user = ostler_os::user_id();
    let accepted = match owner {
        None => None,
        Some(name) => Some(ostler_os::user_named(name).ok_or_else(|| {
            Failure::usage(format!("--owner {name}: there is no such user here"))
        })?),
    };
    let above = file.parent().unwrap_or(file);
    let way = from.ancestors().filter(|folder| folder.starts_with(above) && *folder != file);
    let way = way.chain((from == file).then_some(above));
    for path in std::iter::once(file).chain(way) {
        let Ok(owners) = ostler_os::owners_of(path) else { continue };
        let foreign =
            owners.into_iter().find(|uid| ![0, user].contains(uid) && accepted != Some(*uid));
        if let Some(uid) = foreign {
            let run_of_pid = ostler_os::name_of_user(uid);
            let (description, user) = (path.display(), ostler_os::name_of_user(user));
            return Err(Failure::failed(anyhow::anyhow!(
                "{description} belongs to {run_of_pid} (uid {uid}), and what {NAME} says would be run as {user}: nothing was read. Look at it, and \
                 if you trust it, name it and its owner: -f {} --owner {run_of_pid}",
                file.display(),
            )));
        }
        if let Ok(Some(mode)) = ostler_os::mode_open_to_all(path) {
            return Err(Failure::failed(anyhow::anyhow!(
                "every user can write {path} (mode {mode:04o}), and what {NAME} says would be run as {user}: nothing was \
                 read. Look at it, then `chmod o-w {path}`",
                path = path.display(),
                user = ostler_os::name_of_user(user),
            )));
        }
    }
    Ok(())
}

/// Every problem is told; any is a usage error.
pub fn read(path: &Path) -> Result<Config, Failure> {
    let config = attempt(path)?.map_err(|problems| refused(path, &problems))?;
    warn(&config.warnings);
    Ok(config)
}

/// What is taken as it is, though it may not be what was meant.
pub fn warn(warnings: &[Problem]) {
    for warning in warnings {
        errln!("warning: {warning}\n");
    }
}

/// The same, and nobody is told yet what is wrong with it.
pub fn attempt(path: &Path) -> Result<Result<Config, Vec<Problem>>, Failure> {
    Ok(text(path)?.and_then(|text| loaded(path, &text)))
}

/// A unit may name a pool that another file declared: then a daemon that runs is asked for those it knows.
pub fn loaded(path: &Path, text: &str) -> Result<Config, Vec<Problem>> {
    let around = circumstances();
    let config = load(path, text, &around)?;
    let is_own = |name: &String| config.pools.iter().any(|pool| pool.name == *name);
    if config.units.iter().filter_map(|unit| unit.pool.as_ref()).all(is_own) {
        return Ok(config);
    }
    load(path, text, &ReadContext { pools: Some(pools_of_others(path)), ..around })
}

/// No daemon is started for it.
fn pools_of_others(path: &Path) -> Vec<String> {
    let file = path.display().to_string();
    let mut client = match Context::new(true).and_then(|context| context.connect_running()) {
        Ok(client) => client,
        Err(_) => return Vec::new(),
    };
    match client.call(&pools::List {}) {
        Ok(pools) => {
            let others = pools.into_iter().filter(|pool| pool.file.as_ref() != Some(&file));
            others.map(|pool| pool.name).collect()
        }
        Err(_) => Vec::new(),
    }
}

pub fn refused(path: &Path, problems: &[Problem]) -> Failure {
    for problem in problems {
        errln!("{problem}\n");
    }
    let description = match problems.len() {
        1 => "one problem".to_owned(),
        count => format!("{count} problems"),
    };
    let is_own = problems.iter().any(|problem| problem.file == path);
    let is_other = problems.iter().any(|problem| problem.file != path);
    let place = match (is_own, is_other) {
        (_, false) => format!("in {}", path.display()),
        (true, true) => format!("in {} and what it names", path.display()),
        (false, true) => format!("in what {} names", path.display()),
    };
    Failure {
        exit: Exit::USAGE,
        cause: anyhow::anyhow!("{description} {place}; nothing was changed"),
    }
}

/// More is no configuration.
const FILE_MOST: u64 = 4 << 20;

/// What is in the file, or where it is no text.
pub fn text(path: &Path) -> Result<Result<String, Vec<Problem>>, Failure> {
    let failed = |description: String| {
        Failure::failed(anyhow::anyhow!("{} cannot be read: {description}", path.display()))
    };
    let bytes = ostler_config::read_file(path, FILE_MOST).map_err(failed)?;
    Ok(text_of(path, bytes).map_err(|problem| vec![problem]))
}

pub fn circumstances() -> ReadContext {
    let home = Home::from_environment(|name| std::env::var_os(name)).ok();
    let podman_socket = home.as_ref().map(Home::podman_socket);
    ReadContext {
        podman: podman_socket.as_deref().and_then(unserved_podman),
        podman_socket,
        environment: std::env::vars_os()
            .filter_map(|(name, value)| {
                Some((name.into_string().ok()?, OsText(value.as_bytes().to_vec())))
            })
            .collect(),
        umask: ostler_os::umask(),
        tmux: ostler_os::find_tool("tmux").and_then(|found| std::path::absolute(found).ok()),
        tmux_socket: home.as_ref().map(Home::tmux_socket),
        user: ostler_os::user_id(),
        pools: None,
        is_following: false,
        home: home.map(|home| home.path().to_owned()),
    }
}

#[cfg(feature = "containers")]
fn unserved_podman(socket: &Path) -> Option<std::path::PathBuf> {
    ostler_container::unserved_podman(|name| std::env::var(name).ok(), socket)
}

#[cfg(not(feature = "containers"))]
fn unserved_podman(_: &Path) -> Option<std::path::PathBuf> {
    None
}
