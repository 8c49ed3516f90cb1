/// The two clocks. Deadlines use `mono_ms`, which cannot be set and which stops while the machine is suspended.
/// Records use `wall_ms`, which may jump; therefore no deadline depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    pub mono_ms: u64,
    pub wall_ms: u64,
}
