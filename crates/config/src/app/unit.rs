//! Builds a unit from a manifest.

use super::capabilities::{FDS_LEAST, FDS_MOST, SHARES_MOST};
use super::entry::Entry;
use super::manifest::Manifest;
use super::open::{Unread, open};
use super::settings::check_settings;
use super::{JsonKind, MANIFEST_NAME, check_config_json, json_kind};
use crate::file::{ResourceTable, UnitTable};
use crate::findings::Findings;
use crate::load::{Config, ReadContext, SupervisorSettings, is_unit_name};
use crate::located::Located;
use crate::problem::Problem;
use crate::resolve::{Kind, Reader, resolve};
use crate::scalars::Text;
use ostler_model::{AppSpec, Resources};
use serde_json::{Map, Value};
use std::path::Path;

/// At most this many errors in manifests are shown.
const ELSEWHERE_MOST: usize = 100;

/// Loads a manifest without an ostler.toml: one unit, named like the app.
pub(crate) fn load_alone(
    file: &Path,
    text: &str,
    around: &ReadContext,
) -> Result<Config, Vec<Problem>> {
    if json_kind(file, text) == JsonKind::Defaults {
        check_config_json(file, text)?;
        return Err(vec![Problem {
            file: file.to_owned(),
            place: None,
            message: "this file has defaults for all apps and declares no app".to_owned(),
            hint: Some(format!("name an ostler.toml, or an app's {MANIFEST_NAME}")),
        }]);
    }
    let manifest = Manifest::read(file, text, Entry::Runs);
    let mut reader = Reader::new(around, Findings::new(file, text));
    reader.read_app_defaults();
    let manifest = match manifest {
        Ok(manifest) => manifest,
        Err(problems) => {
            reader.elsewhere.splice(0..0, problems);
            return Err(reader.done().err().unwrap_or_default());
        }
    };
    let warnings = manifest.warnings.clone();
    let name = manifest.id.clone();
    if !is_unit_name(&name) {
        let description =
            "this id is too long for a unit name, or has a character that a unit name cannot have";
        let hint = "declare the app in an ostler.toml: [units.NAME] and manifest = \"…\"";
        reader.findings.add(manifest.id_at.clone(), description, hint);
    }
    let unit = reader.built(&name, &UnitTable::default(), &Kind::App(Box::new(manifest)));
    reader.done()?;
    let supervisor = SupervisorSettings::default();
    Ok(Config {
        units: vec![unit],
        profiles: Default::default(),
        pools: Vec::new(),
        patrol: None,
        supervisor,
        warnings,
    })
}

impl Reader<'_> {
    /// Reads the manifest that a unit names. Errors in it are reported for the manifest's file.
    pub(crate) fn manifest(
        &mut self,
        name: &str,
        named: &Located<Text>,
        table: &UnitTable,
    ) -> Option<Manifest> {
        let folder = self.findings.file.parent().unwrap_or(Path::new("."));
        let mut path = resolve(folder, &named.0);
        if path.is_dir() {
            path.push(MANIFEST_NAME);
        }
        let runs = if table.command.is_some() { Entry::Replaced } else { Entry::Runs };
        let trusted = self.distrust(&path).map_or(Ok(()), |why| Err(Unread::Closed(why)));
        let read =
            trusted.and_then(|()| open(&path)).map(|text| Manifest::read(&path, &text, runs));
        let problems = match read {
            Ok(Ok(manifest)) => {
                self.is_alone(name, &manifest, named);
                self.warnings.extend(manifest.warnings.iter().cloned());
                return Some(manifest);
            }
            Ok(Err(problems)) => problems,
            Err(Unread::Bad(problem)) => vec![problem],
            Err(Unread::Closed(why)) => {
                let description = format!("{} cannot be read: {why}", path.display());
                let hint = format!(
                    "name a manifest, or a folder with {MANIFEST_NAME}; the path is relative to this file"
                );
                self.findings.add(named.span(), description, hint);
                return None;
            }
        };
        let remaining = ELSEWHERE_MOST.saturating_sub(self.elsewhere.len());
        if remaining > 0 && problems.len() > remaining {
            self.elsewhere.extend(problems.into_iter().take(remaining));
            self.elsewhere.push(Problem {
                file: self.findings.file.to_owned(),
                place: None,
                message: "more problems in manifests are not shown".to_owned(),
                hint: None,
            });
        } else if remaining > 0 {
            self.elsewhere.extend(problems);
        }
        None
    }

    /// An app registers with its id, so only one unit may have it.
    fn is_alone(&mut self, name: &str, manifest: &Manifest, named: &Located<Text>) {
        let id = &manifest.id;
        if let Some(other) = self.apps.get(id) {
            let description = format!("unit {other:?} already runs app {id:?}");
            let hint = "a second unit needs a manifest with another id";
            self.findings.add(named.span(), description, hint);
        } else {
            self.apps.insert(id.clone(), name.to_owned());
        }
    }

    pub(crate) fn app(
        &mut self,
        table: &UnitTable,
        kind: &Kind,
        register_ms: u64,
    ) -> Option<AppSpec> {
        match kind {
            Kind::Plain => {
                if let Some(config) = &table.config {
                    let hint = "name the app's manifest, or use env";
                    self.findings.add(config.span(), "config needs an app", hint);
                }
                None
            }
            Kind::Unknown => None,
            Kind::App(manifest) => Some(AppSpec {
                id: manifest.id.clone(),
                path: manifest.path.display().to_string(),
                manifest: manifest.value.clone(),
                register_ms,
                config: self.settings(table, manifest),
            }),
        }
    }

    /// The app's configuration, checked against its manifest.
    fn settings(&mut self, table: &UnitTable, manifest: &Manifest) -> Value {
        let given = table.config.iter().flat_map(|config| config.iter());
        let mut settings: Map<String, Value> =
            given.map(|(key, value)| ((**key).clone(), value.0.clone())).collect();
        let Some(schema) = manifest.config_schema() else { return Value::Object(settings) };
        for wrong in check_settings(schema, &mut settings) {
            let own = table.config.as_ref().and_then(|config| {
                config
                    .iter()
                    .find(|(key, _)| key.as_str() == wrong.key)
                    .map(|(_, value)| value.span())
            });
            let (around, hint) = match (&table.config, &table.manifest) {
                (Some(config), _) => (config.span(), wrong.hint),
                (None, Some(named)) => (named.span(), wrong.hint),
                (None, None) => {
                    let hint = "declare the app in an ostler.toml that sets it: config = { … }";
                    (manifest.schema_at.clone(), hint.to_owned())
                }
            };
            self.findings.add(own.unwrap_or(around), wrong.description, hint);
        }
        Value::Object(settings)
    }

    /// The limits of the unit override those of the manifest, key by key; 0 is no limit.
    pub(crate) fn resources(
        &mut self,
        table: Option<&Located<ResourceTable>>,
        granted: Resources,
    ) -> Resources {
        let Some(table) = table else { return granted };
        if table.cpu_shares.is_some_and(|shares| shares > SHARES_MOST) {
            let description = format!("cpu_shares is at most {SHARES_MOST}");
            self.findings.add(
                table.span(),
                description,
                "1024 is the weight of a unit without this key",
            );
        }
        if table.fds.is_some_and(|fds| fds != 0 && !(FDS_LEAST..=FDS_MOST).contains(&fds)) {
            let description = format!("fds must be at least {FDS_LEAST} and at most {FDS_MOST}");
            self.findings.add(table.span(), description, "1024 is usual; 0 is no limit");
        }
        let over = |own: Option<u64>, other: Option<u64>| match own {
            Some(0) => None,
            Some(own) => Some(own),
            None => other,
        };
        Resources {
            memory_bytes: over(table.memory.map(|size| size.0), granted.memory_bytes),
            cpu_shares: over(table.cpu_shares, granted.cpu_shares),
            descriptors: over(table.fds, granted.descriptors),
        }
    }
}
