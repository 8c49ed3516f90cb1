//! The conversation ids of agents, by unit. They outlive the unit's record.

use crate::RegistryError;
use ostler_model::{AgentSession, InstanceId};
use std::collections::HashMap;

pub trait WriteSessions {
    /// Saves an id; `None` deletes it.
    fn keep_session(
        &mut self,
        instance: InstanceId,
        unit: &str,
        session: Option<&AgentSession>,
    ) -> Result<(), RegistryError>;

    fn sessions(
        &self,
        instance: InstanceId,
    ) -> Result<HashMap<String, AgentSession>, RegistryError>;

    /// Deletes the ids of units that are not declared, recorded before this time.
    fn forget_sessions(
        &mut self,
        instance: InstanceId,
        before_ms: u64,
    ) -> Result<usize, RegistryError>;
}
