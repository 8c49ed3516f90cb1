mod machine;
mod units;
mod view;

pub(crate) use machine::Unit;
pub use machine::{Ask, Declared, UnitEvent};
pub(crate) use units::Units;
