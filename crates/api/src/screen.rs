//! What is on a run's terminal, as text.

use crate::find::{error, find};
use crate::server::Shared;
use ostler_model::wire::{Answer, ErrorCode, WireError};

pub(crate) async fn screen(run: &str, shared: &Shared) -> Result<Answer, WireError> {
    let run = find(shared, run)?.run_id;
    let Some(attached) = shared.engine.attach(run).await else {
        let told = format!("run {run} has ended; `ostler logs {run}` shows what it wrote");
        return Err(error(ErrorCode::Conflict, told));
    };
    let none = || {
        let told = format!("run {run} has no terminal; `ostler logs {run}` shows what it writes");
        error(ErrorCode::Conflict, told)
    };
    attached.output.screen_text().map(Answer::Screen).ok_or_else(none)
}
