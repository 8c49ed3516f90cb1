use super::{start, stop};
use crate::context::Context;
use crate::exit::{Exit, Failure};

/// `stop` and `start` of the daemon: every run is ended, and the units that were wanted begin again. Where none
/// runs, one is started.
pub fn restart(context: &Context, json: bool) -> Result<Exit, Failure> {
    let stopped = match stop::end(context) {
        Ok(answer) => stop::tell_outcome(context, &answer, json),
        Err(failure) if failure.exit == Exit::NOT_RUNNING => Exit::DONE,
        Err(failure) => return Err(failure),
    };
    let started = start::start(context, json)?;
    Ok(if stopped == Exit::DONE { started } else { stopped })
}
