//! The display of mail, for people and for an agent's context.

use super::paint::Paint;
use super::table::{Align, Cell, Column, Fit};
use super::units::{ago, count, plain_time};
use ostler_model::{Mail, MailKind};

pub const MAIL_COLUMNS: [Column; 5] = [
    Column { head: "ID", align: Align::Left, fit: Fit::Fixed },
    Column { head: "FROM", align: Align::Left, fit: Fit::Shrinks(8) },
    Column { head: "SENT", align: Align::Left, fit: Fit::Dropped(1) },
    Column { head: "KIND", align: Align::Left, fit: Fit::Dropped(0) },
    Column { head: "SUBJECT", align: Align::Left, fit: Fit::Shrinks(10) },
];

/// The last part of the id. Verbs accept it as the id.
fn short_id(mail: &Mail) -> String {
    mail.id.rsplit('-').next().unwrap_or(&mail.id).to_owned()
}

pub fn mail_row(mail: &Mail, now_ms: u64) -> Vec<Cell> {
    let paint = if mail.read_at_ms.is_some() { Paint::Dim } else { Paint::Plain };
    let texts = [
        short_id(mail),
        mail.from.clone(),
        ago(now_ms.saturating_sub(mail.sent_at_ms)),
        mail.kind.as_str().to_owned(),
        mail.subject.clone(),
    ];
    texts.map(|text| Cell { text, paint }).to_vec()
}

/// Replaces control characters, which could move the cursor or ring the bell.
pub fn harmless(text: &str) -> String {
    let plain = |c: char| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c };
    text.chars().map(plain).collect()
}

/// The whole message.
pub fn mail_text(mail: &Mail) -> String {
    let kind = match mail.kind {
        MailKind::Message => String::new(),
        MailKind::Handoff | MailKind::Escalation => format!("Kind:    {}\n", mail.kind),
    };
    format!(
        "From:    {}\nTo:      {}\nSent:    {}\nId:      {}\n{kind}Subject: {}\n\n{}",
        mail.from,
        mail.to,
        plain_time(mail.sent_at_ms),
        mail.id,
        mail.subject,
        mail.body
    )
}

/// The block of messages for an agent's context. `more` is the number of unread messages not in it.
pub fn mail_block(name: &str, mails: &[Mail], more: usize, now_ms: u64) -> String {
    let mut block = format!("--- mail for {name}: {} ---\n", count(mails.len(), "unread message"));
    for mail in mails {
        let what = match mail.kind {
            MailKind::Message => "from",
            MailKind::Handoff => "handed off by",
            MailKind::Escalation => "escalation from",
        };
        let when = ago(now_ms.saturating_sub(mail.sent_at_ms));
        block.push_str(&format!(
            "\n[{}] {what} {}, {when}: {}\n",
            short_id(mail),
            mail.from,
            mail.subject
        ));
        block.push_str(&mail.body);
        if !mail.body.is_empty() && !mail.body.ends_with('\n') {
            block.push('\n');
        }
    }
    if more > 0 {
        block.push_str(&format!("\n{more} more unread: run `ostler mail check --inject` again\n"));
    }
    block.push_str(&format!("--- end of mail for {name} ---\n"));
    block
}
