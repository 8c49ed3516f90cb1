//! From the file's words to units.

use crate::app::{ALLOWED, AppDefaults, DEFAULTS_NAME, Manifest, is_own_variable, read_defaults};
use crate::either;
use crate::environment::{INHERITED, variables};
use crate::file::{ConfigFile, HookTable, SupervisorTable, UnitTable};
use crate::findings::Findings;
use crate::order::waves;
use crate::parse::parse;
use crate::policy::{backoff, restart, schedule};
use crate::problem::{Problem, named, nearest};
use crate::words::{AdoptWord, BackendWord, Command};
use ostler_model::{
    AdoptPolicy, Backend, DeadmanSpec, HookSpec, HookTarget, Limits, OsText, Preset, RestartPolicy,
    StopSpec, UnitSpec,
};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the file does not say: who reads it, and where.
#[derive(Clone, Debug, Default)]
pub struct Circumstances {
    /// The caller's environment.
    pub environment: Vec<(String, OsText)>,
    pub umask: u32,
    /// The daemon's home, where `config.json` may be.
    pub home: Option<PathBuf>,
}

/// A file that is right.
#[derive(Clone, Debug)]
pub struct Config {
    pub units: Vec<UnitSpec>,
    pub supervisor: SupervisorSettings,
}

/// What the file says about the daemon itself; `None` where it says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SupervisorSettings {
    /// `Some(None)` turns it off.
    pub http: Option<Option<SocketAddr>>,
    pub lease_ms: Option<u64>,
    pub adopt: Option<AdoptPolicy>,
}

const NAME_MOST: usize = 64;
const TERM: i32 = 15;

/// Reads the text of an `ostler.toml`, or of a manifest, which declares one app. Every problem that can be told at
/// once is told.
pub fn load(file: &Path, text: &str, around: &Circumstances) -> Result<Config, Vec<Problem>> {
    // Some editors begin a file with a mark of its encoding.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if file.extension().is_some_and(|end| end == "json") {
        return crate::app::load_alone(file, text, around);
    }
    let mut findings = Findings::new(file, text);
    let mut parsed = parse(&mut findings);
    let mut reader = Reader::new(around, findings);
    // What a unit has no command for may be only what could not be read.
    let is_read = reader.findings.is_empty();
    let defaults = std::mem::take(&mut parsed.defaults);
    if let Some(manifest) = &defaults.manifest {
        let hint = "write it in the app's own unit";
        reader.findings.add(manifest.span(), "every app has a manifest of its own", hint);
    }
    if parsed.units.values().any(|table| table.manifest.is_some()) {
        reader.read_app_defaults();
    }
    let mut units = Vec::new();
    for (name, table) in &mut parsed.units {
        reader.check_name(name, name.span());
        *table = std::mem::take(table).with_defaults(&defaults);
        if is_read || table.command.is_some() || table.manifest.is_some() {
            units.extend(reader.unit(name, table, name.span()));
        }
    }
    reader.check_order(&parsed);
    reader.done()?;
    let hooks = hooks(parsed.hooks);
    for unit in &mut units {
        unit.hooks = hooks.clone();
    }
    Ok(Config { units, supervisor: supervisor(&parsed.supervisor) })
}

fn supervisor(table: &SupervisorTable) -> SupervisorSettings {
    SupervisorSettings {
        http: table.http.map(|door| door.0),
        lease_ms: table.lease.map(|lease| lease.0),
        adopt: table.adopt.map(|adopt| match adopt {
            AdoptWord::Adopt => AdoptPolicy::Adopt,
            AdoptWord::Terminate => AdoptPolicy::Terminate,
        }),
    }
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
        // An app's id may be `@scope/name`.
        && name.strip_prefix('@').unwrap_or(name).chars().next().is_some_and(char::is_alphanumeric)
        && name.chars().all(|c| c.is_alphanumeric() || "-_.@/".contains(c))
}

pub(crate) struct Reader<'a> {
    pub around: &'a Circumstances,
    pub findings: Findings<'a>,
    /// What is wrong in other files that this one names.
    pub elsewhere: Vec<Problem>,
    pub app_defaults: AppDefaults,
    /// Which unit an app is, by its id.
    pub apps: BTreeMap<String, String>,
}

/// What a unit is made of.
pub(crate) enum Kind {
    Plain,
    App(Box<Manifest>),
    /// Its manifest is wrong: the rest of the unit is still looked at.
    Unknown,
}

impl<'a> Reader<'a> {
    pub fn new(around: &'a Circumstances, findings: Findings<'a>) -> Self {
        let app_defaults = AppDefaults::default();
        Self { around, findings, elsewhere: Vec::new(), app_defaults, apps: BTreeMap::new() }
    }

    pub fn done(&mut self) -> Result<(), Vec<Problem>> {
        if self.findings.is_empty() && self.elsewhere.is_empty() {
            return Ok(());
        }
        let empty = Findings::new(self.findings.file, "");
        let mut problems = std::mem::replace(&mut self.findings, empty).problems();
        for problem in std::mem::take(&mut self.elsewhere) {
            // Two units may name the same file.
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
        Err(problems)
    }

    /// What `config.json` says: the home's, and over it the one beside this file.
    pub fn read_app_defaults(&mut self) {
        let beside = self.findings.file.parent();
        let folders = self.around.home.as_deref().into_iter().chain(beside);
        let files: Vec<PathBuf> = folders.map(|folder| folder.join(DEFAULTS_NAME)).collect();
        match read_defaults(&files) {
            Ok(defaults) => self.app_defaults = defaults,
            Err(problems) => self.elsewhere.extend(problems),
        }
    }

    pub fn check_name(&mut self, name: &str, span: Range<usize>) {
        if !is_unit_name(name) {
            let hint = "letters, digits, and - _ . @ / inside; at most 64 of them";
            self.findings.add(span, format!("{name:?} cannot be a unit's name"), hint);
        }
    }

    fn unit(&mut self, name: &str, table: &UnitTable, at: Range<usize>) -> Option<UnitSpec> {
        let kind = match &table.manifest {
            None => Kind::Plain,
            Some(path) => match self.manifest(name, path, table) {
                Some(manifest) => Kind::App(Box::new(manifest)),
                None => Kind::Unknown,
            },
        };
        if matches!(kind, Kind::Plain) && table.command.is_none() {
            let hint = "add command = [\"program\", \"argument\"]";
            self.findings.add(at, format!("unit {name:?} has no command"), hint);
            return None;
        }
        Some(self.built(name, table, &kind))
    }

    pub fn built(&mut self, name: &str, table: &UnitTable, kind: &Kind) -> UnitSpec {
        let manifest = match kind {
            Kind::App(manifest) => Some(&**manifest),
            Kind::Plain | Kind::Unknown => None,
        };
        let is_app = !matches!(kind, Kind::Plain);
        let base = is_app.then_some(self.app_defaults);
        let own_argv = manifest.map(|manifest| manifest.argv.clone());
        let env = self.variables(table);
        let inherited = self.inherited(table, manifest, &env);
        let stop = table.stop.clone().unwrap_or_default();
        let usual = base.map_or(Limits::DEFAULT_GRACE_MS, |base| base.grace_ms);
        let grace_ms = stop.grace.map_or(usual, |grace| grace.0);
        let off = |limit: u64| Some(limit).filter(|limit| *limit > 0);
        let ready = table.ready.as_ref();
        let (ready, register_ms) = if is_app {
            self.app_ready(ready)
        } else {
            (ready.and_then(|ready| self.ready(ready, ready.span())), 0)
        };
        let granted = manifest.map(|manifest| manifest.capabilities.resources);
        UnitSpec {
            name: name.to_owned(),
            argv: table.command.as_ref().map(Command::argv).or(own_argv).unwrap_or_default(),
            cwd: self.folder(table, manifest).display().to_string(),
            env,
            inherited,
            umask: self.around.umask,
            backend: match table.backend {
                None | Some(BackendWord::Pipe) => Backend::Pipe,
                Some(BackendWord::Pty) => Backend::Pty,
            },
            restart: restart(table, base.map(|base| base.restart)),
            stop: StopSpec { signal: stop.signal.map_or(TERM, |signal| signal.0), grace_ms },
            ready,
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
            resources: self.resources(table.limits.as_ref(), granted.unwrap_or_default()),
            app: self.app(table, kind, register_ms).map(Arc::new),
            heartbeat: self.heartbeat(table.heartbeat.as_ref(), base.map(|base| base.heartbeat)),
            limits: Limits {
                timeout_ms: table.timeout.and_then(|limit| off(limit.0)),
                no_output_timeout_ms: table.no_output_timeout.and_then(|limit| off(limit.0)),
                grace_ms,
                stop_signal: stop.signal.map(|signal| signal.0),
            },
            hooks: HookSpec::default(),
            file: Some(self.findings.file.display().to_string()),
        }
    }

    /// What it has of whoever declares it. An app has what it is allowed, what its manifest names, and what its unit
    /// names; any other the usual, or what it names.
    fn inherited(
        &self,
        table: &UnitTable,
        manifest: Option<&Manifest>,
        env: &BTreeMap<String, String>,
    ) -> Arc<[OsText]> {
        let own = table.inherit_env.iter().flatten().map(|name| name.0.as_str());
        let names: BTreeSet<&str> = match (manifest, &table.inherit_env) {
            (Some(manifest), _) => {
                let granted = manifest.capabilities.env.iter().map(String::as_str);
                let granted = granted.filter(|name| !is_own_variable(name));
                ALLOWED.iter().copied().chain(granted).chain(own).collect()
            }
            (None, Some(_)) => own.collect(),
            (None, None) => INHERITED.iter().copied().collect(),
        };
        self.around
            .environment
            .iter()
            .filter(|(name, _)| names.contains(name.as_str()) && !env.contains_key(name))
            .map(|(name, value)| OsText([name.as_bytes(), b"=", value.as_bytes()].concat()))
            .collect()
    }

    fn folder(&mut self, table: &UnitTable, manifest: Option<&Manifest>) -> PathBuf {
        let folder = self.findings.file.parent().unwrap_or(Path::new("."));
        let Some(cwd) = &table.cwd else {
            return manifest.map_or(folder, |manifest| &manifest.folder).to_owned();
        };
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

pub(crate) fn resolve(folder: &Path, path: &str) -> PathBuf {
    let path = match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(path),
    };
    let whole = folder.join(path);
    // Without `.` and what is after it; links are left as they are.
    whole.components().collect()
}
