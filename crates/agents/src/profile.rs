//! The tables of a profile.

use crate::conversation::Conversation;
use crate::error::ProfileError;
use crate::pattern::Pattern;
use ostler_model::AgentState;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A profile of one agent program.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub name: String,
    pub about: String,
    /// The versions that the profile was tested with.
    #[serde(default)]
    pub tried: Vec<String>,
    pub process: ProcessTable,
    #[serde(default)]
    pub input: Option<InputTable>,
    /// Patterns on the screen while the agent works, and only then.
    #[serde(default)]
    pub busy: Vec<Pattern>,
    /// The same, in the terminal's title.
    #[serde(default)]
    pub busy_titles: Vec<Pattern>,
    /// How many of the last lines are searched for `busy`.
    #[serde(default = "busy_within")]
    pub busy_within: usize,
    /// Completion lists over the input box, in which Enter picks an entry instead of sending.
    #[serde(default)]
    pub menus: Vec<Pattern>,
    /// The lists are below the box; a match above it does not count.
    #[serde(default)]
    pub menus_are_below: bool,
    #[serde(default, rename = "dialog")]
    pub dialogs: Vec<DialogTable>,
    #[serde(default)]
    pub keys: Keys,
    #[serde(default)]
    pub send: SendRules,
    /// OSC sequences by which the agent reports its state, by their number.
    #[serde(default)]
    pub osc: BTreeMap<String, OscTable>,
    #[serde(default)]
    pub conversation: Option<Conversation>,
    #[serde(default)]
    pub resume: Option<Resume>,
    #[serde(default)]
    pub sandbox: Option<Sandbox>,
}

fn busy_within() -> usize {
    14
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessTable {
    /// The name of the program, or of the script that an interpreter runs.
    pub names: Vec<String>,
    /// Parts of the program's or script's path.
    #[serde(default)]
    pub paths: Vec<String>,
}

/// The input box.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputTable {
    /// The beginning of the first line. Without it, every line begins with `next`.
    #[serde(default)]
    pub first: Option<Pattern>,
    /// The beginning of each further line.
    pub next: Pattern,
    /// The line above the first one, if it always looks the same.
    #[serde(default)]
    pub above: Option<Pattern>,
    /// Lines that look like part of the box but are not.
    #[serde(default)]
    pub not: Vec<Pattern>,
    /// The line below the last one, or one line further down.
    #[serde(default)]
    pub below: Option<Pattern>,
    /// The box has the terminal's own cursor, which is hidden while a dialog is open.
    #[serde(default)]
    pub is_cursor_visible: bool,
    /// Texts in the empty box that are not drawn dim.
    #[serde(default)]
    pub placeholders: Vec<Pattern>,
    /// Placeholders for a long pasted text.
    #[serde(default)]
    pub pasted: Vec<Pattern>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DialogKind {
    Question,
    Permission,
    Trust,
    Login,
    Limit,
}

/// A dialog that only a person may answer.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DialogTable {
    pub kind: DialogKind,
    /// Each pattern matches some line of the screen.
    pub all: Vec<Pattern>,
    /// The dialog is shown together with the input box.
    #[serde(default)]
    pub beside_input: bool,
    /// Where the dialog's text begins, above the line that the first of `all` matches.
    #[serde(default)]
    pub from: Option<Pattern>,
    /// The line below the dialog's text, if its choices have no numbers.
    #[serde(default)]
    pub to: Option<Pattern>,
    /// When a limit ends: a group `clock` (`3:30pm`) with or without `date` and `zone`, `in` (`2h 5m`), or `seconds`.
    #[serde(default)]
    pub until: Option<Pattern>,
}

/// The effect of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AfterKey {
    Nothing,
    ClearsInput,
    Interrupts,
    /// The key opens or closes something, or answers a question.
    Answers,
    Quits,
    #[default]
    Unknown,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KeyEffects {
    pub idle: AfterKey,
    pub typed: AfterKey,
    pub busy: AfterKey,
    pub asking: AfterKey,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Keys {
    pub escape: KeyEffects,
    pub interrupt: KeyEffects,
    /// Pressed repeatedly until the input box is empty.
    pub clear: Vec<String>,
    /// Closes a completion list and leaves the text unchanged.
    pub close_menu: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhileBusy {
    /// The agent keeps the text and reads it after its turn, as a separate message.
    Keeps,
    /// It is uncertain what the agent does with the text.
    #[default]
    Unknown,
}

/// How a text is sent.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SendRules {
    /// The delay between the text and Enter, so that Enter does not become part of a paste.
    pub enter_after_ms: u64,
    pub while_busy: WhileBusy,
    /// Added after every text: a blank closes completion lists and keeps a final `\` from escaping the line break.
    pub behind: String,
    /// Added before a matching text, because it would be a command otherwise.
    pub before: Vec<Before>,
    /// Texts that cannot be sent.
    pub refuse: Vec<RefusedText>,
    /// Texts that cannot be sent while the agent works.
    pub not_while_busy: Vec<Pattern>,
    /// How long the agent may take to show a text.
    pub shown_within_ms: u64,
}

impl Default for SendRules {
    fn default() -> Self {
        Self {
            enter_after_ms: 150,
            while_busy: WhileBusy::Unknown,
            behind: String::new(),
            before: Vec::new(),
            refuse: Vec::new(),
            not_while_busy: Vec::new(),
            shown_within_ms: 5_000,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Before {
    pub when: Pattern,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusedText {
    pub when: Pattern,
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OscTable {
    #[serde(default)]
    pub working: Option<Pattern>,
    #[serde(default)]
    pub idle: Option<Pattern>,
    #[serde(default)]
    pub waiting: Option<Pattern>,
}

impl OscTable {
    pub(crate) fn state(&self, payload: &str) -> Option<AgentState> {
        let says =
            |pattern: &Option<Pattern>| pattern.as_ref().is_some_and(|p| p.is_match(payload));
        if says(&self.waiting) {
            Some(AgentState::Waiting)
        } else if says(&self.working) {
            Some(AgentState::Working)
        } else if says(&self.idle) {
            Some(AgentState::Idle)
        } else {
            None
        }
    }
}

/// How to resume a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    /// `{session}` stands for the conversation's id.
    pub command: Vec<String>,
}

/// A sandbox for the agent's commands, which blocks access to Ostler's socket.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sandbox {
    /// A variable that is set inside the sandbox.
    pub env: String,
    /// The setting that allows a command to connect.
    pub hint: String,
}

impl SendRules {
    /// The text as it is typed, or why it cannot be sent.
    pub fn typed(&self, text: &str) -> Result<String, String> {
        if let Some(refused) = self.refuse.iter().find(|refused| refused.when.is_match(text)) {
            return Err(refused.why.clone());
        }
        let before = self.before.iter().find(|before| before.when.is_match(text));
        let before = before.map_or("", |before| before.text.as_str());
        Ok(format!("{before}{text}{}", self.behind))
    }
}

impl Profile {
    /// True if the command line runs this program.
    pub fn is_program(&self, words: &[String]) -> bool {
        self.process.is(crate::process::ProgramSeen { words })
    }

    /// `place` names the file in errors.
    pub fn parse(text: &str, place: &str) -> Result<Self, ProfileError> {
        let wrong = |why: String| ProfileError::Wrong { place: place.to_owned(), why };
        let profile: Self = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        if profile.name.is_empty() || !profile.name.chars().all(is_name) {
            return Err(wrong(format!(
                "name = {:?}: use letters, digits, '-' and '_'",
                profile.name
            )));
        }
        if profile.process.names.is_empty() && profile.process.paths.is_empty() {
            return Err(wrong("[process] needs names or paths".to_owned()));
        }
        if let Some(number) = profile.osc.keys().find(|number| number.parse::<u16>().is_err()) {
            return Err(wrong(format!("[osc.{number}]: an OSC number is 0 to 65535")));
        }
        Ok(profile)
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}
