//! What to do with a record that is not exited, once the kernel has been asked about it (R15).

use crate::{ExitStatus, Observation};
use ostler_model::AdoptPolicy;

/// Whose the record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    Ours,
    /// Another instance's, and its lease has run out.
    Expired,
    /// Another instance's, and its lease holds.
    Another,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Another owner looks after it.
    LeaveAlone,
    /// Make it ours in the registry first, then decide again.
    Steal,
    /// The process that was recorded has ended while nobody watched, and how is known.
    TakeEnd,
    /// The process that was recorded is gone, and so is its tree.
    MarkStale,
    /// The process that was recorded is gone, but others of its tree are not: end them.
    EndRest,
    Resume,
    Terminate,
}

pub fn decide(seen: &Observation, policy: AdoptPolicy, stolen: bool) -> Decision {
    match seen.ownership {
        Ownership::Another => Decision::LeaveAlone,
        Ownership::Expired => Decision::Steal,
        Ownership::Ours => match (&seen.identity, policy, stolen) {
            (None, _, _) if seen.status != ExitStatus::Unknown => Decision::TakeEnd,
            (None, _, _) if seen.tree.is_empty() => Decision::MarkStale,
            (None, _, _) => Decision::EndRest,
            (Some(_), AdoptPolicy::Terminate, true) => Decision::Terminate,
            (Some(_), AdoptPolicy::Terminate, false) | (Some(_), AdoptPolicy::Adopt, _) => {
                Decision::Resume
            }
        },
    }
}
