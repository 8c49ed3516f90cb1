//! A regular expression of a profile.

use regex::Regex;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

#[derive(Clone, Debug)]
pub struct Pattern(Regex);

impl Pattern {
    pub fn is_match(&self, line: &str) -> bool {
        self.0.is_match(line)
    }

    /// The text that the named group matched.
    pub fn group<'a>(&self, line: &'a str, name: &str) -> Option<&'a str> {
        self.0.captures(line)?.name(name).map(|found| found.as_str())
    }

    /// The rest of a line after a match at its beginning.
    pub fn after<'a>(&self, line: &'a str) -> Option<&'a str> {
        let found = self.0.find(line)?;
        (found.start() == 0).then(|| &line[found.end()..])
    }

    pub fn remove_from(&self, text: &str) -> String {
        self.0.replace_all(text, "").into_owned()
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let wrong =
            |error| D::Error::custom(format!("{text:?} is not a regular expression: {error}"));
        Regex::new(&text).map(Self).map_err(wrong)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Pattern {}
