//! Units that end again and again: never a storm of starts.
