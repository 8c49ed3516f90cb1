//! The patrol's state: one document per agent, one for all agents, and separate ones for reports and orders.

use crate::RegistryError;
use ostler_model::{InstanceId, PatrolMemory, PatrolOrders, PatrolSave, WatchReport};

/// Whether the orders were still those that the caller had read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordered {
    Yes,
    Changed,
}

pub trait WritePatrol {
    /// Saves the state. Agents that are missing in it are deleted.
    fn save_patrol(&mut self, instance: InstanceId, save: &PatrolSave)
    -> Result<(), RegistryError>;

    /// Saves a report. An empty report is deleted.
    fn report_agent(
        &mut self,
        instance: InstanceId,
        agent: &str,
        said: &WatchReport,
    ) -> Result<(), RegistryError>;

    /// Replaces the orders, if they are unchanged.
    fn order_patrol(
        &mut self,
        instance: InstanceId,
        seen: &PatrolOrders,
        now: &PatrolOrders,
    ) -> Result<Ordered, RegistryError>;

    /// The last report about an agent.
    fn said_of(
        &self,
        instance: InstanceId,
        agent: &str,
    ) -> Result<Option<WatchReport>, RegistryError>;
}

pub trait ReadPatrol {
    /// A document that cannot be read is an error: a person's orders must not be guessed.
    fn patrol(&self, instance: InstanceId) -> Result<PatrolMemory, RegistryError>;
}
