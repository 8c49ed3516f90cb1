//! What to do with a record that is not exited, after it was compared with the kernel (R15).

use crate::{ExitStatus, Observation};
use ostler_model::AdoptPolicy;

/// Who owns the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    Ours,
    /// Another instance owns it, and its lease has expired.
    Expired,
    /// Another instance owns it, and its lease holds.
    Another,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Another owner supervises it.
    LeaveAlone,
    /// Become the owner in the registry first, then decide again.
    Steal,
    /// The recorded process ended while no supervisor ran, and its exit status is known.
    TakeEnd,
    /// The recorded process and its whole tree are gone.
    MarkStale,
    /// The recorded process is gone, but other processes of its tree are alive: end them.
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
