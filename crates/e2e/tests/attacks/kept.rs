//! Output that was written is shown, whoever was killed; together it has a bound.
