//! The operations of the catalogue over HTTP, below `/api/v1`.

pub(crate) mod events;
pub(crate) mod logs;
pub(crate) mod pages;
pub(crate) mod refusals;
pub(crate) mod routes;
pub(crate) mod schema;
pub(crate) mod setup;
