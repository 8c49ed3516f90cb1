//! The environment variables of an app.

use super::error::AppError;
use std::path::PathBuf;
use std::time::Duration;

const SOCKET_NAMES: [&str; 3] =
    ["OPENCLAWOS_SOCKET", "OPENCLAWOS_KERNEL_SOCKET", "OPENCLAW_KERNEL_SOCKET"];
const DEFAULT_HEARTBEAT: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Environment {
    pub(super) socket: PathBuf,
    pub(super) secret: Option<String>,
    /// Used if the answer to `app.register` contains no interval.
    pub(super) heartbeat: Duration,
}

impl Environment {
    pub(super) fn read() -> Result<Self, AppError> {
        Self::from(|name| std::env::var(name).ok())
    }

    pub(super) fn from(variable: impl Fn(&str) -> Option<String>) -> Result<Self, AppError> {
        let given = |name: &str| variable(name).filter(|value| !value.is_empty());
        let socket = SOCKET_NAMES.into_iter().find_map(given).ok_or(AppError::NoSocket)?;
        let heartbeat = given("OSTLER_HEARTBEAT_MS")
            .and_then(|text| text.parse().ok())
            .filter(|ms| *ms > 0)
            .map_or(DEFAULT_HEARTBEAT, Duration::from_millis);
        Ok(Self { socket: socket.into(), secret: given("OPENCLAWOS_LAUNCH_SECRET"), heartbeat })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_of_three_names_leads_to_the_socket() {
        for name in SOCKET_NAMES {
            let found = Environment::from(|asked| (asked == name).then(|| "/s".to_owned()));
            let found = found.expect("a socket");
            assert_eq!(found.socket, PathBuf::from("/s"));
            assert_eq!((found.secret, found.heartbeat), (None, DEFAULT_HEARTBEAT));
        }
        let all =
            Environment::from(|name| Some(if name.contains("MS") { "250" } else { "x" }.into()));
        let all = all.expect("a socket");
        assert_eq!(all.secret.as_deref(), Some("x"));
        assert_eq!(all.heartbeat, Duration::from_millis(250));
    }

    #[test]
    fn without_a_socket_the_variable_is_named_and_what_would_be_right() {
        let error = Environment::from(|_| Some(String::new())).expect_err("none");
        let description = error.description();
        assert!(description.starts_with("OPENCLAWOS_SOCKET is not set"), "{description}");
        assert!(
            description.contains("ostler up") && description.ends_with("(NO_SOCKET)"),
            "{description}"
        );
    }
}
