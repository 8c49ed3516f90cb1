//! Files that are another's, or no files at all: refused by name, at once.
