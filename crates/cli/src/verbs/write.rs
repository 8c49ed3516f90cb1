use super::session::Session;
use crate::args::WriteArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;

pub fn write(context: &Context, arguments: &WriteArguments) -> Result<Exit, Failure> {
    if Session::of(context, &arguments.run)?.is_some() {
        return Err(Failure::usage(format!(
            "cannot write to {name}: it runs in tmux; \
             use `ostler nudge {name} TEXT`, or type into it with `ostler attach {name}`",
            name = arguments.run
        )));
    }
    let mut client = context.connect()?;
    let mut stdin = io::stdin();
    let mut nothing = io::empty();
    let mut text;
    let source: &mut dyn Read = match (&arguments.text, arguments.eof) {
        (Some(given), _) => {
            text = given.as_bytes();
            &mut text
        }
        // `--eof` alone on a terminal closes the input without writing.
        (None, true) if ostler_os::is_terminal(io::stdin()) => &mut nothing,
        (None, _) => &mut stdin,
    };
    let written = client.give(&arguments.run, source, arguments.eof)?;
    if arguments.json {
        outln!("{}", serde_json::json!({ "written": written, "eof": arguments.eof }));
    }
    Ok(Exit::DONE)
}
