//! Finds and reads `ostler.toml` or an app's manifest.

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

/// Finds the file: the named one, else the one in this or the nearest parent directory, else the user's own. Its
/// commands run as this user. So the file, and every directory between it and the current one, must belong to this
/// user, to root, or to the owner that the caller named, and must not be writable by every user.
pub fn find(named: Option<&Path>, owner: Option<&str>) -> Result<PathBuf, Failure> {
    if let Some(path) = named {
        let file = match path.is_dir() {
            false => path.to_owned(),
            // In an app's directory the manifest is enough.
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
    // Any file type counts: a pipe is refused when it is read, instead of being skipped for another file.
    let found =
        upward.chain(own).find(|path| path.symlink_metadata().is_ok_and(|found| !found.is_dir()));
    let found = found.ok_or_else(|| {
        Failure::usage(format!(
            "no {NAME} found in {} or its parent directories; name a file with -f, or create one:\n\n  \
             [units.bot]\n  command = [\"node\", \"bot.js\"]\n",
            here.display()
        ))
    })?;
    let from = if here.starts_with(found.parent().unwrap_or(&found)) { &here } else { &found };
    trust(&found, from, owner)?;
    Ok(found)
}

/// Checks the owner and mode of the file and of the directories from `from` up to it. A missing file is reported when
/// it is read.
fn trust(file: &Path, from: &Path, owner: Option<&str>) -> Result<(), Failure> {
    let user = ostler_os::user_id();
    let accepted =
        match owner {
            None => None,
            Some(name) => Some(ostler_os::user_named(name).ok_or_else(|| {
                Failure::usage(format!("--owner {name}: this user does not exist"))
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
            let owner = ostler_os::name_of_user(uid);
            let (description, user) = (path.display(), ostler_os::name_of_user(user));
            return Err(Failure::failed(anyhow::anyhow!(
                "{description} belongs to {owner} (uid {uid}), but the commands in {NAME} would run as {user}; it was not read. \
                 If you trust the file, name it and its owner: -f {} --owner {owner}",
                file.display(),
            )));
        }
        if let Ok(Some(mode)) = ostler_os::mode_open_to_all(path) {
            return Err(Failure::failed(anyhow::anyhow!(
                "every user can write to {path} (mode {mode:04o}), but the commands in {NAME} would run as {user}; it was \
                 not read. Check its content, then run `chmod o-w {path}`",
                path = path.display(),
                user = ostler_os::name_of_user(user),
            )));
        }
    }
    Ok(())
}

/// Reads the file and prints every problem. Any problem is a usage error.
pub fn read(path: &Path) -> Result<Config, Failure> {
    let config = attempt(path)?.map_err(|problems| refused(path, &problems))?;
    warn(&config.warnings);
    Ok(config)
}

/// Prints the warnings: valid settings that are probably mistakes.
pub fn warn(warnings: &[Problem]) {
    for warning in warnings {
        errln!("warning: {warning}\n");
    }
}

/// Reads the file, and returns its problems without printing them.
pub fn attempt(path: &Path) -> Result<Result<Config, Vec<Problem>>, Failure> {
    Ok(text(path)?.and_then(|text| loaded(path, &text)))
}

/// Parses the file. A unit may name a pool of another file; then the pools of the running daemon are accepted too.
pub fn loaded(path: &Path, text: &str) -> Result<Config, Vec<Problem>> {
    let around = circumstances();
    let config = load(path, text, &around)?;
    let is_own = |name: &String| config.pools.iter().any(|pool| pool.name == *name);
    if config.units.iter().filter_map(|unit| unit.pool.as_ref()).all(is_own) {
        return Ok(config);
    }
    load(path, text, &ReadContext { pools: Some(pools_of_others(path)), ..around })
}

/// The pools that other files declared to the running daemon. Starts no daemon.
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
        (true, true) => format!("in {} and the files it names", path.display()),
        (false, true) => format!("in the files that {} names", path.display()),
    };
    Failure {
        exit: Exit::USAGE,
        cause: anyhow::anyhow!("{description} {place}; nothing was changed"),
    }
}

/// The largest accepted file.
const FILE_MOST: u64 = 4 << 20;

/// The text of the file, or the position where it is not UTF-8.
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
