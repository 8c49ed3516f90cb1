//! Clears an agent's failure history after a person has looked at it.

use crate::connection::Connector;
use crate::error::PatrolError;
use crate::plan::Plan;
use crate::tick::lock;
use ostler_model::PatrolSave;

/// Resets the agent's crash loop, its backoff and its ladder.
pub fn forget(connector: &Connector, plan: &Plan, agent: &str) -> Result<(), PatrolError> {
    let _lock = lock(plan)?;
    let mut connection = connector.open()?;
    let mut memory = connection.memory()?;
    let Some(mut state) = memory.states.remove(agent) else { return Ok(()) };
    ostler_core::restart::clear(&mut state.tally);
    state.backoff_until_ms = None;
    state.crash_loop_since_ms = None;
    state.rung = None;
    let states = [(agent.to_owned(), state)].into();
    connection.save(PatrolSave { states, town: memory.town })
}
