//! The dispatcher's data of one live run, besides its record.

use crate::guardian_link::inheritance::DescriptorKind;
use crate::output::OutputState;
use crate::runs::input::Input;
use crate::runs::viewers::AttachCount;
use crate::supervisor::parts::RunTable;
use ostler_core::{Member, MemorySeen, Refusing, Survey};
use ostler_model::{Escapee, RunId, RunRecord, RunSpec};
use ostler_os::{Leader, Members, Process, Relations, Scope, Watch};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::oneshot;

/// How many processes outside the boundary are named in the journal.
const NAMED_MOST: usize = 16;

pub(crate) struct LiveRun {
    pub(crate) run: RunId,
    /// `None` once the run is spawned.
    pub(crate) spec: Option<Box<RunSpec>>,
    pub(crate) process: Option<Process>,
    pub(crate) scope: Option<Scope>,
    pub(crate) watch: Option<Watch>,
    pub(crate) output: Arc<OutputState>,
    pub(crate) input: Arc<Input>,
    pub(crate) attach_count: Arc<AttachCount>,
    /// The descriptors that the guardian also holds.
    pub(crate) descriptors: Vec<(DescriptorKind, Arc<OwnedFd>)>,
    /// The pid of its first process, which is also its process group.
    pub(crate) leader: i32,
    pub(crate) root_gone: bool,
    pub(crate) is_adopted: bool,
    /// Its first process is not our child: its pidfd reports the exit.
    pub(crate) is_watched_by_descriptor: bool,
    /// A check: short, and not recorded as long as its cgroup identifies it. After a crash, the next supervisor ends
    /// what it finds in the cgroup.
    pub(crate) is_passing: bool,
    /// The caller that waits for the result of a check; dropped without a reply if the check never started.
    pub(crate) asked: Option<oneshot::Sender<RunRecord>>,
    /// The client that shows it in the foreground, while it is watched.
    pub(crate) client: Option<Box<Process>>,
    /// The poller token of its descriptors.
    pub(crate) token: u64,
}

/// The offsets from a run's token that identify its descriptors.
pub(crate) const SCOPE_TOKEN: u64 = 1;
pub(crate) const CLIENT_TOKEN: u64 = 2;
pub(crate) const TOKENS: u64 = 3;

impl LiveRun {
    pub(crate) fn members(&self, relations: &Relations<'_>) -> Members {
        let Some(scope) = &self.scope else { return Members::default() };
        // Once its first process is reaped, the pid may belong to another run or, in a scan of all processes, to any
        // process.
        let is_recycled = relations.leaders.get(&self.leader).is_some_and(|run| *run != self.run);
        let is_pinned = self.leader > 0 && !is_recycled && !(self.is_adopted && self.root_gone);
        scope.members(Leader { group: self.leader, is_pinned }, relations)
    }
}

impl ostler_os::Boundaries for RunTable {
    fn include(&self, group: &Path) -> bool {
        let scopes = self.live.values().filter_map(|live| live.scope.as_ref());
        scopes.filter_map(Scope::leaf_path).any(|leaf| group.starts_with(leaf))
            || self.strays.known_boundaries.iter().any(|leaf| group.starts_with(leaf))
    }
}

pub(crate) fn survey(members: &Members) -> Survey {
    Survey {
        inside: members.inside,
        outside: members.outside.len(),
        named: members
            .outside
            .iter()
            .take(NAMED_MOST)
            .map(|member| Member {
                pid: member.pid,
                group: member.group,
                session: member.session,
                command: shortened(ostler_os::command_of(member.pid).unwrap_or_default()),
            })
            .collect(),
        is_unexplained: members.is_unexplained,
        suspects: members
            .suspects
            .iter()
            .take(NAMED_MOST)
            .map(|pid| Escapee {
                pid: *pid,
                command: shortened(ostler_os::command_of(*pid).unwrap_or_default()),
            })
            .collect(),
        refusing: members
            .untouchable
            .iter()
            .take(NAMED_MOST)
            .map(|pid| Refusing {
                pid: *pid,
                user: ostler_os::user_of(*pid),
                command: shortened(ostler_os::command_of(*pid).unwrap_or_default()),
            })
            .collect(),
        memory: members.memory.map(|seen| MemorySeen {
            kills: seen.kills,
            peak_bytes: seen.peak_bytes,
            excess_bytes: seen.excess_bytes,
        }),
    }
}

/// A command line may be megabytes long.
fn shortened(command: String) -> String {
    const MOST: usize = 200;
    match command.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &command[..end]),
        None => command,
    }
}
