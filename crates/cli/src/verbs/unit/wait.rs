//! Waits until units reach a state, and shows their progress on a terminal.

use super::look::table;
use crate::context::Context;
use crate::exit::Failure;
use crate::render::{Colours, Progress, ProgressLine};
use ostler_client::{Client, greet};
use ostler_model::{Depth, UnitView};
use ostler_ops::units::{Await, AwaitUntil};
use std::io::{Write, stderr};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

const STEP: Duration = Duration::from_millis(100);
/// Each pause is this many times as long as the last poll, so polling takes at most a tenth of the time.
const SHARE: u32 = 10;
/// The timeout of a poll; the display must not delay the command.
const PATIENCE: Duration = Duration::from_millis(500);

pub fn await_units(
    context: &Context,
    client: &mut Client,
    names: Vec<String>,
    until: AwaitUntil,
) -> Result<Vec<UnitView>, Failure> {
    let picture = WaitDisplay::begin(context, &names, until);
    let answer = client.call(&Await { names, until });
    drop(picture);
    Ok(answer?)
}

/// The progress display on standard error, drawn by a thread of its own. Dropping it erases it.
struct WaitDisplay {
    over: Option<Sender<()>>,
    drawing: Option<JoinHandle<()>>,
}

impl WaitDisplay {
    /// `None` if standard error is not a terminal, or one that cannot redraw lines.
    fn begin(context: &Context, names: &[String], until: AwaitUntil) -> Option<Self> {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if names.is_empty() || is_dumb || !ostler_os::is_terminal(stderr()) {
            return None;
        }
        let (over, is_over) = channel();
        let (context, names) = (context.clone(), names.to_vec());
        let drawing = std::thread::spawn(move || draw(&context, &names, until, &is_over));
        Some(Self { over: Some(over), drawing: Some(drawing) })
    }
}

impl Drop for WaitDisplay {
    fn drop(&mut self) {
        self.over = None;
        if let Some(drawing) = self.drawing.take() {
            let _ = drawing.join();
        }
    }
}

/// Draws until the wait is over. It begins after the first step, so a short wait shows nothing.
fn draw(context: &Context, names: &[String], until: AwaitUntil, is_over: &Receiver<()>) {
    let mut block = Block::default();
    let mut client = None;
    let mut pause = STEP;
    while is_over.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        let began_ms = ostler_os::mono_ms();
        client = client.or_else(|| other_connection(context));
        if let Some(ours) = &mut client {
            match table(ours, Depth::None) {
                Ok(looks) => {
                    let progress = Progress {
                        names,
                        until,
                        views: looks
                            .iter()
                            .map(|look| (look.view.name.as_str(), &look.view))
                            .collect(),
                        now_ms: ostler_os::wall_ms(),
                    };
                    block.show(&progress);
                }
                Err(_) => client = None,
            }
        }
        let took = Duration::from_millis(ostler_os::mono_ms().saturating_sub(began_ms));
        pause = STEP.max(took * SHARE);
    }
    block.erase();
}

/// A second connection, because the first one is blocked in the wait.
fn other_connection(context: &Context) -> Option<Client> {
    let (client, _) = greet(&context.home.sockets(), PATIENCE).ok().flatten()?;
    client.be_patient(Some(PATIENCE)).ok()?;
    Some(client)
}

/// Lines that replace the previous ones. The cursor stays below them, where a prompt follows.
#[derive(Default)]
struct Block {
    shown: Vec<ProgressLine>,
}

impl Block {
    fn show(&mut self, progress: &Progress<'_>) {
        let Some(size) = ostler_os::terminal_size(stderr()) else { return };
        let lines = progress.lines(size, Colours::of_diagnostics());
        if lines == self.shown {
            return;
        }
        let mut out = self.upward(usize::from(size.columns));
        for line in &lines {
            out += &line.text;
            out += "\x1b[K\r\n";
        }
        out += "\x1b[J";
        write(&out);
        self.shown = lines;
    }

    fn erase(&mut self) {
        if self.shown.is_empty() {
            return;
        }
        let columns =
            ostler_os::terminal_size(stderr()).map_or(usize::MAX, |size| size.columns.into());
        write(&(self.upward(columns) + "\x1b[J"));
        self.shown.clear();
    }

    /// Moves the cursor to the first line. A line may take several rows after the terminal became narrower.
    fn upward(&self, columns: usize) -> String {
        let rows = self.shown.iter().map(|line| line.width.div_ceil(columns).max(1)).sum::<usize>();
        if rows == 0 { "\r".to_owned() } else { format!("\r\x1b[{rows}A") }
    }
}

fn write(text: &str) {
    let mut out = stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
