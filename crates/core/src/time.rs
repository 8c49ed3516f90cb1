/// The two clocks. Deadlines run on `mono_ms`, which nobody sets and which stands still while a
/// laptop sleeps; records carry `wall_ms`, which may jump and therefore ends nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    pub mono_ms: u64,
    pub wall_ms: u64,
}
