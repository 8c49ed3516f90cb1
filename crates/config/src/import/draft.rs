//! A unit to be written to ostler.toml.

use crate::load::is_unit_name;
use ostler_model::Limits;
use std::collections::BTreeSet;
use std::fmt::Write;

#[derive(Clone, Debug)]
pub enum CommandText {
    Words(Vec<String>),
    Shell(String),
}

#[derive(Clone, Debug)]
pub struct Draft {
    pub name: String,
    pub command: CommandText,
    pub cwd: Option<String>,
    pub env: Vec<(String, String)>,
    pub env_file: Option<String>,
    /// Keys of `restart` with their TOML values.
    pub restart: Vec<(&'static str, String)>,
    pub stop_signal: Option<String>,
    pub grace_ms: Option<u64>,
    pub ready_delay_ms: Option<u64>,
    pub schedule: Option<String>,
}

impl Draft {
    pub fn new(name: String, command: CommandText) -> Self {
        Self {
            name,
            command,
            cwd: None,
            env: Vec::new(),
            env_file: None,
            restart: Vec::new(),
            stop_signal: None,
            grace_ms: None,
            ready_delay_ms: None,
            schedule: None,
        }
    }

    /// Shortens a grace that is too long, and adds a note.
    pub fn grace(&mut self, grace_ms: u64, notes: &mut Vec<String>) {
        if grace_ms > Limits::MAX_GRACE_MS {
            let (asked, most) = (duration(grace_ms), duration(Limits::MAX_GRACE_MS));
            notes.push(format!("{}: grace is shortened from {asked} to {most}", self.name));
        }
        self.grace_ms = Some(grace_ms.min(Limits::MAX_GRACE_MS));
    }
}

/// Makes every name valid and unique.
pub fn settle_names(units: &mut [Draft], notes: &mut Vec<String>) {
    let mut taken = BTreeSet::new();
    for unit in units {
        let mut name = unit.name.clone();
        if !is_unit_name(&name) {
            let fit = |c: char| if c.is_alphanumeric() || "-_.@/".contains(c) { c } else { '-' };
            name = name.chars().map(fit).collect::<String>();
            name = name.trim_matches(|c: char| !c.is_alphanumeric()).chars().take(40).collect();
        }
        if !is_unit_name(&name) {
            name = "unit".to_owned();
        }
        let wanted = name.clone();
        let mut count = 2;
        while !taken.insert(name.clone()) {
            name = format!("{wanted}-{count}");
            count += 1;
        }
        if name != unit.name {
            notes.push(format!("{:?} is named {name:?}", unit.name));
            unit.name = name;
        }
    }
}

pub fn write(from: &str, units: &[Draft]) -> String {
    let mut text = format!("# Imported from {from} by `ostler import`.\n");
    for unit in units {
        // Writing to a String does not fail.
        let _ = write_unit(&mut text, unit);
    }
    text
}

fn write_unit(text: &mut String, unit: &Draft) -> std::fmt::Result {
    writeln!(text, "\n[units.{}]", key(&unit.name))?;
    match &unit.command {
        CommandText::Words(words) => writeln!(text, "command = [{}]", list(words))?,
        CommandText::Shell(line) => writeln!(text, "command = {}", quoted(line))?,
    }
    if let Some(cwd) = &unit.cwd {
        writeln!(text, "cwd = {}", quoted(cwd))?;
    }
    if !unit.env.is_empty() {
        let pairs: Vec<String> = unit
            .env
            .iter()
            .map(|(name, value)| format!("{} = {}", key(name), quoted(value)))
            .collect();
        writeln!(text, "env = {{ {} }}", pairs.join(", "))?;
    }
    if let Some(file) = &unit.env_file {
        writeln!(text, "env_file = {}", quoted(file))?;
    }
    if !unit.restart.is_empty() {
        let pairs: Vec<String> =
            unit.restart.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        writeln!(text, "restart = {{ {} }}", pairs.join(", "))?;
    }
    let signal = unit.stop_signal.as_ref().map(|signal| format!("signal = {}", quoted(signal)));
    let grace = unit.grace_ms.map(|grace| format!("grace = {}", quoted(&duration(grace))));
    let stop: Vec<String> = signal.into_iter().chain(grace).collect();
    if !stop.is_empty() {
        writeln!(text, "stop = {{ {} }}", stop.join(", "))?;
    }
    if let Some(delay) = unit.ready_delay_ms {
        writeln!(text, "ready = {{ delay = {} }}", quoted(&duration(delay)))?;
    }
    if let Some(schedule) = &unit.schedule {
        writeln!(text, "schedule = {{ cron = {}, overlap = \"replace\" }}", quoted(schedule))?;
    }
    Ok(())
}

fn list(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", ")
}

fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { quoted(name) }
}

/// A TOML string; in single quotes if that avoids escapes.
pub fn quoted(text: &str) -> String {
    if text.contains(['"', '\\']) && !text.contains('\'') && !text.contains(char::is_control) {
        return format!("'{text}'");
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

pub fn duration(ms: u64) -> String {
    match ms {
        0 => "0".to_owned(),
        ms if ms % 60_000 == 0 => format!("{}m", ms / 60_000),
        ms if ms % 1_000 == 0 => format!("{}s", ms / 1_000),
        ms => format!("{ms}ms"),
    }
}
