use super::{start, stop};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use ostler_client::greet;
use ostler_ops::daemon::Restart;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(5);

/// `stop` and `start` of the daemon: every run is ended, and the units that were wanted begin again. Where none
/// runs, one is started.
pub fn restart(context: &Context, json: bool) -> Result<Exit, Failure> {
    if let Some((_, pong)) = greet(&context.home.sockets(), PATIENCE)?
        && pong.guardian.is_none()
    {
        // What we started in its place would be another's business, and not theirs any more.
        return Err(Failure::failed(anyhow::anyhow!(
            "this daemon (pid {}) has no guardian of ours: systemd looks after it, or nobody does; restart it there \
             (`systemctl --user restart ostler`), or replace it without ending a run (`ostler reload --self`)",
            pong.pid
        )));
    }
    if restarted_from_inside(context)? {
        outln!(
            "the daemon restarts, and ends this run with all others; its guardian starts it again"
        );
        return Ok(Exit::DONE);
    }
    let stopped = match stop::end(context) {
        Ok(answer) => stop::print_outcome(context, &answer, json),
        Err(failure) if failure.exit == Exit::NOT_RUNNING => Exit::DONE,
        Err(failure) => return Err(failure),
    };
    let started = start::start(context, json)?;
    Ok(if stopped == Exit::DONE { started } else { stopped })
}

/// Whether we are a process of one of its runs: then we would not live to start it, and its guardian does.
fn restarted_from_inside(context: &Context) -> Result<bool, Failure> {
    let greeted = greet(&context.home.sockets(), PATIENCE)?;
    Ok(greeted.is_some_and(|(mut client, _)| client.call(&Restart {}).is_ok()))
}
