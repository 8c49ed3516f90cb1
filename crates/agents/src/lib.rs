//! What is known of each agent program, as data, and what a screen says by it.
//!
//! A *profile* is one TOML file: how the program is recognised, where its input box is, what it shows while it works or
//! asks, what its keys do, how a text is sent, and where it writes down its own conversation. Profiles are shipped in the
//! program; a file of the same name in the user's folder replaces one. A program without a profile is judged by
//! [`cautious`]: what cannot be seen for certain is not claimed.
//!
//! Everything here is a function of what it is given. Screens, files and the time come from the caller.

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
    Conversation, Message, MessageRule, Messages, Place, Recorded, messages_in,
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
