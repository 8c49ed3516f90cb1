//! The recipe on a terminal that is made up, for what real ones do seldom.

use super::speak::{Said, Stage, speak};
use super::terminal::{Cursor, Key, Look, Paste, Terminal, Trouble};
use super::{Before, Refusal};
use std::path::PathBuf;

/// What is out of the ordinary with it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// The paste is answered with an error, though it arrived.
    PasteUnknown,
    GoneWhileTyped,
    /// Enter is answered with an error, though it arrived.
    EnterUnknown,
    GoneAtEnter,
    /// The first Enter is lost.
    EnterLost,
}

struct Made {
    fault: Fault,
    line: String,
    sent: Vec<String>,
    enters: usize,
    is_gone: bool,
}

fn made(fault: Fault) -> Made {
    Made { fault, line: String::new(), sent: Vec::new(), enters: 0, is_gone: false }
}

fn gone() -> Trouble {
    Trouble::Gone("it is no more".to_owned())
}

fn unknown() -> Trouble {
    Trouble::Unknown("nobody answers".to_owned())
}

impl Terminal for Made {
    fn look(&mut self) -> Result<Look, Trouble> {
        if self.is_gone {
            return Err(gone());
        }
        let mut lines: Vec<String> = self.sent.iter().map(|text| format!("said {text}")).collect();
        lines.push(format!("> {}", self.line));
        let column = 2 + self.line.len();
        let cursor = Some(Cursor { row: lines.len() - 1, column, is_visible: true });
        Ok(Look { lines, cursor })
    }

    fn paste_mode(&mut self) -> Result<Paste, Trouble> {
        Ok(Paste::Bracketed)
    }

    fn type_in(&mut self, text: &str, _: Paste) -> Result<(), Trouble> {
        self.line.push_str(text);
        match self.fault {
            Fault::PasteUnknown => Err(unknown()),
            Fault::GoneWhileTyped => {
                self.is_gone = true;
                Ok(())
            }
            Fault::None | Fault::EnterUnknown | Fault::GoneAtEnter | Fault::EnterLost => Ok(()),
        }
    }

    fn press(&mut self, key: Key) -> Result<(), Trouble> {
        match key {
            Key::KillLine => self.line.clear(),
            Key::Escape | Key::Interrupt => {}
            Key::Enter => {
                self.enters += 1;
                if self.fault == Fault::EnterLost && self.enters == 1 {
                    return Ok(());
                }
                self.sent.push(std::mem::take(&mut self.line));
                self.is_gone = self.fault == Fault::GoneAtEnter;
                if self.fault == Fault::EnterUnknown {
                    return Err(unknown());
                }
            }
        }
        Ok(())
    }

    fn device(&self) -> Option<PathBuf> {
        None
    }
}

fn said(terminal: &mut Made) -> (Said, Vec<Stage>) {
    let mut stages = Vec::new();
    let said = speak(terminal, "hello there", Before::Nothing, |stage, _| {
        stages.push(stage);
        Ok(())
    });
    (said, stages)
}

fn refusal(said: &Said) -> Option<Refusal> {
    match said {
        Said::Delivered => None,
        Said::Refused(refusal, _) => Some(*refusal),
    }
}

#[test]
fn both_stages_are_noted_before_they_begin() {
    let mut terminal = made(Fault::None);
    assert_eq!(said(&mut terminal), (Said::Delivered, vec![Stage::Typing, Stage::Entering]));
    assert_eq!(terminal.sent, ["hello there"]);
}

#[test]
fn nothing_is_typed_if_no_note_can_be_kept() {
    let mut terminal = made(Fault::None);
    let full = || Err(std::io::Error::other("no space"));
    let said = speak(&mut terminal, "hello", Before::Nothing, |_, _| full());
    assert_eq!(refusal(&said), Some(Refusal::Gone));
    assert_eq!((terminal.line.as_str(), terminal.enters), ("", 0));
}

#[test]
fn a_paste_that_nobody_answered_for_is_cleared_and_not_sent() {
    let mut terminal = made(Fault::PasteUnknown);
    assert_eq!(refusal(&said(&mut terminal).0), Some(Refusal::NotShown));
    assert_eq!((terminal.line.as_str(), terminal.enters), ("", 0));
}

#[test]
fn an_enter_that_nobody_answered_for_is_judged_by_the_screen() {
    let mut terminal = made(Fault::EnterUnknown);
    assert_eq!(said(&mut terminal).0, Said::Delivered);
    assert_eq!(terminal.enters, 1);
}

#[test]
fn an_enter_that_was_lost_is_pressed_again() {
    let mut terminal = made(Fault::EnterLost);
    assert_eq!(said(&mut terminal).0, Said::Delivered);
    assert_eq!((terminal.enters, terminal.sent.len()), (2, 1));
}

#[test]
fn an_end_before_enter_is_no_delivery_and_one_after_it_is_not_known() {
    assert_eq!(refusal(&said(&mut made(Fault::GoneWhileTyped)).0), Some(Refusal::Gone));
    assert_eq!(refusal(&said(&mut made(Fault::GoneAtEnter)).0), Some(Refusal::NotKnown));
}
