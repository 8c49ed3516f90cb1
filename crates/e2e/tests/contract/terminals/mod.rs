//! T: screens, and agents on terminals.

pub(crate) mod agent_answers;
pub(crate) mod agent_hooks;
pub(crate) mod agent_setup;
pub(crate) mod agent_states;
pub(crate) mod agent_texts;
pub(crate) mod hidden_prompt;
pub(crate) mod screen;
