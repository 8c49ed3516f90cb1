//! What every registry promises, whatever it keeps its records in.

mod copies;
mod documents;
mod history;
mod journal;
mod leases;
mod mail;
mod patrol;
mod runs;
mod setup;
