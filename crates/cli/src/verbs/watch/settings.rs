//! The settings of the watch, from the command line and the environment variables of Ploinky's watchdog.

use crate::args::{WatchArguments, parse_duration};
use crate::exit::Failure;
use crate::verbs::unit::in_no_file;
use ostler_config::parse_port;
use ostler_model::{OsText, UnitSpec};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

const DEFAULT_PORT: u16 = 8080;
/// Not passed to the server, which would use the watchdog's pid file as its own.
const PID_FILE: &str = "PLOINKY_ROUTER_PID_FILE";

const TEST_MODE: &str = "PLOINKY_WATCHDOG_TEST_MODE";

pub struct Settings {
    pub unit: UnitSpec,
    pub port: u16,
    pub log: PathBuf,
    pub is_checked: bool,
    pub is_debug: bool,
    /// Ploinky's test mode: print and log nothing.
    pub is_silent: bool,
    pub window_ms: u64,
    pub reset_after_ms: u64,
}

impl Settings {
    pub fn of(arguments: &WatchArguments) -> Result<Self, Failure> {
        let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
        let port = match (arguments.port, variable("PORT")) {
            (Some(port), _) => port,
            (None, Some(text)) => parse_port(&text).ok_or_else(|| {
                Failure::usage(format!(
                    "PORT: {text:?} is not a port; use a number from 1 to 65535"
                ))
            })?,
            (None, None) => DEFAULT_PORT,
        };
        let is_off = variable("HEALTH_CHECK_ENABLED").is_some_and(|text| text == "false");
        let is_checked = !arguments.no_health && !is_off;
        let name = arguments.name.clone().unwrap_or_else(|| format!("watch-{port}"));
        let mut unit = in_no_file(&name, &arguments.command, &said(arguments, port, is_checked))?;
        unit.inherited = environment(&unit);
        let ms = |text: &str| parse_duration(text).map_err(Failure::usage);
        Ok(Self {
            unit,
            port,
            log: std::path::absolute(&arguments.log)?,
            is_checked,
            is_debug: variable("DEBUG").is_some(),
            is_silent: variable(TEST_MODE).is_some_and(|text| text == "1"),
            window_ms: ms(&arguments.window)?,
            reset_after_ms: ms(&arguments.reset_after)?,
        })
    }

    pub fn name(&self) -> &str {
        &self.unit.name
    }
}

/// The settings as lines of TOML, as for a unit in a file.
fn said(arguments: &WatchArguments, port: u16, is_checked: bool) -> String {
    let WatchArguments { backoff, backoff_most, reset_after, restarts, window, .. } = arguments;
    let grace_ms = arguments.grace;
    let mut said = format!(
        "preset = \"ploinky\"\n\
         restart = {{ initial = \"{backoff}\", max = \"{backoff_most}\", reset_after = \"{reset_after}\", \
         limit = {{ count = {restarts}, window = \"{window}\" }} }}\n\
         stop = {{ grace = \"{grace_ms}ms\" }}\n\
         env = {{ PORT = \"{port}\", MANAGED_BY_PROCESS_MANAGER = \"true\" }}\n"
    );
    if is_checked {
        let usual = format!("http://127.0.0.1:{port}/health");
        let url = arguments.health_url.clone().unwrap_or(usual);
        let url = serde_json::Value::String(url);
        let WatchArguments { health_interval, health_timeout, health_start_after, .. } = arguments;
        let failures = arguments.health_failures;
        said += &format!(
            "health = {{ http = {url}, expect = \"healthy\", interval = \"{health_interval}\", timeout = \"{health_timeout}\", \
             start_after = \"{health_start_after}\", failures = {failures} }}\n"
        );
    }
    said
}

/// The whole environment of this process, as a program in the foreground expects.
fn environment(unit: &UnitSpec) -> std::sync::Arc<[OsText]> {
    let is_ours = |name: &std::ffi::OsString| {
        let is_set = name.to_str().is_some_and(|name| unit.env.contains_key(name));
        !is_set && name != PID_FILE
    };
    std::env::vars_os()
        .filter(|(name, _)| is_ours(name))
        .map(|(name, value)| OsText([name.as_bytes(), value.as_bytes()].join(&b'=')))
        .collect()
}
