use super::follow::{Ending, Follow, Keys, OnInterrupt};
use super::reconnecting_view::ReconnectingView;
use super::session::Session;
use super::unit;
use crate::args::AttachArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::errln;
use crate::render;
use ostler_model::Depth;
use ostler_ops::runs::{View, ViewFrom};
use ostler_ops::units::{AwaitUntil, Wake};
use std::io::Write;

/// Switches to the alternate screen, so that the user's screen is unchanged after the detach.
const BORROW: &str = "\x1b[?1049h\x1b[H";
/// Resets the terminal modes that the program may have set.
const RESET: &str =
    "\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[0m";

pub fn attach(context: &Context, arguments: &AttachArguments) -> Result<Exit, Failure> {
    wake(context, &arguments.run)?;
    if let Some(session) = Session::of(context, &arguments.run)? {
        return session.attach(arguments.read_only);
    }
    let on_terminal = ostler_os::is_terminal(std::io::stdin());
    let events = ostler_os::ForegroundEvents::listen()?;
    let call = View {
        run: arguments.run.clone(),
        from: ViewFrom::Screen,
        follow: true,
        interactive: !arguments.read_only,
        size: ostler_os::own_terminal_size().filter(|_| on_terminal && !arguments.read_only),
    };
    let view = ReconnectingView::open(context, context.connect()?, call)?;
    let run = view.viewing().run_id;
    let pty = view.viewing().pty;
    let keys = match (arguments.read_only || !view.viewing().writable, on_terminal) {
        (true, _) => Keys::None,
        (false, true) => Keys::Terminal { detach: arguments.detach_key },
        (false, false) => Keys::Stdin { close: false },
    };
    let borrowed = pty && on_terminal;
    if borrowed {
        draw(BORROW);
    }
    // On a terminal, Ctrl-C is an ordinary key and goes to the program.
    let outcome =
        Follow::new(run, false).until_ended(context, view, keys, events, OnInterrupt::Leave);
    if borrowed {
        draw(RESET);
    }
    match outcome? {
        Ending::Detached => {
            errln!("ostler: detached from run {run}; it continues");
            Ok(Exit::DONE)
        }
        Ending::Ended(result) => {
            errln!("ostler: {}", render::result_line(&result));
            Ok(Exit::DONE)
        }
    }
}

/// Wakes a sleeping unit before the attach.
fn wake(context: &Context, name: &str) -> Result<(), Failure> {
    let mut client = context.connect()?;
    let looks = unit::look(&mut client, vec![name.to_owned()], Depth::None)?;
    if !looks.first().is_some_and(|look| look.view.is_asleep()) {
        return Ok(());
    }
    errln!("ostler: {name} is asleep; waking it");
    let why = "attach requested".to_owned();
    client.call(&Wake { name: name.to_owned(), why })?;
    let names = vec![name.to_owned()];
    let views = unit::await_units(context, &mut client, names, AwaitUntil::Settled)?;
    match views.first() {
        Some(view) if view.run_id.is_none() => Err(Failure::failed(anyhow::anyhow!(
            "{name} was woken, but is {}: {}; try again when it runs",
            view.state,
            view.why
        ))),
        Some(_) | None => Ok(()),
    }
}

fn draw(sequence: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(sequence.as_bytes()).and_then(|()| out.flush());
}
