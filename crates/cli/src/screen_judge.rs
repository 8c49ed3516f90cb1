//! Judges screens by agent profiles: the built-in ones and the user's own.

use ostler_agents::{Judged, ProfileSet, cautious};
use ostler_engine::{AgentSubject, Judge};
use ostler_model::ScreenText;
use ostler_model::{AgentJudged, AgentState};
use ostler_patrol::nudge::own_profiles;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// How often the user's own profiles are checked for changes.
const LOOK_MS: u64 = 5_000;

pub struct Profiles {
    folder: Option<PathBuf>,
    inner: Mutex<Inner>,
}

struct Inner {
    book: ProfileSet,
    files: Vec<(PathBuf, SystemTime)>,
    looked_mono_ms: u64,
}

impl Profiles {
    pub fn open() -> Self {
        let folder = own_profiles();
        let files = files(folder.as_ref());
        let (book, _) = ProfileSet::with_folder(folder.as_deref());
        let looked_mono_ms = ostler_os::mono_ms();
        Self { folder, inner: Mutex::new(Inner { book, files, looked_mono_ms }) }
    }

    fn current(&self) -> MutexGuard<'_, Inner> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let now_ms = ostler_os::mono_ms();
        if now_ms.saturating_sub(inner.looked_mono_ms) >= LOOK_MS {
            inner.looked_mono_ms = now_ms;
            let files = files(self.folder.as_ref());
            if files != inner.files {
                // An invalid profile is skipped; `ostler agents` reports it.
                inner.book = ProfileSet::with_folder(self.folder.as_deref()).0;
                inner.files = files;
            }
        }
        inner
    }
}

fn files(folder: Option<&PathBuf>) -> Vec<(PathBuf, SystemTime)> {
    let entries = folder.and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten();
    let mut files: Vec<(PathBuf, SystemTime)> = entries
        .flatten()
        .filter_map(|entry| Some((entry.path(), entry.metadata().ok()?.modified().ok()?)))
        .collect();
    files.sort();
    files
}

impl Judge for Profiles {
    fn profile(&self, subject: AgentSubject<'_>) -> Option<String> {
        let inner = self.current();
        let AgentSubject { agent, argv, tree } = subject;
        let known = inner.book.find(agent, argv, []);
        if known.is_some() || agent.is_some() {
            return known.map(|profile| profile.name.clone());
        }
        let words = tree();
        let found = inner.book.find(None, &[], words.iter().map(Vec::as_slice));
        found.map(|profile| profile.name.clone())
    }

    fn judge(&self, profile: Option<&str>, screen: &ScreenText) -> Option<AgentJudged> {
        let Some(profile) = profile else {
            let asked = cautious::open_question(screen)?;
            return Some(AgentJudged {
                state: AgentState::Waiting,
                question: Some(asked.text),
                choices: asked.choices,
                evidence: match screen.hides_input {
                    true => cautious::HIDDEN.to_owned(),
                    false => "a question is shown".to_owned(),
                },
                ..AgentJudged::default()
            });
        };
        let profile = self.current().book.named(profile)?.clone();
        let Judged { profile, state, dialogue, until_ms, evidence, .. } =
            profile.judge(screen, &jiff::Zoned::now());
        let (question, choices) =
            dialogue.map(|asked| (Some(asked.text), asked.choices)).unwrap_or_default();
        Some(AgentJudged { profile, state, question, choices, until_ms, evidence })
    }
}
