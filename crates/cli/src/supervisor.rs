//! The supervisor's own process: the dispatcher on the main thread, the door and the drain beside it.

use crate::exit::{Exit, Failure};
use crate::say::say;
use crate::settings;
use ostler_api::Server;
use ostler_engine::{EngineError, Home, Supervisor};
use std::error::Error;

/// Reports one word (or what went wrong) on standard output, then closes it.
pub fn supervise() -> Result<Exit, Failure> {
    ostler_os::close_inherited();
    ostler_os::be_private();
    // A thread that panics takes the process with it: half a supervisor is worse than none.
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        told(panic);
        if !ostler_engine::panic_is_contained() {
            std::process::abort();
        }
    }));
    match open() {
        Ok((supervisor, server)) => {
            say!("ready");
            ostler_os::close_report()?;
            let _lock = supervisor.run().map_err(Failure::failed)?;
            server.close();
            Ok(Exit::DONE)
        }
        Err(Refused::Owned) => {
            say!("owned");
            Ok(Exit::DONE)
        }
        Err(Refused::Failed(message)) => {
            say!("{message}");
            Err(Failure { exit: Exit::FAILED, cause: anyhow::anyhow!(message) })
        }
    }
}

enum Refused {
    Owned,
    Failed(String),
}

impl Refused {
    fn because(error: &dyn Error) -> Self {
        let mut told = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !told.contains(&text) && !told.split(": ").any(|part| text.contains(part)) {
                told = format!("{told}: {text}");
            }
            cause = error.source();
        }
        Refused::Failed(told)
    }
}

fn open() -> Result<(Supervisor, Server), Refused> {
    let settings =
        settings::from_environment(|name| std::env::var(name).ok()).map_err(Refused::Failed)?;
    let home = Home::from_environment(|name| std::env::var_os(name))
        .map_err(|error| Refused::because(&error))?;
    // Only now: a home may be named relative to where we were started.
    let _ = std::env::set_current_dir("/");
    let supervisor = match Supervisor::start(home.clone(), settings) {
        Ok(supervisor) => supervisor,
        Err(EngineError::Owned { .. }) => return Err(Refused::Owned),
        Err(error) => return Err(Refused::because(&error)),
    };
    let server = Server::open(supervisor.handle(), home, env!("CARGO_PKG_VERSION"))
        .map_err(|error| Refused::because(&error))?;
    Ok((supervisor, server))
}
