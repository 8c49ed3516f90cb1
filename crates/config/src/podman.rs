//! Ostler's own podman service. It is declared if a unit is a container, podman is installed, and no other service
//! runs.

use crate::agents::FOLLOWER;
use crate::container::ENGINE_VARIABLES;
use crate::environment::INHERITED;
use crate::file::UnitTable;
use crate::resolve::{Kind, Reader, of_part};
use crate::scalars::{Command, VariableName};
use ostler_model::{Backend, Check, OsText, Part, ReadySpec, UnitSpec};

/// The unit that runs the service.
pub(crate) const SERVICE: &str = "podman";
const READY_MS: u64 = 60_000;
const HOST: &str = "CONTAINER_HOST";
const RUNTIME: &str = "CONTAINER_RUNTIME";

impl Reader<'_> {
    /// The service's unit, if a unit needs it. Those units then depend on it and get its address. A unit of the same
    /// name in the file replaces it.
    pub fn own_service(&mut self, units: &mut [UnitSpec], is_following: bool) -> Option<UnitSpec> {
        let socket = self.around.podman_socket.clone().filter(|_| self.around.podman.is_some())?;
        let is_container = |unit: &UnitSpec| unit.backend == Backend::Container;
        // The follower of an agent list declares containers later.
        let is_user =
            |unit: &UnitSpec| is_container(unit) || (is_following && unit.name == FOLLOWER);
        if units.iter().any(|unit| unit.name == SERVICE) || !units.iter().any(is_user) {
            return None;
        }
        let address = format!("unix://{}", socket.display());
        for unit in units.iter_mut().filter(|unit| is_user(unit)) {
            let known = |text: &&OsText| {
                let text = text.shown();
                [HOST, RUNTIME]
                    .iter()
                    .any(|name| text.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')))
            };
            let others = unit.inherited.iter().filter(|text| !known(text)).cloned();
            let ours = [format!("{HOST}={address}"), format!("{RUNTIME}={SERVICE}")];
            unit.inherited = others.chain(ours.iter().map(|text| OsText::from(&**text))).collect();
            if is_container(unit) {
                unit.depends_on.push(SERVICE.to_owned());
                unit.depends_on.dedup();
            }
        }
        let own = std::env::current_exe().unwrap_or_else(|_| SERVICE.into());
        let words = [
            own.display().to_string(),
            "shim".into(),
            SERVICE.into(),
            "--serve".into(),
            socket.display().to_string(),
        ];
        // The service runs podman itself, so it must not contact another service.
        let names = INHERITED.iter().chain(&ENGINE_VARIABLES).filter(|name| **name != HOST);
        let table = UnitTable {
            command: Some(Command::Words(words.into())),
            inherit_env: Some(names.map(|name| VariableName((*name).to_owned())).collect()),
            ..UnitTable::default()
        };
        let mut spec = self.built(SERVICE, &table, &Kind::Plain);
        spec.ready = Some(ReadySpec { check: Check::Notify, timeout_ms: READY_MS });
        Some(of_part(Part::File, spec))
    }
}
