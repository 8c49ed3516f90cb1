//! The words of `mail` and `handoff`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(
    after_help = "Who you are: --as NAME, else $OSTLER_AGENT, $GT_ROLE or $BD_ACTOR, else the unit this command runs in, else `overseer`.\n\
Every mailbox is also a file: mail/NAME.jsonl in the home.\n\nExamples:\n  ostler mail send deacon -s \"build is red\" -m \"since 4711\"\n  \
git log -3 | ostler mail send mayor -s \"what happened\"\n  ostler mail check --inject             in a session's start hook"
)]
pub struct MailArguments {
    #[command(subcommand)]
    pub verb: MailVerb,
}

#[derive(Debug, Subcommand)]
pub enum MailVerb {
    /// Send a message; its id is printed when it is on disk
    Send(MailSendArguments),
    /// List unread mail
    Inbox(MailInboxArguments),
    /// Show a message, and mark it as read
    Read(MailReadArguments),
    /// Say whether there is unread mail: exit 0 if there is, 1 if there is none
    Check(MailCheckArguments),
    /// Remove messages
    Rm(MailRemoveArguments),
}

#[derive(Debug, Args)]
pub struct MailSendArguments {
    /// Who is to get it: an agent, a unit or a person
    pub to: String,
    /// One line that says what it is about
    #[arg(short, long)]
    pub subject: String,
    /// The text, instead of standard input (at most 1 MiB)
    #[arg(short, long, value_name = "BODY", allow_hyphen_values = true)]
    pub message: Option<String>,
    /// Who sends it
    #[arg(long = "as", value_name = "NAME")]
    pub sender: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct MailInboxArguments {
    /// Whose; by default yours
    pub name: Option<String>,
    /// Also what was read
    #[arg(short, long)]
    pub all: bool,
    /// Print one JSON document: a list of messages
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct MailReadArguments {
    /// Its id, or enough of the id's end
    pub id: String,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "With --inject each message is given to one caller only, and is read once it was printed; what could not be printed \
stays unread. What a session handed off comes first."
)]
pub struct MailCheckArguments {
    /// Whose; by default yours
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
    /// Ids, or enough of their ends
    #[arg(required = true)]
    pub ids: Vec<String>,
    /// Print one JSON document: a list of those that were removed
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Writes mail to yourself, which `ostler mail check --inject` gives to your next session before all other mail.\n\n\
Example:  ostler handoff -s \"routine cycle\" -m \"3 of 5 rigs are checked; go on with beta\""
)]
pub struct HandoffArguments {
    /// One line that says where things stand
    #[arg(short, long)]
    pub subject: String,
    /// What the next session has to know, instead of standard input (at most 1 MiB)
    #[arg(short, long, value_name = "BODY", allow_hyphen_values = true)]
    pub message: Option<String>,
    /// Who hands off
    #[arg(long = "as", value_name = "NAME")]
    pub sender: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
