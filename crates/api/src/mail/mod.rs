//! Mail and nudges at the door, and mailboxes as files.

mod calls;
mod files;

pub(crate) use calls::{mail, not_kept, nudges};
pub(crate) use files::keep as keep_files;
