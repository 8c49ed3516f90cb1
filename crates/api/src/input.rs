//! Bytes into a run's standard input or terminal.

use crate::find::error;
use ostler_engine::{Attached, Handle, Input};
use ostler_model::RunId;
use ostler_ops::wire::{ErrorCode, WireError};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe::Sender;

/// What a terminal takes for the end of input at the beginning of a line.
const END_OF_TRANSMISSION: &[u8] = &[0x04];

/// All of the bytes, or an error. A run that does not read holds up this caller and nobody else.
pub(crate) async fn give(run: RunId, into: &Attached, bytes: &[u8]) -> Result<(), WireError> {
    into.hands.touch();
    match &*into.input {
        Input::Closed => Err(not_open(run)),
        Input::Pipe(pipe) => {
            let pipe = pipe.lock().await;
            let Some(descriptor) = &*pipe else {
                return Err(error(
                    ErrorCode::Conflict,
                    format!("the standard input of run {run} has been closed"),
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

/// No more input: the pipe is closed, the terminal is told.
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
        format!(
            "nothing can be written to run {run}: it was started without --stdin, or it has ended"
        ),
    )
}

fn cannot_write(run: RunId, failure: &io::Error) -> WireError {
    error(ErrorCode::Conflict, format!("run {run} does not take input any more: {failure}"))
}

async fn write_all(descriptor: &Arc<OwnedFd>, bytes: &[u8]) -> io::Result<()> {
    // Registered only while something is written: a run at rest costs the door nothing. A terminal is
    // not a pipe, but it is written to in the same way.
    let mut sender = Sender::from_owned_fd_unchecked(descriptor.try_clone()?)?;
    sender.write_all(bytes).await
}
