//! Connection limits of the app socket. One peer cannot use up the connections of another.

use ostler_model::RunId;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// For one run, registered or not.
const OF_RUN_MOST: usize = 8;
/// For one process outside of all runs.
const OF_CALLER_MOST: usize = 64;
/// For all processes outside of runs.
const OF_CALLERS_MOST: usize = 512;

/// The owner of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ConnOwner {
    Run(RunId),
    Caller(i32),
}

/// How long the owner of a process is cached, so that frequent connections need only one lookup.
const SEEN_MS: u64 = 1_000;
/// Above this number, old entries are removed.
const SEEN_MOST: usize = 1_024;

#[derive(Debug, Default)]
pub(crate) struct AppConnLimits {
    slots: RefCell<HashMap<ConnOwner, usize>>,
    /// The run of each process, and when it was looked up.
    seen: RefCell<HashMap<i32, (Option<RunId>, u64)>>,
}

/// One connection within the limits; dropping it releases the slot.
#[derive(Debug)]
pub(crate) struct ConnPermit {
    app_limits: Rc<AppConnLimits>,
    owner: ConnOwner,
}

impl AppConnLimits {
    /// The cached run of a process, if the lookup is recent.
    pub(crate) fn seen(&self, pid: i32, now_ms: u64) -> Option<Option<RunId>> {
        let (run, at_ms) = *self.seen.borrow().get(&pid)?;
        (now_ms.saturating_sub(at_ms) < SEEN_MS).then_some(run)
    }

    pub(crate) fn see(&self, pid: i32, run: Option<RunId>, now_ms: u64) {
        let mut seen = self.seen.borrow_mut();
        if seen.len() >= SEEN_MOST {
            seen.retain(|_, (_, at_ms)| now_ms.saturating_sub(*at_ms) < SEEN_MS);
        }
        seen.insert(pid, (run, now_ms));
    }

    pub(crate) fn enter(self: &Rc<Self>, owner: ConnOwner) -> Result<ConnPermit, String> {
        let mut slots = self.slots.borrow_mut();
        let taken = slots.get(&owner).copied().unwrap_or(0);
        match owner {
            ConnOwner::Run(_) if taken >= OF_RUN_MOST => {
                return Err(format!("an app may have at most {OF_RUN_MOST} connections"));
            }
            ConnOwner::Caller(_) if taken >= OF_CALLER_MOST => {
                return Err(format!("a process may have at most {OF_CALLER_MOST} connections"));
            }
            ConnOwner::Caller(_) => {
                let is_caller =
                    |(owner, _): &(&ConnOwner, &usize)| matches!(owner, ConnOwner::Caller(_));
                let all: usize = slots.iter().filter(is_caller).map(|(_, taken)| taken).sum();
                if all >= OF_CALLERS_MOST {
                    return Err(format!("all {OF_CALLERS_MOST} connections are in use"));
                }
            }
            ConnOwner::Run(_) => {}
        }
        slots.insert(owner, taken + 1);
        Ok(ConnPermit { app_limits: Rc::clone(self), owner })
    }
}

impl Drop for ConnPermit {
    fn drop(&mut self) {
        let mut slots = self.app_limits.slots.borrow_mut();
        if let Some(taken) = slots.get_mut(&self.owner) {
            *taken -= 1;
            if *taken == 0 {
                slots.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_peer_cannot_use_up_all_app_connections() {
        let app_limits = Rc::new(AppConnLimits::default());
        let [greedy, modest] = [1, 2].map(|number| ConnOwner::Run(RunId::new(number, [0; 10])));
        let held: Vec<_> = (0..1_000).filter_map(|_| app_limits.enter(greedy).ok()).collect();
        assert_eq!(held.len(), OF_RUN_MOST);
        assert!(app_limits.enter(modest).is_ok());
        let callers: Vec<_> = (0..100)
            .flat_map(|pid| (0..100).map(move |_| pid))
            .filter_map(|pid| app_limits.enter(ConnOwner::Caller(pid)).ok())
            .collect();
        assert_eq!(callers.len(), OF_CALLERS_MOST);
        assert!(app_limits.enter(modest).is_ok(), "runs have their own slots");
        drop((held, callers));
        assert!(app_limits.slots.borrow().is_empty());
    }
}
