//! A pattern for unit names, such as `worker-*`.

use globset::{GlobBuilder, GlobMatcher};

/// Characters that no unit name contains.
const WILD: [char; 5] = ['*', '?', '[', '{', '!'];

#[derive(Clone, Debug)]
pub struct NamePattern(GlobMatcher);

impl NamePattern {
    /// `None` if the text is a plain name; an error says what is wrong with the pattern.
    pub fn of(text: &str) -> Option<Result<Self, String>> {
        text.contains(WILD).then(|| match GlobBuilder::new(text).build() {
            Ok(glob) => Ok(Self(glob.compile_matcher())),
            Err(error) => Err(format!("{text:?} is not a valid pattern: {}", error.kind())),
        })
    }

    pub fn matches(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_names_and_a_name_is_no_pattern() {
        assert!(NamePattern::of("worker-1").is_none());
        let pattern = NamePattern::of("worker-*").expect("a pattern").expect("a valid one");
        assert!(pattern.matches("worker-1") && pattern.matches("worker-a/b"));
        assert!(!pattern.matches("web") && !pattern.matches("my-worker-1"));
        assert!(NamePattern::of("worker-[").expect("a pattern").is_err());
    }
}
