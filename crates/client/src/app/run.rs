//! Runs an app from start to end.

use super::context::Context;
use super::environment::Environment;
use super::error::{AppError, Failure};
use super::heartbeat;
use super::hooks::App;
use super::link::Link;
use super::log;
use super::signals::Listening;
use super::stop::{Stop, StopRequester};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// The time to wait for Ostler's last answer, which normally comes at once.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// Runs the app until a stop is requested. The exit code is 1 if anything failed; standard error has the reason.
pub fn run(mut app: impl App) -> ExitCode {
    match live(&mut app) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log::error(&error.description());
            ExitCode::FAILURE
        }
    }
}

fn live(app: &mut impl App) -> Result<(), AppError> {
    let environment = Environment::read()?;
    let manifest = app.manifest()?;
    let link = Arc::new(Link::new(environment, app.shutdown_timeout()));
    let _end = End { link: &link, _signals: Listening::begin(&link)? };
    thread("ostler-end", &link, |link| {
        if let Some(stop) = link.news.overdue() {
            give_up(&stop);
        }
    })?;
    let begun = begin(&link, manifest);
    if link.news.is_asked() {
        // There is nothing to clean up, and the result of the start no longer matters.
        return Ok(());
    }
    begun?;
    if !link.news.begin_setup() {
        return Ok(());
    }
    let context = Context::new(&link);
    app.setup(&context).map_err(failed("setup"))?;
    let worked = if link.news.is_asked() {
        Ok(())
    } else {
        link.ready()?;
        app.work(&context).map_err(failed("work"))
    };
    let reason = if worked.is_ok() { "its work is done" } else { "its work failed" };
    let own = Stop::new(reason, link.shutdown_timeout, StopRequester::Own);
    link.ask(own.clone());
    let stop = link.news.stop().unwrap_or(own);
    let down = app.teardown(&stop).map_err(failed("teardown"));
    link.be_known(LAST_WAIT.min(stop.left()));
    down.and(worked)
}

fn begin(link: &Arc<Link>, manifest: super::Manifest) -> Result<(), AppError> {
    let connection = link.connect()?;
    thread("ostler", link, |link| link.maintain(connection))?;
    link.register(manifest)?;
    thread("ostler-heart", link, heartbeat::beat)?;
    link.news.begin_with(link.configuration()?);
    Ok(())
}

fn failed(what: &'static str) -> impl Fn(Failure) -> AppError {
    move |source| AppError::Failed { what, source }
}

/// Starts a thread that ends when the link closes. It is not joined.
pub(super) fn thread(
    name: &str,
    link: &Arc<Link>,
    work: impl FnOnce(&Link) + Send + 'static,
) -> Result<(), AppError> {
    let link = Arc::clone(link);
    let made = std::thread::Builder::new().name(name.to_owned()).spawn(move || work(&link));
    made.map(drop).map_err(|source| AppError::System { what: "a thread", source })
}

/// Closes the link however the app ends, also after a panic.
struct End<'a> {
    link: &'a Link,
    _signals: Listening,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.link.news.end();
        self.link.close();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the program is still at its own work, and only an exit ends it"
)]
fn give_up(stop: &Stop) {
    let limit = stop.own_limit().as_secs_f64();
    log::error(&format!("the app was not down within {limit:.3} s (TIMEOUT)"));
    std::process::exit(1);
}
