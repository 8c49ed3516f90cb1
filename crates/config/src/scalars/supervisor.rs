//! Values of `[supervisor]`.

use crate::scalars::Duration;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// A loopback address for HTTP, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpListen(pub Option<SocketAddr>);

fn parse_listen(text: &str) -> Result<Option<SocketAddr>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let Ok(address) = text.parse::<SocketAddr>() else {
        let port = text.rsplit(':').next().and_then(|port| port.parse::<u16>().ok());
        let port = port.unwrap_or(7420);
        return Err(format!(
            "{text:?} is not an address; write it as 127.0.0.1:{port}, or \"\" to disable HTTP"
        ));
    };
    let is_own = match address.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback(),
    };
    if !is_own {
        return Err(format!(
            "{text:?} is reachable from other machines; write 127.0.0.1:{}, and use a proxy or ssh -L",
            address.port()
        ));
    }
    Ok(Some(address))
}

impl<'de> Deserialize<'de> for HttpListen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = HttpListen;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an address in quotes, such as \"127.0.0.1:7420\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<HttpListen, E> {
                parse_listen(text).map(HttpListen).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Text)
    }
}

impl JsonSchema for HttpListen {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "HttpDoor".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "examples": ["127.0.0.1:7420", "[::1]:7420", ""] })
    }
}

/// The lifetime of a lease that is not renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease(pub u64);

const LEASE_LEAST_MS: u64 = 100;

impl<'de> Deserialize<'de> for Lease {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Duration(lease) = Duration::deserialize(deserializer)?;
        if lease < LEASE_LEAST_MS {
            return Err(D::Error::custom("this lease is too short; it must be at least 100ms"));
        }
        Ok(Lease(lease))
    }
}

impl JsonSchema for Lease {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Lease".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "examples": ["30s"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_connect_only_to_this_machine() {
        assert_eq!(parse_listen(""), Ok(None));
        for text in ["127.0.0.1:7420", "[::1]:7420", "127.9.9.9:0"] {
            assert_eq!(parse_listen(text), Ok(text.parse().ok()), "{text}");
        }
        for text in
            ["0.0.0.0:80", "[::]:80", "10.0.0.1:80", "localhost:80", "80", ":80", "127.0.0.1"]
        {
            assert!(parse_listen(text).is_err(), "{text}");
        }
    }
}
