//! Resolves the tables of a file to units.

use crate::app::{ALLOWED, AppDefaults, DEFAULTS_NAME, Manifest, is_own_variable, read_defaults};
use crate::container::ENGINE_VARIABLES;
use crate::environment::{INHERITED, variables};
use crate::file::{IdleTable, UnitTable};
use crate::findings::Findings;
use crate::load::{ReadContext, is_unit_name};
use crate::located::Located;
use crate::policy::{backoff, restart, schedule};
use crate::problem::{Problem, nearest};
use crate::read::read_file;
use crate::scalars::{BackendWord, Command, SuspendWord};
use crate::tmux::is_in_tmux;
use ostler_model::{
    Backend, HookSpec, IdleSpec, Limits, OsText, Part, Preset, RestartPolicy, StopSpec, Suspend,
    UnitSpec,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const TERM: i32 = 15;
const IDLE_LEAST_MS: u64 = 1_000;

pub(crate) struct Reader<'a> {
    pub around: &'a ReadContext,
    pub findings: Findings<'a>,
    /// Errors in other files that this file names.
    pub elsewhere: Vec<Problem>,
    /// Warnings about those files.
    pub warnings: Vec<Problem>,
    pub app_defaults: AppDefaults,
    /// The unit of each app id.
    pub apps: BTreeMap<String, String>,
}

/// What kind of program a unit runs.
pub(crate) enum Kind {
    Plain,
    App(Box<Manifest>),
    /// The manifest has errors; the rest of the unit is still checked.
    Unknown,
}

impl<'a> Reader<'a> {
    pub fn new(around: &'a ReadContext, findings: Findings<'a>) -> Self {
        let app_defaults = AppDefaults::default();
        let (elsewhere, warnings) = (Vec::new(), Vec::new());
        Self { around, findings, elsewhere, warnings, app_defaults, apps: BTreeMap::new() }
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

    /// Reads the home's `config.json`, and then the one next to this file, which overrides it.
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
            let hint = "use letters, digits, and - _ . @ / inside; at most 64 characters";
            self.findings.add(span, format!("{name:?} is not a valid unit name"), hint);
        }
    }

    pub fn unit(&mut self, name: &str, table: &UnitTable, at: Range<usize>) -> Option<UnitSpec> {
        let is_container = table.backend == Some(BackendWord::Container);
        let kind = match &table.manifest {
            None => Kind::Plain,
            // The manifest of a container's agent; it is read with the container.
            Some(_) if is_container => Kind::Plain,
            Some(path) => match self.manifest(name, path, table) {
                Some(manifest) => Kind::App(Box::new(manifest)),
                None => Kind::Unknown,
            },
        };
        if !is_container {
            self.no_container(name, table, at.clone());
        }
        let container =
            if is_container { Some(self.container(name, table, at.clone())?) } else { None };
        if matches!(kind, Kind::Plain) && table.command.is_none() && !is_container {
            let hint = "add command = [\"program\", \"argument\"]";
            self.findings.add(at, format!("unit {name:?} has no command"), hint);
            return None;
        }
        let mut spec = self.built(name, table, &kind);
        if let Some(container) = container {
            self.contained(table, container, &mut spec);
        }
        if is_in_tmux(table) {
            self.pane_program(table, &mut spec);
        } else {
            self.no_session(table);
        }
        Some(spec)
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
                Some(BackendWord::Container) => Backend::Container,
                Some(BackendWord::Tmux) => Backend::Tmux,
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
            container: None,
            tmux: None,
            pool: table.pool.as_ref().map(|pool| pool.0.clone()),
            idle: table.idle.as_ref().and_then(|idle| self.idle(idle, table)),
            resume: table.resume.as_ref().map(|resume| self.resume(resume)),
            heartbeat: self.heartbeat(table.heartbeat.as_ref(), base.map(|base| base.heartbeat)),
            limits: Limits {
                timeout_ms: table.timeout.and_then(|limit| off(limit.0)),
                no_output_timeout_ms: table.no_output_timeout.and_then(|limit| off(limit.0)),
                grace_ms,
                stop_signal: stop.signal.map(|signal| signal.0),
            },
            agent: self.agent_named(table),
            hooks: HookSpec::default(),
            part: None,
            file: Some(self.findings.file.display().to_string()),
        }
    }

    /// An idle unit needs a terminal, and a command that continues its conversation.
    fn idle(&mut self, idle: &Located<IdleTable>, table: &UnitTable) -> Option<IdleSpec> {
        let after = &idle.after;
        if after.0 < IDLE_LEAST_MS {
            let hint = "it must be at least 1s; remove idle to keep the unit running";
            self.findings.add(after.span(), "idle.after is too short", hint);
        }
        if !matches!(table.backend, Some(BackendWord::Pty | BackendWord::Tmux)) {
            let hint = "add backend = \"pty\" or backend = \"tmux\", or remove idle";
            let description = "idle needs a unit with a terminal";
            self.findings.add(idle.span(), description, hint);
        } else if table.resume.is_none() {
            let hint = "add resume = [\"claude\", \"--resume\", \"{session}\"], or the command that continues your agent's conversation";
            let description = "idle needs resume to continue the conversation";
            self.findings.add(idle.span(), description, hint);
        }
        let suspend = match idle.suspend {
            None | Some(SuspendWord::Stop) => Suspend::Stop,
        };
        Some(IdleSpec { after_ms: after.0, suspend })
    }

    /// Only `{session}` is replaced in it.
    fn resume(&mut self, resume: &Located<Command>) -> Vec<String> {
        let argv = resume.argv();
        let braced = argv.iter().flat_map(|word| word.split('{').skip(1));
        let named: Vec<&str> =
            braced.filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).collect();
        let is_slip = |name: &&&str| nearest(name, ["session"]).is_some_and(|near| near != **name);
        if let Some(name) = named.iter().find(is_slip) {
            let description = format!("unknown placeholder {{{name}}}");
            self.findings.add(resume.span(), description, "did you mean {session}?");
        }
        argv
    }

    /// The inherited variables. An app inherits the allowed ones and those that its manifest or its unit names; any
    /// other unit inherits the default ones, or those that it names.
    fn inherited(
        &self,
        table: &UnitTable,
        manifest: Option<&Manifest>,
        env: &BTreeMap<String, String>,
    ) -> Arc<[OsText]> {
        let own = table.inherit_env.iter().flatten().map(|name| name.0.as_str());
        let is_container = table.backend == Some(BackendWord::Container);
        let engine = ENGINE_VARIABLES.iter().copied().filter(|_| is_container);
        let names: BTreeSet<&str> = match (manifest, &table.inherit_env) {
            (Some(manifest), _) => {
                let granted = manifest.capabilities.env.iter().map(String::as_str);
                let granted = granted.filter(|name| !is_own_variable(name));
                ALLOWED.iter().copied().chain(granted).chain(own).collect()
            }
            (None, Some(_)) => own.chain(engine).collect(),
            (None, None) => INHERITED.iter().copied().chain(engine).collect(),
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
            let description = format!("{} is not a folder", path.display());
            self.findings.add(
                cwd.span(),
                description,
                "create it, or correct the path; paths are relative to this file",
            );
        }
        path
    }

    fn variables(&mut self, table: &UnitTable) -> BTreeMap<String, String> {
        let folder = self.findings.file.parent().unwrap_or(Path::new("."));
        let mut env = BTreeMap::new();
        if let Some(file) = &table.env_file {
            let path = resolve(folder, &file.0);
            let trusted = self.distrust(&path).map_or(Ok(()), Err);
            let read = trusted.and_then(|()| read_file(&path, ENV_FILE_MOST)).and_then(|bytes| {
                String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
            });
            match read.and_then(|text| variables(&text)) {
                Ok(read) => env.extend(read),
                Err(error) => {
                    let description = format!("{} cannot be read: {error}", path.display());
                    self.findings.add(
                        file.span(),
                        description,
                        "the file needs lines of NAME=value; the path is relative to this file",
                    );
                }
            }
        }
        let own = table.env.iter().flatten();
        env.extend(own.map(|(name, value)| (name.0.clone(), value.0.clone())));
        env
    }
}

/// A larger file cannot be used: the arguments and environment of a process have 2 MiB together.
const ENV_FILE_MOST: u64 = 2 << 20;

/// A part of Ostler is always restarted.
pub(crate) fn of_part(part: Part, spec: UnitSpec) -> UnitSpec {
    UnitSpec { part: Some(part), restart: RestartPolicy::of_part(), ..spec }
}

pub(crate) fn resolve(folder: &Path, path: &str) -> PathBuf {
    let path = match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(path),
    };
    let whole = folder.join(path);
    // Removes `.` components, and keeps `..` and symbolic links.
    whole.components().collect()
}
