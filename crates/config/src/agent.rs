//! The agent profile that a unit names.

use crate::file::UnitTable;
use crate::resolve::Reader;
use crate::scalars::BackendWord;

impl Reader<'_> {
    /// The profile's name. This crate does not know the profiles; the program that reads screens checks that it
    /// exists.
    pub fn agent_named(&mut self, table: &UnitTable) -> Option<String> {
        let agent = table.agent.as_ref()?;
        let name = agent.0.as_str();
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if name.is_empty() || !name.chars().all(is_name) {
            let description = format!("{name:?} is not a valid agent name");
            let hint =
                "write the name of a profile, for example \"claude\": letters, digits, - and _";
            self.findings.add(agent.span(), description, hint);
            return None;
        }
        if !has_terminal(table) {
            let hint = "add backend = \"tmux\" or backend = \"pty\", or remove agent";
            self.findings.add(agent.span(), "agent needs a unit with a terminal", hint);
            return None;
        }
        Some(name.to_owned())
    }
}

pub(crate) fn has_terminal(table: &UnitTable) -> bool {
    match table.backend {
        Some(BackendWord::Pty | BackendWord::Tmux) => true,
        None | Some(BackendWord::Pipe | BackendWord::Container) => false,
    }
}
