//! What the engine may read of the world.

use super::World;
use crate::time::Now;
use crate::unit::Unit;
use ostler_model::{AgentKnown, RunId, RunRecord, UnitRecord, UnitView};

impl World {
    pub fn records(&self) -> impl Iterator<Item = &RunRecord> {
        self.runs.values().map(|run| &run.record)
    }

    pub fn record(&self, run: RunId) -> Option<&RunRecord> {
        self.runs.get(&run).map(|run| &run.record)
    }

    /// Live runs that end with this one.
    pub fn descendants(&self, run: RunId) -> Vec<RunId> {
        self.children.below(run)
    }

    pub fn live(&self) -> usize {
        self.runs.len()
    }

    /// The next deadline. The lease always has one.
    pub fn next_due(&self) -> u64 {
        let lease = self.lease.due_mono_ms();
        let units = self.units_next_due().unwrap_or(u64::MAX);
        self.due.first().map_or(lease, |(due, _)| lease.min(*due)).min(units)
    }

    /// Whether we may act without asking the registry again which runs are ours.
    pub fn holds_lease(&self, now: Now) -> bool {
        self.lease.holds(now)
    }

    pub fn lease_due(&self, now: Now) -> bool {
        now.mono_ms >= self.lease.due_mono_ms()
    }

    pub fn units_due(&self, now: Now) -> bool {
        self.units_next_due().is_some_and(|due| now.mono_ms >= due)
    }

    fn units_next_due(&self) -> Option<u64> {
        self.units.next_due().into_iter().chain(self.pools.next_due()).min()
    }

    /// The unit's current run.
    pub fn unit_run(&self, name: &str) -> Option<RunId> {
        self.units.get(name).and_then(|unit| unit.run())
    }

    /// Whether nothing about this unit changes without outside input.
    pub fn is_unit_settled(&self, name: &str) -> bool {
        self.units.is_settled(name)
    }

    /// Whether it is stopped or unknown.
    pub fn is_unit_stopped(&self, name: &str) -> bool {
        self.units.is_stopped(name)
    }

    /// Whether it is ready or completed its work.
    pub fn is_unit_there(&self, name: &str) -> bool {
        self.units.get(name).is_some_and(|unit| unit.is_there())
    }

    /// The longest chain of units that must end one after the other.
    pub fn stop_depth(&self) -> u64 {
        self.units.depth_of_all() as u64
    }

    pub fn unit_records(&self) -> impl Iterator<Item = &UnitRecord> {
        self.units.iter().map(|unit| &unit.record)
    }

    pub fn unit(&self, name: &str) -> Option<&UnitRecord> {
        self.units.get(name).map(|unit| &unit.record)
    }

    /// All units in their current state.
    pub fn unit_views(&self, now: Now) -> Vec<UnitView> {
        let view = |unit: &Unit| {
            let view = self.units.view(unit, now);
            let agent = view.run_id.and_then(|run| self.agents.view(run));
            UnitView { agent: agent.cloned().map(Box::new), ..view }
        };
        let mut views: Vec<UnitView> = self.units.iter().map(view).collect();
        self.report_queued(&mut views, now);
        views
    }

    /// What is known of the agent on a run's terminal.
    pub fn agent(&self, run: RunId) -> AgentKnown {
        self.agents.known(run)
    }

    pub fn due_runs(&self, now: Now) -> Vec<RunId> {
        self.due.iter().take_while(|(due, _)| *due <= now.mono_ms).map(|(_, run)| *run).collect()
    }
}
