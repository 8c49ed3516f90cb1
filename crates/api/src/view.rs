//! Views of a run: its log by offset, its live output, and input from the viewer.

use crate::connection::{Reading, Writing, respond};
use crate::find::{error, find};
use crate::frames::{Frames, Stop};
use crate::handlers::ended;
use crate::input;
use crate::server::Shared;
use crate::viewers::ViewerId;
use ostler_engine::{Attached, LogReader, OutputState, Piece};
use ostler_model::{Backend, RunId, RunRecord, RunState, TerminalSize};
use ostler_ops::runs::{View, ViewFrom, Viewing};
use ostler_ops::wire::{ErrorCode, FrameKind, Gap, TimeMark, WireError};
use std::sync::Arc;
use tokio::io::AsyncBufReadExt;

/// The number of lines that `attach` shows first for a run without a terminal.
const ATTACH_LINES: u64 = 40;

pub(crate) async fn serve(
    id: u64,
    call: View,
    shared: &Shared,
    reading: &mut Reading,
    writing: &Writing,
) {
    let _on_its_way = shared.answering();
    let (record, attached) = match open(&call.run, shared).await {
        Ok(opened) => opened,
        Err(refusal) => {
            let _ = respond::<()>(writing, id, &Err(refusal)).await;
            return;
        }
    };
    let run = record.run_id;
    let mut reader = LogReader::new(Arc::clone(&attached.output));
    let is_pty = record.backend_id == Backend::Pty;
    let begun = begin(&call, is_pty, &attached.output, &mut reader);
    let (picture, offset) = match begun {
        Ok(begun) => begun,
        Err(failure) => {
            let refusal = error(
                ErrorCode::Internal,
                format!("the log of run {run} cannot be read: {failure}"),
            );
            let _ = respond::<()>(writing, id, &Err(refusal)).await;
            return;
        }
    };
    let viewing = Viewing {
        run_id: run,
        pty: is_pty,
        writable: attached.input.is_writable(),
        offset,
        size: attached.output.screen_size().unwrap_or_default(),
    };
    if respond(writing, id, &Ok(viewing)).await.is_err() {
        return;
    }
    let viewer =
        call.size.filter(|_| call.interactive && attached.input.is_terminal()).map(|size| {
            let size = size.clamped();
            let viewer = shared.viewers.join(run, size);
            shared.engine.resize(run, size);
            viewer
        });
    // A viewer that only follows the log cannot control the terminal.
    let is_at_it = call.follow && (call.interactive || matches!(call.from, ViewFrom::Screen));
    let _at_it = is_at_it.then(|| attached.attach_count.attach());
    let show = show(&call, run, shared, &mut reader, &attached.output, picture, offset, writing);
    if call.interactive {
        tokio::select! {
            () = show => {}
            () = receive(run, shared, &attached, viewer, reading, writing) => {}
        }
    } else {
        tokio::select! {
            () = show => {}
            () = hung_up(reading) => {}
        }
    }
    if let Some(viewer) = viewer
        && let Some(size) = shared.viewers.leave(run, viewer)
    {
        shared.engine.resize(run, size);
    }
}

/// The live streams of a run, or the log of an ended one.
pub(crate) async fn open(run: &str, shared: &Shared) -> Result<(RunRecord, Attached), WireError> {
    let record = find(shared, run)?;
    if let Some(attached) = shared.engine.attach(record.run_id).await {
        return Ok((record, attached));
    }
    let record = find(shared, &record.run_id.to_string())?;
    if record.state != RunState::Exited {
        return Err(error(
            ErrorCode::Conflict,
            format!("run {} belongs to another supervisor; use that one", record.run_id),
        ));
    }
    let output =
        Arc::new(OutputState::of_ended(shared.home.run_folder(record.run_id), record.output_bytes));
    let input = Arc::new(ostler_engine::Input::Closed);
    Ok((record, Attached { output, input, attach_count: Arc::default() }))
}

fn begin(
    call: &View,
    is_pty: bool,
    output: &OutputState,
    reader: &mut LogReader,
) -> std::io::Result<(Option<Vec<u8>>, u64)> {
    Ok(match call.from {
        ViewFrom::Start => (None, 0),
        ViewFrom::Offset(offset) => (None, offset),
        ViewFrom::Lines(lines) => (None, reader.lines_before_end(lines)?),
        ViewFrom::Since(at_ms) => (None, reader.since(at_ms)?),
        // Attaching to a tmux session uses tmux itself.
        ViewFrom::Screen => match output.picture().filter(|_| is_pty) {
            Some((picture, offset)) => (Some(picture), offset),
            None => (None, reader.lines_before_end(ATTACH_LINES)?),
        },
    })
}

#[expect(clippy::too_many_arguments, reason = "the complete state of one view")]
async fn show(
    call: &View,
    run: RunId,
    shared: &Shared,
    reader: &mut LogReader,
    output: &OutputState,
    picture: Option<Vec<u8>>,
    mut offset: u64,
    writing: &Writing,
) {
    if let Some(picture) = picture
        && send_picture(writing, shared, &picture).await.is_err()
    {
        return;
    }
    let mut reported_at = None;
    // Without `follow`, the view ends at the current end of the log. A run that writes faster than the caller reads
    // would never end.
    let goal = if call.follow { u64::MAX } else { output.written() };
    loop {
        if offset >= goal {
            let _ = send(writing, FrameKind::Caught, &[]).await;
            return;
        }
        let sent = match reader.next(offset) {
            Ok(Piece::Bytes { is_stderr, at_ms, mut bytes, .. }) => {
                bytes.truncate(usize::try_from(goal - offset).unwrap_or(usize::MAX));
                if let Some(at_ms) = at_ms.filter(|_| at_ms != reported_at) {
                    reported_at = Some(at_ms);
                    if send_json(writing, FrameKind::Time, &TimeMark { at_ms }).await.is_err() {
                        return;
                    }
                }
                offset += bytes.len() as u64;
                let kind = if is_stderr { FrameKind::Stderr } else { FrameKind::Stdout };
                send(writing, kind, &bytes).await
            }
            Ok(Piece::Gap { from, to }) => {
                offset = to;
                // Output that was deleted by rotation is sent as a gap.
                send_json(writing, FrameKind::Gap, &Gap { from, to }).await
            }
            Ok(Piece::CaughtUp) if !call.follow => {
                let _ = send(writing, FrameKind::Caught, &[]).await;
                return;
            }
            Ok(Piece::CaughtUp) if output.is_ended() && offset >= output.written() => {
                let last = match ended(shared, run).await {
                    Ok(result) => send_json(writing, FrameKind::Ended, &result).await,
                    Err(refusal) => send_json(writing, FrameKind::Error, &refusal).await,
                };
                let _ = last;
                return;
            }
            Ok(Piece::CaughtUp) => {
                output.more_than(offset).await;
                Ok(())
            }
            Err(failure) => {
                let refusal =
                    error(ErrorCode::Internal, format!("the log cannot be read: {failure}"));
                let _ = send_json(writing, FrameKind::Error, &refusal).await;
                return;
            }
        };
        if sent.is_err() {
            return;
        }
    }
}

/// Handles the viewer's frames until it disconnects.
async fn receive(
    run: RunId,
    shared: &Shared,
    attached: &Attached,
    viewer: Option<ViewerId>,
    reading: &mut Reading,
    writing: &Writing,
) {
    let mut frames = Frames::default();
    loop {
        let outcome = match frames.next(reading).await {
            Ok((FrameKind::Input, bytes)) => {
                if let Some(size) = viewer.and_then(|viewer| shared.viewers.typed(run, viewer)) {
                    shared.engine.resize(run, size);
                }
                frames.while_read(reading, input::give(run, attached, &bytes)).await
            }
            Ok((FrameKind::EndOfInput, _)) => Ok(input::end(run, attached, &shared.engine).await),
            Ok((FrameKind::Resize, size)) => {
                let size = serde_json::from_slice::<TerminalSize>(&size)
                    .ok()
                    .filter(|size| size.columns > 0 && size.rows > 0)
                    .map(TerminalSize::clamped);
                if let (Some(size), Some(viewer)) = (size, viewer)
                    && let Some(size) = shared.viewers.resized(run, viewer, size)
                {
                    shared.engine.resize(run, size);
                }
                Ok(Ok(()))
            }
            Ok((
                FrameKind::Detach
                | FrameKind::Stdout
                | FrameKind::Stderr
                | FrameKind::Gap
                | FrameKind::Ended
                | FrameKind::Caught
                | FrameKind::Time
                | FrameKind::Error,
                _,
            )) => return,
            Err(stop) => Err(stop),
        };
        match outcome {
            Ok(Ok(())) => {}
            // The run accepts no more input, but the view continues.
            Ok(Err(refusal)) => {
                let _ = send_json(writing, FrameKind::Error, &refusal).await;
            }
            Err(Stop::Bad(_) | Stop::HungUp) => return,
        }
    }
}

/// A viewer that only reads sends nothing. It may disconnect, or send another request afterwards.
async fn hung_up(reading: &mut Reading) {
    match reading.fill_buf().await {
        Ok(bytes) if !bytes.is_empty() => std::future::pending().await,
        Ok(_) | Err(_) => {}
    }
}

async fn send(writing: &Writing, kind: FrameKind, payload: &[u8]) -> std::io::Result<()> {
    writing.show(&kind.header(payload.len()), payload).await
}

/// The image of a large terminal is large: a process gets one at a time, and must read it.
async fn send_picture(writing: &Writing, shared: &Shared, picture: &[u8]) -> std::io::Result<()> {
    let _large = writing.slot.process.large.acquire().await;
    let _queued = shared.callers.queue(&writing.slot, picture.len()).await;
    for piece in picture.chunks(FrameKind::MAX_PAYLOAD) {
        let mut frame = FrameKind::Stdout.header(piece.len()).to_vec();
        frame.extend_from_slice(piece);
        writing.send(&frame).await?;
    }
    Ok(())
}

async fn send_json(
    writing: &Writing,
    kind: FrameKind,
    value: &impl serde::Serialize,
) -> std::io::Result<()> {
    send(writing, kind, &serde_json::to_vec(value).unwrap_or_default()).await
}
