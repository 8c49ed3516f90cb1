use crate::exit::Exit;
use crate::print::tell;
use ostler_os::{Ending, Swept, contain};
use std::ffi::OsString;

/// Process 1 of a container; the exit code is the command's.
pub fn init(command: &[OsString]) -> Exit {
    let Some((program, arguments)) = command.split_first() else {
        tell!("ostler: init needs a command: ostler init -- CMD");
        return Exit::USAGE;
    };
    let contained = match contain(program, arguments) {
        Ok(contained) => contained,
        Err(error) => {
            tell!("ostler: cannot run {}: {error}", program.to_string_lossy());
            return Exit::OURS;
        }
    };
    tell_left(contained.swept);
    match contained.ending {
        Ending::Code(code) => Exit(code as u8),
        Ending::Signal(signal) => Exit((128 + signal) as u8),
    }
}

/// A guardian whose supervisors cannot end what they own becomes this: its children are ours.
pub fn sweep() -> Exit {
    match ostler_os::sweep() {
        Swept::AllGone => Exit::DONE,
        left @ Swept::Left(_) => {
            tell_left(left);
            Exit::FAILED
        }
    }
}

fn tell_left(swept: Swept) {
    if let Swept::Left(count) = swept {
        tell!("ostler: {count} of its processes could not be ended");
    }
}
