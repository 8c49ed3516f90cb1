use super::follow::{Ending, Follow, Keys};
use crate::args::AttachArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use ostler_model::wire::{ViewCall, ViewFrom};

/// Leaves our own terminal as a person expects it, whatever mode the program had put it into.
const RESET: &str = "\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[0m";

pub fn attach(context: &Context, arguments: &AttachArguments) -> Result<Exit, Failure> {
    let on_terminal = ostler_os::is_terminal(std::io::stdin());
    let events = (on_terminal && !arguments.read_only)
        .then(ostler_os::ForegroundEvents::listen)
        .transpose()?;
    let view = context.connect()?.view(ViewCall {
        run: arguments.run.clone(),
        from: ViewFrom::Screen,
        follow: true,
        interactive: !arguments.read_only,
        size: ostler_os::own_terminal_size().filter(|_| on_terminal && !arguments.read_only),
    })?;
    let run = view.viewing.run_id;
    let pty = view.viewing.pty;
    let keys = match (arguments.read_only || !view.viewing.writable, on_terminal) {
        (true, _) => Keys::None,
        (false, true) => Keys::Terminal { detach: arguments.detach_key },
        (false, false) => Keys::Stdin,
    };
    // Ctrl-C goes to the program where keys do; where we only look, it ends our look.
    let events = events.filter(|_| matches!(keys, Keys::Terminal { .. }));
    let outcome = Follow::new(run, false).until_ended(context, view, keys, events);
    if pty && on_terminal {
        print!("{RESET}");
    }
    match outcome? {
        Ending::Detached => {
            eprintln!("\r\nostler: left run {run}, which goes on");
            Ok(Exit::DONE)
        }
        Ending::Ended(result) => {
            eprintln!("\r\nostler: {}", render::result_line(&result));
            Ok(Exit::DONE)
        }
    }
}
