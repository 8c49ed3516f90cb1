use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use crate::say::say;
use ostler_client::ClientError;
use ostler_model::wire::{Answer, Call, ErrorCode, WireError};

/// One unit: state and since when, last ends.
pub fn show(context: &Context, names: &[String], json: bool) -> Result<Exit, Failure> {
    let views = match context.connect()?.call(Call::UnitViews)? {
        Answer::Units(views) => views,
        _ => return Err(ClientError::Unexpected.into()),
    };
    let mut found = Vec::new();
    for name in names {
        let Some(view) = views.iter().find(|view| view.name == *name) else {
            let message = format!("there is no unit {name:?}; `ostler ls` lists those there are");
            return Err(
                ClientError::Refused(WireError { code: ErrorCode::NoSuchRun, message }).into()
            );
        };
        found.push(view.clone());
    }
    if json {
        say!("{}", serde_json::to_string(&found)?);
        return Ok(Exit::DONE);
    }
    let now_ms = ostler_os::wall_ms();
    for view in &found {
        let why = if view.why.is_empty() { String::new() } else { format!(", {}", view.why) };
        let since = render::duration(now_ms.saturating_sub(view.since_ms));
        say!("{} - {}", view.name, view.command);
        say!("  State:    {}{why}, since {since}", view.state);
        say!("  Wanted:   {}", view.desired);
        if let Some(pid) = view.pid {
            say!("  Main pid: {pid}");
        }
        if let Some(run) = view.run_id {
            say!("  Run:      {run}");
        }
        if !view.depends_on.is_empty() {
            say!("  Needs:    {}", view.depends_on.join(", "));
        }
        say!("  Restarts: {}", view.restarts);
        for end in &view.ends {
            say!(
                "  Ended:    {} after {} ({})",
                end.told,
                render::duration(end.ran_ms),
                render::time(end.at_ms)
            );
        }
    }
    Ok(Exit::DONE)
}
