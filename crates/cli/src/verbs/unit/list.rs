use crate::args::JsonArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use crate::say::say;
use comfy_table::{ContentArrangement, Table, presets};
use ostler_client::ClientError;
use ostler_model::UnitView;
use ostler_model::wire::{Answer, Call};

/// Every unit: what it does, and why.
pub fn list(context: &Context, arguments: &JsonArguments) -> Result<Exit, Failure> {
    let views = match context.connect()?.call(Call::UnitViews)? {
        Answer::Units(views) => views,
        _ => return Err(ClientError::Unexpected.into()),
    };
    if arguments.json {
        say!("{}", serde_json::to_string(&views)?);
        return Ok(Exit::DONE);
    }
    if views.is_empty() {
        say!(
            "no units yet; `ostler up` reads ostler.toml, `ostler start --name N -- CMD` makes one"
        );
        return Ok(Exit::DONE);
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["UNIT", "STATE", "WHY", "PID", "UPTIME", "RESTARTS"]);
    let now_ms = ostler_os::wall_ms();
    for view in &views {
        let uptime = view.started_at_ms.map(|at| render::duration(now_ms.saturating_sub(at)));
        table.add_row([
            view.name.clone(),
            view.state.to_string(),
            view.why.clone(),
            view.pid.map_or("-".to_owned(), |pid| pid.to_string()),
            uptime.unwrap_or_else(|| "-".to_owned()),
            view.restarts.to_string(),
        ]);
    }
    say!("{table}");
    Ok(Exit::DONE)
}

/// One unit in a line.
pub fn told(view: &UnitView) -> String {
    let pid = view.pid.map(|pid| format!(", pid {pid}")).unwrap_or_default();
    let why = if view.why.is_empty() { String::new() } else { format!(" ({})", view.why) };
    format!("{}: {}{why}{pid}", view.name, view.state)
}
