//! Writes frames to a run's standard input.

use crate::connection::{Reading, Writing, respond};
use crate::find::{error, find};
use crate::frames::{Frames, Stop};
use crate::input;
use crate::server::Shared;
use ostler_ops::Done;
use ostler_ops::runs::Written;
use ostler_ops::wire::{ErrorCode, FrameKind, WireError};

pub(crate) async fn serve(
    id: u64,
    text: &str,
    shared: &Shared,
    reading: &mut Reading,
    writing: &Writing,
) -> Result<Written, WireError> {
    let record = find(shared, text)?;
    let run = record.run_id;
    let Some(attached) = shared.engine.attach(run).await else {
        return Err(error(ErrorCode::Conflict, format!("cannot write to run {run}: it has ended")));
    };
    if !attached.input.is_writable() {
        return Err(error(
            ErrorCode::Conflict,
            format!("cannot write to run {run}: it was started without --stdin"),
        ));
    }
    if respond(writing, id, &Ok(Done {})).await.is_err() {
        return Ok(Written { bytes: 0 });
    }
    let mut written = 0;
    let mut frames = Frames::default();
    loop {
        let step = match frames.next(reading).await {
            Ok((FrameKind::Input, bytes)) => {
                let deliver = async {
                    tokio::select! {
                        given = input::give(run, &attached, &bytes) => given,
                        _ = shared.engine.wait(run) => Err(error(
                            ErrorCode::Conflict,
                            format!("run {run} ended before it had read all input"),
                        )),
                    }
                };
                frames.while_read(reading, deliver).await.map(|given| given.map(|()| bytes.len()))
            }
            Ok((FrameKind::EndOfInput, _)) => {
                return match input::end(run, &attached, &shared.engine).await {
                    Ok(()) => Ok(Written { bytes: written }),
                    Err(refusal) => Err(refusal),
                };
            }
            Ok((FrameKind::Detach, _)) => return Ok(Written { bytes: written }),
            Ok((other, _)) => {
                Ok(Err(error(ErrorCode::InvalidRequest, format!("a {other:?} frame is not input"))))
            }
            Err(stop) => Err(stop),
        };
        match step {
            Ok(Ok(length)) => written += length as u64,
            Ok(Err(refusal)) | Err(Stop::Bad(refusal)) => return Err(refusal),
            Err(Stop::HungUp) => return Ok(Written { bytes: written }),
        }
    }
}
