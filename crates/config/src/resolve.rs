//! From the file's words to units.

use crate::either;
use crate::environment::{INHERITED, variables};
use crate::file::{ConfigFile, HealthTable, HookTable, ReadyTable, UnitTable};
use crate::findings::Findings;
use crate::order::waves;
use crate::parse::parse;
use crate::policy::{backoff, restart, schedule};
use crate::problem::{Problem, named, nearest};
use crate::words::BackendWord;
use ostler_model::{
    Backend, Check, DeadmanSpec, HealthSpec, HookSpec, HookTarget, Limits, OsText, Preset,
    ReadySpec, Resources, RestartPolicy, StopSpec, UnitSpec,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What the file does not say: who reads it, and where.
#[derive(Clone, Debug, Default)]
pub struct Circumstances {
    /// The caller's environment.
    pub environment: Vec<(String, OsText)>,
    pub umask: u32,
}

/// A file that is right.
#[derive(Clone, Debug)]
pub struct Config {
    pub units: Vec<UnitSpec>,
}

const NAME_MOST: usize = 64;
const DEFAULT_READY_MS: u64 = 60_000;
const TERM: i32 = 15;

/// Reads a file's text. Every problem that can be told at once is told.
pub fn load(file: &Path, text: &str, around: &Circumstances) -> Result<Config, Vec<Problem>> {
    // Some editors begin a file with a mark of its encoding.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut findings = Findings::new(file, text);
    let mut parsed = parse(&mut findings);
    let mut reader = Reader { around, findings };
    // What a unit has no command for may be only what could not be read.
    let is_read = reader.findings.is_empty();
    let defaults = std::mem::take(&mut parsed.defaults);
    let mut units = Vec::new();
    for (name, table) in &mut parsed.units {
        reader.check_name(name, name.span());
        *table = std::mem::take(table).with_defaults(&defaults);
        if is_read || table.command.is_some() {
            units.extend(reader.unit(name, table, name.span()));
        }
    }
    reader.check_order(&parsed);
    if !reader.findings.is_empty() {
        return Err(reader.findings.problems());
    }
    let hooks = hooks(parsed.hooks);
    for unit in &mut units {
        unit.hooks = hooks.clone();
    }
    Ok(Config { units })
}

/// Every unit of the file has the same: it is kept with each.
fn hooks(table: HookTable) -> HookSpec {
    let target = |target: Option<either::HookTarget>| {
        target.map(|target| match target {
            either::HookTarget::Command(command) => HookTarget::Command(command.argv()),
            either::HookTarget::Url(table) => HookTarget::Url(table.url.0),
        })
    };
    HookSpec {
        on_crash: target(table.on_crash),
        on_breaker: target(table.on_breaker),
        on_recovery: target(table.on_recovery),
        deadman: table
            .deadman
            .map(|table| DeadmanSpec { url: table.url.0, every_ms: table.every.0 }),
    }
}

/// Whether units may be called so.
pub fn is_unit_name(name: &str) -> bool {
    name.len() <= NAME_MOST
        && name.chars().next().is_some_and(char::is_alphanumeric)
        && name.chars().all(|c| c.is_alphanumeric() || "-_.@/".contains(c))
}

struct Reader<'a> {
    around: &'a Circumstances,
    findings: Findings<'a>,
}

impl Reader<'_> {
    fn check_name(&mut self, name: &str, span: Range<usize>) {
        if !is_unit_name(name) {
            let hint = "letters, digits, and - _ . @ / inside; at most 64 of them";
            self.findings.add(span, format!("{name:?} cannot be a unit's name"), hint);
        }
    }

    fn unit(&mut self, name: &str, table: &UnitTable, at: Range<usize>) -> Option<UnitSpec> {
        let Some(command) = &table.command else {
            let hint = "add command = [\"program\", \"argument\"]";
            self.findings.add(at, format!("unit {name:?} has no command"), hint);
            return None;
        };
        let cwd = self.folder(table);
        let env = self.variables(table);
        let inherited: BTreeSet<&str> = match &table.inherit_env {
            Some(names) => names.iter().map(|name| name.0.as_str()).collect(),
            None => INHERITED.iter().copied().collect(),
        };
        let inherited = self
            .around
            .environment
            .iter()
            .filter(|(name, _)| inherited.contains(name.as_str()) && !env.contains_key(name))
            .map(|(name, value)| OsText([name.as_bytes(), b"=", value.as_bytes()].concat()))
            .collect();
        let stop = table.stop.clone().unwrap_or_default();
        let grace_ms = stop.grace.map_or(Limits::DEFAULT_GRACE_MS, |grace| grace.0);
        let off = |limit: u64| Some(limit).filter(|limit| *limit > 0);
        Some(UnitSpec {
            name: name.to_owned(),
            argv: command.argv(),
            cwd: cwd.display().to_string(),
            env,
            inherited,
            umask: self.around.umask,
            backend: match table.backend {
                None | Some(BackendWord::Pipe) => Backend::Pipe,
                Some(BackendWord::Pty) => Backend::Pty,
            },
            restart: restart(table),
            stop: StopSpec { signal: stop.signal.map_or(TERM, |signal| signal.0), grace_ms },
            ready: table.ready.as_ref().and_then(|ready| self.ready(ready, ready.span())),
            health: table.health.as_ref().and_then(|health| self.health(health, health.span())),
            liveness_backoff: table
                .liveness_backoff
                .as_ref()
                .map(|table| backoff(table, RestartPolicy::preset(Preset::Crashloop).backoff)),
            depends_on: table
                .depends_on
                .iter()
                .flatten()
                .map(|needed| (**needed).clone())
                .collect(),
            schedule: table.schedule.as_ref().map(schedule),
            resources: Resources::default(),
            app: None,
            heartbeat: None,
            limits: Limits {
                timeout_ms: table.timeout.and_then(|limit| off(limit.0)),
                no_output_timeout_ms: table.no_output_timeout.and_then(|limit| off(limit.0)),
                grace_ms,
                stop_signal: stop.signal.map(|signal| signal.0),
            },
            hooks: HookSpec::default(),
            file: Some(self.findings.file.display().to_string()),
        })
    }

    fn folder(&mut self, table: &UnitTable) -> PathBuf {
        let folder = self.findings.file.parent().unwrap_or(Path::new("."));
        let Some(cwd) = &table.cwd else { return folder.to_owned() };
        let path = resolve(folder, &cwd.0);
        if !path.is_dir() {
            let told = format!("{} is not a folder", path.display());
            self.findings.add(
                cwd.span(),
                told,
                "make it, or correct the path; paths are relative to this file",
            );
        }
        path
    }

    fn variables(&mut self, table: &UnitTable) -> BTreeMap<String, String> {
        let folder = self.findings.file.parent().unwrap_or(Path::new("."));
        let mut env = BTreeMap::new();
        if let Some(file) = &table.env_file {
            let path = resolve(folder, &file.0);
            let read = std::fs::read_to_string(&path).map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
                std::io::ErrorKind::InvalidData => "it is not text in UTF-8".to_owned(),
                _ => error.to_string(),
            });
            match read.and_then(|text| variables(&text)) {
                Ok(read) => env.extend(read),
                Err(error) => {
                    let told = format!("{} cannot be read: {error}", path.display());
                    self.findings.add(
                        file.span(),
                        told,
                        "lines of NAME=value; the path is relative to this file",
                    );
                }
            }
        }
        let own = table.env.iter().flatten();
        env.extend(own.map(|(name, value)| (name.0.clone(), value.0.clone())));
        env
    }

    fn ready(&mut self, table: &ReadyTable, at: Range<usize>) -> Option<ReadySpec> {
        let mut checks: Vec<Check> = Vec::new();
        checks.extend(table.http.clone().map(|url| Check::Http(url.0)));
        checks.extend(table.tcp.clone().map(|address| Check::Tcp(address.0)));
        checks.extend(table.exec.as_ref().map(|command| Check::Exec(command.argv())));
        checks.extend(table.line.clone().map(|pattern| Check::Line(pattern.0)));
        checks.extend(table.notify.filter(|on| *on).map(|_| Check::Notify));
        checks.extend(table.delay.map(|delay| Check::Delay(delay.0)));
        let check = self.one_of(checks, at.clone(), "http, tcp, exec, line, notify or delay")?;
        let timeout_ms = table.timeout.map_or(DEFAULT_READY_MS, |timeout| timeout.0);
        if timeout_ms == 0 {
            let told = "a timeout of 0 is over before anything can be ready";
            self.findings.add(at, told, "leave timeout out for 60s");
            return None;
        }
        Some(ReadySpec { check, timeout_ms })
    }

    fn health(&mut self, table: &HealthTable, at: Range<usize>) -> Option<HealthSpec> {
        let mut checks: Vec<Check> = Vec::new();
        checks.extend(table.http.clone().map(|url| Check::Http(url.0)));
        checks.extend(table.tcp.clone().map(|address| Check::Tcp(address.0)));
        checks.extend(table.exec.as_ref().map(|command| Check::Exec(command.argv())));
        let check = self.one_of(checks, at.clone(), "http, tcp or exec")?;
        let spec = HealthSpec {
            check,
            interval_ms: table.interval.map_or(30_000, |interval| interval.0),
            timeout_ms: table.timeout.map_or(5_000, |timeout| timeout.0),
            failures: table.failures.unwrap_or(3),
            successes: table.successes.unwrap_or(1),
            start_after_ms: table.start_after.map_or(10_000, |after| after.0),
        };
        let zero = [
            ("interval", spec.interval_ms),
            ("timeout", spec.timeout_ms),
            ("failures", spec.failures.into()),
            ("successes", spec.successes.into()),
        ];
        if let Some((key, _)) = zero.into_iter().find(|(_, value)| *value == 0) {
            let told = format!("{key} of a health check must be more than 0");
            self.findings.add(at, told, "leave out health to have none");
            return None;
        }
        Some(spec)
    }

    fn one_of(&mut self, mut checks: Vec<Check>, at: Range<usize>, words: &str) -> Option<Check> {
        if checks.len() == 1 {
            return checks.pop();
        }
        let told = match checks.len() {
            0 => "what to check is missing here".to_owned(),
            many => format!("{many} ways to check are too many"),
        };
        self.findings.add(at, told, format!("exactly one of {words}"));
        None
    }

    /// Those it depends on exist, and nobody waits for himself.
    fn check_order(&mut self, parsed: &ConfigFile) {
        let names: BTreeSet<&str> = parsed.units.keys().map(|name| name.as_str()).collect();
        let mut is_whole = true;
        for table in parsed.units.values() {
            for needed in table.depends_on.iter().flatten() {
                if names.contains(needed.as_str()) {
                    continue;
                }
                is_whole = false;
                let hint = match nearest(
                    needed,
                    names.iter().copied().filter(|_| !self.findings.is_full()),
                ) {
                    Some(word) => format!("did you mean {word:?}?"),
                    None => format!("units here: {}", named(names.iter().copied())),
                };
                let told = format!("there is no unit {:?}", needed.as_str());
                self.findings.add(needed.span(), told, hint);
            }
        }
        if !is_whole {
            return;
        }
        let needs = parsed
            .units
            .iter()
            .map(|(name, table)| {
                let needed = table.depends_on.iter().flatten();
                (name.to_string(), needed.map(|needed| needed.to_string()).collect())
            })
            .collect();
        let Err(circle) = waves(&needs) else { return };
        // The place is where the first names the second.
        let [first, second, ..] = circle.as_slice() else { return };
        let (_, table) = match parsed.units.iter().find(|(name, _)| name.as_str() == first) {
            Some(found) => found,
            None => return,
        };
        let mut named = table.depends_on.iter().flatten();
        let span = named.find(|needed| needed.as_str() == second).map_or(0..0, |at| at.span());
        if first == second {
            let told = format!("unit {first:?} depends on itself");
            self.findings.add(span, told, "take it out of its own depends_on");
            return;
        }
        let told = format!("these units wait for each other: {}", circle.join(" -> "));
        self.findings.add(span, told, "take one of them out of depends_on");
    }
}

fn resolve(folder: &Path, path: &str) -> PathBuf {
    let path = match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(path),
    };
    let whole = folder.join(path);
    // Without `.` and what is after it; links are left as they are.
    whole.components().collect()
}
