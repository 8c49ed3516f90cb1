//! What is known of a run's output at this moment, shared between the drain and everyone else.

use super::screen::Screen;
use super::segment::{Mark, StreamKind, end_on_disk, read_range};
use crate::agents::DrawSignal;
use ostler_model::ScreenText;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use tokio::sync::Notify;

/// How much of the newest output is kept in memory, a run.
const TAIL_MOST: usize = 4096;
/// How much of the log a picture is drawn from that nobody has kept.
const REDRAWN_MOST: u64 = 256 << 10;

#[derive(Debug)]
pub struct OutputState {
    folder: PathBuf,
    /// The offset behind the last byte that was drained.
    written: AtomicU64,
    last_mono_ms: AtomicU64,
    last_wall_ms: AtomicU64,
    ended: AtomicBool,
    tail: Mutex<Tail>,
    /// Boxed: few runs have one.
    screen: Option<Box<Mutex<Screen>>>,
    /// Who is told that something was drawn on it.
    draw_signal: Option<Box<DrawSignal>>,
    /// Told after every change, if anyone waits for one.
    changed: Notify,
    waiting: AtomicUsize,
}

#[derive(Debug, Default)]
struct Tail {
    bytes: VecDeque<u8>,
    /// From this offset on, this stream, at this time; as in the index on disk.
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
            changed: Notify::new(),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Of a run that is taken up: what is on disk counts. Its silence begins anew, because nobody listened.
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

    /// Of a run whose output nobody drains any more: what is on disk is all there is. The record's count is
    /// only as new as the last save of the record; a supervisor that was killed after it has written more.
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
            // Beside a terminal, what is on stderr is our own shim's.
            if let Some(screen) = self.screen.as_ref().filter(|_| kind == StreamKind::Stdout) {
                screen
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner)
                    .process(bytes, end);
            }
            // Inside the lock: the tail's offsets are counted back from here.
            self.written.store(end, Ordering::Release);
        }
        self.last_mono_ms.store(mono_ms, Ordering::Release);
        self.last_wall_ms.store(wall_ms, Ordering::Release);
        self.notify();
    }

    /// So much went by without passing through our memory; it is on disk.
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

    /// Of a run with a screen.
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

    /// Waits until there is more than `offset`, or there will be no more.
    pub async fn more_than(&self, offset: u64) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let _left = Leave(&self.waiting);
        loop {
            // Registered before looking, so that a change between the two is not missed.
            let mut notified = std::pin::pin!(self.changed.notified());
            notified.as_mut().enable();
            if self.written() > offset || self.is_ended() {
                return;
            }
            notified.await;
        }
    }

    /// From memory, if it is still there: the bytes from `offset` on, all of one stream and time.
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

    /// The offset of the oldest byte that is in memory.
    pub(super) fn tail_begin(&self) -> u64 {
        let tail = self.tail.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.written() - tail.bytes.len() as u64
    }

    /// The picture on the run's terminal, and the offset up to which it was drawn.
    pub fn picture(&self) -> Option<(Vec<u8>, u64)> {
        self.drawn(Screen::picture)
    }

    /// What is on the run's terminal, as text; none if it has no terminal.
    pub fn screen_text(&self) -> Option<ScreenText> {
        self.drawn(Screen::text)
    }

    fn drawn<T>(&self, look: impl FnOnce(&Screen) -> T) -> Option<T> {
        let screen = self.screen.as_ref()?;
        let mut screen = screen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if screen.is_undrawn() {
            // Whoever drains waits for the screen before it counts what it adds.
            let end = self.written();
            let begin = end.saturating_sub(REDRAWN_MOST);
            let bytes = read_range(&self.folder, begin, end, StreamKind::Stdout);
            screen.draw(&bytes, end);
        } else {
            screen.follow_size();
        }
        Some(look(&screen))
    }

    /// Everything it writes is to be drawn.
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
