//! What is on a run's terminal, as text.

use crate::find::{error, find};
use crate::server::Shared;
use ostler_model::wire::{Answer, ErrorCode, WireError};

pub(crate) async fn screen(run: &str, shared: &Shared) -> Result<Answer, WireError> {
    let record = find(shared, run)?;
    let run = record.run_id;
    let name = record.unit.unwrap_or_else(|| format!("run {run}"));
    let logged = name.strip_prefix("run ").unwrap_or(&name);
    let Some(attached) = shared.engine.attach(run).await else {
        let told = format!("{name} has ended; `ostler logs {logged}` shows what it wrote");
        return Err(error(ErrorCode::Conflict, told));
    };
    let none = || {
        let told = format!("{name} has no terminal; `ostler logs {logged}` shows what it writes");
        error(ErrorCode::Conflict, told)
    };
    attached.output.screen_text().map(Answer::Screen).ok_or_else(none)
}
