//! The tables of nudges and of agent profiles.

use super::paint::Paint;
use super::table::{Align, Cell, Column, Fit};
use super::units::ago;
use ostler_model::{Nudge, Priority, Receipt};

/// The columns for agent profiles.
pub const AGENT_COLUMNS: [Column; 4] = [
    Column { head: "NAME", align: Align::Left, fit: Fit::Fixed },
    Column { head: "ABOUT", align: Align::Left, fit: Fit::Shrinks(12) },
    Column { head: "TESTED WITH", align: Align::Left, fit: Fit::Shrinks(8) },
    Column { head: "FROM", align: Align::Left, fit: Fit::Shrinks(10) },
];

pub const NUDGE_COLUMNS: [Column; 7] = [
    Column { head: "ID", align: Align::Left, fit: Fit::Fixed },
    Column { head: "TO", align: Align::Left, fit: Fit::Shrinks(8) },
    Column { head: "FROM", align: Align::Left, fit: Fit::Shrinks(8) },
    Column { head: "SENT", align: Align::Left, fit: Fit::Dropped(1) },
    Column { head: "RECEIPT", align: Align::Left, fit: Fit::Fixed },
    Column { head: "TEXT", align: Align::Left, fit: Fit::Shrinks(10) },
    Column { head: "WHY", align: Align::Left, fit: Fit::Shrinks(10) },
];

pub fn nudge_row(nudge: &Nudge, now_ms: u64) -> Vec<Cell> {
    const SHOWN: usize = 60;
    let paint = match nudge.receipt {
        Receipt::Delivered => Paint::Dim,
        Receipt::Queued => Paint::Plain,
        Receipt::Expired | Receipt::Refused | Receipt::NotSent => Paint::Yellow,
    };
    let receipt = match (nudge.receipt, nudge.priority) {
        (Receipt::Queued, Priority::Urgent) => "queued, urgent".to_owned(),
        (receipt, _) => receipt.to_string(),
    };
    let text: String =
        nudge.text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN).collect();
    let texts = [
        nudge.id.rsplit('-').next().unwrap_or(&nudge.id).to_owned(),
        nudge.to.clone(),
        nudge.from.clone(),
        ago(now_ms.saturating_sub(nudge.sent_at_ms)),
        receipt,
        text,
        nudge.why.clone(),
    ];
    texts.map(|text| Cell { text, paint }).to_vec()
}
