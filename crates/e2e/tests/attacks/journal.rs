//! A journal of millions of entries: read in small pieces, kept within its bounds.
