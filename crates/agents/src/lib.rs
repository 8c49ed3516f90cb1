//! Profiles of agent programs, and judging a screen by a profile.
//!
//! A *profile* is one TOML file: how to recognise the program, where its input box is, what it shows while it works or
//! asks, what its keys do, how to send a text, and where it records its conversation. Profiles are built into the
//! executable; a file of the same name in the user's folder replaces one. A program without a profile is judged by
//! [`cautious`], which claims only what is certain.
//!
//! Everything here is a pure function: the caller passes in screens, files and the time.

pub mod cautious;
mod conversation;
mod error;
mod input;
mod judge;
mod limit;
mod pattern;
mod process;
mod profile;
mod profiles;
pub mod text;

pub use conversation::{
    AgentProcess, Conversation, Message, MessageRule, Messages, Recorded, messages_in,
};
pub use error::ProfileError;
pub use input::{Holds, InputBox};
pub use judge::{Dialogue, Judged};
pub use pattern::Pattern;
pub use process::ProgramSeen;
pub use profile::{
    AfterKey, DialogKind, InputTable, KeyEffects, Keys, Profile, Resume, SendRules, WhileBusy,
};
pub use profiles::{ProfileSet, Source};
