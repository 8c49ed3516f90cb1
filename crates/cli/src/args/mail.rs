//! Arguments of `mail` and `handoff`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(
    after_help = "Your name is: --as NAME, else $OSTLER_AGENT, $GT_ROLE or $BD_ACTOR, else the unit this command runs in, else `overseer` (the operator).\n\
Every mailbox is also a file: mail/NAME.jsonl in the home directory.\n\nExamples:\n  ostler mail send reviewer -s \"build is red\" -m \"since 4711\"\n  \
git log -3 | ostler mail send planner -s \"what happened\"\n  ostler mail check --inject             in an agent's start hook"
)]
pub struct MailArguments {
    #[command(subcommand)]
    pub verb: MailVerb,
}

#[derive(Debug, Subcommand)]
pub enum MailVerb {
    /// Send a message; its id is printed after the message is on disk
    Send(MailSendArguments),
    /// List unread mail
    Inbox(MailInboxArguments),
    /// Show a message, and mark it as read
    Read(MailReadArguments),
    /// Check for unread mail: exit 0 if there is some, 1 if there is none
    Check(MailCheckArguments),
    /// Remove messages
    Rm(MailRemoveArguments),
}

#[derive(Debug, Args)]
pub struct MailSendArguments {
    /// The recipient: an agent, a unit or a person
    pub to: String,
    /// The subject, one line
    #[arg(short, long)]
    pub subject: String,
    /// The text, instead of standard input (at most 1 MiB)
    #[arg(short, long, value_name = "BODY", allow_hyphen_values = true)]
    pub message: Option<String>,
    /// The sender's name
    #[arg(long = "as", value_name = "NAME")]
    pub sender: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct MailInboxArguments {
    /// The mailbox; by default yours
    pub name: Option<String>,
    /// Also list read messages
    #[arg(short, long)]
    pub all: bool,
    /// Print one JSON document: a list of messages
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct MailReadArguments {
    /// The message id (a unique suffix is enough)
    pub id: String,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "With --inject each message goes to one caller only, and counts as read once it is printed; a message that cannot be printed \
stays unread. Messages of `ostler handoff` come first."
)]
pub struct MailCheckArguments {
    /// The mailbox; by default yours
    pub name: Option<String>,
    /// Print the unread mail for an agent's context, and mark it as read
    #[arg(long)]
    pub inject: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct MailRemoveArguments {
    /// Message ids (a unique suffix is enough)
    #[arg(required = true)]
    pub ids: Vec<String>,
    /// Print one JSON document: a list of the removed messages
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Sends mail to yourself. `ostler mail check --inject` prints it in your next conversation, before all other mail.\n\n\
Example:  ostler handoff -s \"routine cycle\" -m \"3 of 5 projects are checked; continue with beta\""
)]
pub struct HandoffArguments {
    /// The subject: the state of the work in one line
    #[arg(short, long)]
    pub subject: String,
    /// The text for the next conversation, instead of standard input (at most 1 MiB)
    #[arg(short, long, value_name = "BODY", allow_hyphen_values = true)]
    pub message: Option<String>,
    /// Your name
    #[arg(long = "as", value_name = "NAME")]
    pub sender: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
