//! `ostler agents hooks`: the settings that make an agent report its state, printed or added to its configuration.

use crate::exit::{Exit, Failure};
use crate::print::outln;
use ostler_sys::{Durability, write_atomic_by};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The events of claude-code that show its state.
const CLAUDE_EVENTS: [&str; 6] =
    ["SessionStart", "UserPromptSubmit", "PermissionRequest", "Notification", "Stop", "SessionEnd"];

pub fn hooks(name: &str, install: bool) -> Result<Exit, Failure> {
    match (name, install) {
        ("claude", false) => outln!("{}", serde_json::to_string_pretty(&claude(&own_words()?))?),
        ("claude", true) => install_claude()?,
        ("codex", false) => outln!("{}", codex(&own_words()?)),
        ("codex", true) => {
            let path = folder("CODEX_HOME", ".codex")?.join("config.toml");
            let line = codex(&own_words()?);
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            if text.lines().any(|line| line.trim_start().starts_with("notify")) {
                return Err(Failure::failed(anyhow::anyhow!(
                    "{} already has a notify setting; change it by hand to\n{line}",
                    path.display()
                )));
            }
            // In TOML, a top-level key must come before the first table.
            write(&path, &format!("{line}\n{text}"))?;
            outln!("{}: notify is set", path.display());
        }
        (other, _) => {
            return Err(Failure {
                exit: Exit::NO_SUCH,
                cause: anyhow::anyhow!(
                    "no hooks are known for {other}, only for claude and codex; any program can call `ostler report` itself"
                ),
            });
        }
    }
    Ok(Exit::DONE)
}

fn own_words() -> Result<String, Failure> {
    let program = std::env::current_exe()?;
    Ok(program.display().to_string())
}

fn claude(program: &str) -> Value {
    let command = format!("{} agents hook claude", quoted(program));
    let entry = json!([{ "hooks": [{ "type": "command", "command": command, "timeout": 5 }] }]);
    let events: Map<String, Value> =
        CLAUDE_EVENTS.iter().map(|event| ((*event).to_owned(), entry.clone())).collect();
    json!({ "hooks": events })
}

fn codex(program: &str) -> String {
    format!("notify = [{program:?}, \"agents\", \"hook\", \"codex\"]")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn folder(variable: &str, below_home: &str) -> Result<PathBuf, Failure> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    set(variable)
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(set("HOME")?).join(below_home)))
        .ok_or_else(|| Failure::usage(format!("neither {variable} nor HOME is set")))
}

/// Adds Ostler's hooks. Other hooks stay; earlier hooks of Ostler are replaced.
fn install_claude() -> Result<(), Failure> {
    let path = folder("CLAUDE_CONFIG_DIR", ".claude")?.join("settings.json");
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let mut settings: Value = if text.trim().is_empty() {
        json!({})
    } else {
        serde_json::from_str(&text).map_err(|error| {
            Failure::failed(anyhow::anyhow!("{} is not JSON: {error}", path.display()))
        })?
    };
    let ours = claude(&own_words()?);
    let not_an_object =
        || Failure::failed(anyhow::anyhow!("{}: `hooks` is not an object", path.display()));
    let hooks = settings.as_object_mut().ok_or_else(not_an_object)?;
    let hooks = hooks.entry("hooks").or_insert_with(|| json!({}));
    let hooks = hooks.as_object_mut().ok_or_else(not_an_object)?;
    for event in CLAUDE_EVENTS {
        let list = hooks.entry(event).or_insert_with(|| json!([]));
        let list = list.as_array_mut().ok_or_else(not_an_object)?;
        list.retain(|entry| !entry.to_string().contains("agents hook claude"));
        list.extend(ours["hooks"][event].as_array().into_iter().flatten().cloned());
    }
    write(&path, &serde_json::to_string_pretty(&settings)?)?;
    outln!("{}: {} hooks are set", path.display(), CLAUDE_EVENTS.len());
    Ok(())
}

/// Replaces the file atomically: a reader sees the old file or the new one.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let permissions = std::fs::metadata(path).map(|about| about.permissions());
    Ok(write_atomic_by(path, 0o666, Durability::Cached, |file| {
        writeln!(file, "{}", text.trim_end())?;
        permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions))
    })?)
}
