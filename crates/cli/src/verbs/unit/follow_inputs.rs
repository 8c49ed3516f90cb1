//! The inputs of `ostler up --follow`, each read by its own thread: output, changes of units, signals, and the end of a
//! stop.

use super::look::look;
use crate::context::Context;
use crate::exit::Failure;
use crate::print::errln;
use crate::verbs::logs::{RawLine, ReceiverGone, follow_since};
use ostler_client::ClientError;
use ostler_model::{Depth, Entry, UnitView};
use ostler_ops::journal::{Entries, Follow};
use ostler_ops::runs::{Cancel, List};
use ostler_ops::units::{Await, AwaitUntil, Stop};
use signal_hook::iterator::Signals;
use std::sync::mpsc::{Receiver, RecvError, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Lines that may wait to be printed.
const LINES_MOST: usize = 1_024;

pub enum Input {
    /// A line of the unit with this index.
    Line(usize, RawLine),
    OutputEnded(usize),
    OutputFailed(usize, Failure),
    Units(Vec<UnitView>),
    /// SIGINT or SIGTERM.
    Signal,
    /// The stop has ended.
    Stopped(Result<(), Failure>),
    DaemonGone,
}

pub struct Inputs {
    context: Context,
    units: Vec<String>,
    sender: SyncSender<Input>,
    receiver: Receiver<Input>,
    outputs: Vec<Reading>,
}

/// Whether a thread reads the output of a unit.
#[derive(Clone, Copy, Debug)]
enum Reading {
    Live,
    EndedAt(u64),
}

impl Inputs {
    /// Reads signals and the states of these units. Output is read after [`Inputs::read_output`].
    pub fn begin(context: &Context, units: &[String], mut signals: Signals) -> Self {
        let (sender, receiver) = sync_channel(LINES_MOST);
        let to_loop = sender.clone();
        std::thread::spawn(move || {
            for _ in signals.forever() {
                if to_loop.send(Input::Signal).is_err() {
                    return;
                }
            }
        });
        let (to_loop, watched, names) = (sender.clone(), context.clone(), units.to_vec());
        std::thread::spawn(move || {
            let end = match watch_units(&watched, &names, &to_loop) {
                Ok(()) => return,
                Err(DaemonGone) => Input::DaemonGone,
            };
            let _ = to_loop.send(end);
        });
        let outputs = vec![Reading::EndedAt(0); units.len()];
        Self { context: context.clone(), units: units.to_vec(), sender, receiver, outputs }
    }

    pub fn next(&mut self) -> Result<Input, RecvError> {
        let input = self.receiver.recv()?;
        self.note(&input);
        Ok(input)
    }

    pub fn next_within(&mut self, patience: Duration) -> Result<Input, RecvTimeoutError> {
        let input = self.receiver.recv_timeout(patience)?;
        self.note(&input);
        Ok(input)
    }

    fn note(&mut self, input: &Input) {
        if let Input::OutputEnded(index) | Input::OutputFailed(index, _) = input {
            self.outputs[*index] = Reading::EndedAt(ostler_os::wall_ms());
        }
    }

    pub fn is_reading(&self, index: usize) -> bool {
        matches!(self.outputs[index], Reading::Live)
    }

    /// Reads what the unit writes from this time on.
    pub fn read_output(&mut self, index: usize, since_ms: u64) {
        self.outputs[index] = Reading::Live;
        let (context, unit) = (self.context.clone(), self.units[index].clone());
        let sender = self.sender.clone();
        std::thread::spawn(move || {
            let pass_on = |line| sender.send(Input::Line(index, line)).map_err(|_| ReceiverGone);
            let end = match follow_since(&context, &unit, since_ms, pass_on) {
                Ok(()) => Input::OutputEnded(index),
                Err(failure) => Input::OutputFailed(index, failure),
            };
            let _ = sender.send(end);
        });
    }

    /// Reads the output of a unit that has ended and was started again.
    pub fn read_output_again(&mut self, index: usize) {
        match self.outputs[index] {
            Reading::Live => {}
            Reading::EndedAt(at_ms) => self.read_output(index, at_ms),
        }
    }

    /// Stops these units, dependents first; [`Input::Stopped`] follows.
    pub fn stop(&self, units: &[String]) {
        let (context, sender) = (self.context.clone(), self.sender.clone());
        let names = units.to_vec();
        std::thread::spawn(move || {
            let _ = sender.send(Input::Stopped(stop(&context, names)));
        });
    }

    /// Ends the runs of these units without a grace period.
    pub fn kill(&self, units: &[String]) {
        let (context, names) = (self.context.clone(), units.to_vec());
        std::thread::spawn(move || {
            if let Err(failure) = kill(&context, &names) {
                errln!("ostler: {}", failure.description());
            }
        });
    }
}

fn stop(context: &Context, names: Vec<String>) -> Result<(), Failure> {
    if names.is_empty() {
        return Ok(());
    }
    let Some(mut client) = context.connect_successor()? else { return Ok(()) };
    client.call(&Stop { names: names.clone() })?;
    client.call(&Await { names, until: AwaitUntil::Stopped })?;
    Ok(())
}

fn kill(context: &Context, units: &[String]) -> Result<(), Failure> {
    let Some(mut client) = context.connect_successor()? else { return Ok(()) };
    let live = client.call(&List { live_only: true, newest_ended: None, unit: None })?;
    let ours = live.iter().filter(|run| run.unit.as_ref().is_some_and(|unit| units.contains(unit)));
    for run in ours {
        let call = Cancel { now: true, ..Cancel::of(run.run_id) };
        // A request that was not answered may have been carried out.
        match client.call(&call) {
            Ok(_) | Err(ClientError::Refused(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

struct DaemonGone;

/// Sends the views of these units now and whenever one of them may have changed, across supervisor restarts.
fn watch_units(
    context: &Context,
    names: &[String],
    sender: &SyncSender<Input>,
) -> Result<(), DaemonGone> {
    let entries = Entries { newest: Some(1), ..Entries::default() };
    let follow = Follow { entries, output: false };
    loop {
        let (Ok(Some(mut journal)), Ok(Some(mut client))) =
            (context.connect_successor(), context.connect_successor())
        else {
            return Err(DaemonGone);
        };
        if journal.ask(&follow).is_err() {
            continue;
        }
        // The journal is followed before the first look, so no change is missed.
        while journal.next_response::<Vec<Entry>>().is_ok() {
            let Ok(looks) = look(&mut client, names.to_vec(), Depth::None) else { break };
            let views = looks.into_iter().map(|look| look.view).collect();
            if sender.send(Input::Units(views)).is_err() {
                return Ok(());
            }
        }
    }
}
