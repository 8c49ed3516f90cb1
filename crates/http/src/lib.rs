//! Faces over the engine. This one is HTTP: JSON-RPC and REST on one router, for apps. Off unless somebody asks.

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
