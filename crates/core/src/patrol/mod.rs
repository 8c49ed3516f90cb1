//! What is done for the agents of a town: looked at, judged, and helped up a ladder.
//!
//! One tick, in this order; only the first and the last but one touch the world, and they are not here:
//!
//! ```text
//!   begin_tick                       a gap in the ticks makes silence prove nothing for a while
//!   each agent:  observe ─► look     what was seen is folded into what is remembered
//!   mass_death                       many deaths at once are one event
//!   each agent:  decide              the document's matrix, and the ladder
//!                 └─ trips? may_ask? asked ─► triage ─► admit, or degraded
//!                escalation          a person is told of each trouble once, and of its end once
//!                act ─► acted        what was done is remembered
//! ```
//!
//! A person's orders come before everything. What cannot be seen kills nothing, what has no work is idle, what
//! moves is at work, and what is not ours is at most spoken to.

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
