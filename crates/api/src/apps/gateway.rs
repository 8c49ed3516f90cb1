//! The entry point for servers on other threads.

use crate::handlers::dispatch;
use crate::server::Shared;
use ostler_model::app_wire::{Fault, FaultCode};
use ostler_model::{Actor, AppStatus};
use ostler_ops::CATALOGUE;
use ostler_ops::wire::{ErrorCode, Request, Response, WireError};
use serde_json::Value;
use std::rc::Rc;
use tokio::sync::{broadcast, mpsc, oneshot};

/// Calls operations from another thread.
#[derive(Clone)]
pub struct Gateway {
    pub(crate) calls: mpsc::UnboundedSender<GatewayCall>,
    pub(crate) topics: broadcast::Sender<Topic>,
}

pub(crate) enum GatewayCall {
    Operate {
        method: String,
        params: Value,
        by: Actor,
        reply: oneshot::Sender<Result<Value, Fault>>,
    },
    Metrics {
        reply: oneshot::Sender<Result<String, Fault>>,
    },
    Ping {
        reply: oneshot::Sender<()>,
    },
}

/// An event for subscribers.
#[derive(Clone, Debug)]
pub enum Topic {
    App(Box<AppStatus>),
}

impl Gateway {
    pub async fn call(&self, method: &str, params: Value, by: Actor) -> Result<Value, Fault> {
        let (reply, answer) = oneshot::channel();
        let call = GatewayCall::Operate { method: method.to_owned(), params, by, reply };
        let _ = self.calls.send(call);
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    /// The counters and all apps, in Prometheus format.
    pub async fn metrics(&self) -> Result<String, Fault> {
        let (reply, answer) = oneshot::channel();
        let _ = self.calls.send(GatewayCall::Metrics { reply });
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Waits for the engine. Returns whether it has answered.
    pub async fn ping(&self) -> bool {
        let (reply, answer) = oneshot::channel();
        let _ = self.calls.send(GatewayCall::Ping { reply });
        answer.await.is_ok()
    }

    pub fn subscribe(&self) -> broadcast::Receiver<Topic> {
        self.topics.subscribe()
    }
}

fn gone() -> Fault {
    Fault::new(FaultCode::InternalError, "the supervisor is stopping")
}

/// Only the operations on apps are available here.
const SUBJECT: &str = "apps.";

/// Runs an operation of the catalogue, with the parameters and answers of the app protocols.
pub(crate) async fn operate(
    method: &str,
    params: Value,
    by: Actor,
    shared: &Rc<Shared>,
) -> Result<Value, Fault> {
    if !method.starts_with(SUBJECT) || !CATALOGUE.iter().any(|entry| entry.name == method) {
        let description = format!("method {method:?} does not exist");
        return Err(Fault::new(FaultCode::MethodNotFound, description));
    }
    let params = match params {
        Value::Null if method == "apps.list" => Value::Object(serde_json::Map::new()),
        params => params,
    };
    let internal =
        |error: serde_json::Error| Fault::new(FaultCode::InternalError, error.to_string());
    let params = serde_json::value::to_raw_value(&params).map_err(internal)?;
    let line = dispatch(&Request::new(0, method, &params), by, Rc::clone(shared)).await;
    let response: Response<Value> = serde_json::from_slice(&line).map_err(internal)?;
    match response.error {
        Some(refusal) => Err(fault(refusal)),
        None => Ok(response.ok.unwrap_or_default()),
    }
}

fn fault(refusal: WireError) -> Fault {
    let code = match refusal.code {
        ErrorCode::InvalidRequest => FaultCode::InvalidParams,
        ErrorCode::NotFound => FaultCode::NotFound,
        ErrorCode::Ambiguous
        | ErrorCode::ShuttingDown
        | ErrorCode::Conflict
        | ErrorCode::Elsewhere
        | ErrorCode::Busy => FaultCode::Conflict,
        ErrorCode::RegistryFailed | ErrorCode::Internal => FaultCode::InternalError,
    };
    Fault::new(code, refusal.message)
}

pub(crate) fn read<T: serde::de::DeserializeOwned>(params: Value) -> Result<T, Fault> {
    // serde would read a list as the fields in their order.
    if !params.is_object() {
        return Err(Fault::new(FaultCode::InvalidParams, "params: expected an object"));
    }
    serde_json::from_value(params)
        .map_err(|bad| Fault::new(FaultCode::InvalidParams, format!("params: {bad}")))
}
