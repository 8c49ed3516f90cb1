//! The reaper of one run: a small process between the supervisor and the run's first process. It is used where the run
//! has no cgroup. It is the subreaper of the run, so every orphan of the run becomes its child, whatever the orphan
//! does with its session, its process group and its environment. It exits when it has no child left, and it outlives
//! the supervisor. So its descendants are exactly the processes of the run.
//!
//! It writes its state to a note (a memfd) that the supervisor and the guardian hold too: how the first process ended,
//! and that no process is left.

use super::descent::{all_pids, below};
use super::identity::{Stat, fingerprint_of, is_taken, stat, user_of};
use super::process::{Ending, Signal, last_errno, signal_checked};
use ostler_model::Fingerprint;
use rustix::io::{Errno, pread, pwrite};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// The subcommand of our executable that runs a reaper.
pub(super) const VERB: &std::ffi::CStr = c"reaper";
/// The file descriptor of its note.
pub(super) const NOTE: RawFd = 3;
const NOTE_BYTES: usize = 28;
/// The name of the note in `/proc/PID/fd`.
const NOTE_FILE: &str = "/memfd:ostler-reaper";
/// Written into the note before the reaper is executed: the pid of the reaper and the pid of the run's first process.
pub(super) const NUMBERS_AT: libc::off_t = 0;

/// The contents of the note, in native byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Noted {
    reaper: i32,
    /// The run's first process.
    root: i32,
    has_root_ended: bool,
    /// As `waitpid` returns it.
    status: i32,
    is_empty_scope: bool,
    /// When the first process started, in the kernel's ticks. Set when that process has ended.
    root_started: u64,
}

impl Noted {
    fn write(self, note: &OwnedFd) {
        let words = [
            self.reaper,
            self.root,
            self.has_root_ended.into(),
            self.status,
            self.is_empty_scope.into(),
            self.root_started as i32,
            (self.root_started >> 32) as i32,
        ];
        let mut bytes = [0; NOTE_BYTES];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        let _ = pwrite(note, &bytes, 0);
    }

    fn read(note: &OwnedFd) -> Option<Self> {
        let mut bytes = [0; NOTE_BYTES];
        let length = pread(note, &mut bytes, 0).ok()?;
        let word = |index: usize| {
            let place = bytes.get(index * 4..index * 4 + 4)?;
            Some(i32::from_ne_bytes(place.try_into().ok()?))
        };
        if length < NOTE_BYTES {
            return None;
        }
        Some(Self {
            reaper: word(0)?,
            root: word(1)?,
            has_root_ended: word(2)? != 0,
            status: word(3)?,
            is_empty_scope: word(4)? != 0,
            root_started: u64::from(word(5)? as u32) | u64::from(word(6)? as u32) << 32,
        })
    }
}

/// A note for a new run. The guardian stores it before the reaper is executed.
pub fn new_reaper_note() -> io::Result<Arc<OwnedFd>> {
    let note = rustix::fs::memfd_create("ostler-reaper", rustix::fs::MemfdFlags::CLOEXEC)?;
    Noted::default().write(&note);
    Ok(Arc::new(note))
}

/// When a run's first process started, in the kernel's ticks. If its reaper has already waited for it, the note has the
/// time, and the pid may belong to another process. If the reaper was killed, the process is a child of ours that we
/// have not waited for.
pub(super) fn start_of_root(note: &OwnedFd, root: i32, reaper: i32) -> Option<u64> {
    let own = rustix::process::getpid().as_raw_pid();
    let found = stat(root);
    let noted = Noted::read(note).filter(|noted| noted.root == root && noted.has_root_ended);
    match noted {
        Some(noted) => Some(noted.root_started),
        None => found
            .filter(|stat| stat.parent == reaper || stat.parent == own)
            .map(|stat| stat.start_time),
    }
}

/// What the reaper of a run reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReaperState {
    /// The reaper is alive. The list has all processes of its run.
    Alive(Vec<i32>),
    /// The reaper is alive, but its children cannot be read, for example because no descriptor is free. The run counts
    /// as not empty.
    Unseen,
    /// The reaper exited because no process of its run was left.
    ScopeEmpty,
    /// The reaper was killed. Its children went to the next subreaper above.
    Lost,
}

/// The reaper of one run, as the supervisor sees it.
#[derive(Clone, Debug)]
pub struct RunReaper {
    fingerprint: Fingerprint,
    note: Option<Arc<OwnedFd>>,
}

impl RunReaper {
    pub(super) fn new(fingerprint: Fingerprint, note: Arc<OwnedFd>) -> Self {
        Self { fingerprint, note: Some(note) }
    }

    /// A reaper that an earlier supervisor started. If nothing held its note, the reaper's own descriptor is opened.
    pub fn found(fingerprint: Fingerprint, note: Option<Arc<OwnedFd>>) -> Self {
        let mut found = Self { fingerprint, note };
        if found.note.is_none() && found.is_alive() {
            let path = format!("/proc/{}/fd/{NOTE}", found.fingerprint.pid);
            let note = std::fs::File::open(path).ok().map(|file| Arc::new(file.into()));
            // The pid may have been reused meanwhile.
            found.note = note.filter(|_| found.is_alive());
        }
        found
    }

    pub fn note(&self) -> Option<&Arc<OwnedFd>> {
        self.note.as_ref()
    }

    /// A reaper that its run's record lacks, found by its note: the process named in the note must be the reaper of
    /// this run and a child of `parent`. Also returns the run's first process if it is alive.
    pub fn noted(note: Arc<OwnedFd>, run: &str, parent: i32) -> Option<(Self, Option<i32>)> {
        let noted = Noted::read(&note)?;
        let fingerprint = fingerprint_of(noted.reaper)?;
        let is_meant = run_of(noted.reaper).as_deref() == Some(run)
            && stat(noted.reaper).is_some_and(|stat| stat.parent == parent);
        let root = stat(noted.root).filter(|stat| stat.parent == noted.reaper && !stat.dead);
        is_meant.then(|| (Self::new(fingerprint, note), root.map(|_| noted.root)))
    }

    /// Like `noted`, if no process held the note because supervisor and guardian died together: a process of our user
    /// whose command line and note both name it as the reaper of this run.
    pub fn searched(run: &str) -> Option<(Self, Option<i32>)> {
        own_pids().filter(|pid| run_of(*pid).as_deref() == Some(run)).find_map(|pid| {
            let (found, noted) = Self::proven(pid)?;
            let root = stat(noted.root).filter(|stat| stat.parent == pid && !stat.dead);
            Some((found, root.map(|_| noted.root)))
        })
    }

    /// All reapers of an instance's runs, each with its run.
    pub fn all_of(instance: &str) -> Vec<(String, Self)> {
        let reapers = own_pids().filter_map(|pid| {
            let (run, of) = words_of(pid)?;
            (of == instance).then_some(())?;
            Some((run, Self::proven(pid)?.0))
        });
        reapers.collect()
    }

    /// The reaper `pid`, if its note confirms it.
    fn proven(pid: i32) -> Option<(Self, Noted)> {
        let found = Self::found(fingerprint_of(pid)?, None);
        let file = std::fs::read_link(format!("/proc/{pid}/fd/{NOTE}")).ok()?;
        let noted = Noted::read(found.note.as_deref()?)?;
        let is_note = file.to_string_lossy().starts_with(NOTE_FILE) && noted.reaper == pid;
        is_note.then_some((found, noted))
    }

    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    /// How the run's first process ended, if `root` is that process and it has ended.
    pub fn ending_of(&self, root: i32) -> Option<Ending> {
        let noted = Noted::read(self.note.as_deref()?)?;
        (noted.root == root && noted.has_root_ended).then(|| Ending::from_wait_status(noted.status))
    }

    /// If the process exists but its stat line cannot be read, it counts as alive. A stopped reaper is continued, so
    /// that it can reap and exit; its run can stop it, because it has the same user.
    pub fn is_alive(&self) -> bool {
        if self.fingerprint.boot_id != super::identity::boot_id() {
            return false;
        }
        let Fingerprint { pid, start_time, .. } = self.fingerprint;
        let Some(now) = stat(pid) else { return is_taken(pid) };
        let is_same = |now: &Stat| now.start_time == start_time && !now.dead;
        if now.stopped && is_same(&now) {
            signal_checked(pid, Signal::Continue, || stat(pid).as_ref().is_some_and(is_same));
        }
        is_same(&now)
    }

    /// The reaper with this pid and start time, if it is alive. A stopped one is continued, so that it can exit.
    pub fn continue_alive(pid: i32, start_time: u64) -> bool {
        let fingerprint = fingerprint_of(pid).filter(|found| found.start_time == start_time);
        fingerprint.is_some_and(|fingerprint| Self { fingerprint, note: None }.is_alive())
    }

    pub(super) fn held(&self) -> ReaperState {
        if self.is_alive() {
            let found = below(self.fingerprint.pid);
            // The pid may have been reused meanwhile.
            if self.is_alive() {
                return found.map_or(ReaperState::Unseen, ReaperState::Alive);
            }
        }
        match self.note.as_deref().and_then(Noted::read) {
            Some(noted) if noted.is_empty_scope => ReaperState::ScopeEmpty,
            Some(_) | None => ReaperState::Lost,
        }
    }
}

/// Whether a child of this process is the reaper of a run.
pub(super) fn is_run_reaper(pid: i32) -> bool {
    run_of(pid).is_some()
}

/// All processes of our user.
fn own_pids() -> impl Iterator<Item = i32> {
    let user = rustix::process::geteuid().as_raw();
    all_pids().filter(move |pid| user_of(*pid) == Some(user))
}

/// The run of a reaper, as its command line names it.
fn run_of(pid: i32) -> Option<String> {
    words_of(pid).map(|(run, _)| run)
}

/// The run and the instance of a reaper, as its command line names them.
fn words_of(pid: i32) -> Option<(String, String)> {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = words.split(|byte| *byte == 0).skip(1);
    (words.next()? == VERB.to_bytes()).then_some(())?;
    let text = |word: &[u8]| String::from_utf8_lossy(word).into_owned();
    Some((words.next().map(text)?, words.next().map(text)?))
}

/// The reapers among the guardian's children: those of runs that an earlier supervisor started.
pub fn reapers_below(guardian: i32) -> Vec<(String, RunReaper)> {
    let found = super::descent::children_of(guardian).into_iter().filter_map(|pid| {
        let (run, fingerprint) = (run_of(pid)?, fingerprint_of(pid)?);
        let is_child = stat(pid).is_some_and(|stat| stat.parent == guardian);
        is_child.then(|| (run, RunReaper::found(fingerprint, None)))
    });
    found.collect()
}

/// The main loop of the reaper. The process starts with all signals blocked, as the subreaper of its one child.
#[expect(
    unsafe_code,
    reason = "its note has a fixed number, and rustix does not wait for any child with its pid"
)]
#[expect(clippy::disallowed_methods, reason = "the only place that waits for the orphans of a run")]
pub fn reap_run() -> u8 {
    // SAFETY: the launcher put the note at this number; without it, every use of it fails harmlessly.
    let note = unsafe { OwnedFd::from_raw_fd(NOTE) };
    let mut noted = Noted::read(&note).unwrap_or_default();
    // The process only waits from here on: memory that only the start needed is released.
    super::memory::forget_text();
    loop {
        // SAFETY: a plain out parameter, zeroed before.
        let (description, seen) = unsafe {
            let mut seen = std::mem::zeroed::<libc::siginfo_t>();
            let description =
                libc::waitid(libc::P_ALL, 0, &raw mut seen, libc::WEXITED | libc::WNOWAIT);
            (description, seen)
        };
        if description != 0 {
            if last_errno() == Errno::INTR {
                continue;
            }
            noted.is_empty_scope = last_errno() == Errno::CHILD;
            noted.write(&note);
            return 0;
        }
        // SAFETY: waitid fills these fields.
        let (pid, status) = unsafe { (seen.si_pid(), seen.si_status()) };
        if pid == noted.root && !noted.has_root_ended {
            // Written to the note first, then reaped: when the zombie is gone, its exit status is known.
            noted.has_root_ended = true;
            noted.root_started = stat(pid).map_or(0, |stat| stat.start_time);
            noted.status = match seen.si_code {
                libc::CLD_EXITED => (status & 0xff) << 8,
                libc::CLD_DUMPED => status | 0x80,
                _ => status,
            };
            noted.write(&note);
        }
        // SAFETY: an ended child whose status is not needed any more.
        unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past() -> Fingerprint {
        let own = fingerprint_of(std::process::id() as i32).expect("this process exists");
        Fingerprint { start_time: own.start_time + 1, ..own }
    }

    #[test]
    fn a_note_reads_back() {
        let note = new_reaper_note().expect("made");
        assert_eq!(Noted::read(&note), Some(Noted::default()));
        let noted = Noted {
            reaper: 41,
            root: 42,
            has_root_ended: true,
            status: 3 << 8,
            is_empty_scope: true,
            root_started: 7 << 32 | 5,
        };
        noted.write(&note);
        assert_eq!(Noted::read(&note), Some(noted));
        let reaper = RunReaper::new(past(), note);
        assert_eq!(reaper.ending_of(42), Some(Ending::Code(3)));
        assert_eq!(reaper.ending_of(43), None, "the note covers only the first process");
        assert_eq!(reaper.held(), ReaperState::ScopeEmpty);
    }

    #[test]
    fn the_start_of_one_that_was_reaped_is_noted() {
        let note = new_reaper_note().expect("made");
        let own = std::process::id() as i32;
        let (above, start) =
            stat(own).map(|stat| (stat.parent, stat.start_time)).expect("this process exists");
        assert_eq!(start_of_root(&note, own, above), Some(start));
        assert_eq!(start_of_root(&note, own, above + 1), None, "another process has its pid");
        let noted = Noted { root: own, has_root_ended: true, root_started: 5, ..Noted::default() };
        noted.write(&note);
        assert_eq!(start_of_root(&note, own, above + 1), Some(5));
        assert_eq!(start_of_root(&note, i32::MAX, above), None, "no process has this number");
    }

    #[test]
    fn a_killed_reaper_reports_that_it_is_lost() {
        assert_eq!(RunReaper::found(past(), None).held(), ReaperState::Lost);
    }
}
