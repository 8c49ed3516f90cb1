//! Dispatches a request to the handler of its operation.

use crate::find::{bad_params, error};
use crate::server::Shared;
use ostler_model::Actor;
use ostler_ops::wire::{ErrorCode, Request, WireError, response_line};
use ostler_ops::{CATALOGUE, Cost, Operation, each_operation};
use std::pin::Pin;
use std::rc::Rc;

/// Handles an operation. The compiler requires an implementation for each operation of the catalogue.
pub(crate) trait Handle: Operation {
    async fn handle(self, by: Actor, shared: &Shared) -> Result<Self::Response, WireError>;
}

/// The cost of a request, by operation name.
pub(crate) fn cost_of(method: &str) -> Cost {
    CATALOGUE.iter().find(|entry| entry.name == method).map_or(Cost::Quick, |entry| entry.cost)
}

type Line = Pin<Box<dyn Future<Output = Vec<u8>>>>;

/// Returns the response line.
pub(crate) fn dispatch(request: &Request<'_>, by: Actor, shared: Rc<Shared>) -> Line {
    macro_rules! handlers {
        ([$($one:ty)*] [$($stream:ty)*]) => {
            match &*request.method {
                $(<$one as Operation>::NAME => handle::<$one>(request, by, shared),)*
                $(<$stream as Operation>::NAME => refuse(
                    request.id,
                    invalid(format!("{} is a stream and needs its own connection to the control socket", request.method)),
                ),)*
                _ => refuse(request.id, invalid(format!("invalid request: there is no operation {:?}", request.method))),
            }
        };
    }
    each_operation!(handlers)
}

fn handle<O: Handle>(request: &Request<'_>, by: Actor, shared: Rc<Shared>) -> Line {
    let id = request.id;
    match request.read::<O>() {
        Ok(operation) => {
            Box::pin(async move { response_line(id, &operation.handle(by, &shared).await) })
        }
        Err(bad) => refuse(id, bad_params(O::NAME, &bad)),
    }
}

fn invalid(message: String) -> WireError {
    error(ErrorCode::InvalidRequest, message)
}

fn refuse(id: u64, refusal: WireError) -> Line {
    let line = response_line::<()>(id, &Err(refusal));
    Box::pin(std::future::ready(line))
}
