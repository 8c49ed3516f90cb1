//! Handles texts that a process left half typed when it died.

use super::Refusal;
use super::find::TerminalPlace;
use super::line::{Line, clear};
use super::terminal::{Editing, Terminal};
use super::turn::{Turn, UnfinishedTyping};
use super::typing::{LOOK_EVERY_MS, Typed, forget_unread, pause};
use super::with_profile;
use crate::connection::Connection;
use crate::error::PatrolError;
use ostler_agents::cautious;
use ostler_model::{Nudge, Receipt};
use ostler_ops::nudges::Settle;

#[derive(Debug, Default)]
pub(super) struct Recovered {
    /// The queued nudges whose receipt changed.
    pub(super) settled: Vec<Nudge>,
    /// Why nothing may be typed: part of an earlier text is left.
    pub(super) left: Option<String>,
}

/// What is left of a text that was being typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remains {
    /// Nothing is left.
    None,
    /// The text was in the input and was removed.
    TakenBack,
    StillThere,
}

/// Handles the text of a process that died while it typed. Text that is still in the line was not sent: it is removed,
/// and the nudge goes back to the queue if it came from there. Otherwise it is unknown whether the text arrived, so it
/// is not typed again.
pub(super) fn recover(
    connection: &mut Connection,
    turn: &Turn,
    place: &mut TerminalPlace,
) -> Result<Recovered, PatrolError> {
    let Some(half) = turn.half_done() else { return Ok(Recovered::default()) };
    let remains = match half.run == place.run {
        true => remains(place, &half),
        false => Remains::None,
    };
    let is_sent = half.is_entered && remains == Remains::None;
    let settled = match half.id.clone() {
        Some(id) => {
            let (receipt, why) = match (remains, is_sent) {
                (Remains::StillThere, _) => {
                    (Receipt::NotSent, "the typing process died, and the text could not be removed")
                }
                (_, true) => (
                    Receipt::NotSent,
                    "the typing process died while sending; it is unknown whether the text arrived",
                ),
                (_, false) => (Receipt::Queued, "the typing process died before sending"),
            };
            vec![connection.call(&Settle { id, receipt, why: why.to_owned() })?]
        }
        None => Vec::new(),
    };
    let left = (remains == Remains::StillThere).then(|| {
        let begin: String = half.typed.text.chars().take(40).collect();
        format!("an earlier text was not sent, and part of it is still in the input: {begin:?}")
    });
    match left {
        Some(_) if place.agent.is_none() => turn.leave(),
        Some(_) | None => turn.over(),
    }
    Ok(Recovered { settled, left })
}

fn remains(place: &mut TerminalPlace, half: &UnfinishedTyping) -> Remains {
    let TerminalPlace { terminal, agent, .. } = place;
    match agent {
        Some(agent) if agent.profile.input.is_some() => {
            with_profile::recover(&mut **terminal, agent, &half.typed.text)
        }
        Some(_) | None => in_line(&mut **terminal, half),
    }
}

/// Checks the line of a program without a profile. Text that a person typed there since then stays.
fn in_line(terminal: &mut dyn Terminal, half: &UnfinishedTyping) -> Remains {
    // A person may be typing a password; a key or a flush would destroy it.
    if terminal.editing() == Editing::Hidden {
        return Remains::StillThere;
    }
    let line = Line::left(&half.typed);
    let looked = match half.is_left {
        // An earlier attempt already pressed keys to remove it, in vain.
        true => terminal.look(),
        false => shown_late(terminal, &line, &half.typed),
    };
    match looked {
        Ok(look) if line.is_gone(&look) => Remains::None,
        // The kernel edits this line. Once the kernel's unread input is discarded, nothing is left behind a free
        // prompt: text above it is only an echo.
        Ok(look) if half.is_left && is_free_line(terminal, &look) => {
            forget_unread(terminal);
            Remains::None
        }
        Ok(look) if !half.is_left && (line.holds(&look) || line.is_shown(&look)) => {
            match clear(terminal, &line) {
                (Refusal::StillThere, _) => Remains::StillThere,
                _ => Remains::TakenBack,
            }
        }
        Ok(_) if half.is_left => Remains::StillThere,
        // The line holds something else.
        Ok(_) => Remains::None,
        Err(_) => Remains::StillThere,
    }
}

fn is_free_line(terminal: &dyn Terminal, look: &ostler_model::ScreenText) -> bool {
    matches!(terminal.editing(), Editing::Kernel { .. })
        && cautious::has_prompt(look)
        && !cautious::is_begun(look)
}

/// Text that was in transit when the process died may appear a moment later.
fn shown_late(
    terminal: &mut dyn Terminal,
    line: &Line,
    typed: &Typed,
) -> Result<ostler_model::ScreenText, super::terminal::Trouble> {
    const WITHIN_MS: u64 = 400;
    forget_unread(terminal);
    let began = ostler_os::mono_ms();
    loop {
        let look = terminal.look()?;
        let is_over = ostler_os::mono_ms() - began >= WITHIN_MS;
        if typed.text.is_empty() || line.holds(&look) || is_over {
            return Ok(look);
        }
        pause(LOOK_EVERY_MS);
    }
}
