mod machine;
mod units;
mod view;

pub use machine::{Ask, Declared, UnitEvent};
pub(crate) use units::Units;
