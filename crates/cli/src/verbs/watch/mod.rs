//! `ostler watch`: one server in the foreground, supervised as by Ploinky's watchdog. The daemon supervises the server.
//! This process declares the unit, logs its events in the watchdog's format, passes on its output and forwards signals,
//! and exits with the watchdog's exit codes.

mod claim;
mod event_mapper;
mod inputs;
mod output;
mod settings;
mod watchdog_log;

use crate::args::WatchArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use claim::Claim;
use event_mapper::{EventMapper, Step};
use inputs::WatchInput;
use ostler_client::Client;
use ostler_model::{Entry, RunId, UnitView};
use ostler_ops::journal::Entries;
use ostler_ops::runs::{Show, ViewFrom};
use ostler_ops::units::List;
use output::Output;
use serde_json::{Value, json};
use settings::Settings;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use watchdog_log::{Level, WatchdogLog};

/// The time after SIGKILL for the exit to be reported, and for the cleanup in this process. Together they stay within
/// the second that Ploinky allows.
const NEWS_MS: u64 = 600;
const LAST_MS: u64 = 350;
/// The time for the cleanup when no signal asked this process to exit.
const UNHURRIED_MS: u64 = 5_000;

pub fn watch(context: &Context, arguments: WatchArguments) -> Result<Exit, Failure> {
    let settings = Settings::of(&arguments)?;
    let signals = Signals::new([SIGINT, SIGTERM, SIGQUIT, SIGHUP])?;
    let log = if settings.is_silent {
        WatchdogLog::silent(&settings.log)
    } else {
        WatchdogLog::open(&settings.log, settings.is_debug)?
    };
    let mut client = context.connect()?;
    let claim = Claim::take(context, settings.name())?;
    let known = known(&mut client, settings.name())?;
    if let Some(view) = known.as_ref().filter(|_| claim.left_at.is_none()) {
        let place = view.file.as_ref().map_or(String::new(), |file| format!(" in {file}"));
        let name = settings.name();
        // The claim file exists only for units that `ostler watch` declared.
        claim.give_back();
        return Err(Failure::usage(format!(
            "a unit {name} is already declared{place}; use another --name"
        )));
    }
    let before = newest(&mut client)?;
    let (happen, watch_inputs) = channel();
    inputs::read_signals(signals, happen.clone());
    let mut watch = Watch {
        context,
        log,
        output: Output::begin(context),
        mapper: EventMapper::new(settings.window_ms, settings.reset_after_ms),
        claim,
        before,
        happen,
        leaving: None,
        settings,
    };
    watch.begin(&mut client, known)?;
    let exit = watch.until_over(&watch_inputs);
    Ok(watch.finish(exit))
}

fn known(client: &mut Client, name: &str) -> Result<Option<UnitView>, Failure> {
    Ok(client.call(&List {})?.into_iter().find(|view| view.name == name))
}

/// The last entry of the whole journal.
fn newest(client: &mut Client) -> Result<i64, Failure> {
    let entries = client.call(&Entries { newest: Some(1), ..Entries::default() })?;
    Ok(entries.last().map_or(0, |entry| entry.seq))
}

/// The shutdown of this process.
#[derive(Clone, Copy)]
struct ShuttingDown {
    until_ms: u64,
    is_stopped: bool,
}

struct Watch<'a> {
    context: &'a Context,
    settings: Settings,
    log: WatchdogLog,
    output: Output,
    mapper: EventMapper,
    claim: Claim,
    /// Entries up to this one are older than this process: they are logged, and cause no action.
    before: i64,
    happen: Sender<WatchInput>,
    leaving: Option<ShuttingDown>,
}

impl Watch<'_> {
    fn notify<const N: usize>(
        &mut self,
        level: Level,
        event: &'static str,
        more: [(&str, Value); N],
    ) {
        let line = self.mapper.line(ostler_os::wall_ms(), level, event, more);
        self.log.notify(&line);
    }

    fn begin(&mut self, client: &mut Client, known: Option<UnitView>) -> Result<(), Failure> {
        let is_taken_over = known.is_some();
        let more = [
            ("unit", json!(self.settings.name())),
            ("port", json!(self.settings.port)),
            ("healthCheckEnabled", json!(self.settings.is_checked)),
            ("takenOver", json!(is_taken_over)),
        ];
        self.notify(Level::Info, "process_manager_starting", more);
        if let Some(UnitView { run_id: Some(run), pid, started_at_ms, restarts, .. }) = known {
            self.mapper.found(run, pid, started_at_ms.unwrap_or_default(), restarts);
            self.output.show(run, ViewFrom::Lines(0));
        }
        // From now on another watch can take over.
        let after = self.claim.left_at.unwrap_or(self.before);
        self.claim.described_until(after);
        inputs::begin(client, &self.settings.unit)?;
        let name = self.settings.name();
        inputs::follow_journal(self.context, name, after, self.happen.clone());
        Ok(())
    }

    /// Runs until the watch is over, and returns the exit code.
    fn until_over(&mut self, watch_inputs: &Receiver<WatchInput>) -> u8 {
        loop {
            let watch_input = match self.leaving {
                None => watch_inputs.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(leaving) => {
                    let left = leaving.until_ms.saturating_sub(ostler_os::mono_ms());
                    watch_inputs.recv_timeout(Duration::from_millis(left))
                }
            };
            let Ok(watch_input) = watch_input else {
                // The time is over. Do not wait for a process that survives SIGKILL, or for a silent daemon.
                return if self.mapper.has_server() { 137 } else { self.mapper.exit() };
            };
            match watch_input {
                WatchInput::Entries(entries) => {
                    for entry in &entries {
                        if let Some(code) = self.take(entry) {
                            return code;
                        }
                    }
                }
                WatchInput::Signal(signal) => self.leave(signal),
                WatchInput::Stopped => {
                    if let Some(leaving) = &mut self.leaving {
                        leaving.is_stopped = true;
                        let news_ms = ostler_os::mono_ms() + NEWS_MS;
                        leaving.until_ms = leaving.until_ms.min(news_ms);
                    }
                }
                WatchInput::Gone => {
                    self.notify(Level::Warn, "supervisor_stopped", []);
                    return self.mapper.exit();
                }
            }
            // The unit is stopped and no server was running.
            if self.leaving.is_some_and(|leaving| leaving.is_stopped) && !self.mapper.has_server() {
                return 0;
            }
        }
    }

    fn take(&mut self, entry: &Entry) -> Option<u8> {
        let is_past = entry.seq <= self.before;
        let mut code = None;
        for step in self.mapper.receive(entry) {
            match step {
                Step::CallHook(line) => self.log.notify(&line),
                Step::Show(run) if !is_past => self.output.show(run, ViewFrom::Start),
                Step::End(exit) if !is_past => code = Some(exit),
                Step::NeverRan(run) if !is_past => code = Some(self.never_ran(run)),
                Step::Show(_) | Step::NeverRan(_) | Step::End(_) => {}
            }
        }
        self.claim.described_until(entry.seq);
        code
    }

    /// The exit code for a program that cannot be executed: 126 or 127, as in a shell.
    fn never_ran(&self, run: RunId) -> u8 {
        let answer = self.context.connect_running().map(|mut client| client.call(&Show::of(run)));
        match answer {
            Ok(Ok(record)) => Exit::of_run(&record.result()).0,
            Ok(Err(_)) | Err(_) => Exit::OURS.0,
        }
    }

    /// Starts the shutdown at the first signal, with time limits for each step.
    fn leave(&mut self, signal: i32) {
        if self.leaving.is_some() {
            return;
        }
        let grace_ms = self.settings.unit.stop.grace_ms;
        let until_ms = ostler_os::mono_ms() + grace_ms + NEWS_MS;
        self.leaving = Some(ShuttingDown { until_ms, is_stopped: false });
        let more = [("signal", json!(render::signal(signal)))];
        self.notify(Level::Info, "watchdog_shutting_down", more);
        self.mapper.leave();
        let runs = self.mapper.has_server();
        let happen = self.happen.clone();
        inputs::stop(self.context, &self.settings.unit, signal, runs, happen);
    }

    fn finish(mut self, code: u8) -> Exit {
        let patience_ms = if self.leaving.is_some() { LAST_MS } else { UNHURRIED_MS };
        let (context, name) = (self.context.clone(), self.settings.name().to_owned());
        let (is_done, done) = channel();
        std::thread::spawn(move || {
            let _ = is_done.send(inputs::withdraw(&context, &name));
        });
        let until_ms = ostler_os::mono_ms() + patience_ms;
        let left = || Duration::from_millis(until_ms.saturating_sub(ostler_os::mono_ms()));
        let is_withdrawn = done.recv_timeout(left()).unwrap_or(false);
        let more = [("exitCode", json!(code))];
        if self.leaving.is_some() {
            self.notify(Level::Info, "shutdown_complete", more.clone());
        }
        self.notify(Level::Info, "watchdog_exiting", more);
        self.output.finish(left());
        self.log.finish(left());
        // Otherwise the next watch of this name takes over the unit.
        if is_withdrawn {
            self.claim.give_back();
        }
        Exit(code)
    }
}
