//! The event loop: passes events to the state machine and performs the actions that it returns.

use crate::child::{SupervisorCommand, Watched, become_sweeper, kill, next_ended, reap, spawn};
use crate::crash_log::{self, Crash};
use crate::executable::Executable;
use crate::machine::{Action, Event, Exit, Limits, Machine, Purpose, StopSignal};
use crate::mailbox::Mailbox;
use crate::output::{Output, log};
use crate::report::Report;
use crate::signals::Signals;
use crate::startup::{DescriptorLimit, close_inherited, number};
use crate::state_file::{Counters, replace};
use crate::store::Store;
use ostler_sys::{forget_text, mono_ms, short_duration, take_lock, wall_ms};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{fstat, stat};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

const CRASH_LOG: &str = "crash.log";
const PID_FILE: &str = "ostler.pid";
/// The home's lock. Its holder owns the home.
const LOCK: &str = "lock";
/// How often the guardian checks its socket and the lock. A removed socket is back within 3 s.
const LOOK_EVERY_MS: u64 = 2_500;
/// The loop runs at least this many times in the watchdog timeout.
const AWAKE_PART: u64 = 4;
/// If the loop did not run for `watchdog / STILL_PART`, the guardian or the machine was suspended. The supervisor is
/// then not killed for its silence.
const STILL_PART: u64 = 2;
/// If the loop is awake anyway, it checks up to this much early.
const EARLY_MS: u64 = 800;

struct Guardian {
    home: PathBuf,
    machine: Machine,
    limits: Limits,
    signals: Signals,
    mailbox: Mailbox,
    store: Store,
    report: Report,
    counters: Counters,
    executable: Executable,
    /// The executable that replaces the current one at the next hand-over. While it is on trial, it is in `trial`.
    candidate: Option<PathBuf>,
    trial: Option<Executable>,
    rollback_reason: Option<String>,
    /// The last `STATUS` that the supervisor sent.
    status: Option<String>,
    supervisor: Option<Watched>,
    /// The pipe through which the supervisor learns the exit statuses that the guardian reaped.
    reporting: Option<OwnedFd>,
    output: Output,
    descriptor_limit: DescriptorLimit,
    look_due: u64,
    /// When the loop last read all its sources.
    gathered_ms: u64,
    is_home_lost: bool,
    events: VecDeque<Event>,
    finished: Option<bool>,
}

/// Guards the home until its supervisor exits cleanly. Returns the exit code.
pub fn guard(home: &Path) -> u8 {
    let mut report = Report::default();
    match Guardian::open(home, &mut report) {
        Ok(Some(mut guardian)) => {
            guardian.report = report;
            u8::from(!guardian.keep())
        }
        Ok(None) => {
            report.refused("owned");
            0
        }
        Err(error) => {
            report.refused(&format!(
                "cannot guard the home {} (its file \"lock\"): {error}",
                home.display()
            ));
            1
        }
    }
}

impl Guardian {
    /// `None` if another process owns the home.
    fn open(home: &Path, report: &mut Report) -> io::Result<Option<Self>> {
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
        close_inherited();
        std::env::set_current_dir(home)?;
        let signals = Signals::new()?;
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        let descriptor_limit = DescriptorLimit::lift();
        let living = number(crate::SUPERVISOR_VARIABLE).map(|pid| pid as i32);
        let mut counters = Counters { started_at_ms: wall_ms(), ..Counters::default() };
        let mut store = Store::new(descriptor_limit.most());
        if living.is_some() {
            let description = std::env::var(crate::COUNTERS_VARIABLE).ok();
            counters = description.and_then(|text| Counters::from_text(&text)).unwrap_or(counters);
        } else if let Some(lock) = take_lock(Path::new("lock"))? {
            store.add(LOCK, vec![lock.into()], None);
        } else {
            return Ok(None);
        }
        // Checked before any file of the home is changed: if the supervisor has ended, another process may own the
        // home.
        let supervisor = living.map(Watched::open).transpose()?;
        if supervisor.as_ref().is_some_and(Watched::has_ended) {
            return Ok(None);
        }
        let mailbox = Mailbox::open(Path::new(crate::SOCKET))?;
        let _ = replace(Path::new(PID_FILE), &format!("{}\n", std::process::id()));
        let mut limits = Limits::default();
        if let Some(ms) = number(crate::WATCHDOG_VARIABLE).filter(|ms| *ms > 0) {
            limits.watchdog_ms = ms;
        }
        if cfg!(debug_assertions) {
            limits.wait_ms = number("OSTLER_WAIT_MS");
            limits.trial_ms = number("OSTLER_TRIAL_MS").unwrap_or(limits.trial_ms);
        }
        let mut guardian = Self {
            home: home.to_owned(),
            machine: Machine::new(limits, counters.crashes_in_a_row),
            limits,
            signals,
            mailbox,
            store,
            report: Report::default(),
            counters,
            executable: Executable::own()?,
            candidate: None,
            trial: None,
            rollback_reason: None,
            status: None,
            supervisor,
            reporting: None,
            output: Output::open(),
            descriptor_limit,
            look_due: mono_ms() + LOOK_EVERY_MS,
            gathered_ms: mono_ms(),
            is_home_lost: false,
            events: VecDeque::new(),
            finished: None,
        };
        match living {
            Some(_) => {
                let ran_ms = number(crate::RAN_VARIABLE).unwrap_or(0);
                guardian.events.push_back(Event::TakeUp { ran_ms });
                // Tells the supervisor that this guardian listens on the socket.
                report.ready();
                forget_text();
            }
            None => guardian.events.push_back(Event::Begin),
        }
        guardian.save();
        Ok(Some(guardian))
    }

    /// Runs until the machine finishes. Returns whether the end was clean.
    fn keep(&mut self) -> bool {
        loop {
            while let Some(event) = self.events.pop_front() {
                for action in self.machine.step(event, mono_ms()) {
                    self.act(action);
                }
            }
            if let Some(clean) = self.finished {
                if self.store.has(LOCK) {
                    self.clear_away();
                }
                return clean;
            }
            self.wait();
            self.gather();
        }
    }

    fn wait(&self) {
        let latest = self.look_due.min(self.gathered_ms + self.limits.watchdog_ms / AWAKE_PART);
        let due = self.machine.due().map_or(latest, |due| due.min(latest));
        let ms = due.saturating_sub(mono_ms());
        let timeout =
            Timespec { tv_sec: (ms / 1_000) as i64, tv_nsec: (ms % 1_000) as i64 * 1_000_000 };
        let mut sources = vec![PollFd::new(&self.signals, PollFlags::IN)];
        sources.extend(self.mailbox.sockets().map(|socket| PollFd::new(socket, PollFlags::IN)));
        sources.extend(self.supervisor.as_ref().map(|process| PollFd::new(process, PollFlags::IN)));
        let _ = poll(&mut sources, Some(&timeout));
    }

    fn gather(&mut self) {
        while let Some(signal) = self.signals.next() {
            let asked = match signal {
                libc::SIGTERM => StopSignal::Terminate,
                libc::SIGINT => StopSignal::Interrupt,
                libc::SIGQUIT => StopSignal::Quit,
                _ => continue,
            };
            self.events.push_back(Event::StopAsked(asked));
        }
        // `has_ended` is read before the mail, so that the last datagrams are handled before the exit.
        let has_ended = self.supervisor.as_ref().is_some_and(Watched::has_ended);
        self.read_mail();
        if has_ended && let Some(supervisor) = self.supervisor.take() {
            self.reporting = None;
            if self.store.has(LOCK) {
                self.events.push_back(Event::Exited(supervisor.ending()));
            } else {
                // The supervisor ended before it passed the lock to this guardian. The next process to lock the home
                // owns it.
                self.finished = Some(true);
            }
        }
        self.reap_orphans();
        self.look();
        let now_ms = mono_ms();
        let still_ms = now_ms - self.gathered_ms;
        self.gathered_ms = now_ms;
        if still_ms > self.limits.watchdog_ms / STILL_PART {
            self.events.push_back(Event::StoodStill);
        } else if self.machine.due().is_some_and(|due| now_ms >= due) {
            self.events.push_back(Event::Due);
        }
    }

    /// Checks the socket and the lock file, which another process may have removed. If the home was removed, the
    /// guardian stops everything: no client could find what runs, and a new home at the same path has no record of it.
    fn look(&mut self) {
        let now_ms = mono_ms();
        if now_ms.saturating_add(EARLY_MS) < self.look_due {
            return;
        }
        self.look_due = now_ms + LOOK_EVERY_MS;
        let lock = self.store.iter().find(|(name, _)| *name == LOCK).map(|(_, lock)| lock);
        let is_removed = lock.is_some_and(|lock| !is_in_place(lock, &self.home.join(LOCK)));
        if !is_removed {
            self.mailbox.maintain();
        } else if !self.is_home_lost {
            self.is_home_lost = true;
            self.events.push_back(Event::StopAsked(StopSignal::Terminate));
        }
    }

    fn read_mail(&mut self) {
        let from = self.supervisor.as_ref().map(|supervisor| supervisor.pid);
        while let Some(letter) = self.mailbox.next(from) {
            if let Some(name) = &letter.description.name {
                if letter.description.store {
                    self.store.add(name, letter.descriptors, letter.description.process);
                } else if letter.description.remove {
                    self.store.remove(name);
                }
            }
            if letter.description.status.is_some() {
                self.status = letter.description.status;
            }
            if letter.description.candidate.is_some() {
                self.candidate = letter.description.candidate;
            }
            self.events.extend(letter.description.words.into_iter().map(Event::Received));
        }
    }

    /// Reports each exit status before it reaps the process: when the process is gone, its exit status is known.
    fn reap_orphans(&mut self) {
        while let Some((pid, status)) = next_ended() {
            if self.supervisor.as_ref().is_some_and(|supervisor| supervisor.pid == pid) {
                // The supervisor ended after `gather` looked. The next round handles it.
                return;
            }
            if self.store.note_end(pid, status)
                && let Some(reporting) = &self.reporting
            {
                print_end(reporting, pid, status);
            }
            reap(pid);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Spawn(purpose) => {
                if let Err(error) = self.spawn(purpose) {
                    let errno = error.raw_os_error().unwrap_or(libc::EAGAIN);
                    self.events.push_back(Event::Exited(Exit::NotSpawned(errno)));
                }
                self.save();
            }
            Action::Crash { ran_ms, exit, why, wait_ms } => {
                self.counters.crash_count += 1;
                self.counters.last_crash_at_ms = Some(wall_ms());
                self.counters.crashes_in_a_row = self.machine.crashes_in_a_row();
                self.save();
                let crash = Crash { at_ms: wall_ms(), ran_ms, exit, why };
                let path = Path::new(CRASH_LOG);
                let _ = self
                    .output
                    .latest()
                    .and_then(|(file, from)| crash_log::append(path, &crash, &file, from));
                let then = match wait_ms {
                    Some(ms) => format!("restarting in {} s", ms.div_ceil(1_000)),
                    None => "restarting at once".to_owned(),
                };
                let description = crash_log::summary(&crash);
                log(&format!(
                    "the supervisor crashed after {}: {description}; {then}",
                    short_duration(ran_ms)
                ));
                if self.trial.is_some() {
                    self.rollback_reason = Some(crash_log::summary(&crash));
                }
            }
            Action::Forward(asked) => self.signal(match asked {
                StopSignal::Terminate => Signal::TERM,
                StopSignal::Interrupt => Signal::INT,
                StopSignal::Quit => Signal::QUIT,
            }),
            Action::Kill => self.signal(Signal::KILL),
            Action::Sweep => {
                for process in self.store.processes() {
                    kill(process);
                }
                self.clear_away();
                // The processes left are children of the guardian, or will be. The guardian becomes the program that
                // kills them.
                let error = become_sweeper(&self.executable);
                self.report.refused(&format!("cannot kill the remaining processes: {error}"));
            }
            Action::ReportReady => {
                self.report.ready();
                forget_text();
            }
            Action::ReportRefused => {
                // The status is preferred to the log: if the disk is full, the log may lack the reason.
                let description = self.status.take().unwrap_or_else(|| self.output.last_line());
                log(&format!("the supervisor refused to start: {description}"));
                self.report.refused(&description);
            }
            Action::Try => match self.candidate.take().map(|path| Executable::at(&path)) {
                Some(Ok(trial)) => self.trial = Some(trial),
                Some(Err(error)) => self.rollback_reason = Some(error.to_string()),
                None => {}
            },
            Action::Promote => {
                if let Some(proved) = self.trial.take() {
                    log("the new executable is ready and replaces the old one");
                    self.executable = proved;
                }
            }
            Action::GoBack => {
                log("going back to the old executable");
                self.trial = None;
            }
            Action::Finish { clean } => self.finished = Some(clean),
        }
    }

    fn spawn(&mut self, purpose: Purpose) -> io::Result<()> {
        // Logged before the output begins, so that a crash shows only lines of the supervisor.
        log(match (purpose, &self.trial) {
            (Purpose::Serve, None) => "starting the supervisor",
            (Purpose::Serve, Some(_)) => "starting the new executable on trial",
            (Purpose::EndAll, _) => "starting a supervisor that stops all runs",
        });
        self.output = Output::open();
        self.mailbox.forget_earlier();
        let (reports, reporting) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        for (pid, status) in self.store.ends() {
            print_end(&reporting, pid, status);
        }
        let mut descriptors: Vec<_> =
            self.store.iter().map(|(name, descriptor)| (name, descriptor.as_fd())).collect();
        descriptors.push(("reaped", reports.as_fd()));
        let mut environment = self.environment();
        environment.extend(self.rollback_reason.take().map(|why| (crate::ROLLBACK_VARIABLE, why)));
        let arguments: &[&str] = match purpose {
            Purpose::Serve => &["supervisor"],
            Purpose::EndAll => &["supervisor", "--then-stop"],
        };
        let supervisor = spawn(&SupervisorCommand {
            executable: self.trial.as_ref().unwrap_or(&self.executable),
            arguments,
            environment,
            descriptors,
            output: self.output.file().as_fd(),
            watchdog_ms: self.limits.watchdog_ms,
            descriptor_limit: &self.descriptor_limit,
        })?;
        self.supervisor = Some(supervisor);
        self.reporting = Some(reporting);
        Ok(())
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("NOTIFY_SOCKET", self.home.join(crate::SOCKET).display().to_string()),
            (crate::GUARDIAN_VARIABLE, std::process::id().to_string()),
            (crate::COUNTERS_VARIABLE, self.counters.to_text()),
        ]
    }

    /// Removes the socket and the pid file, if they are this guardian's.
    fn clear_away(&self) {
        self.mailbox.remove();
        let own = std::process::id().to_string();
        if std::fs::read_to_string(PID_FILE).is_ok_and(|text| text.trim() == own) {
            let _ = std::fs::remove_file(PID_FILE);
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(supervisor) = &self.supervisor {
            supervisor.signal(signal);
            if signal != Signal::KILL {
                // A stopped process handles no signal until SIGCONT.
                supervisor.signal(Signal::CONT);
            }
        }
    }

    /// If the file cannot be written, the guardian and the runs go on.
    fn save(&self) {
        let gateway = self.supervisor.as_ref().map(|supervisor| supervisor.pid);
        let _ = self.counters.save(std::process::id(), gateway);
    }
}

/// Whether `path` still names the file `held`. If it cannot be examined, the answer is yes.
fn is_in_place(held: &OwnedFd, path: &Path) -> bool {
    match (fstat(held), stat(path)) {
        (Ok(held), Ok(there)) => (held.st_dev, held.st_ino) == (there.st_dev, there.st_ino),
        (Err(_), _) => true,
        (Ok(_), Err(error)) => !matches!(error, Errno::NOENT | Errno::NOTDIR),
    }
}

fn print_end(reporting: &OwnedFd, pid: i32, status: i32) {
    let mut record = [0; 8];
    record[..4].copy_from_slice(&pid.to_ne_bytes());
    record[4..].copy_from_slice(&status.to_ne_bytes());
    let _ = rustix::io::write(reporting, &record);
}
