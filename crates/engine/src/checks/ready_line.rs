//! Searches the lines of a stream for a pattern. Each byte is examined once, and a line without an end needs no more
//! memory than a short one.

use regex_automata::Input;
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};

/// Without the automaton, a line is searched in parts of this size.
const LINE_MOST: usize = 64 << 10;

pub(crate) struct LineWatch {
    exact: Option<Exact>,
    plain: Plain,
}

/// The pattern as an automaton that is fed byte by byte. It finds a match one byte after its end, or at the end of the
/// line.
struct Exact {
    automaton: DFA,
    cache: Cache,
    state: LazyStateID,
}

/// Searches whole lines. Used when the automaton gives up: at a Unicode word boundary next to a non-ASCII letter, or
/// for a pattern that needs too many states.
struct Plain {
    pattern: regex::bytes::Regex,
    line: Vec<u8>,
    /// How much of the unfinished line was searched.
    looked_at: usize,
}

/// The automaton gave up.
struct GaveUp;

impl LineWatch {
    pub(crate) fn new(pattern: &str) -> Option<Self> {
        let plain = regex::bytes::Regex::new(pattern).ok()?;
        let plain = Plain { pattern: plain, line: Vec::new(), looked_at: 0 };
        Some(Self { exact: Exact::new(pattern), plain })
    }

    /// Adds bytes. True if the pattern matches one of the lines, also an unfinished one.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> bool {
        let Some(exact) = &mut self.exact else { return self.plain.add(bytes) };
        match exact.add(bytes) {
            Ok(is_found) => is_found,
            Err(GaveUp) => {
                self.exact = None;
                self.plain.add(bytes)
            }
        }
    }
}

impl Exact {
    fn new(pattern: &str) -> Option<Self> {
        let config = DFA::config()
            .unicode_word_boundary(true)
            // Give up rather than clear the cache, which would invalidate the state we hold.
            .minimum_cache_clear_count(Some(0));
        let automaton = DFA::builder()
            .configure(config)
            .syntax(regex_automata::util::syntax::Config::new().utf8(false))
            .thompson(regex_automata::nfa::thompson::Config::new().utf8(false))
            .build(pattern)
            .ok()?;
        let mut cache = automaton.create_cache();
        let state = automaton.start_state_forward(&mut cache, &Input::new(b"")).ok()?;
        Some(Self { automaton, cache, state })
    }

    fn add(&mut self, bytes: &[u8]) -> Result<bool, GaveUp> {
        for byte in bytes {
            if *byte == b'\n' {
                if self.matches_here()? {
                    return Ok(true);
                }
                let start = Input::new(b"");
                let state = self.automaton.start_state_forward(&mut self.cache, &start);
                self.state = state.map_err(|_| GaveUp)?;
                continue;
            }
            if self.state.is_dead() {
                continue;
            }
            let next = self.automaton.next_state(&mut self.cache, self.state, *byte);
            self.state = next.map_err(|_| GaveUp)?;
            if self.state.is_match() {
                return Ok(true);
            }
            if self.state.is_quit() {
                return Err(GaveUp);
            }
        }
        self.matches_here()
    }

    /// As if the line ended here.
    fn matches_here(&mut self) -> Result<bool, GaveUp> {
        let end = self.automaton.next_eoi_state(&mut self.cache, self.state);
        end.map(|state| state.is_match()).map_err(|_| GaveUp)
    }
}

impl Plain {
    fn add(&mut self, bytes: &[u8]) -> bool {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            for part in part.chunks(LINE_MOST) {
                if self.line.len() + part.len() > LINE_MOST && self.end_line() {
                    return true;
                }
                self.line.extend_from_slice(part);
            }
            if self.line.last() == Some(&b'\n') {
                self.line.pop();
                if self.end_line() {
                    return true;
                }
            }
        }
        // Search again only after the line has doubled, so that no byte is searched more than a few times.
        if self.line.len() < 2 * self.looked_at || self.line.is_empty() {
            return false;
        }
        self.looked_at = self.line.len();
        self.pattern.is_match(&self.line)
    }

    fn end_line(&mut self) -> bool {
        let is_found = self.pattern.is_match(&self.line);
        self.line.clear();
        self.looked_at = 0;
        is_found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(pattern: &str) -> LineWatch {
        LineWatch::new(pattern).expect("a pattern")
    }

    #[test]
    fn a_pattern_is_found_in_a_line_however_it_is_cut() {
        let text = b"starting\nlistening on 8080\n";
        for pattern in ["listening", "^listening on [0-9]+$", r"\bon\b", "(?i)LISTEN"] {
            for cut in 0..text.len() {
                let mut watch = watch(pattern);
                let is_found = watch.add(&text[..cut]) | watch.add(&text[cut..]);
                assert!(is_found, "{pattern} cut at {cut}");
            }
        }
    }

    #[test]
    fn a_pattern_does_not_reach_over_the_end_of_a_line() {
        for pattern in ["ready.*steady", "^steady$", "a\\s+b"] {
            assert!(!watch(pattern).add(b"ready\nnot steady\na\nb"), "{pattern}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_searched_as_it_is() {
        let mut watch = watch("prompt> $");
        assert!(!watch.add(b"the pro"));
        assert!(watch.add(b"mpt> "));
    }

    #[test]
    fn a_word_is_found_among_letters_that_are_not_ascii() {
        let mut watch = watch(r"\bfertig\b");
        assert!(!watch.add("läuft\n".as_bytes()));
        assert!(watch.add("jetzt fertig, schön\n".as_bytes()));
    }

    /// 64 MiB without a newline, in small pieces: quadratic work would take hours here.
    #[test]
    fn a_flood_without_a_newline_is_searched_once() {
        for pattern in ["ready", r"\bbereit\b"] {
            let mut watch = watch(pattern);
            if pattern != "ready" {
                // From here on without the automaton.
                assert!(!watch.add("ä".as_bytes()));
                assert!(watch.exact.is_none());
            }
            let piece = [b'x'; 4 << 10];
            for _ in 0..(16 << 20) / piece.len() {
                assert!(!watch.add(&piece));
            }
            assert!(watch.plain.line.capacity() <= 2 * LINE_MOST);
            assert!(watch.add(b"\nready bereit\n"), "{pattern}");
        }
    }
}
