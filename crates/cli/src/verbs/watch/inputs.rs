//! The inputs of the watch, each read by its own thread: the journal, signals, and the completion of a stop.

use crate::context::Context;
use crate::exit::Failure;
use crate::verbs::unit::declare;
use ostler_client::{Client, ClientError};
use ostler_model::{Entry, UnitSpec};
use ostler_ops::journal::{Entries, Follow};
use ostler_ops::units::{Await, AwaitUntil, Declare, Stop};
use signal_hook::consts::{SIGHUP, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::mpsc::Sender;
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(500);

pub enum WatchInput {
    Entries(Vec<Entry>),
    Signal(i32),
    /// The unit is stopped, as requested.
    Stopped,
    /// The daemon was stopped.
    Gone,
}

/// Reads signals. SIGHUP is ignored, so a closed terminal does not end the watch.
pub fn read_signals(mut signals: Signals, happen: Sender<WatchInput>) {
    std::thread::spawn(move || {
        for signal in signals.forever().filter(|signal| *signal != SIGHUP) {
            if happen.send(WatchInput::Signal(signal)).is_err() {
                return;
            }
        }
    });
}

/// The outcome of a request.
enum RequestOutcome {
    Done,
    /// The supervisor is gone; ask its successor.
    Again,
    /// The supervisor cannot do it now, for example because the disk is full; try again later.
    Later,
    /// The daemon was stopped.
    Stopped,
}

fn request(context: &Context, ask: impl FnOnce(Client) -> RequestOutcome) -> RequestOutcome {
    let outcome = match context.connect_successor() {
        Ok(Some(client)) => ask(client),
        Ok(None) => RequestOutcome::Stopped,
        Err(_) => RequestOutcome::Later,
    };
    match outcome {
        RequestOutcome::Later => {
            ostler_os::nap(PAUSE);
            RequestOutcome::Again
        }
        outcome => outcome,
    }
}

/// Follows the journal after this entry, across supervisor restarts.
pub fn follow_journal(context: &Context, unit: &str, after: i64, happen: Sender<WatchInput>) {
    let context = context.clone();
    let mut filter =
        Entries { unit: Some(unit.to_owned()), after_seq: Some(after), ..Entries::default() };
    std::thread::spawn(move || {
        while let RequestOutcome::Again =
            request(&context, |client| match read_journal(client, &mut filter, &happen) {
                ClientError::Lost(_) => RequestOutcome::Again,
                _ => RequestOutcome::Later,
            })
        {}
        let _ = happen.send(WatchInput::Gone);
    });
}

fn read_journal(
    mut client: Client,
    filter: &mut Entries,
    happen: &Sender<WatchInput>,
) -> ClientError {
    if let Err(error) = client.ask(&Follow { entries: filter.clone(), output: false }) {
        return error;
    }
    loop {
        match client.next_response::<Vec<Entry>>() {
            Ok(entries) => {
                filter.after_seq = entries.last().map(|entry| entry.seq).or(filter.after_seq);
                if !entries.is_empty() && happen.send(WatchInput::Entries(entries)).is_err() {
                    return ClientError::Unexpected;
                }
            }
            Err(error) => return error,
        }
    }
}

/// Requests the stop of the unit by this signal, across supervisor restarts.
pub fn stop(
    context: &Context,
    unit: &UnitSpec,
    signal: i32,
    runs: bool,
    happen: Sender<WatchInput>,
) {
    let (context, mut unit) = (context.clone(), unit.clone());
    let is_other = runs && signal != SIGTERM;
    unit.stop.signal = signal;
    std::thread::spawn(move || {
        let outcome = loop {
            let outcome = request(&context, |client| match ask_to_stop(client, &unit, is_other) {
                Ok(()) => RequestOutcome::Done,
                Err(ClientError::Lost(_)) => RequestOutcome::Again,
                Err(_) => RequestOutcome::Later,
            });
            match outcome {
                RequestOutcome::Done => break WatchInput::Stopped,
                RequestOutcome::Stopped => break WatchInput::Gone,
                RequestOutcome::Again | RequestOutcome::Later => {}
            }
        };
        let _ = happen.send(outcome);
    });
}

fn ask_to_stop(mut client: Client, unit: &UnitSpec, is_other: bool) -> Result<(), ClientError> {
    if is_other {
        let units = vec![unit.clone()];
        let call = Declare { units, start: false, ..Declare::of_no_file() };
        client.call(&call)?;
    }
    let names = vec![unit.name.clone()];
    client.call(&Stop { names: names.clone() })?;
    client.call(&Await { names, until: AwaitUntil::Stopped })?;
    Ok(())
}

/// Removes the unit; `false` if no supervisor is running.
pub fn withdraw(context: &Context, unit: &str) -> bool {
    loop {
        let Ok(Some(mut client)) = context.connect_successor() else { return false };
        let gone = vec![unit.to_owned()];
        let call = Declare { gone, start: false, ..Declare::of_no_file() };
        match client.call(&call) {
            Ok(_) => return true,
            Err(ClientError::Lost(_)) => {}
            Err(_) => return false,
        }
    }
}

/// Declares the unit and starts it.
pub fn begin(client: &mut Client, unit: &UnitSpec) -> Result<(), Failure> {
    let units = vec![unit.clone()];
    let call = Declare { units, ..Declare::of_no_file() };
    declare(client, call).map(drop)
}
