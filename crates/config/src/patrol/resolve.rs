//! Resolves `[patrol]` to the watched agents and their units.

use super::tables::{LadderTable, PatrolTable, TriageTable, WatchKeys, WatchTable};
use crate::either::RestartWord;
use crate::environment::INHERITED;
use crate::file::UnitTable;
use crate::located::Located;
use crate::resolve::{Kind, Reader, of_part, resolve};
use crate::scalars::{BackendWord, Command, Text, VariableName, WhenWord};
use ostler_model::{Part, PatrolPolicy, PatrolSpec, TriageSpec, UnitSpec, WatchSpec};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The unit that runs the patrol.
pub(crate) const PATROL: &str = "patrol";
const DEACON: &str = "deacon";
const DEACON_SESSION: &str = "hq-deacon";
const BOOT_SESSION: &str = "gt-boot";
const ROOT: &str = "~/gt";
const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const TICK_LEAST: u64 = 100;

/// Variables that configure tmux itself.
const TMUX_VARIABLES: [&str; 2] = ["TMUX_TMPDIR", "TERM"];

impl Reader<'_> {
    /// Returns the patrol's specification, and the unit tables of its agents.
    pub fn patrol(
        &mut self,
        table: &PatrolTable,
    ) -> (PatrolSpec, Vec<(Located<String>, UnitTable)>) {
        let folder = self.findings.file.parent().unwrap_or(Path::new("/")).to_owned();
        let keys = &table.keys;
        let named = keys.root.as_ref().map_or(ROOT, |root| &root.0);
        let mut root = resolve(&folder, named);
        if !root.is_dir() {
            let (span, what) = match &keys.root {
                Some(root) => (root.span(), "the root"),
                None => (table.at.clone(), "[patrol] has no root, and the default root"),
            };
            let description = format!("{what} {} is not a folder", root.display());
            let hint = match &keys.root {
                Some(_) => format!("create it: mkdir -p {}", root.display()),
                None => format!("add root = \"FOLDER\", or create it: mkdir -p {}", root.display()),
            };
            self.findings.add(span, description, hint);
            // Report this once, not for each agent.
            root = PathBuf::from("/");
        }
        let tick_ms = keys.tick.as_ref().map_or(3 * MINUTE, |tick| tick.0);
        if let Some(tick) = keys.tick.as_ref().filter(|tick| tick.0 < TICK_LEAST) {
            self.findings.add(tick.span(), "tick must be at least 100ms", "\"3m\" is usual");
        }
        let mut agents = Vec::new();
        let mut units = Vec::new();
        for (name, mut watch) in self.watched_agents(table) {
            if watch.unit.backend != Some(BackendWord::Pty) && watch.unit.tmux.is_none() {
                watch.unit.tmux.clone_from(&keys.tmux);
            }
            let (agent, unit) = self.watched(&name, watch, &root);
            agents.push(agent);
            units.push((name, unit));
        }
        if agents.is_empty() && table.worker.is_empty() {
            let hint = "write [patrol.watch.NAME] with a command";
            let at = keys
                .root
                .as_ref()
                .map(Located::span)
                .or_else(|| keys.tick.as_ref().map(Located::span));
            self.findings.add(at.unwrap_or(0..0), "[patrol] watches no agent", hint);
        }
        let triage = keys
            .triage
            .as_ref()
            .and_then(|triage| self.triage(triage, triage.span(), &root, &agents));
        let spec = PatrolSpec {
            root: root.display().to_string(),
            tick_ms,
            policy: keys.ladder.as_deref().map_or_else(PatrolPolicy::default, policy),
            triage,
            agents,
            overseer: keys
                .overseer
                .as_ref()
                .map_or_else(|| "overseer".to_owned(), |name| name.0.clone()),
            on_escalation: keys.on_escalation.as_ref().map(Command::argv),
        };
        (spec, units)
    }

    /// An agent is a unit, so no other unit may have its name.
    pub fn no_double(
        &mut self,
        name: &Located<String>,
        units: &BTreeMap<Located<String>, UnitTable>,
    ) {
        if units.keys().any(|other| other.as_str() == name.as_str()) {
            let description = format!("{:?} is both a unit and a watched agent", name.as_str());
            self.findings.add(name.span(), description, "rename one of them");
        }
    }

    /// The named agents, and one agent per worker and rig.
    fn watched_agents(&mut self, table: &PatrolTable) -> Vec<(Located<String>, WatchTable)> {
        let mut all: Vec<(Located<String>, WatchTable)> =
            table.watch.iter().map(|(name, watch)| (name.clone(), watch.clone())).collect();
        let rigs: Vec<&Located<Text>> = table.keys.rigs.iter().flatten().collect();
        if rigs.is_empty()
            && let Some((role, _)) = table.worker.iter().next()
        {
            let hint = "write rigs = [\"name\"] under [patrol]";
            self.findings.add(role.span(), "[patrol.worker] needs rigs, but there are none", hint);
        }
        for rig in rigs {
            for (role, worker) in &table.worker {
                let name = format!("{}-{}", rig.0, role.as_str());
                let mut watch = in_rig(worker, &rig.0);
                watch.keys.role.get_or_insert_with(|| Text(role.to_string()));
                watch.keys.rig.get_or_insert_with(|| (**rig).clone());
                watch.unit.session.get_or_insert_with(|| {
                    Located::new(role.span(), Text(format!("gt-{}-{}", rig.0, role.as_str())))
                });
                all.push((Located::new(role.span(), name), watch));
            }
        }
        all
    }

    fn watched(
        &mut self,
        name: &Located<String>,
        watch: WatchTable,
        root: &Path,
    ) -> (WatchSpec, UnitTable) {
        let WatchTable { keys, mut unit } = watch;
        if name.as_str() == PATROL {
            let hint = "the patrol itself is a unit with that name; rename the agent";
            self.findings.add(name.span(), "an agent cannot be named \"patrol\"", hint);
        }
        let decides = "the patrol decides when an agent is restarted; remove the key, or declare the agent under [units]";
        if unit.restart.is_some() || unit.preset.is_some() || unit.schedule.is_some() {
            self.findings.add(
                name.span(),
                "restart, preset and schedule are not allowed for a watched agent",
                decides,
            );
        }
        let usual = if name.as_str() == DEACON {
            DEACON_SESSION.to_owned()
        } else {
            format!("gt-{}", name.as_str())
        };
        let session =
            unit.session.get_or_insert_with(|| Located::new(name.span(), Text(usual))).0.clone();
        let (stale_ms, very_stale_ms) = self.staleness(&keys);
        // The first path is defined by Gas Town; agents write the other one.
        let beside = if name.as_str() == DEACON {
            "deacon/heartbeat.json".to_owned()
        } else {
            format!(".runtime/heartbeats/{session}.json")
        };
        let heartbeat = keys.heartbeat.as_ref().map_or(beside, |file| file.0.clone());
        let agent = WatchSpec {
            name: name.to_string(),
            role: keys.role.as_ref().map_or_else(|| name.to_string(), |role| role.0.clone()),
            rig: keys.rig.as_ref().map(|rig| rig.0.clone()),
            session,
            heartbeat: Some(resolve(root, &heartbeat).display().to_string()),
            stale_ms,
            very_stale_ms,
            work: keys.work.as_ref().map(Command::argv),
            process: keys.process.iter().flatten().map(|name| name.0.clone()).collect(),
        };
        unit.restart = Some(RestartWord::When(WhenWord::Never));
        unit.preset = None;
        match unit.backend {
            None | Some(BackendWord::Tmux) => unit.backend = Some(BackendWord::Tmux),
            Some(BackendWord::Pty) => unit.session = None,
            Some(BackendWord::Pipe | BackendWord::Container) => {
                let hint = "remove backend, or write \"pty\"";
                self.findings.add(name.span(), "a watched agent needs a terminal", hint);
                unit.backend = Some(BackendWord::Tmux);
            }
        }
        if unit.cwd.is_none() {
            let own = root.join(name.as_str());
            let cwd = if own.is_dir() { own } else { root.to_owned() };
            unit.cwd = Some(Located::new(name.span(), Text(cwd.display().to_string())));
        }
        let mut env = unit.env.take().unwrap_or_default();
        let mut add = |name: &str, value: String| {
            env.entry(VariableName(name.to_owned())).or_insert(Text(value));
        };
        add("OSTLER_AGENT", agent.name.clone());
        add("OSTLER_HEARTBEAT", agent.heartbeat.clone().unwrap_or_default());
        if let Some(home) = self.home() {
            add("OSTLER_HOME", home.display().to_string());
        }
        unit.env = Some(env);
        (agent, unit)
    }

    fn staleness(&mut self, keys: &WatchKeys) -> (u64, u64) {
        let stale_ms = keys.stale.as_ref().map_or(5 * MINUTE, |stale| stale.0);
        let usual = (15 * MINUTE).max(stale_ms.saturating_mul(3));
        let very_stale_ms = keys.very_stale.as_ref().map_or(usual, |very| very.0);
        if let Some(very) = keys.very_stale.as_ref().filter(|very| very.0 <= stale_ms) {
            let description = "very_stale must be longer than stale";
            self.findings.add(very.span(), description, "three times stale is usual: 5m and 15m");
        }
        (stale_ms, very_stale_ms)
    }

    fn triage(
        &mut self,
        table: &TriageTable,
        span: Range<usize>,
        root: &Path,
        agents: &[WatchSpec],
    ) -> Option<TriageSpec> {
        let Some(command) = &table.command else {
            let hint = "add command = [\"program\", \"argument\"], or remove [patrol.triage]";
            self.findings.add(span, "triage has no command", hint);
            return None;
        };
        let session = table.session.as_ref().map_or(BOOT_SESSION, |session| &session.0);
        if let (Some(at), Some(agent)) =
            (&table.session, agents.iter().find(|agent| agent.session == session))
        {
            let description =
                format!("triage cannot use the session of {:?}, which it judges", agent.name);
            self.findings.add(at.span(), description, format!("{BOOT_SESSION:?} is usual"));
        }
        Some(TriageSpec {
            argv: command.argv(),
            cwd: resolve(root, table.cwd.as_ref().map_or("", |cwd| &cwd.0)).display().to_string(),
            session: session.to_owned(),
            timeout_ms: table.timeout.map_or(MINUTE, |timeout| timeout.0),
            cooldown_ms: table.cooldown.map_or(2 * MINUTE, |cooldown| cooldown.0),
            daily_budget: table.daily_budget.unwrap_or(50),
        })
    }

    fn home(&self) -> Option<PathBuf> {
        let home = self.around.home.as_ref()?;
        Some(std::path::absolute(home).unwrap_or_else(|_| home.clone()))
    }

    /// The unit that runs this program as the patrol.
    pub fn patrolling(&mut self) -> UnitSpec {
        let own = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("ostler"));
        let words = [own.display().to_string(), PATROL.to_owned(), "run".to_owned()];
        let file = self.findings.file.display().to_string();
        let names = INHERITED.iter().chain(&TMUX_VARIABLES);
        let mut env = BTreeMap::new();
        if let Some(home) = self.home() {
            env.insert(VariableName("OSTLER_HOME".to_owned()), Text(home.display().to_string()));
        }
        let table = UnitTable {
            command: Some(Command::Words(words.into_iter().chain([file]).collect())),
            inherit_env: Some(names.map(|name| VariableName((*name).to_owned())).collect()),
            env: Some(env),
            ..UnitTable::default()
        };
        of_part(Part::File, self.built(PATROL, &table, &Kind::Plain))
    }
}

fn policy(table: &LadderTable) -> PatrolPolicy {
    let mut policy = PatrolPolicy::default();
    let set = |value: &mut u64, said: Option<crate::scalars::Duration>| {
        if let Some(said) = said {
            *value = said.0;
        }
    };
    set(&mut policy.grace_ms, table.grace);
    set(&mut policy.nudge_wait_ms, table.nudge);
    set(&mut policy.wake_wait_ms, table.wake);
    set(&mut policy.interrupt_wait_ms, table.interrupt);
    set(&mut policy.restart_cooldown_ms, table.restart);
    set(&mut policy.progress_ms, table.progress);
    set(&mut policy.thinking_ms, table.thinking);
    set(&mut policy.crash_loop_decay_ms, table.crash_loop_decay);
    if let Some(nudges) = table.nudges {
        policy.nudges_most = nudges.max(1);
    }
    if let Some(resumes) = table.after_limit {
        policy.resume_after_limit = resumes;
    }
    if let Some(percent) = table.busy_cpu {
        policy.busy_cpu_percent = percent;
    }
    if let Some(limit) = &table.mass_death {
        policy.mass_death_count = limit.count;
        policy.mass_death_window_ms = limit.window.0;
    }
    policy
}

/// Replaces `{rig}` in every string.
fn in_rig(worker: &WatchTable, rig: &str) -> WatchTable {
    let put = |text: &mut Text| text.0 = text.0.replace("{rig}", rig);
    let mut watch = worker.clone();
    let at = |found: &mut Option<Located<Text>>| {
        if let Some(text) = found {
            *text = Located::new(text.span(), Text(text.0.replace("{rig}", rig)));
        }
    };
    let command = |found: &mut Option<Command>| {
        if let Some(command) = found {
            *command = command.with(|word| word.replace("{rig}", rig));
        }
    };
    command(&mut watch.unit.command);
    if let Some(resume) = &mut watch.unit.resume {
        *resume = Located::new(resume.span(), resume.with(|word| word.replace("{rig}", rig)));
    }
    command(&mut watch.keys.work);
    at(&mut watch.unit.cwd);
    at(&mut watch.unit.session);
    watch.keys.heartbeat.as_mut().map(put);
    for value in watch.unit.env.iter_mut().flat_map(|env| env.values_mut()) {
        put(value);
    }
    watch
}
