//! Loads a file: from its text to its units.

use crate::either;
use crate::file::{HookTable, SupervisorTable, UnitTable};
use crate::findings::Findings;
use crate::located::Located;
use crate::parse::parse;
use crate::patrol::PATROL;
use crate::problem::Problem;
use crate::resolve::Reader;
use crate::scalars::AdoptWord;
use ostler_model::{
    AdoptPolicy, DeadmanSpec, HookSpec, HookTarget, OsText, Part, PatrolSpec, PoolSpec, UnitSpec,
};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The context of the caller, which the file does not contain.
#[derive(Clone, Debug, Default)]
pub struct ReadContext {
    /// The caller's environment.
    pub environment: Vec<(String, OsText)>,
    pub umask: u32,
    /// The daemon's home, which may contain a `config.json`.
    pub home: Option<PathBuf>,
    /// The path of tmux, if it is installed.
    pub tmux: Option<PathBuf>,
    /// The socket of the daemon's own tmux server.
    pub tmux_socket: Option<PathBuf>,
    /// The path of podman, if Ostler must run a podman service itself.
    pub podman: Option<PathBuf>,
    /// The socket of the daemon's own podman service.
    pub podman_socket: Option<PathBuf>,
    /// The caller's user id.
    pub user: u32,
    /// The pools that the daemon knows. `None` if the daemon was not asked; then any pool name is accepted.
    pub pools: Option<Vec<String>>,
    /// The file is read repeatedly, to follow its list of agents.
    pub is_following: bool,
}

/// A file without errors.
#[derive(Clone, Debug)]
pub struct Config {
    pub units: Vec<UnitSpec>,
    /// The profiles of each unit that has any.
    pub profiles: BTreeMap<String, Vec<String>>,
    pub pools: Vec<PoolSpec>,
    /// `None` if the file has no `[patrol]`.
    pub patrol: Option<PatrolSpec>,
    pub supervisor: SupervisorSettings,
    /// Findings that are probably mistakes, but no errors.
    pub warnings: Vec<Problem>,
}

impl Config {
    /// Errors that affect single units. The other units run; these are in state `error` after their declaration.
    pub fn broken(&self, file: &Path) -> Vec<Problem> {
        let broken = self.units.iter().filter_map(|unit| {
            let why = unit.container.as_ref()?.broken.as_ref()?;
            let message = format!("unit {:?} cannot be created: {why}", unit.name);
            Some(Problem { file: file.to_owned(), place: None, message, hint: None })
        });
        broken.collect()
    }
}

/// Settings of the daemon; `None` if the file does not set them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SupervisorSettings {
    /// `Some(None)` disables HTTP.
    pub http: Option<Option<SocketAddr>>,
    pub lease_ms: Option<u64>,
    pub adopt: Option<AdoptPolicy>,
    /// `Some(0)` is the default.
    pub output_bytes: Option<u64>,
}

const NAME_MOST: usize = 64;

/// Loads an `ostler.toml`, or a manifest, which declares one app. Reports as many errors as possible at once.
pub fn load(file: &Path, text: &str, around: &ReadContext) -> Result<Config, Vec<Problem>> {
    // Some editors write a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if file.extension().is_some_and(|end| end == "json") {
        return crate::app::load_alone(file, text, around);
    }
    let mut findings = Findings::new(file, text);
    let mut parsed = parse(&mut findings);
    let mut reader = Reader::new(around, findings);
    // After a syntax error, do not report a missing command: its key may be the one that could not be read.
    let is_read = reader.findings.is_empty();
    let defaults = std::mem::take(&mut parsed.defaults);
    if let Some(manifest) = &defaults.manifest {
        let hint = "write manifest in the app's own unit";
        reader.findings.add(
            manifest.span(),
            "manifest cannot be in [defaults], because each app has its own",
            hint,
        );
    }
    if let Some(session) = &defaults.session {
        let hint = "write session in each unit, or remove it to use ostler-UNIT";
        reader.findings.add(
            session.span(),
            "session cannot be in [defaults], because each unit needs its own",
            hint,
        );
    }
    if parsed.units.values().any(|table| table.manifest.is_some()) {
        reader.read_app_defaults();
    }
    let patrol = match parsed.patrol.take() {
        Some(table) => {
            let (spec, agents) = reader.patrol(&table);
            for (name, table) in agents {
                reader.no_double(&name, &parsed.units);
                parsed.units.insert(name, table);
            }
            Some(spec)
        }
        None => None,
    };
    let pools = reader.pools(&parsed.pools);
    reader.check_pools(parsed.units.values().chain([&defaults]), &pools);
    let mut units = Vec::new();
    for (name, table) in &mut parsed.units {
        reader.check_name(name, name.span());
        *table = std::mem::take(table).with_defaults(&defaults);
        if is_read || table.command.is_some() || table.manifest.is_some() {
            let unit = reader.unit(name, table, name.span());
            units.extend(unit.map(|unit| (unit, name.span())));
        }
    }
    reader.check_sessions(&units);
    let mut units: Vec<UnitSpec> = units.into_iter().map(|(unit, _)| unit).collect();
    let mut listed = Vec::new();
    if let Some(server) = reader.own_server(&units) {
        listed.push(server.name.clone());
        units.push(server);
    }
    if let Some(table) = &parsed.agents {
        let agents = reader.agents(table, &defaults);
        // A unit of the file replaces an agent of the same name.
        let is_own = |name: &str| parsed.units.keys().any(|own| **own == *name);
        let agents: Vec<UnitSpec> = agents.into_iter().filter(|unit| !is_own(&unit.name)).collect();
        listed.extend(agents.iter().map(|unit| unit.name.clone()));
        units.extend(agents);
    }
    if let Some(service) = reader.own_service(&mut units, parsed.agents.is_some()) {
        listed.push(service.name.clone());
        units.push(service);
    }
    if patrol.is_some() {
        units.push(reader.patrolling());
        listed.push(PATROL.to_owned());
    }
    reader.check_order(&parsed, &listed);
    reader.done()?;
    let profiles = profiles(&parsed.units);
    let hooks = hooks(parsed.hooks);
    for unit in units.iter_mut().filter(|unit| unit.part != Some(Part::Daemon)) {
        unit.hooks = hooks.clone();
    }
    let (supervisor, warnings) = (supervisor(&parsed.supervisor), reader.warnings);
    Ok(Config { units, profiles, pools, patrol, supervisor, warnings })
}

fn supervisor(table: &SupervisorTable) -> SupervisorSettings {
    SupervisorSettings {
        http: table.http.map(|http| http.0),
        lease_ms: table.lease.map(|lease| lease.0),
        adopt: table.adopt.map(|adopt| match adopt {
            AdoptWord::Adopt => AdoptPolicy::Adopt,
            AdoptWord::Terminate => AdoptPolicy::Terminate,
        }),
        output_bytes: table.output.map(|size| size.0),
    }
}

fn profiles(units: &BTreeMap<Located<String>, UnitTable>) -> BTreeMap<String, Vec<String>> {
    let of = |(name, table): (&Located<String>, &UnitTable)| {
        let own: Vec<String> = table.profiles.iter().flatten().map(|name| name.0.clone()).collect();
        (!own.is_empty()).then(|| (name.to_string(), own))
    };
    units.iter().filter_map(of).collect()
}

/// The hooks of the file; each of its units stores them.
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
        on_waiting: target(table.on_waiting),
        on_limited: target(table.on_limited),
        deadman: table
            .deadman
            .map(|table| DeadmanSpec { url: table.url.0, every_ms: table.every.0 }),
    }
}

/// Whether the name is valid for a unit.
pub fn is_unit_name(name: &str) -> bool {
    name.len() <= NAME_MOST
        // An app id may be `@scope/name`.
        && name.strip_prefix('@').unwrap_or(name).chars().next().is_some_and(char::is_alphanumeric)
        && name.chars().all(|c| c.is_alphanumeric() || "-_.@/".contains(c))
}
