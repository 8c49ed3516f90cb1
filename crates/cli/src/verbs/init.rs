use crate::exit::Exit;
use crate::print::errln;
use ostler_os::{Ending, SweepOutcome, run_contained};
use std::ffi::OsString;

/// Process 1 of a container; the exit code is the command's.
pub fn init(command: &[OsString]) -> Exit {
    let Some((program, arguments)) = command.split_first() else {
        errln!("ostler: the command is missing; use: ostler init -- CMD");
        return Exit::USAGE;
    };
    let contained = match run_contained(program, arguments) {
        Ok(contained) => contained,
        Err(error) => {
            errln!("ostler: cannot run {}: {error}", program.to_string_lossy());
            return Exit::OURS;
        }
    };
    report_left(contained.swept);
    match contained.ending {
        Ending::Code(code) => Exit(code as u8),
        Ending::Signal(signal) => Exit((128 + signal) as u8),
    }
}

/// Kills every child of this process. A guardian executes this when no supervisor can stop the runs; it keeps the
/// guardian's children.
pub fn sweep() -> Exit {
    match ostler_os::sweep() {
        SweepOutcome::AllGone => Exit::DONE,
        left @ SweepOutcome::Left(_) => {
            report_left(left);
            Exit::FAILED
        }
    }
}

fn report_left(swept: SweepOutcome) {
    if let SweepOutcome::Left(count) = swept {
        errln!("ostler: {count} remaining processes could not be killed");
    }
}
