//! A unit that is a container: its run is the shim, which is told in its environment what to make.

use crate::dispatcher::Supervisor;
use ostler_model::{ContainerOrder, OsText, Resources, RunId, RunSpec, UnitSpec};

impl Supervisor {
    /// Makes the run of a unit the run of its container's shim.
    pub(crate) fn contain(&self, unit: &UnitSpec, run: RunId, digest: &str, spec: &mut RunSpec) {
        let Some(container) = &unit.container else { return };
        let order = ContainerOrder {
            spec: (**container).clone(),
            env: unit.env.clone(),
            resources: unit.resources,
            stop_signal: unit.stop.signal,
            grace_ms: unit.stop.grace_ms,
            home: self.instance.to_string(),
            unit: unit.name.clone(),
            run: run.to_string(),
            digest: digest.to_owned(),
        };
        let Ok(order) = serde_json::to_string(&order) else { return };
        let Ok(program) = ostler_os::own_executable() else { return };
        spec.argv = vec![
            OsText(program.into_os_string().into_encoded_bytes()),
            OsText::from("shim"),
            OsText::from(&*unit.name),
        ];
        // What is declared for the container is no matter of its shim.
        spec.env = unit.inherited.to_vec();
        spec.env.push(OsText::from(&*format!("{}={order}", ContainerOrder::VARIABLE)));
        spec.env.extend(self.ways_of(unit, run));
        // The engine keeps it to them; the shim needs its own.
        spec.resources = Resources::default();
    }
}
