//! A supervisor that is replaced, or asked to end by what it supervises.
