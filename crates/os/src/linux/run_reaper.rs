//! The reaper of one run: a small process between the supervisor and the run's first process, where the kernel
//! gives the run no boundary. It is the subreaper of the run, so every orphan of the run becomes its child, whatever
//! the orphan does with its session, its group and its environment. It lives until the kernel says that it has no
//! child, and it outlives the supervisor: whatever descends from it is of this run, and nothing else is.
//!
//! What it knows stands in a note (a memory file), which the supervisor and the guardian hold as well: how the first
//! process ended, and that nobody is left.

use super::descent::{all_pids, below};
use super::identity::{Stat, fingerprint_of, is_taken, stat, user_of};
use super::process::{Ending, Signal, last_errno, signal_checked};
use ostler_model::Fingerprint;
use rustix::io::{Errno, pread, pwrite};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// The verb with which our own executable becomes one.
pub(super) const VERB: &std::ffi::CStr = c"reaper";
/// Where it finds its note.
pub(super) const NOTE: RawFd = 3;
const NOTE_BYTES: usize = 28;
/// What the kernel calls such a file.
const NOTE_FILE: &str = "/memfd:ostler-reaper";
/// It writes these two into the note before it is executed: its own number, and that of the run's first process.
pub(super) const NUMBERS_AT: libc::off_t = 0;

/// What is in the note, each in the machine's own order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Noted {
    reaper: i32,
    /// The run's first process.
    root: i32,
    has_root_ended: bool,
    /// As `waitpid` gives it.
    status: i32,
    is_empty_scope: bool,
    /// When the first process started, in the kernel's ticks; known when it has ended.
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

/// For a run to come, to be held by the guardian before it is executed.
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

/// What the reaper of a run can tell of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// It lives. These are all processes of its run.
    Alive(Vec<i32>),
    /// It lives, and its children cannot be read: no descriptor is left. Its run is not empty.
    Unseen,
    /// It has ended because nobody of its run was left.
    ScopeEmpty,
    /// It was killed: what it held has gone to whoever is above it.
    Lost,
}

/// The reaper of one run, seen from the supervisor.
#[derive(Clone, Debug)]
pub struct RunReaper {
    fingerprint: Fingerprint,
    note: Option<Arc<OwnedFd>>,
}

impl RunReaper {
    pub(super) fn new(fingerprint: Fingerprint, note: Arc<OwnedFd>) -> Self {
        Self { fingerprint, note: Some(note) }
    }

    /// One that an earlier supervisor started. If nobody held its note for us, it still has it itself.
    pub fn found(fingerprint: Fingerprint, note: Option<Arc<OwnedFd>>) -> Self {
        let mut found = Self { fingerprint, note };
        if found.note.is_none() && found.is_alive() {
            let path = format!("/proc/{}/fd/{NOTE}", found.fingerprint.pid);
            let note = std::fs::File::open(path).ok().map(|file| Arc::new(file.into()));
            // Its number may have become another's while we looked.
            found.note = note.filter(|_| found.is_alive());
        }
        found
    }

    pub fn note(&self) -> Option<&Arc<OwnedFd>> {
        self.note.as_ref()
    }

    /// One whose run was never recorded with it: by its note, if the process that is named there has become the
    /// reaper of this run and is a child of `parent`. Also the run's first process, if that lives.
    pub fn noted(note: Arc<OwnedFd>, run: &str, parent: i32) -> Option<(Self, Option<i32>)> {
        let noted = Noted::read(&note)?;
        let fingerprint = fingerprint_of(noted.reaper)?;
        let is_meant = run_of(noted.reaper).as_deref() == Some(run)
            && stat(noted.reaper).is_some_and(|stat| stat.parent == parent);
        let root = stat(noted.root).filter(|stat| stat.parent == noted.reaper && !stat.dead);
        is_meant.then(|| (Self::new(fingerprint, note), root.map(|_| noted.root)))
    }

    /// The same where nobody held the note, because supervisor and guardian died together: the process that says of
    /// itself that it is the reaper of this run, is ours, and has a note that says so too.
    pub fn searched(run: &str) -> Option<(Self, Option<i32>)> {
        own_pids().filter(|pid| run_of(*pid).as_deref() == Some(run)).find_map(|pid| {
            let (found, noted) = Self::proven(pid)?;
            let root = stat(noted.root).filter(|stat| stat.parent == pid && !stat.dead);
            Some((found, root.map(|_| noted.root)))
        })
    }

    /// All reapers of an instance's runs, with the run of each.
    pub fn all_of(instance: &str) -> Vec<(String, Self)> {
        let reapers = own_pids().filter_map(|pid| {
            let (run, of) = words_of(pid)?;
            (of == instance).then_some(())?;
            Some((run, Self::proven(pid)?.0))
        });
        reapers.collect()
    }

    /// A process that says of itself that it is a reaper, if it has a note that says so too.
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

    /// How the run's first process ended, if that is this process and it has.
    pub fn ending_of(&self, root: i32) -> Option<Ending> {
        let noted = Noted::read(self.note.as_deref()?)?;
        (noted.root == root && noted.has_root_ended).then(|| Ending::from_wait_status(noted.status))
    }

    /// One whose line cannot be read, although there is a process of its number, counts as alive. One that was stopped
    /// (its run may do that: it is the same user) is continued, so that it notes ends and ends itself.
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

    pub(super) fn held(&self) -> Held {
        if self.is_alive() {
            let found = below(self.fingerprint.pid);
            // Its number may have become another's while we looked.
            if self.is_alive() {
                return found.map_or(Held::Unseen, Held::Alive);
            }
        }
        match self.note.as_deref().and_then(Noted::read) {
            Some(noted) if noted.is_empty_scope => Held::ScopeEmpty,
            Some(_) | None => Held::Lost,
        }
    }
}

/// Whether a child of ours has become the reaper of a run.
pub(super) fn is_run_reaper(pid: i32) -> bool {
    run_of(pid).is_some()
}

/// All processes of our user.
fn own_pids() -> impl Iterator<Item = i32> {
    let user = rustix::process::geteuid().as_raw();
    all_pids().filter(move |pid| user_of(*pid) == Some(user))
}

/// The run that a process is the reaper of, as it says itself.
fn run_of(pid: i32) -> Option<String> {
    words_of(pid).map(|(run, _)| run)
}

/// The same, and the instance whose run it is.
fn words_of(pid: i32) -> Option<(String, String)> {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = words.split(|byte| *byte == 0).skip(1);
    (words.next()? == VERB.to_bytes()).then_some(())?;
    let text = |word: &[u8]| String::from_utf8_lossy(word).into_owned();
    Some((words.next().map(text)?, words.next().map(text)?))
}

/// The reapers among the children of our guardian: they are of runs that a supervisor before us has started.
pub fn reapers_below(guardian: i32) -> Vec<(String, RunReaper)> {
    let found = super::descent::children_of(guardian).into_iter().filter_map(|pid| {
        let (run, fingerprint) = (run_of(pid)?, fingerprint_of(pid)?);
        let is_child = stat(pid).is_some_and(|stat| stat.parent == guardian);
        is_child.then(|| (run, RunReaper::found(fingerprint, None)))
    });
    found.collect()
}

/// The reaper's whole life. It was born with all signals blocked, as the subreaper of its one child.
#[expect(
    unsafe_code,
    reason = "its note has a fixed number, and rustix does not wait for any child with its pid"
)]
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where the orphans of a run are waited for"
)]
pub fn reap_run() -> u8 {
    // SAFETY: whoever executed us put the note there; if not, every use of it fails harmlessly.
    let note = unsafe { OwnedFd::from_raw_fd(NOTE) };
    let mut noted = Noted::read(&note).unwrap_or_default();
    // It sleeps from here on: what only its start needed is given back.
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
            // Noted first, then reaped: when the corpse is gone, its end is known.
            noted.has_root_ended = true;
            noted.root_started = stat(pid).map_or(0, |stat| stat.start_time);
            noted.status = match seen.si_code {
                libc::CLD_EXITED => (status & 0xff) << 8,
                libc::CLD_DUMPED => status | 0x80,
                _ => status,
            };
            noted.write(&note);
        }
        // SAFETY: a child of ours that has ended; nobody asks for its status.
        unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past() -> Fingerprint {
        let own = fingerprint_of(std::process::id() as i32).expect("we are there");
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
        assert_eq!(reaper.ending_of(43), None, "of the first process alone");
        assert_eq!(reaper.held(), Held::ScopeEmpty);
    }

    #[test]
    fn the_start_of_one_that_was_reaped_is_noted() {
        let note = new_reaper_note().expect("made");
        let own = std::process::id() as i32;
        let (above, start) = stat(own).map(|stat| (stat.parent, stat.start_time)).expect("we are");
        assert_eq!(start_of_root(&note, own, above), Some(start));
        assert_eq!(start_of_root(&note, own, above + 1), None, "another has its number");
        let noted = Noted { root: own, has_root_ended: true, root_started: 5, ..Noted::default() };
        noted.write(&note);
        assert_eq!(start_of_root(&note, own, above + 1), Some(5));
        assert_eq!(start_of_root(&note, i32::MAX, above), None, "no process has this number");
    }

    #[test]
    fn one_that_was_killed_knows_nothing() {
        assert_eq!(RunReaper::found(past(), None).held(), Held::Lost);
    }
}
