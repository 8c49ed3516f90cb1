//! The live view: a table of units, and keys that act on them.
//!
//! ```text
//!                l             enter
//!   Logs ◄──────────── Table ────────────► Status          /  Filter (typed into the table)
//!        ────────────►       ◄────────────                 a  attach: `ostler attach` uses the terminal
//!             q, esc              q, esc
//! ```

mod actions;
mod draw;
mod feed;
mod state;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use actions::ActionReport;
use feed::Feed;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use state::{Mode, State};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// How often the data is polled.
const REFRESH_MS: u64 = 1_000;
/// The longest delay until a new terminal size or a message of another thread is shown.
const LOOK: Duration = Duration::from_millis(100);

/// Restores the terminal when it is dropped. For a panic, ratatui's panic hook does that.
struct Screen {
    terminal: DefaultTerminal,
}

impl Screen {
    fn open() -> std::io::Result<Self> {
        Ok(Self { terminal: ratatui::try_init()? })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The panic hook has already restored the terminal; a second time would move the cursor onto the panic message.
        if !std::thread::panicking() {
            ratatui::restore();
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    GoOn,
    Attach,
    Quit,
}

pub fn top(context: &Context) -> Result<Exit, Failure> {
    if !ostler_os::is_terminal(std::io::stdin()) || !ostler_os::is_terminal(std::io::stdout()) {
        return Err(Failure::usage("top needs a terminal; `ostler ls` prints the same once"));
    }
    // A connection error is printed before the screen is switched.
    context.connect()?;
    let asked_to_end = wait_for_end()?;
    let (sender, description) = mpsc::channel();
    let mut state = State::new(Feed::new(context));
    loop {
        let mut screen = Screen::open()?;
        let next = show(context, &mut screen, &mut state, &sender, &description, &asked_to_end)?;
        drop(screen);
        match next {
            Next::Attach => {
                let description = actions::attach(&state)?;
                state.notify(description);
            }
            Next::GoOn | Next::Quit => return Ok(Exit::DONE),
        }
    }
}

/// SIGTERM and SIGHUP also end the view, and the terminal is restored.
fn wait_for_end() -> Result<Arc<AtomicBool>, Failure> {
    let events = ostler_os::ForegroundEvents::listen()?;
    let asked = Arc::new(AtomicBool::new(false));
    let asked_there = Arc::clone(&asked);
    std::thread::spawn(move || {
        while let Ok(event) = events.wait() {
            if event == ostler_os::Foreground::Interrupted {
                asked_there.store(true, Ordering::Release);
            }
        }
    });
    Ok(asked)
}

fn show(
    context: &Context,
    screen: &mut Screen,
    state: &mut State,
    sender: &mpsc::Sender<ActionReport>,
    description: &mpsc::Receiver<ActionReport>,
    asked_to_end: &AtomicBool,
) -> Result<Next, Failure> {
    let mut due_ms = 0;
    let mut size = None;
    loop {
        let now_ms = ostler_os::mono_ms();
        let new_size = screen.terminal.size()?;
        let mut is_new = size != Some(new_size);
        size = Some(new_size);
        if now_ms >= due_ms {
            state.refresh(context, usize::from(new_size.height));
            due_ms = ostler_os::mono_ms() + REFRESH_MS;
            is_new = true;
        }
        while let Ok(result) = description.try_recv() {
            state.notify(result.message);
            due_ms = 0;
            is_new = true;
        }
        is_new |= state.read_log();
        if is_new {
            screen.terminal.draw(|frame| draw::draw(frame, state))?;
        }
        if asked_to_end.load(Ordering::Acquire) {
            return Ok(Next::Quit);
        }
        if !event::poll(LOOK)? {
            continue;
        }
        if let Event::Key(key) = event::read()?
            && key.kind != KeyEventKind::Release
        {
            match react(context, state, sender, key) {
                Next::GoOn => {}
                next => return Ok(next),
            }
        }
        screen.terminal.draw(|frame| draw::draw(frame, state))?;
    }
}

fn react(
    context: &Context,
    state: &mut State,
    sender: &mpsc::Sender<ActionReport>,
    key: KeyEvent,
) -> Next {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    if is_control && matches!(key.code, KeyCode::Char('c' | 'd')) {
        return Next::Quit;
    }
    #[cfg(debug_assertions)]
    if key.code == KeyCode::Char('!') && std::env::var_os("OSTLER_FAILPOINT").is_some() {
        panic!("as a test has asked");
    }
    match (state.mode, key.code) {
        (Mode::Filter, code) => state.type_filter(code),
        (Mode::Table, KeyCode::Char('q')) => return Next::Quit,
        (Mode::Table, KeyCode::Esc) => state.clear_filter(),
        (Mode::Logs | Mode::Status, KeyCode::Char('q') | KeyCode::Esc) => state.leave_page(),
        (Mode::Logs | Mode::Status, code) => state.scroll(code),
        (Mode::Table, KeyCode::Char('a')) => match actions::may_attach(context, state) {
            Ok(()) => return Next::Attach,
            Err(why) => state.notify(why),
        },
        (Mode::Table, KeyCode::Char('/')) => state.begin_filter(),
        (Mode::Table, KeyCode::Char('l')) => state.open_logs(context),
        (Mode::Table, KeyCode::Enter) => state.open_status(context),
        (Mode::Table, KeyCode::Char(key @ ('s' | 'x' | 'r'))) => {
            if let Some(name) = state.selected() {
                state.notify(actions::ask(context, &name, key, sender.clone()));
            }
        }
        (Mode::Table, code) => state.walk(code),
    }
    Next::GoOn
}
