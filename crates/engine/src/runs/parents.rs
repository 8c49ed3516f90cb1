//! The processes a run depends on besides its supervisor: its parent run, and the client that shows it in the
//! foreground. Both are in its record, so that they hold across a crash.

use crate::runs::table::CLIENT_TOKEN;
use crate::supervisor::Supervisor;
use ostler_core::Event;
use ostler_model::{Actor, Fingerprint, OsText, RunId, RunSpec};
use ostler_os::{Interest, Process};

#[derive(Debug, Default)]
pub(crate) struct RunParents {
    pub(crate) parent: Option<RunId>,
    pub(crate) client: Option<Box<Fingerprint>>,
}

impl Supervisor {
    /// Determines the parent and client of a requested run; an error is why it is not started.
    pub(crate) fn run_parents(&self, spec: &RunSpec, by: &Actor) -> Result<RunParents, String> {
        let pid = match by {
            // A caller from another pid namespace, or over HTTP, has no pid that we can examine.
            Actor::Caller { pid, .. } if *pid > 0 => *pid,
            Actor::Caller { .. } | Actor::Supervisor | Actor::Kernel => {
                return Ok(RunParents::default());
            }
        };
        let caller = ostler_os::fingerprint_of(pid);
        let client = match (spec.foreground, &caller) {
            (false, _) => None,
            (true, Some(caller)) => Some(Box::new(caller.clone())),
            (true, None) if !ostler_os::is_taken(pid) => {
                return Err("the requesting process has exited".to_owned());
            }
            // File descriptors are exhausted: then the spawn fails as well.
            (true, None) => None,
        };
        let claimed = claimed(spec);
        let parent = match caller {
            Some(_) => self.run_of_pid(pid).or_else(|| claimed.filter(|run| self.is_of(pid, *run))),
            // The process can no longer be examined. Its claim counts, because it gains nothing by ending its run
            // earlier.
            None => claimed.filter(|run| self.runs.live.contains_key(run)),
        };
        Ok(RunParents { parent, client })
    }

    /// Whether the process belongs to this run, by all evidence, including the run id in its environment.
    fn is_of(&self, pid: i32, run: RunId) -> bool {
        self.runs.live.get(&run).is_some_and(|live| self.members(live).has(pid))
    }

    /// Watches the client. If it has exited already, its exit is reported at once.
    pub(crate) fn watch_client(&mut self, run: RunId, client: Option<&Fingerprint>) {
        let Some(client) = client else { return };
        let Some(live) = self.runs.live.get_mut(&run) else { return };
        match Process::open(client) {
            Some(process) => {
                if self
                    .platform
                    .poller
                    .add(&process, live.token + CLIENT_TOKEN, Interest::Readable)
                    .is_ok()
                {
                    live.client = Some(Box::new(process));
                }
            }
            // If it cannot be opened for lack of file descriptors, it is retried later.
            None if ostler_os::is_same_process(client) => {}
            None => self.core.events.push_back(Event::ClientGone { run }),
        }
    }

    /// Watches the clients that could not be watched before.
    pub(crate) fn watch_clients(&mut self) {
        let unwatched: Vec<(RunId, Fingerprint)> = self
            .core
            .world
            .records()
            .filter(|record| {
                self.runs.live.get(&record.run_id).is_some_and(|live| live.client.is_none())
            })
            .filter_map(|record| Some((record.run_id, record.client.as_deref()?.clone())))
            .collect();
        for (run, client) in unwatched {
            self.watch_client(run, Some(&client));
        }
    }

    pub(crate) fn client_gone(&mut self, run: RunId) {
        if self.unwatch_client(run) {
            self.core.events.push_back(Event::ClientGone { run });
        }
    }

    /// Only the client itself can detach from its run: other viewers are not tied to it.
    pub(crate) fn client_left(&mut self, run: RunId, by: Actor) {
        let client = self.core.world.record(run).and_then(|record| record.client.as_ref());
        let is_client = match (&by, client) {
            (Actor::Caller { pid, .. }, Some(client)) => *pid == client.pid,
            _ => false,
        };
        if is_client {
            self.unwatch_client(run);
            self.core.events.push_back(Event::ClientLeft { run, by });
        }
    }

    fn unwatch_client(&mut self, run: RunId) -> bool {
        let client = self.runs.live.get_mut(&run).and_then(|live| live.client.take());
        if let Some(client) = &client {
            self.platform.poller.remove(&**client);
        }
        client.is_some()
    }
}

/// The run id in the caller's environment, which it passes on.
fn claimed(spec: &RunSpec) -> Option<RunId> {
    let begin = format!("{}=", RunSpec::RUN_ID_VARIABLE);
    let value = |text: &OsText| text.shown().strip_prefix(&begin)?.parse().ok();
    spec.env.iter().find_map(value)
}
