use super::{start, stop};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use ostler_client::greet;
use ostler_ops::daemon::Restart;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(5);

/// Stops the daemon with every run, and starts it again with the units that should run. If no daemon runs, starts one.
pub fn restart(context: &Context, json: bool) -> Result<Exit, Failure> {
    if let Some((_, pong)) = greet(&context.home.sockets(), PATIENCE)?
        && pong.guardian.is_none()
    {
        // A daemon started here would no longer belong to the service manager that runs the present one.
        return Err(Failure::failed(anyhow::anyhow!(
            "cannot restart the daemon: the supervisor (pid {}) has no Ostler guardian, it runs under systemd or alone; \
             use `systemctl --user restart ostler`, or keep every run with `ostler reload --self`",
            pong.pid
        )));
    }
    if restarted_from_inside(context)? {
        outln!(
            "the daemon restarts and stops every run, also this one; its guardian starts it again"
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

/// Whether this process belongs to a run of the daemon. Then it would be killed before it could start the daemon, so
/// the guardian does that.
fn restarted_from_inside(context: &Context) -> Result<bool, Failure> {
    let greeted = greet(&context.home.sockets(), PATIENCE)?;
    Ok(greeted.is_some_and(|(mut client, _)| client.call(&Restart {}).is_ok()))
}
