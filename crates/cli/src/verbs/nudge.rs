//! `ostler nudge`: types a text into a unit's terminal and prints the receipt.

use super::mail::{OVERSEER, sender_name};
use crate::args::{NudgeArguments, NudgeMode};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use crate::render::{self, Colours};
use ostler_model::{Nudge, Priority, Receipt};
use ostler_ops::nudges::List;
use ostler_patrol::nudge::{
    Before, Mode, NudgeOutcome, NudgeRequest, Patience, Prefix, Refusal, SessionOwner,
    deliver_waiting, nudge_as,
};
use ostler_patrol::{Connector, PatrolError};
use std::io::{self, Read};

pub fn nudge(context: &Context, arguments: NudgeArguments) -> Result<Exit, Failure> {
    if arguments.list {
        return list(context, arguments.name, arguments.json);
    }
    let name = arguments.name.ok_or_else(|| Failure::usage("the unit's name is missing"))?;
    if arguments.deliver {
        let own = context.clone();
        let connector = Connector::new(move || own.connect_patiently());
        let settled = deliver_waiting(&connector, &name, Patience::UntilIdle).map_err(failure)?;
        outln!("{} queued nudges for {name} were settled", settled.len());
        return Ok(Exit::DONE);
    }
    let text = text(arguments.text)?;
    let from = sender_name(context, arguments.sender)?;
    let (mode, before) = match (arguments.wake, arguments.interrupt) {
        (true, _) => (Mode::Immediate, Before::Escape),
        (false, true) => (Mode::Immediate, Before::Interrupt),
        (false, false) => (mode(arguments.mode), Before::Nothing),
    };
    let speech = NudgeRequest {
        from: &from,
        to: &name,
        text: &text,
        mode,
        before,
        priority: if arguments.urgent { Priority::Urgent } else { Priority::Normal },
        life_ms: arguments.expires,
    };
    let owner = if arguments.foreign { SessionOwner::Anyones } else { SessionOwner::Ours };
    let prefix = if arguments.raw || from == OVERSEER { Prefix::None } else { Prefix::Sender };
    let own = context.clone();
    let connector = Connector::new(move || own.connect_patiently());
    let spoken = nudge_as(&connector, &speech, owner, prefix).map_err(failure)?;
    if arguments.json {
        let NudgeOutcome { receipt, why, id, .. } = &spoken;
        outln!("{}", serde_json::json!({ "unit": name, "receipt": receipt, "why": why, "id": id }));
    } else if is_well(spoken.receipt) {
        outln!("{}: {}", spoken.receipt, spoken.why);
    }
    match (is_well(spoken.receipt), spoken.refusal) {
        (true, _) => Ok(Exit::DONE),
        (false, refusal) => {
            let exit = refusal.map_or(Exit::FAILED, exit_of);
            if arguments.json {
                return Ok(exit);
            }
            Err(Failure { exit, cause: anyhow::anyhow!("{}: {}", spoken.receipt, spoken.why) })
        }
    }
}

fn is_well(receipt: Receipt) -> bool {
    match receipt {
        Receipt::Delivered | Receipt::Queued => true,
        Receipt::Expired | Receipt::Refused | Receipt::NotSent => false,
    }
}

fn mode(mode: NudgeMode) -> Mode {
    match mode {
        NudgeMode::WaitIdle => Mode::WaitIdle,
        NudgeMode::Queue => Mode::Queue,
        NudgeMode::Immediate => Mode::Immediate,
    }
}

fn exit_of(refusal: Refusal) -> Exit {
    match refusal {
        Refusal::NoSuchUnit => Exit::NO_SUCH,
        Refusal::NotRunning => Exit::NOT_RUNNING,
        Refusal::NoTerminal
        | Refusal::Nothing
        | Refusal::TooLong
        | Refusal::Unsendable
        | Refusal::Taken
        | Refusal::NotReady
        | Refusal::Obstacle
        | Refusal::Gone
        | Refusal::NotShown
        | Refusal::NotTaken
        | Refusal::NotAPrompt
        | Refusal::StillThere
        | Refusal::NotKnown
        | Refusal::Full => Exit::FAILED,
    }
}

/// The text from the arguments, or from standard input without its last line break.
fn text(words: Vec<String>) -> Result<String, Failure> {
    let is_input = match words.as_slice() {
        [] if ostler_os::is_terminal(io::stdin()) => {
            return Err(Failure::usage(
                "the text is missing: give it as an argument, or on standard input",
            ));
        }
        [] => true,
        [word] => word == "-",
        [..] => false,
    };
    let text = if is_input {
        let mut bytes = Vec::new();
        io::stdin().take(Nudge::TEXT_MOST as u64 + 1).read_to_end(&mut bytes)?;
        let text = String::from_utf8(bytes).map_err(|_| {
            Failure::usage("the text is not UTF-8; put it into a file and send its path")
        })?;
        text.strip_suffix('\n').map(str::to_owned).unwrap_or(text)
    } else {
        words.join(" ")
    };
    if text.trim().is_empty() {
        return Err(Failure::usage("the text is empty"));
    }
    if text.len() > Nudge::TEXT_MOST {
        let most = Nudge::TEXT_MOST;
        return Err(Failure::usage(format!(
            "the text has more than {most} bytes (1 MiB); send it as mail (`ostler mail send`)"
        )));
    }
    Ok(text)
}

fn list(context: &Context, name: Option<String>, json: bool) -> Result<Exit, Failure> {
    let nudges = context.ask(&List { to: name.clone() })?;
    if json {
        outln!("{}", serde_json::to_string(&nudges)?);
        return Ok(Exit::DONE);
    }
    if nudges.is_empty() {
        let whom = name.map_or_else(String::new, |name| format!(" for {name}"));
        outln!("no nudges{whom}");
        return Ok(Exit::DONE);
    }
    let now_ms = ostler_os::wall_ms();
    let rows: Vec<_> = nudges.iter().map(|nudge| render::nudge_row(nudge, now_ms)).collect();
    let table = render::table(&render::NUDGE_COLUMNS, &rows, render::width(), Colours::of_output());
    outln!("{table}");
    Ok(Exit::DONE)
}

fn failure(error: PatrolError) -> Failure {
    match error {
        PatrolError::Client(error) => Failure::from(*error),
        other => Failure::failed(other),
    }
}
