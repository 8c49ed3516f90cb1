//! Finding `ostler.toml`, and reading it.

use crate::exit::{Exit, Failure};
use crate::say::tell;
use ostler_config::{Circumstances, Config, load};
use ostler_model::OsText;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const NAME: &str = "ostler.toml";

/// As it is named; else the nearest upward from here; else the user's own.
pub fn find(named: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(path) = named {
        let path = if path.is_dir() { path.join(NAME) } else { path.to_owned() };
        return Ok(std::path::absolute(path)?);
    }
    let here = std::env::current_dir()?;
    let upward = here.ancestors().map(|folder| folder.join(NAME));
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let own = set("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".config")))
        .map(|folder| folder.join("ostler").join(NAME));
    upward.chain(own).find(|path| path.is_file()).ok_or_else(|| {
        Failure::usage(format!(
            "there is no {NAME} here or above {}; name one with -f, or write one:\n\n  \
             [units.bot]\n  command = [\"node\", \"bot.js\"]\n",
            here.display()
        ))
    })
}

/// Every problem is told; any is a usage error.
pub fn read(path: &Path) -> Result<Config, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::failed(anyhow::anyhow!("{} cannot be read: {error}", path.display()))
    })?;
    load(path, &text, &circumstances()).map_err(|problems| {
        let count = problems.len();
        for problem in problems {
            tell!("{problem}\n");
        }
        let told = if count == 1 { "one problem".to_owned() } else { format!("{count} problems") };
        Failure {
            exit: Exit::USAGE,
            cause: anyhow::anyhow!("{told} in {}; nothing was changed", path.display()),
        }
    })
}

pub fn circumstances() -> Circumstances {
    Circumstances {
        environment: std::env::vars_os()
            .filter_map(|(name, value)| {
                Some((name.into_string().ok()?, OsText(value.as_bytes().to_vec())))
            })
            .collect(),
        umask: ostler_os::umask(),
    }
}
