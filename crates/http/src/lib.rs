//! The HTTP server for apps: JSON-RPC and REST on one router. It is off by default.

mod deadline;
mod events;
mod guard;
mod http_error;
mod listen;
mod listener;
mod openapi;
mod openapi_parts;
mod rest;
mod routes;
mod rpc;
mod serve;
mod settings;
mod slots;
mod token;

pub use listen::{Listening, listening};
pub use listener::{Http, HttpError};
pub use settings::{HttpSettings, SettingsError};
pub use token::Tokens;
