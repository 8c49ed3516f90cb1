//! All profiles: the user's own first, then the built-in ones.

use crate::error::ProfileError;
use crate::process::ProgramSeen;
use crate::profile::Profile;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a profile comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    BuiltIn,
    File(PathBuf),
}

#[derive(Clone, Debug)]
pub struct ProfileSet {
    profiles: Vec<(Source, Arc<Profile>)>,
}

const BUILT_IN: [(&str, &str); 8] = [
    ("aider", include_str!("../profiles/aider.toml")),
    ("claude", include_str!("../profiles/claude.toml")),
    ("codex", include_str!("../profiles/codex.toml")),
    ("gemini", include_str!("../profiles/gemini.toml")),
    ("openclaw", include_str!("../profiles/openclaw.toml")),
    ("opencode", include_str!("../profiles/opencode.toml")),
    ("pi", include_str!("../profiles/pi.toml")),
    ("qwen", include_str!("../profiles/qwen.toml")),
];

/// A larger file is not a profile.
const MOST: u64 = 1 << 20;

impl ProfileSet {
    /// The built-in profiles. `Err` means a defect of the build; a test checks for it.
    pub fn built_in() -> Result<Self, ProfileError> {
        let parse = |(name, text): &(&str, &str)| {
            Profile::parse(text, name).map(|profile| (Source::BuiltIn, Arc::new(profile)))
        };
        Ok(Self { profiles: BUILT_IN.iter().map(parse).collect::<Result<_, _>>()? })
    }

    /// The text of a built-in profile.
    pub fn text_of(name: &str) -> Option<&'static str> {
        BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// The built-in profiles and those of a folder. Invalid files are left out and reported.
    pub fn with_folder(folder: Option<&Path>) -> (Self, Vec<ProfileError>) {
        let mut problems = Vec::new();
        let mut book = Self::built_in().unwrap_or_else(|error| {
            problems.push(error);
            Self { profiles: Vec::new() }
        });
        let files = folder.and_then(|folder| std::fs::read_dir(folder).ok());
        let mut paths: Vec<PathBuf> = files
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|end| end == "toml"))
            .collect();
        paths.sort();
        for path in paths.into_iter().rev() {
            match read(&path) {
                Ok(profile) => book.put(Source::File(path), profile),
                Err(error) => problems.push(error),
            }
        }
        (book, problems)
    }

    /// Adds a profile in front and removes one of the same name.
    fn put(&mut self, source: Source, profile: Profile) {
        self.profiles.retain(|(_, known)| known.name != profile.name);
        self.profiles.insert(0, (source, Arc::new(profile)));
    }

    pub fn all(&self) -> impl Iterator<Item = (&Source, &Arc<Profile>)> {
        self.profiles.iter().map(|(source, profile)| (source, profile))
    }

    pub fn named(&self, name: &str) -> Option<&Arc<Profile>> {
        self.all().map(|(_, profile)| profile).find(|profile| profile.name == name)
    }

    /// The profile that a word of the command names: the program may not run yet, for example behind a shell.
    pub fn expected(&self, command: &str) -> Option<&Arc<Profile>> {
        let words = command.split(|c: char| c.is_whitespace() || ";&|()'\"".contains(c));
        let names = words.map(|word| word.rsplit('/').next().unwrap_or(word));
        names.into_iter().find_map(|name| {
            let is_it = |profile: &&Arc<Profile>| profile.process.names.iter().any(|n| n == name);
            self.all().map(|(_, profile)| profile).find(is_it)
        })
    }

    /// Finds a profile by the declared name, else by the command, else by the run's processes.
    pub fn find<'a>(
        &self,
        declared: Option<&str>,
        argv: &[String],
        tree: impl IntoIterator<Item = &'a [String]>,
    ) -> Option<&Arc<Profile>> {
        if let Some(name) = declared {
            return self.named(name);
        }
        let of = |words: &[String]| {
            let seen = ProgramSeen { words };
            self.all().map(|(_, profile)| profile).find(|profile| profile.process.is(seen))
        };
        of(argv).or_else(|| tree.into_iter().find_map(of))
    }
}

fn read(path: &Path) -> Result<Profile, ProfileError> {
    let failed = |source| ProfileError::Read { path: path.to_owned(), source };
    let about = std::fs::metadata(path).map_err(failed)?;
    if !about.is_file() || about.len() > MOST {
        let why = "not a regular file of at most 1 MiB".to_owned();
        return Err(ProfileError::Wrong { place: path.display().to_string(), why });
    }
    let text = std::fs::read_to_string(path).map_err(failed)?;
    Profile::parse(&text, &path.display().to_string())
}
