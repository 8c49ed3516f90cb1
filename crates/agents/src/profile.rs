//! The tables of a profile.

use crate::conversation::Conversation;
use crate::error::ProfileError;
use crate::pattern::Pattern;
use ostler_model::AgentState;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Everything that is known of one agent program.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub name: String,
    pub about: String,
    /// The versions it was tried with.
    #[serde(default)]
    pub tried: Vec<String>,
    pub process: ProcessTable,
    #[serde(default)]
    pub input: Option<InputTable>,
    /// Shown while it works, and never while it does not.
    #[serde(default)]
    pub busy: Vec<Pattern>,
    /// The same, in the title of its terminal.
    #[serde(default)]
    pub busy_titles: Vec<Pattern>,
    /// Of how many of the last lines `busy` is looked for.
    #[serde(default = "busy_within")]
    pub busy_within: usize,
    /// Lists over the input box in which Enter picks instead of sending.
    #[serde(default)]
    pub menus: Vec<Pattern>,
    /// They are shown below the box, and what looks like one above it is none.
    #[serde(default)]
    pub menus_are_below: bool,
    #[serde(default, rename = "dialog")]
    pub dialogs: Vec<DialogTable>,
    #[serde(default)]
    pub keys: Keys,
    #[serde(default)]
    pub send: SendRules,
    /// Operating system commands by which it reports its state, by their number.
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
    /// Parts of the path of either.
    #[serde(default)]
    pub paths: Vec<String>,
}

/// Where a person types.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputTable {
    /// The beginning of its first line. Without it, every line begins as `next` says.
    #[serde(default)]
    pub first: Option<Pattern>,
    /// The beginning of each further line.
    pub next: Pattern,
    /// The line above the first one, if it always looks the same.
    #[serde(default)]
    pub above: Option<Pattern>,
    /// Lines that are drawn like a part of the box and are none.
    #[serde(default)]
    pub not: Vec<Pattern>,
    /// The line below the last one, or one line further down.
    #[serde(default)]
    pub below: Option<Pattern>,
    /// It has the terminal's own cursor, which is hidden while something else is asked.
    #[serde(default)]
    pub is_cursor_visible: bool,
    /// What stands there while nothing has been typed, where it is not drawn dim.
    #[serde(default)]
    pub placeholders: Vec<Pattern>,
    /// What stands for a long text that was pasted.
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

/// Something that only a person may answer.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DialogTable {
    pub kind: DialogKind,
    /// Each is on some line of the screen.
    pub all: Vec<Pattern>,
    /// It is shown together with the input box.
    #[serde(default)]
    pub beside_input: bool,
    /// Where its text begins, above the line that the first of `all` matches.
    #[serde(default)]
    pub from: Option<Pattern>,
    /// The time at which a limit is over: a group `clock` (`3:30pm`), `in` (`2h 5m`), or `seconds`.
    #[serde(default)]
    pub until: Option<Pattern>,
}

/// What a key does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AfterKey {
    Nothing,
    ClearsInput,
    Interrupts,
    /// It opens or closes something, or answers a question.
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
    /// Pressed again and again until the input box is empty.
    pub clear: Vec<String>,
    /// Closes a menu of completions and leaves the text as it is.
    pub close_menu: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhileBusy {
    /// It keeps the text and takes it up after its turn, as a message of its own.
    Keeps,
    /// What it does with the text is not certain.
    #[default]
    Unknown,
}

/// How a text is sent.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SendRules {
    /// Between the text and Enter, so that Enter is not taken for a part of a paste.
    pub enter_after_ms: u64,
    pub while_busy: WhileBusy,
    /// Put behind every text: a blank closes lists of completions and keeps a final `\` from being a line break.
    pub behind: String,
    /// Put in front of a text that matches, because it would be a command otherwise.
    pub before: Vec<Before>,
    /// Texts that cannot be sent as they are.
    pub refuse: Vec<RefusedText>,
    /// Texts that cannot be sent while it works.
    pub not_while_busy: Vec<Pattern>,
    /// How long it may take to show a text.
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

/// How the same conversation is taken up again.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    /// With `{session}` for the id.
    pub command: Vec<String>,
}

/// A sandbox in which it runs commands, and which keeps them from Ostler's socket.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sandbox {
    /// A variable that is set in there.
    pub env: String,
    /// Which setting lets a command connect.
    pub hint: String,
}

impl SendRules {
    /// The text as it is typed, or why it cannot be.
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
    /// Whether a command line is this program.
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
            return Err(wrong(format!("[osc.{number}]: the number of an OSC is 0 to 65535")));
        }
        Ok(profile)
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}
