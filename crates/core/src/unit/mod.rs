mod machine;
mod pace;
mod sleep;
mod units;
mod view;

pub(crate) use machine::Unit;
pub use machine::{Ask, Declared, Idle, UnitEvent};
pub(crate) use units::Units;
