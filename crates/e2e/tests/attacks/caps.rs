//! Callers who ask too much, or never read: others are answered, and memory stays small.
