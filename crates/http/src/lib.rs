//! The HTTP server: every operation of the catalogue, and the routes of OpenClawOS for apps. It is off by default.

mod body;
mod deadline;
#[cfg(test)]
mod document;
mod events;
mod guard;
mod http_error;
mod listen;
mod listener;
mod openapi;
mod rest;
mod routes;
mod rpc;
mod serve;
mod settings;
mod slots;
mod token;
mod v1;

pub use listen::{Listening, listening};
pub use listener::{Http, HttpError};
pub use settings::{HttpSettings, SettingsError};
pub use token::Tokens;
