//! Sizes and sequences without end: bounded.
