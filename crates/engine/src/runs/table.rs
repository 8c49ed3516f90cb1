//! What the dispatcher holds for one live run, beside the record.

use crate::guardian_link::inheritance::End;
use crate::output::OutputState;
use crate::runs::input::Input;
use crate::runs::viewers::AttachCount;
use ostler_core::{Member, MemorySeen, Refusing, Survey};
use ostler_model::{RunId, RunRecord, RunSpec};
use ostler_os::{Leader, Members, Process, Relations, Scope, Watch};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use tokio::sync::oneshot;

/// How many of those outside a boundary are named in the journal.
const NAMED_MOST: usize = 16;

pub(crate) struct LiveRun {
    pub(crate) run: RunId,
    /// Until it is spawned.
    pub(crate) spec: Option<Box<RunSpec>>,
    pub(crate) process: Option<Process>,
    pub(crate) scope: Option<Scope>,
    pub(crate) watch: Option<Watch>,
    pub(crate) output: Arc<OutputState>,
    pub(crate) input: Arc<Input>,
    pub(crate) hands: Arc<AttachCount>,
    /// What our guardian holds too.
    pub(crate) ends: Vec<(End, Arc<OwnedFd>)>,
    /// Its first process's pid, which is also its group's number.
    pub(crate) leader: i32,
    pub(crate) root_gone: bool,
    pub(crate) is_adopted: bool,
    /// Its first process is not our child: that it has ended is told by its descriptor.
    pub(crate) is_watched_by_descriptor: bool,
    /// A check: over in a moment, and nobody asks for it again. It is not written down as long as its boundary tells whose
    /// it is: a supervisor that comes after a crash ends what it finds in there.
    pub(crate) is_passing: bool,
    /// Who asked for a check and wants to know how it ended; if it never began, they are not answered.
    pub(crate) asked: Option<oneshot::Sender<RunRecord>>,
    /// The process that shows it in the foreground, while that is watched.
    pub(crate) client: Option<Box<Process>>,
    /// Where its descriptors report to.
    pub(crate) token: u64,
}

/// Which of a run's descriptors has something to tell, by what is added to its token.
pub(crate) const SCOPE_TOKEN: u64 = 1;
pub(crate) const CLIENT_TOKEN: u64 = 2;
pub(crate) const TOKENS: u64 = 3;

impl LiveRun {
    pub(crate) fn members(&self, relations: &Relations<'_>) -> Members {
        let Some(scope) = &self.scope else { return Members::default() };
        // Once its first process is reaped, its number may be another run's, or (where we look at all
        // processes) anybody's.
        let is_recycled = relations.leaders.get(&self.leader).is_some_and(|run| *run != self.run);
        let is_pinned = self.leader > 0 && !is_recycled && !(self.is_adopted && self.root_gone);
        scope.members(Leader { group: self.leader, is_pinned }, relations)
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

/// An argument list may be megabytes.
fn shortened(command: String) -> String {
    const MOST: usize = 200;
    match command.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &command[..end]),
        None => command,
    }
}
