//! The listening address and the allowed host names.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use thiserror::Error;

#[derive(Debug, Error, PartialEq, Eq)]
pub enum SettingsError {
    #[error("{0:?} is not an address; write it as 127.0.0.1:7420")]
    Address(String),
    #[error(
        "{0} is reachable from other machines, and HTTP is not encrypted; use 127.0.0.1:{port}, or set \
         the allowed host names in OSTLER_HTTP_HOSTS", port = .0.port()
    )]
    Reachable(SocketAddr),
    #[error("{0:?} is not a host name; write names as a.example,b.example, without ports")]
    Host(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSettings {
    /// Port 0 selects a free port, and keeps it after a restart.
    pub address: SocketAddr,
    /// Allowed host names, in addition to those of this machine.
    pub hosts: Vec<String>,
}

impl HttpSettings {
    /// Parses an address such as `127.0.0.1:7420`, `[::1]:7420` or `localhost:7420`. An address that is reachable from
    /// other machines needs `hosts`.
    pub fn parse(address: &str, hosts: &str) -> Result<Self, SettingsError> {
        let wrong = || SettingsError::Address(address.to_owned());
        let at = match address.trim().strip_prefix("localhost:") {
            Some(port) => {
                let port = port.parse().map_err(|_| wrong())?;
                SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
            }
            None => address.trim().parse().map_err(|_| wrong())?,
        };
        let hosts: Vec<String> = hosts
            .split(',')
            .map(|host| host.trim().to_ascii_lowercase())
            .filter(|host| !host.is_empty())
            .collect();
        let is_name = |host: &&String| {
            host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
        };
        if let Some(bad) = hosts.iter().find(|host| !is_name(host)) {
            return Err(SettingsError::Host(bad.clone()));
        }
        if !at.ip().is_loopback() && hosts.is_empty() {
            return Err(SettingsError::Reachable(at));
        }
        Ok(Self { address: at, hosts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_unless_told_otherwise() {
        for text in ["127.0.0.1:7420", "[::1]:7420", "localhost:7420", "127.9.9.9:0"] {
            assert!(HttpSettings::parse(text, "").is_ok(), "{text}");
        }
        for text in ["0.0.0.0:7420", "[::]:7420", "10.0.0.1:1"] {
            let refused = HttpSettings::parse(text, "").expect_err("reachable");
            assert!(refused.to_string().contains("127.0.0.1:"), "{refused}");
            assert!(HttpSettings::parse(text, "box.example").is_ok(), "{text}");
        }
        for text in ["", "7420", "localhost", "127.0.0.1", "example.com:1", "127.0.0.1:70000"] {
            assert!(HttpSettings::parse(text, "").is_err(), "{text}");
        }
        assert!(HttpSettings::parse("0.0.0.0:1", "a.example:1").is_err());
    }
}
