//! The current state of a run's output, shared by the output writer and all readers.

use super::screen::Screen;
use super::segment::{Mark, StreamKind, end_on_disk, read_range};
use crate::agents::DrawSignal;
use crate::runs::input::Input;
use crate::runs::viewers::AttachCount;
use ostler_model::ScreenText;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use tokio::sync::Notify;

/// Bytes of the newest output kept in memory per run.
const TAIL_MOST: usize = 4096;
/// Bytes of the log from which a screen is drawn after the supervisor restarted.
const REDRAWN_MOST: u64 = 256 << 10;

#[derive(Debug)]
pub struct OutputState {
    folder: PathBuf,
    /// The offset after the last byte that was read.
    written: AtomicU64,
    last_mono_ms: AtomicU64,
    last_wall_ms: AtomicU64,
    ended: AtomicBool,
    tail: Mutex<Tail>,
    /// Boxed, because few runs have one.
    screen: Option<Box<Mutex<Screen>>>,
    /// Signals that the screen changed.
    draw_signal: Option<Box<DrawSignal>>,
    /// Where the answers to the program's queries go, if its terminal is ours.
    query_input: OnceLock<(Arc<Input>, Arc<AttachCount>)>,
    /// Notified after every change, if a reader waits for one.
    changed: Notify,
    waiting: AtomicUsize,
}

#[derive(Debug, Default)]
struct Tail {
    bytes: VecDeque<u8>,
    /// From this offset on, this stream and time; as in the index on disk.
    marks: VecDeque<Mark>,
}

impl OutputState {
    pub(crate) fn new(folder: PathBuf, screen: Option<Screen>) -> Self {
        Self {
            folder,
            written: AtomicU64::new(0),
            last_mono_ms: AtomicU64::new(0),
            last_wall_ms: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            tail: Mutex::default(),
            draw_signal: screen.is_some().then(Box::default),
            screen: screen.map(|screen| Box::new(Mutex::new(screen))),
            query_input: OnceLock::new(),
            changed: Notify::new(),
            waiting: AtomicUsize::new(0),
        }
    }

    /// The state of an adopted run, from the log on disk. The no-output timer starts again, because no supervisor was
    /// listening.
    pub(crate) fn resumed(
        folder: PathBuf,
        written: u64,
        screen: Option<Screen>,
        last_wall_ms: Option<u64>,
    ) -> Self {
        let state = Self::new(folder, screen);
        state.written.store(written, Ordering::Release);
        state.last_wall_ms.store(last_wall_ms.unwrap_or(0), Ordering::Release);
        state
    }

    /// The state of a run that has ended, from the log on disk. The record's count may be too low: it is only as new as
    /// the last save of the record.
    pub fn of_ended(folder: PathBuf, output_bytes: u64) -> Self {
        let written = end_on_disk(&folder).max(output_bytes);
        let state = Self::new(folder, None);
        state.written.store(written, Ordering::Release);
        state.ended.store(true, Ordering::Release);
        state
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    pub fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    pub(crate) fn last_mono_ms(&self) -> Option<u64> {
        Some(self.last_mono_ms.load(Ordering::Acquire)).filter(|at| *at > 0)
    }

    pub(crate) fn last_wall_ms(&self) -> Option<u64> {
        Some(self.last_wall_ms.load(Ordering::Acquire)).filter(|at| *at > 0)
    }

    pub(crate) fn add(&self, kind: StreamKind, bytes: &[u8], mono_ms: u64, wall_ms: u64) {
        {
            let mut tail = self.tail.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let start = self.written.load(Ordering::Acquire);
            let mark = Mark { offset: start, at_ms: wall_ms, kind };
            if tail.marks.back().is_none_or(|last| mark.is_needed_after(last)) {
                tail.marks.push_back(mark);
            }
            let kept = &bytes[bytes.len().saturating_sub(TAIL_MOST)..];
            let excess =
                (tail.bytes.len() + kept.len()).saturating_sub(TAIL_MOST).min(tail.bytes.len());
            tail.bytes.drain(..excess);
            tail.bytes.extend(kept);
            let end = start + bytes.len() as u64;
            let begin = end - tail.bytes.len() as u64;
            while tail.marks.len() > 1 && tail.marks[1].offset <= begin {
                tail.marks.pop_front();
            }
            // With a terminal, standard error is the output of Ostler's own shim.
            if let Some(screen) = self.screen.as_ref().filter(|_| kind == StreamKind::Stdout) {
                let mut screen = screen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                screen.process(bytes, end);
                let replies = screen.take_replies();
                drop(screen);
                self.reply(&replies);
            }
            // Stored inside the lock: the tail's offsets are counted back from here.
            self.written.store(end, Ordering::Release);
        }
        self.last_mono_ms.store(mono_ms, Ordering::Release);
        self.last_wall_ms.store(wall_ms, Ordering::Release);
        self.notify();
    }

    /// From now on, queries of the program are answered while no client is attached whose terminal would answer.
    pub(crate) fn answer_queries(&self, input: &Arc<Input>, attach_count: &Arc<AttachCount>) {
        if input.is_terminal() {
            let _ = self.query_input.set((Arc::clone(input), Arc::clone(attach_count)));
        }
    }

    /// If another caller is typing at this moment, or the program does not read, there is no answer: programs ask again
    /// or go on without one.
    fn reply(&self, replies: &[u8]) {
        let Some((input, attach_count)) = self.query_input.get().filter(|_| !replies.is_empty())
        else {
            return;
        };
        if let Input::Terminal { master, turn } = &**input
            && attach_count.attached() == 0
            && let Ok(_turn) = turn.try_lock()
        {
            let _ = ostler_os::write_all(&**master, replies);
        }
    }

    /// Counts output that went to the disk without passing through memory.
    pub(crate) fn pass(&self, length: u64, mono_ms: u64, wall_ms: u64) {
        {
            let mut tail = self.tail.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            tail.bytes.clear();
            tail.marks.clear();
            if let Some(screen) = self.screen.as_ref().filter(|_| length > 0) {
                screen.lock().unwrap_or_else(std::sync::PoisonError::into_inner).lose();
            }
            self.written.fetch_add(length, Ordering::AcqRel);
        }
        self.last_mono_ms.store(mono_ms, Ordering::Release);
        self.last_wall_ms.store(wall_ms, Ordering::Release);
        self.notify();
    }

    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Release);
        self.notify();
    }

    /// `Some` for a run with a screen.
    pub(crate) fn draw_signal(&self) -> Option<&DrawSignal> {
        self.draw_signal.as_deref()
    }

    fn notify(&self) {
        if let Some(draw_signal) = &self.draw_signal {
            draw_signal.notify();
        }
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.changed.notify_waiters();
        }
    }

    /// Waits until output exists after `offset`, or the output has ended.
    pub async fn more_than(&self, offset: u64) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let _left = Leave(&self.waiting);
        loop {
            // Registered before the check, so that no change is missed in between.
            let mut notified = std::pin::pin!(self.changed.notified());
            notified.as_mut().enable();
            if self.written() > offset || self.is_ended() {
                return;
            }
            notified.await;
        }
    }

    /// The bytes from `offset` on, all of one stream and time, if they are still in memory.
    pub(super) fn read_tail(&self, offset: u64) -> Option<(Mark, Vec<u8>)> {
        let tail = self.tail.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let end = self.written();
        let begin = end - tail.bytes.len() as u64;
        if offset < begin || offset >= end {
            return None;
        }
        let mark = *tail.marks.iter().rev().find(|mark| mark.offset <= offset)?;
        let next = tail.marks.iter().map(|mark| mark.offset).find(|from| *from > offset);
        let until = next.unwrap_or(end).min(end);
        let range = (offset - begin) as usize..(until - begin) as usize;
        Some((mark, tail.bytes.range(range).copied().collect()))
    }

    /// The offset of the oldest byte in memory.
    pub(super) fn tail_begin(&self) -> u64 {
        let tail = self.tail.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.written() - tail.bytes.len() as u64
    }

    /// The picture on the run's terminal, and the offset up to which it was drawn.
    pub fn picture(&self) -> Option<(Vec<u8>, u64)> {
        self.drawn(Screen::picture)
    }

    /// The text on the run's terminal; `None` if it has no terminal.
    pub fn screen_text(&self) -> Option<ScreenText> {
        let hides_input = self.hides_input();
        self.drawn(|screen| ScreenText { hides_input, ..screen.text() })
    }

    /// Whether the program reads a line that its terminal does not show, as for a password.
    pub(crate) fn hides_input(&self) -> bool {
        if let Some((input, _)) = self.query_input.get()
            && let Input::Terminal { master, .. } = &**input
        {
            return ostler_os::hides_input(&**master).unwrap_or(false);
        }
        let Some(screen) = &self.screen else { return false };
        screen.lock().unwrap_or_else(std::sync::PoisonError::into_inner).hides_input()
    }

    fn drawn<T>(&self, look: impl FnOnce(&Screen) -> T) -> Option<T> {
        let screen = self.screen.as_ref()?;
        let mut screen = screen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if screen.is_undrawn() {
            // The output writer waits for the screen's lock before it counts more bytes.
            let end = self.written();
            let begin = end.saturating_sub(REDRAWN_MOST);
            let bytes = read_range(&self.folder, begin, end, StreamKind::Stdout);
            screen.draw(&bytes, end);
        } else {
            screen.follow_size();
        }
        Some(look(&screen))
    }

    /// True if all output must be drawn on a screen.
    pub(super) fn is_drawn(&self) -> bool {
        self.screen.is_some()
    }

    pub(crate) fn resize_screen(&self, size: ostler_model::TerminalSize) {
        if let Some(screen) = &self.screen {
            screen.lock().unwrap_or_else(std::sync::PoisonError::into_inner).resize(size);
        }
    }

    pub fn screen_size(&self) -> Option<ostler_model::TerminalSize> {
        let screen = self.screen.as_ref()?;
        Some(screen.lock().unwrap_or_else(std::sync::PoisonError::into_inner).size())
    }
}

struct Leave<'a>(&'a AtomicUsize);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
