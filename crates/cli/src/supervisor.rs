//! The supervisor process: the dispatcher, the control socket and the output writer. The first thread only waits.

use crate::exit::{Exit, Failure};
use crate::saved_settings;
use crate::screen_judge::Profiles;
use crate::settings;
use ostler_api::Server;
use ostler_engine::{EngineError, GuardianInfo, Home, Inheritance, Outcome, Supervisor};
use std::error::Error;
use std::sync::Arc;

/// Whether to serve, or to stop every live run and then exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Serve,
    EndAll,
}

/// Runs the supervisor. It notifies its guardian when it is ready, and prints errors to standard error.
pub fn supervise(purpose: Purpose) -> Result<Exit, Failure> {
    ostler_os::keep_one_heap();
    ostler_os::beside_first_thread(move || dispatch(purpose))?
}

fn dispatch(purpose: Purpose) -> Result<Exit, Failure> {
    let inherited = ostler_os::take_inherited();
    ostler_os::be_private();
    // A panic aborts the process, unless the engine contains it: a supervisor that lost a thread must not continue.
    let description = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        description(panic);
        if !ostler_engine::panic_is_contained() {
            std::process::abort();
        }
    }));
    let (mut supervisor, server, endpoints) = open(Inheritance::new(inherited))
        .inspect_err(|failure| print_why(&failure.description()))?;
    supervisor.report_ready();
    if purpose == Purpose::EndAll {
        supervisor.end_all();
    }
    match supervisor.run().map_err(Failure::failed)? {
        Outcome::Stopped(_lock) => {
            drop(endpoints);
            server.close();
            Ok(Exit::DONE)
        }
        Outcome::Restarted(_lock) => {
            drop(endpoints);
            server.close();
            Ok(Exit(ostler_guardian::HAND_OVER as u8))
        }
        Outcome::HandedOver => {
            drop(endpoints);
            server.leave();
            Ok(Exit(ostler_guardian::HAND_OVER as u8))
        }
    }
}

/// Also sends the error to the guardian, because standard error may be a file on a full disk.
fn print_why(why: &str) {
    if let Some(address) = guardian_info().address
        && let Ok(notifier) = ostler_os::Notifier::open(&address)
    {
        let line = why.replace('\n', " ");
        let _ = notifier.send(&format!("STATUS={line}"), &[]);
    }
}

fn refused(error: &dyn Error) -> Failure {
    refused_because(ostler_sys::error_chain(error))
}

fn refused_because(description: String) -> Failure {
    Failure { exit: Exit(ostler_guardian::REFUSED as u8), cause: anyhow::anyhow!(description) }
}

/// The interfaces other than the control socket. They send their requests to its thread, and close before it.
struct Endpoints {
    #[cfg(feature = "http")]
    _http: Option<ostler_http::Http>,
}

impl Endpoints {
    /// If one cannot be opened, the supervisor reports the error and continues without it.
    #[cfg(feature = "http")]
    fn open(settings: Option<ostler_http::HttpSettings>, server: &Server, home: &Home) -> Self {
        let open = |settings| ostler_http::Http::open(settings, server.gateway(), home.path());
        let http = settings.map(open).and_then(|opened| {
            opened.inspect_err(|error| print_why(&refused(error).description())).ok()
        });
        Self { _http: http }
    }

    #[cfg(not(feature = "http"))]
    fn open((): (), _: &Server, _: &Home) -> Self {
        Self {}
    }
}

fn open(inheritance: Inheritance) -> Result<(Supervisor, Server, Endpoints), Failure> {
    let home =
        Home::from_environment(|name| std::env::var_os(name)).map_err(|error| refused(&error))?;
    let stored = saved_settings::read(home.path());
    let variable = |name: &str| std::env::var(name).ok().or_else(|| stored.get(name).cloned());
    let settings = settings::from_environment(variable).map_err(refused_because)?;
    let http = settings::http_from_environment(variable).map_err(refused_because)?;
    // Not earlier: the home may be a path relative to the directory of the start.
    let _ = std::env::set_current_dir("/");
    let supervisor = Supervisor::start(
        home.clone(),
        settings,
        guardian_info(),
        inheritance,
        Arc::new(Profiles::open()),
    );
    let mut supervisor = match supervisor {
        Ok(supervisor) => supervisor,
        // The previous supervisor may be about to exit; the guardian tries again.
        Err(error @ EngineError::Owned { .. }) => return Err(Failure::failed(error)),
        Err(error) => return Err(refused(&error)),
    };
    let socket = supervisor.open_control_socket().map_err(|error| {
        refused_because(format!(
            "cannot listen on the control socket {}: {error}",
            home.socket().display()
        ))
    })?;
    // Without the app socket only apps are affected, so the supervisor continues.
    let app_socket = supervisor.open_app_socket().inspect_err(|error| {
        print_why(&format!(
            "the app socket {} cannot be opened: {error}",
            home.app_socket().display()
        ));
    });
    let server = Server::open(
        supervisor.handle(),
        socket,
        app_socket.ok(),
        home.clone(),
        env!("CARGO_PKG_VERSION"),
    )
    .map_err(|error| refused(&error))?;
    let endpoints = Endpoints::open(http, &server, &home);
    Ok((supervisor, server, endpoints))
}

/// The guardian or service manager of this process, from the environment it set.
fn guardian_info() -> GuardianInfo {
    let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let is_watched = text("WATCHDOG_PID").is_none_or(|pid| pid.parse() == Ok(std::process::id()));
    GuardianInfo {
        address: std::env::var_os("NOTIFY_SOCKET").filter(|value| !value.is_empty()),
        guardian: text(ostler_guardian::GUARDIAN_VARIABLE).and_then(|pid| pid.parse().ok()),
        watchdog_ms: text("WATCHDOG_USEC")
            .filter(|_| is_watched)
            .and_then(|us| us.parse::<u64>().ok())
            .map(|us| us / 1_000),
        rollback_reason: text(ostler_guardian::ROLLBACK_VARIABLE),
    }
}
