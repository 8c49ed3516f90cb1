//! Units: what is declared, and what the supervisor does to make it so. `machine` decides for one unit, `units` for
//! all of them together.

mod checks;
mod declaration;
mod ends;
mod event;
mod journal;
mod judge;
mod launch;
mod machine;
mod pace;
mod phase;
mod requests;
mod schedule;
mod sleep;
mod state;
mod take_up;
mod units;
mod view;
mod why;

pub use event::{Ask, Declared, Idle, UnitEvent};
pub(crate) use state::Unit;
pub(crate) use units::Units;
