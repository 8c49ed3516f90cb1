//! The hot paths, each alone: prepares, then does the one thing whose instructions are counted.
//!
//! `paths NAME` does it, `paths` lists the names. Everything in it is the same each time: ids, times, texts.

mod decide;
mod durable;
mod given;
mod wire;

use std::hint::black_box;
use std::process::ExitCode;

type Path = (&'static str, fn());

const PATHS: &[Path] = &[
    ("run-life", decide::run_life),
    ("unit-respawn", decide::unit_respawn),
    ("patrol-decide", decide::patrol),
    ("registry-commit", durable::commit),
    ("lease-renew", durable::renew),
    ("log-view", durable::view),
    ("ls-answer", wire::ls_answer),
    ("runs-answer", wire::runs_answer),
    ("line-framing", wire::line_framing),
    ("heartbeat", wire::heartbeat),
    ("config-load", wire::config_load),
];

fn main() -> ExitCode {
    let Some(name) = std::env::args().nth(1) else {
        PATHS.iter().for_each(|(name, _)| println!("{name}"));
        return ExitCode::SUCCESS;
    };
    match PATHS.iter().find(|(known, _)| *known == name) {
        Some((_, path)) => {
            path();
            ExitCode::SUCCESS
        }
        None => {
            eprintln!("{name} is no path");
            ExitCode::FAILURE
        }
    }
}

/// Counting goes from here to its end, and nowhere else.
#[inline(never)]
pub fn counted<T>(work: impl FnOnce() -> T) -> T {
    black_box(work())
}
