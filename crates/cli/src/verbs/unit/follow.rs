//! `ostler up --follow`: units in the foreground. Prints their output until they have ended, or until Ctrl-C stops what
//! this command started.
//!
//! ```text
//!   Watching ──Ctrl-C, or --exit-on──► Stopping ──all stopped──► over
//!      │                                  │ Ctrl-C
//!      │ all ended                        ▼
//!      ▼                               Killing ──all stopped──► over
//!     over
//! ```

use super::follow_inputs::{Input, Inputs};
use crate::args::ExitOn;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::errln;
use crate::verbs::logs::{PrintOptions, PrintOutcome, Printer, RawLine};
use ostler_model::{UnitState, UnitView};
use ostler_ops::runs::Show;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// How long the last lines of units that have ended may take.
const DRAIN_MS: u64 = 5_000;
/// A second signal within this time belongs to the first: `timeout` and shells signal a process and its group.
const SAME_PRESS_MS: u64 = 300;
/// The exit code after a second Ctrl-C, as of a program that SIGINT ended.
const INTERRUPTED: Exit = Exit(130);

/// What is shown, and what belongs to this command.
pub struct Foreground {
    /// The units whose output is printed.
    pub shown: Vec<String>,
    /// Those of them that this command started; it stops them.
    pub started: Vec<String>,
    pub exit_on: ExitOn,
    /// Output from this time on is printed.
    pub since_ms: u64,
}

/// Catches the signals from now on, so that none ends this process before it has stopped what it started.
pub fn catch_signals() -> Result<Signals, Failure> {
    Ok(Signals::new([SIGINT, SIGTERM])?)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Watching,
    Stopping,
    Killing,
}

struct Follow {
    foreground: Foreground,
    inputs: Inputs,
    printer: Printer,
    context: Context,
    stage: Stage,
    reader: Reader,
    interrupted_at_ms: Option<u64>,
    /// The unit that failed first, and its exit code.
    failed: Option<(String, Exit)>,
    /// With `--exit-on`, the exit code of the unit that ended.
    code: Option<Exit>,
}

/// Whether the loop continues.
enum Next {
    Continue,
    /// Everything has ended; its last lines are still to be printed.
    Over,
}

/// Whether the output is still read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    There,
    /// It closed the pipe, as `| head` does. What was started is stopped.
    Gone,
}

pub fn follow(
    context: &Context,
    foreground: Foreground,
    signals: Signals,
) -> Result<Exit, Failure> {
    let options = PrintOptions { follow: true, ..PrintOptions::default() };
    let printer = Printer::new(options, foreground.shown.clone());
    let mut inputs = Inputs::begin(context, &foreground.shown, signals);
    for index in 0..foreground.shown.len() {
        inputs.read_output(index, foreground.since_ms);
    }
    let follow = Follow {
        foreground,
        inputs,
        printer,
        context: context.clone(),
        stage: Stage::Watching,
        reader: Reader::There,
        interrupted_at_ms: None,
        failed: None,
        code: None,
    };
    follow.until_over()
}

impl Follow {
    fn until_over(mut self) -> Result<Exit, Failure> {
        loop {
            let Ok(input) = self.inputs.next() else { break };
            match self.take(input)? {
                Next::Continue => {}
                Next::Over => break,
            }
        }
        self.drain()?;
        self.printer.finish()?;
        Ok(match (self.stage, self.code, self.failed) {
            (Stage::Killing, _, _) => INTERRUPTED,
            (Stage::Watching | Stage::Stopping, Some(code), _) => code,
            (Stage::Stopping, None, _) => Exit::DONE,
            (Stage::Watching, None, Some((_, code))) => code,
            (Stage::Watching, None, None) => Exit::DONE,
        })
    }

    fn take(&mut self, input: Input) -> Result<Next, Failure> {
        match input {
            Input::Line(index, line) => {
                self.print(index, &line)?;
                if self.reader == Reader::Gone {
                    self.begin_stop();
                }
            }
            Input::OutputEnded(_) => {}
            Input::OutputFailed(index, failure) => {
                let unit = &self.foreground.shown[index];
                errln!("ostler: the output of {unit} cannot be read: {}", failure.description());
            }
            Input::Signal => self.interrupted(),
            Input::Units(views) => return self.units_changed(&views),
            Input::Stopped(outcome) => {
                outcome?;
                return Ok(Next::Over);
            }
            Input::DaemonGone => {
                errln!("ostler: the daemon was stopped, and all units with it");
                return Ok(Next::Over);
            }
        }
        Ok(Next::Continue)
    }

    fn print(&mut self, index: usize, line: &RawLine) -> Result<(), Failure> {
        if self.reader == Reader::There {
            let outcome = self.printer.line(index, line)?;
            let flushed = self.printer.flush()?;
            if [outcome, flushed].contains(&PrintOutcome::ReaderGone) {
                self.reader = Reader::Gone;
            }
        }
        Ok(())
    }

    fn interrupted(&mut self) {
        let now_ms = ostler_os::mono_ms();
        if self.interrupted_at_ms.is_some_and(|last_ms| now_ms - last_ms < SAME_PRESS_MS) {
            return;
        }
        self.interrupted_at_ms = Some(now_ms);
        match self.stage {
            Stage::Watching => self.begin_stop(),
            Stage::Stopping => {
                self.stage = Stage::Killing;
                errln!("ostler: killing {}", self.foreground.started.join(", "));
                self.inputs.kill(&self.foreground.started);
            }
            Stage::Killing => {}
        }
    }

    /// Stops what this command started; units that ran before continue.
    fn begin_stop(&mut self) {
        if self.stage != Stage::Watching {
            return;
        }
        self.stage = Stage::Stopping;
        let Foreground { shown, started, .. } = &self.foreground;
        let kept: Vec<&str> =
            shown.iter().filter(|unit| !started.contains(unit)).map(String::as_str).collect();
        if !kept.is_empty() {
            errln!("ostler: {} ran before this command and continues to run", kept.join(", "));
        }
        if !started.is_empty() {
            errln!("ostler: stopping {} (Ctrl-C again kills)", started.join(", "));
        }
        self.inputs.stop(started);
    }

    fn units_changed(&mut self, views: &[UnitView]) -> Result<Next, Failure> {
        if self.stage != Stage::Watching {
            return Ok(Next::Continue);
        }
        let find = |unit: &String| views.iter().find(|view| view.name == *unit);
        for (index, unit) in self.foreground.shown.iter().enumerate() {
            if find(unit).is_some_and(|view| view.pid.is_some()) {
                // A unit that had ended was started again.
                self.inputs.read_output_again(index);
            }
        }
        let ended: Vec<&UnitView> = views.iter().filter(|view| has_ended(view)).collect();
        let failed = ended.iter().find(|view| view.state == UnitState::Error);
        if let Some(view) = failed.filter(|_| self.failed.is_none()) {
            let code = self.exit_of(&view.name);
            errln!("ostler: {} failed: {}", view.name, view.why);
            self.failed = Some((view.name.clone(), code));
        }
        let decisive = match self.foreground.exit_on {
            ExitOn::Failure => failed,
            ExitOn::Any => failed.or(ended.first()),
            ExitOn::Never => None,
        };
        if let Some(view) = decisive {
            self.code = Some(self.exit_of(&view.name));
            errln!("ostler: {} ended, so everything is stopped (--exit-on)", view.name);
            self.begin_stop();
            return Ok(Next::Continue);
        }
        let is_over = self.foreground.shown.iter().all(|unit| find(unit).is_none_or(has_ended));
        Ok(if is_over { Next::Over } else { Next::Continue })
    }

    /// The exit code of the unit's last run; 1 if it is in error although its program ended well.
    fn exit_of(&self, unit: &str) -> Exit {
        let record = self.context.connect_again().and_then(|mut client| {
            let record = client.call(&Show::of(unit))?;
            Ok((record, client))
        });
        let Ok((record, mut client)) = record else { return Exit::FAILED };
        let look = super::look::look(&mut client, vec![unit.to_owned()], ostler_model::Depth::None);
        let is_failed = look.is_ok_and(|looks| {
            looks.first().is_some_and(|look| look.view.state == UnitState::Error)
        });
        match Exit::of_run(&record.result()) {
            Exit::DONE if is_failed => Exit::FAILED,
            code => code,
        }
    }

    /// Prints what the ended units wrote last.
    fn drain(&mut self) -> Result<(), Failure> {
        let until_ms = ostler_os::mono_ms() + DRAIN_MS;
        let is_awaited = |unit: &String| match self.stage {
            Stage::Watching => true,
            Stage::Stopping | Stage::Killing => self.foreground.started.contains(unit),
        };
        let shown = self.foreground.shown.iter().enumerate();
        let awaited: Vec<usize> =
            shown.filter(|(_, unit)| is_awaited(unit)).map(|(index, _)| index).collect();
        while awaited.iter().any(|index| self.inputs.is_reading(*index)) {
            let left_ms = until_ms.saturating_sub(ostler_os::mono_ms());
            match self.inputs.next_within(Duration::from_millis(left_ms)) {
                Ok(Input::Line(index, line)) => self.print(index, &line)?,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
        Ok(())
    }
}

fn has_ended(view: &UnitView) -> bool {
    matches!(view.state, UnitState::Stopped | UnitState::Done | UnitState::Error)
        && view.pid.is_none()
}
