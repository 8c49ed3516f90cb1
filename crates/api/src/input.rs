//! Writes bytes to a run's standard input or terminal.

use crate::find::error;
use ostler_engine::{Attached, Handle, Input};
use ostler_model::RunId;
use ostler_ops::wire::{ErrorCode, WireError};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe::Sender;

/// A terminal takes this at the beginning of a line for the end of input.
const END_OF_TRANSMISSION: &[u8] = &[0x04];

/// Writes all bytes, or fails. A run that does not read blocks only this caller.
pub(crate) async fn give(run: RunId, into: &Attached, bytes: &[u8]) -> Result<(), WireError> {
    into.attach_count.touch();
    match &*into.input {
        Input::Closed => Err(not_open(run)),
        Input::Pipe(pipe) => {
            let pipe = pipe.lock().await;
            let Some(descriptor) = &*pipe else {
                return Err(error(
                    ErrorCode::Conflict,
                    format!("the standard input of run {run} is closed"),
                ));
            };
            write_all(descriptor, bytes).await.map_err(|failure| cannot_write(run, &failure))
        }
        Input::Terminal { master, turn } => {
            let _turn = turn.lock().await;
            write_all(master, bytes).await.map_err(|failure| cannot_write(run, &failure))
        }
    }
}

/// Ends the input: closes the pipe, or sends the end-of-file character to the terminal.
pub(crate) async fn end(run: RunId, of: &Attached, engine: &Handle) -> Result<(), WireError> {
    match &*of.input {
        Input::Closed => Err(not_open(run)),
        Input::Pipe(pipe) => {
            pipe.lock().await.take();
            engine.input_closed(run);
            Ok(())
        }
        Input::Terminal { .. } => give(run, of, END_OF_TRANSMISSION).await,
    }
}

fn not_open(run: RunId) -> WireError {
    error(
        ErrorCode::Conflict,
        format!("cannot write to run {run}: it was started without --stdin, or it has ended"),
    )
}

fn cannot_write(run: RunId, failure: &io::Error) -> WireError {
    error(ErrorCode::Conflict, format!("run {run} does not accept input any more: {failure}"))
}

async fn write_all(descriptor: &Arc<OwnedFd>, bytes: &[u8]) -> io::Result<()> {
    // Registered only while data is written, so that an idle run costs the thread nothing. A terminal is not a pipe,
    // but it is written in the same way.
    let mut sender = Sender::from_owned_fd_unchecked(descriptor.try_clone()?)?;
    sender.write_all(bytes).await
}
