//! The decisions of the patrol: it observes agents, judges them, and takes the steps of a ladder.
//!
//! One tick, in this order. `observe` and `act` touch the system and are not in this crate:
//!
//! ```text
//!   begin_tick                       after a gap between ticks, silence proves nothing for a while
//!   each agent:  observe ─► look     folds the observation into the agent's state
//!   mass_death                       many deaths at once are one event
//!   each agent:  decide              Gas Town's matrix, and the ladder
//!                 └─ trips? may_ask? asked ─► triage ─► admit, or degraded
//!                escalation          notifies the operator once when a condition begins, and once when it ends
//!                act ─► acted        records what was done
//! ```
//!
//! A person's orders come first. An agent that cannot be observed is not killed, one without work is idle, one with
//! activity is working, and one in a session that Ostler did not create is at most sent text.

mod acted;
mod asking;
mod case;
mod decide;
mod evidence;
mod gone;
mod ladder;
mod look;
mod orders;
mod sight;
mod town;
mod triage;
mod trouble;

pub use acted::{HISTORY_MOST, acted};
pub use case::AgentCase;
pub use decide::decide;
pub use look::look;
pub use orders::{Kept, OrderGiver, lift, stop};
pub use sight::freshness;
pub use town::{begin_tick, day, mass_death, unreachable};
pub use triage::{HELD_MOST, TriageSkipped, admit, asked, degraded, may_ask, trips};
pub use trouble::escalation;
