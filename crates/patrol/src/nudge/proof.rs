//! Checks whether the agent wrote a text into its own conversation after we began to type it.

use super::agent::Agent;
use ostler_agents::text::same;
use ostler_agents::{Messages, messages_in};
use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes read of each file at most.
const READ_MOST: u64 = 8 << 20;
/// Files watched at most.
const FILES_MOST: usize = 20_000;

/// The conversation as it was when we began.
#[derive(Debug)]
pub struct Proof<'a> {
    agent: &'a Agent,
    messages: &'a Messages,
    folder: PathBuf,
    sizes: HashMap<PathBuf, u64>,
    began_ms: u64,
}

/// The result of a search for a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Nothing,
    /// As a message of its own, in the session with this id.
    Alone {
        session: Option<String>,
    },
    /// Together with another text.
    Mixed {
        with: String,
    },
}

impl<'a> Proof<'a> {
    pub fn begin(agent: &'a Agent) -> Option<Self> {
        let conversation = agent.profile.conversation.as_ref()?;
        let folder = conversation.folder(&agent.place)?;
        let began_ms = ostler_os::wall_ms().saturating_sub(1_000);
        let messages = &conversation.messages;
        let mut proof = Self { agent, messages, folder, sizes: HashMap::new(), began_ms };
        proof.sizes = proof.files().into_iter().map(|path| (path.clone(), size(&path))).collect();
        Some(proof)
    }

    pub fn look(&self, text: &str) -> Found {
        let written = match self.messages {
            Messages::Jsonl { rules, around, session_tail, .. } => self
                .files()
                .into_iter()
                .flat_map(|path| {
                    let from = self.sizes.get(&path).copied().unwrap_or(0);
                    let session = session_of(&path, *session_tail);
                    let texts = messages_in(&read_from(&path, from), rules, around);
                    texts.into_iter().map(move |text| (text, session.clone()))
                })
                .collect(),
            Messages::Sqlite { file, query } => {
                query_messages(&self.folder.join(file), query, self.began_ms)
            }
        };
        judge(&written, text)
    }

    /// The files of the agent's session, or all files if the session is unknown.
    fn files(&self) -> Vec<PathBuf> {
        let Messages::Jsonl { files, .. } = self.messages else { return Vec::new() };
        let session = self.agent.recorded().session.unwrap_or_else(|| "*".to_owned());
        matching(&self.folder, &files.replace("{session}", &session))
    }
}

/// The newest messages of the agent's session, the newest last. Empty if the session is unknown.
pub fn newest_messages(agent: &Agent) -> Vec<String> {
    /// Answers may be long; an unanswered message is near the end.
    const END: u64 = 256 << 10;
    const MOST: usize = 5;
    let Some(conversation) = agent.profile.conversation.as_ref() else { return Vec::new() };
    let Messages::Jsonl { files, rules, around, .. } = &conversation.messages else {
        return Vec::new();
    };
    let (Some(folder), Some(session)) =
        (conversation.folder(&agent.place), agent.recorded().session)
    else {
        return Vec::new();
    };
    let paths = matching(&folder, &files.replace("{session}", &session));
    let texts = |path: &PathBuf| {
        messages_in(&read_from(path, size(path).saturating_sub(END)), rules, around)
    };
    let all: Vec<String> = paths.iter().flat_map(texts).collect();
    all[all.len().saturating_sub(MOST)..].to_vec()
}

fn judge(written: &[(String, Option<String>)], text: &str) -> Found {
    if let Some((_, session)) = written.iter().find(|(message, _)| same(message, text)) {
        return Found::Alone { session: session.clone() };
    }
    let letters = ostler_agents::text::letters(text);
    // A short text is part of many messages by chance.
    const SHORT: usize = 12;
    let is_part = |message: &str| {
        letters.len() >= SHORT && ostler_agents::text::letters(message).contains(&letters)
    };
    match written.iter().find(|(message, _)| is_part(message)) {
        Some((with, _)) => Found::Mixed { with: with.chars().take(120).collect() },
        None => Found::Nothing,
    }
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |about| about.len())
}

fn session_of(path: &Path, tail: Option<usize>) -> Option<String> {
    let stem = path.file_stem()?.to_str()?;
    let from = tail.map_or(Some(0), |tail| stem.len().checked_sub(tail))?;
    stem.get(from..).map(str::to_owned)
}

fn read_from(path: &Path, from: u64) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(path)?;
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(READ_MOST).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    if size(path) <= from {
        return String::new();
    }
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

/// The files below `folder` whose path matches `pattern`; `*` stands for any part of a name.
fn matching(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    for part in pattern.split('/') {
        let mut next = Vec::new();
        for folder in found {
            if !part.contains('*') {
                next.push(folder.join(part));
                continue;
            }
            let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            next.extend(names.filter(|name| is_like(name, part)).map(|name| folder.join(name)));
            if next.len() > FILES_MOST {
                break;
            }
        }
        found = next;
    }
    found.retain(|path| path.is_file());
    found
}

fn is_like(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len())
                .filter(|at| rest.is_char_boundary(*at))
                .any(|at| is_like(&rest[at..], after))
        }),
    }
}

/// The agent may write to this database at the same time: open it read-only and wait only briefly for a lock.
fn query_messages(file: &Path, query: &str, since_ms: u64) -> Vec<(String, Option<String>)> {
    let ask = || -> rusqlite::Result<Vec<(String, Option<String>)>> {
        let flags =
            rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY | rusqlite::OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let database = rusqlite::Connection::open_with_flags(file, flags)?;
        database.busy_timeout(std::time::Duration::from_millis(200))?;
        let mut asked = database.prepare(query)?;
        let since = i64::try_from(since_ms).unwrap_or(i64::MAX);
        let rows = asked.query_map([since], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect()
    };
    ask().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_found_alone_or_mixed_and_never_by_chance() {
        let written = |texts: &[&str]| -> Vec<(String, Option<String>)> {
            texts.iter().map(|text| ((*text).to_owned(), Some("s1".to_owned()))).collect()
        };
        let alone = Found::Alone { session: Some("s1".to_owned()) };
        assert_eq!(judge(&written(&["hello there "]), "hello there"), alone);
        assert_eq!(judge(&written(&["a\nb\tc"]), "a\nb c"), alone);
        assert_eq!(judge(&written(&["half a hello there again"]), "look there"), Found::Nothing);
        assert_eq!(judge(&written(&["yes, I say"]), "yes"), Found::Nothing);
        let mixed =
            judge(&written(&["half a line please look at the build"]), "please look at the build");
        assert!(matches!(mixed, Found::Mixed { .. }));
        assert_eq!(judge(&[], "x"), Found::Nothing);
    }

    #[test]
    fn files_are_found_by_a_pattern() {
        let folder = tempfile::tempdir().expect("a folder");
        for path in ["sessions/2026/11/rollout-a.jsonl", "sessions/2026/11/other.jsonl"] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            std::fs::write(path, "{}").expect("a file");
        }
        let found = matching(folder.path(), "sessions/*/*/rollout-*.jsonl");
        assert_eq!(found.len(), 1);
        assert!(is_like("rollout-2026-x.jsonl", "rollout-*.jsonl") && !is_like("x", "y*"));
    }
}
