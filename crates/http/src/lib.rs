//! Faces over the engine. This one is HTTP: JSON-RPC and REST on one router, for apps. Off unless somebody asks.

mod events;
mod face;
mod file;
mod guard;
mod listen;
mod openapi;
mod parts;
mod patience;
mod refusal;
mod rest;
mod routes;
mod rpc;
mod serve;
mod settings;
mod slots;
mod token;

pub use face::{Http, HttpError};
pub use listen::{Listening, listening};
pub use settings::{HttpSettings, SettingsError};
pub use token::Tokens;
