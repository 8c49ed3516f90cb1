//! A per-unit lock across processes, and a note of the text being typed, so that the next process can finish or undo
//! it.

use super::typing::Typed;
use ostler_os::HomeLock;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

const TRY_AGAIN: Duration = Duration::from_millis(10);

/// Held while a process types.
pub struct Turn {
    note: PathBuf,
    _lock: HomeLock,
}

/// What a process was typing when it died.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnfinishedTyping {
    /// The id of the queued nudge, if it was one.
    pub id: Option<String>,
    pub run: String,
    #[serde(default)]
    pub typed: Typed,
    pub is_entered: bool,
    /// The text was not sent and could not be removed; its receipt says so. No more keys are pressed for it.
    #[serde(default)]
    pub is_left: bool,
}

impl Turn {
    /// Returns `None` if another process still holds the lock at `until_ms` on the monotonic clock.
    pub fn take(folder: &Path, unit: &str, until_ms: u64) -> io::Result<Option<Self>> {
        std::fs::create_dir_all(folder)?;
        let name = unit.replace('/', "_");
        let path = folder.join(format!("{name}.lock"));
        loop {
            if let Some(lock) = ostler_os::take_lock(&path)? {
                let note = folder.join(format!("{name}.typing"));
                return Ok(Some(Self { note, _lock: lock }));
            }
            if ostler_os::mono_ms() >= until_ms {
                return Ok(None);
            }
            ostler_os::nap(TRY_AGAIN);
        }
    }

    pub fn half_done(&self) -> Option<UnfinishedTyping> {
        let text = std::fs::read(&self.note).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Called before the first character and before Enter. The note need not survive a reboot: the session does not
    /// either.
    pub fn begin(&self, half: &UnfinishedTyping) -> io::Result<()> {
        std::fs::write(&self.note, serde_json::to_vec(half)?)
    }

    /// Part of the text is still there. Nothing is typed after it until it is gone.
    pub fn leave(&self) {
        self.keep(true);
    }

    /// The text may appear later: the next process removes it.
    pub fn leave_for_next(&self) {
        self.keep(false);
    }

    fn keep(&self, is_left: bool) {
        if let Some(half) = self.half_done() {
            let _ = self.begin(&UnfinishedTyping { id: None, is_left, ..half });
        }
    }

    pub fn over(&self) {
        let _ = std::fs::remove_file(&self.note);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_text_is_typed_at_a_time_and_an_unfinished_one_is_noted() {
        let folder = std::env::temp_dir().join(format!("ostler-turn-{}", std::process::id()));
        let until = ostler_os::mono_ms() + 20;
        let turn = Turn::take(&folder, "town/deacon", until).expect("a folder").expect("free");
        assert_eq!(turn.half_done(), None);
        assert!(Turn::take(&folder, "town/deacon", until).expect("a folder").is_none());
        assert!(Turn::take(&folder, "other", until).expect("a folder").is_some());
        let half = UnfinishedTyping {
            id: Some("1".to_owned()),
            run: "r".to_owned(),
            typed: Typed { text: "the end".to_owned(), ..Typed::default() },
            is_entered: false,
            is_left: false,
        };
        turn.begin(&half).expect("a note");
        drop(turn);
        let turn = Turn::take(&folder, "town/deacon", until).expect("a folder").expect("free");
        assert_eq!(turn.half_done(), Some(half));
        turn.leave();
        assert!(turn.half_done().is_some_and(|half| half.is_left && half.id.is_none()));
        turn.over();
        assert_eq!(turn.half_done(), None);
        let _ = std::fs::remove_dir_all(&folder);
    }
}
