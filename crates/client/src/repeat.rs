//! Which questions may be put again to the successor of a supervisor that went away before it answered.

use ostler_model::PatrolCall;
use ostler_model::wire::{Call, UnitAsk};

/// Whether asking twice comes to the same as asking once. Every call is thought about here.
pub(crate) fn may_repeat(call: &Call) -> bool {
    match call {
        Call::Ping
        | Call::Runs(_)
        | Call::Show(_)
        | Call::Wait(_)
        | Call::AwaitStart(_)
        | Call::Pools
        | Call::Metrics
        | Call::AwaitUnits(_)
        | Call::UnitViews
        | Call::Look(_)
        | Call::Screen(_)
        | Call::Agent(_) => true,
        // What it asks for is a state: the second time there is nothing more to do.
        Call::Cancel(_)
        | Call::Leave(_)
        | Call::Declare(_)
        | Call::Wake
        | Call::WakeUnit(_)
        | Call::AgentReport(_)
        | Call::AgentSession(_)
        | Call::AgentIdle(_) => true,
        Call::Units(call) => match call.ask {
            UnitAsk::Start | UnitAsk::Stop => true,
            // It would be restarted twice: whoever asks looks first.
            UnitAsk::Restart => false,
        },
        // The supervisor knows it by its id, and gives the same answer again.
        Call::Spawn(spec) => spec.run_id.is_some(),
        Call::Entries(filter) => !filter.follow,
        Call::Patrol(call) => match **call {
            PatrolCall::Load
            | PatrolCall::Save(_)
            | PatrolCall::Say { .. }
            | PatrolCall::Note(_) => true,
            // The orders are no longer those that were seen.
            PatrolCall::Order { .. } => false,
        },
        // Nothing is given to the run before it is answered.
        Call::Write(_) => true,
        // Those who ask have ways of their own: ids of letters, where a view was.
        Call::Mail(_) | Call::Nudges(_) | Call::View(_) => false,
        // Meant for the one that is asked, not for its successor.
        Call::Restart | Call::Shutdown | Call::HandOver(_) => false,
    }
}

/// Whether it only waits: it is no reason for any supervisor to go away.
pub(crate) fn only_waits(call: &Call) -> bool {
    matches!(call, Call::Wait(_) | Call::AwaitStart(_) | Call::AwaitUnits(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_model::wire::{HandOverCall, Target, UnitsCall};

    #[test]
    fn what_would_be_done_twice_is_not_asked_twice() {
        let units = |ask| Call::Units(UnitsCall { names: Vec::new(), ask });
        assert!(may_repeat(&units(UnitAsk::Start)) && may_repeat(&units(UnitAsk::Stop)));
        for call in
            [units(UnitAsk::Restart), Call::Shutdown, Call::HandOver(HandOverCall::default())]
        {
            assert!(!may_repeat(&call), "{call:?}");
        }
        assert!(only_waits(&Call::Wait(Target { run: String::new() })) && !only_waits(&Call::Ping));
    }
}
