//! A: apps, over their socket and over HTTP.

pub(crate) mod crash;
pub(crate) mod heartbeat;
pub(crate) mod hostile;
pub(crate) mod http;
pub(crate) mod http_hostile;
pub(crate) mod http_setup;
pub(crate) mod limits;
pub(crate) mod manifest;
pub(crate) mod operator;
pub(crate) mod register;
pub(crate) mod restart;
pub(crate) mod rust_sdk;
pub(crate) mod setup;
pub(crate) mod start;
pub(crate) mod stop;
pub(crate) mod wire;
