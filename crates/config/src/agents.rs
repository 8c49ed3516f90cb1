//! The list of agents that another program maintains: each agent is a container to watch. The list is an object keyed
//! by container name. An agent's manifest is `<repos>/<repo>/<agent>/manifest.json`.
//!
//! An error in one agent does not affect the others.

use crate::app::{Unread, open};
use crate::container::{ENGINE_VARIABLES, is_name, make_container_run};
use crate::environment::INHERITED;
use crate::file::{AgentsTable, UnitTable};
use crate::load::is_unit_name;
use crate::probes::{self, AgentManifest, ManifestError, Probe, is_script};
use crate::problem::Problem;
use crate::resolve::{Kind, Reader, of_part, resolve};
use crate::scalars::{BackendWord, Command, Text, VariableName};
use ostler_model::{ContainerSpec, Listed, Part, UnitSpec};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const FILE: &str = ".ploinky/agents.json";
const REPOS: &str = ".ploinky/repos";
/// The unit that follows the list.
pub(crate) const FOLLOWER: &str = "agents";

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    agent_name: String,
    repo_name: String,
    container_image: Option<String>,
    #[serde(default)]
    config: Wishes,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Wishes {
    binds: Vec<Bind>,
    env: Vec<Variable>,
    ports: Vec<Port>,
}

#[derive(Debug, Deserialize)]
struct Bind {
    source: String,
    target: String,
}

#[derive(Debug, Deserialize)]
struct Variable {
    name: String,
    #[serde(default)]
    value: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Port {
    container_port: u16,
    host_ip: Option<String>,
    host_port: u16,
}

impl Reader<'_> {
    /// One unit per agent of the list, and the unit that follows the list.
    pub fn agents(&mut self, table: &AgentsTable, defaults: &UnitTable) -> Vec<UnitSpec> {
        let folder = self.findings.file.parent().unwrap_or(Path::new(".")).to_owned();
        let at = |own: &Option<Text>, usual: &str| {
            resolve(&folder, own.as_ref().map_or(usual, |own| own.0.as_str()))
        };
        let (file, repos) = (at(&table.file, FILE), at(&table.repos, REPOS));
        let mut units = vec![self.follower()];
        for (name, record) in self.listed(&file) {
            if name == FOLLOWER || !is_unit_name(&name) {
                let message = format!("{name:?} is not a valid unit name");
                let hint =
                    Some("use letters, digits, and - _ . inside; at most 64 characters".to_owned());
                self.elsewhere.push(Problem { file: file.clone(), place: None, message, hint });
                continue;
            }
            units.push(self.agent(&name, record, &file, &repos, defaults));
        }
        units
    }

    /// A list that does not exist yet is empty.
    fn listed(&mut self, file: &Path) -> BTreeMap<String, Value> {
        let wrong = |message: String| Problem {
            file: file.to_owned(),
            place: None,
            message,
            hint: Some("expected an object of agents, keyed by container name".to_owned()),
        };
        if !file.exists() {
            return BTreeMap::new();
        }
        // The list lies next to the file that names it, but may belong to another user.
        if let Some(why) = self.distrust(file) {
            self.elsewhere.push(wrong(why));
            return BTreeMap::new();
        }
        let text = match open(file) {
            Ok(text) => text,
            Err(Unread::Closed(why)) => {
                self.elsewhere.push(wrong(format!("the list cannot be read: {why}")));
                return BTreeMap::new();
            }
            Err(Unread::Bad(problem)) => {
                self.elsewhere.push(problem);
                return BTreeMap::new();
            }
        };
        match serde_json::from_str::<BTreeMap<String, Value>>(&text) {
            Ok(mut all) => {
                all.retain(|_, record| record["type"] == "agent");
                all
            }
            Err(error) => {
                self.elsewhere.push(wrong(error.to_string()));
                BTreeMap::new()
            }
        }
    }

    fn agent(
        &mut self,
        name: &str,
        record: Value,
        file: &Path,
        repos: &Path,
        defaults: &UnitTable,
    ) -> UnitSpec {
        let table = UnitTable { backend: Some(BackendWord::Container), ..UnitTable::default() };
        let table = table.with_defaults(defaults);
        let mut spec = self.built(name, &table, &Kind::Plain);
        let network = table.network.as_ref().map(|network| network.0.clone());
        let mut container = match described(name, record, repos) {
            Ok(described) => {
                let Described { manifest, record, folder } = described;
                spec.health =
                    spec.health.or_else(|| manifest.health.liveness.as_ref().map(Probe::spec));
                let variables = record.config.env.iter();
                spec.env.extend(variables.map(|own| (own.name.clone(), own.value.clone())));
                made_from(&manifest, &record, &folder)
            }
            Err(why) => ContainerSpec { broken: Some(why), ..ContainerSpec::default() },
        };
        container.name = Some(name.to_owned());
        container.network = network;
        container.listed = Some(Listed { file: file.display().to_string(), name: name.to_owned() });
        make_container_run(container, &mut spec);
        spec
    }

    /// The follower runs this program. It reads the list repeatedly and declares the units that are in it.
    fn follower(&mut self) -> UnitSpec {
        let own = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("ostler"));
        let words = [own, "follow-agents".into(), self.findings.file.to_owned()];
        let words = words.map(|word| word.display().to_string());
        let names = INHERITED.iter().chain(&ENGINE_VARIABLES);
        let mut env = BTreeMap::new();
        if let Some(home) = &self.around.home {
            let home = std::path::absolute(home).unwrap_or_else(|_| home.clone());
            env.insert(VariableName("OSTLER_HOME".to_owned()), Text(home.display().to_string()));
        }
        let table = UnitTable {
            command: Some(Command::Words(words.into())),
            inherit_env: Some(names.map(|name| VariableName((*name).to_owned())).collect()),
            env: Some(env),
            ..UnitTable::default()
        };
        of_part(Part::File, self.built(FOLLOWER, &table, &Kind::Plain))
    }
}

struct Described {
    manifest: AgentManifest,
    record: Record,
    folder: PathBuf,
}

fn described(name: &str, record: Value, repos: &Path) -> Result<Described, String> {
    if !is_name(name) {
        return Err(format!("{name:?} is not a valid container name"));
    }
    let record: Record =
        serde_json::from_value(record).map_err(|error| format!("agent {name:?}: {error}"))?;
    for part in [&record.repo_name, &record.agent_name] {
        if !is_script(part) {
            return Err(format!("agent {name:?}: {part:?} is not a valid folder name"));
        }
    }
    let folder = repos.join(&record.repo_name).join(&record.agent_name);
    let manifest = probes::read(&folder.join("manifest.json")).map_err(|bad| match bad {
        ManifestError::Name(why) | ManifestError::Syntax(why) => why,
    })?;
    if record.container_image.is_none() && manifest.container.is_none() {
        let file = folder.join("manifest.json");
        return Err(format!("{}: add \"container\": \"name:tag\"", file.display()));
    }
    Ok(Described { manifest, record, folder })
}

fn made_from(manifest: &AgentManifest, record: &Record, folder: &Path) -> ContainerSpec {
    let Wishes { binds, ports, .. } = &record.config;
    let mut volumes: Vec<String> =
        binds.iter().map(|bind| format!("{}:{}", bind.source, bind.target)).collect();
    if !binds.iter().any(|bind| bind.target == "/code") {
        // The agent's scripts are here.
        let code = Some(folder.join("code")).filter(|code| code.is_dir());
        let code = code.unwrap_or_else(|| folder.to_owned());
        volumes.push(format!("{}:/code", code.display()));
    }
    let ports = ports.iter().map(|port| {
        let address = port.host_ip.as_deref().unwrap_or("127.0.0.1");
        format!("{address}:{}:{}", port.host_port, port.container_port)
    });
    ContainerSpec {
        image: record
            .container_image
            .clone()
            .or_else(|| manifest.container.clone())
            .unwrap_or_default(),
        command: manifest.command(),
        volumes,
        ports: ports.collect(),
        scripts: manifest.scripts(),
        readiness: manifest.health.readiness.as_ref().map(Probe::spec),
        ..ContainerSpec::default()
    }
}
