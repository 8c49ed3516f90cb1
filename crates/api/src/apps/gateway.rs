//! The entry point for servers on other threads.

use crate::find::{bad_params, error};
use crate::handlers::{Follower, Given, cost_of, dispatch, follow};
use crate::server::Shared;
use ostler_model::app_wire::{Fault, FaultCode};
use ostler_model::{Actor, AppStatus, Entry};
use ostler_ops::wire::{ErrorCode, Request, Response, WireError};
use ostler_ops::{CATALOGUE, Cost, Kind, Operation, journal};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::rc::Rc;
use tokio::sync::{broadcast, mpsc, oneshot};

/// Calls operations from another thread.
#[derive(Clone)]
pub struct Gateway {
    pub(crate) calls: mpsc::UnboundedSender<GatewayCall>,
    pub(crate) topics: broadcast::Sender<Topic>,
}

/// A response as JSON.
pub type Outcome = Result<Box<RawValue>, WireError>;

pub(crate) enum GatewayCall {
    Operate { method: String, params: Box<RawValue>, by: Actor, reply: oneshot::Sender<Outcome> },
    Follow { params: Box<RawValue>, items: mpsc::Sender<Outcome> },
    Metrics { reply: oneshot::Sender<Result<String, Fault>> },
    Ping { reply: oneshot::Sender<()> },
}

/// An event for subscribers.
#[derive(Clone, Debug)]
pub enum Topic {
    App(Box<AppStatus>),
}

/// The number of lists of entries that wait for a follower. The journal is not read on before it has taken them.
const FOLLOW_AHEAD: usize = 1;

impl Gateway {
    /// Calls an operation of the catalogue.
    pub async fn call(&self, method: &str, params: Box<RawValue>, by: Actor) -> Outcome {
        let (reply, answer) = oneshot::channel();
        let call = GatewayCall::Operate { method: method.to_owned(), params, by, reply };
        let _ = self.calls.send(call);
        answer.await.unwrap_or_else(|_| Err(error(ErrorCode::ShuttingDown, STOPPING)))
    }

    /// Calls an operation on apps, with the parameters and answers of the app protocols.
    pub async fn call_app(&self, method: &str, params: Value, by: Actor) -> Result<Value, Fault> {
        let params = app_params(method, params)?;
        value(self.call(method, params, by).await)
    }

    /// Follows the journal (`journal.follow`): each item is a list of entries, the first one comes at once. Dropping the
    /// receiver ends it.
    pub fn follow(&self, params: Box<RawValue>) -> mpsc::Receiver<Outcome> {
        let (items, followed) = mpsc::channel(FOLLOW_AHEAD);
        let _ = self.calls.send(GatewayCall::Follow { params, items });
        followed
    }

    /// The counters and all apps, in Prometheus format.
    pub async fn metrics(&self) -> Result<String, Fault> {
        let (reply, answer) = oneshot::channel();
        let _ = self.calls.send(GatewayCall::Metrics { reply });
        answer.await.unwrap_or_else(|_| Err(Fault::new(FaultCode::InternalError, STOPPING)))
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

const STOPPING: &str = "the supervisor is stopping";

/// Runs an operation for a caller on another thread. If the caller leaves, a query ends.
pub(crate) async fn carry_out(
    method: &str,
    params: &RawValue,
    by: Actor,
    mut reply: oneshot::Sender<Outcome>,
    shared: &Rc<Shared>,
) {
    let _on_its_way = shared.answering();
    let large = async {
        match cost_of(method) {
            Cost::Large => shared.callers.make_large().await,
            Cost::Quick | Cost::Waiting => None,
        }
    };
    let answer = async {
        let _large = large.await;
        answer(method, params, by, shared).await
    };
    let is_query = CATALOGUE.iter().any(|entry| entry.name == method && entry.kind == Kind::Query);
    if !is_query {
        let _ = reply.send(answer.await);
        return;
    }
    tokio::select! {
        outcome = answer => { let _ = reply.send(outcome); }
        () = reply.closed() => {}
    }
}

async fn answer(method: &str, params: &RawValue, by: Actor, shared: &Rc<Shared>) -> Outcome {
    let line = dispatch(&Request::new(0, method, params), by, Rc::clone(shared)).await;
    let unreadable = |bad: serde_json::Error| error(ErrorCode::Internal, bad.to_string());
    let response: Response<Box<RawValue>> = serde_json::from_slice(&line).map_err(unreadable)?;
    match (response.ok, response.error) {
        (_, Some(refusal)) => Err(refusal),
        (Some(ok), None) => Ok(ok),
        (None, None) => Err(error(ErrorCode::Internal, "the response is empty")),
    }
}

/// Follows the journal for a caller on another thread.
pub(crate) async fn follow_for(
    params: &RawValue,
    mut items: mpsc::Sender<Outcome>,
    shared: &Shared,
) {
    match Request::new(0, journal::Follow::NAME, params).read::<journal::Follow>() {
        Ok(call) => follow(call, shared, &mut items).await,
        Err(bad) => {
            let _ = items.send(Err(bad_params(journal::Follow::NAME, &bad))).await;
        }
    }
}

impl Follower for &mut mpsc::Sender<Outcome> {
    async fn give(&mut self, entries: Result<Vec<Entry>, WireError>) -> Given {
        let item = entries.and_then(|entries| {
            to_raw_value(&entries).map_err(|bad| error(ErrorCode::Internal, bad.to_string()))
        });
        match self.send(item).await {
            Ok(()) => Given::Go,
            Err(_) => Given::Gone,
        }
    }

    async fn gone(&mut self) {
        self.closed().await;
    }
}

/// Only the operations on apps are available in the app protocols.
const SUBJECT: &str = "apps.";

/// Runs an operation of the catalogue, with the parameters and answers of the app protocols.
pub(crate) async fn operate(
    method: &str,
    params: Value,
    by: Actor,
    shared: &Rc<Shared>,
) -> Result<Value, Fault> {
    let params = app_params(method, params)?;
    value(answer(method, &params, by, shared).await)
}

fn app_params(method: &str, params: Value) -> Result<Box<RawValue>, Fault> {
    if !method.starts_with(SUBJECT) || !CATALOGUE.iter().any(|entry| entry.name == method) {
        let description = format!("method {method:?} does not exist");
        return Err(Fault::new(FaultCode::MethodNotFound, description));
    }
    let params = match params {
        Value::Null if method == "apps.list" => Value::Object(serde_json::Map::new()),
        params => params,
    };
    to_raw_value(&params).map_err(|bad| Fault::new(FaultCode::InternalError, bad.to_string()))
}

fn value(outcome: Outcome) -> Result<Value, Fault> {
    serde_json::from_str(outcome.map_err(fault)?.get())
        .map_err(|bad| Fault::new(FaultCode::InternalError, bad.to_string()))
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
