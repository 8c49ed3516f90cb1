//! What a request costs.

use ostler_model::wire::Call;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Answered at once, with little.
    Quick,
    /// The answer may be large: one at a time of a process, until it has been read. Only one at all is being made.
    Large,
    /// The answer waits for something to happen, and is small.
    Waiting,
}

pub(crate) fn kind(call: &Call) -> Kind {
    match call {
        Call::Runs(_)
        | Call::Pools
        | Call::Entries(_)
        | Call::Metrics
        | Call::UnitViews
        | Call::Look(_)
        | Call::Mail(_)
        | Call::Nudges(_)
        | Call::Patrol(_)
        | Call::Screen(_) => Kind::Large,
        Call::Wait(_)
        | Call::AwaitStart(_)
        | Call::AwaitUnits(_)
        | Call::Cancel(_)
        | Call::Leave(_)
        | Call::Restart
        | Call::Shutdown => Kind::Waiting,
        Call::Ping
        | Call::Spawn(_)
        | Call::Show(_)
        | Call::Write(_)
        | Call::View(_)
        | Call::HandOver(_)
        | Call::Declare(_)
        | Call::Wake
        | Call::Units(_)
        | Call::WakeUnit(_)
        | Call::Agent(_)
        | Call::AgentReport(_)
        | Call::AgentSession(_)
        | Call::AgentIdle(_) => Kind::Quick,
    }
}
