//! From the name of an operation to what carries it out.

use crate::find::error;
use crate::server::Shared;
use ostler_model::Actor;
use ostler_ops::wire::{ErrorCode, Request, WireError, response_line};
use ostler_ops::{CATALOGUE, Cost, Operation, each_operation};
use std::pin::Pin;
use std::rc::Rc;

/// Carries out an operation. The compiler asks for one of each operation in the catalogue.
pub(crate) trait Handle: Operation {
    async fn handle(self, by: Actor, shared: &Shared) -> Result<Self::Response, WireError>;
}

/// What a request costs, by the name of its operation.
pub(crate) fn cost_of(method: &str) -> Cost {
    CATALOGUE.iter().find(|entry| entry.name == method).map_or(Cost::Quick, |entry| entry.cost)
}

type Line = Pin<Box<dyn Future<Output = Vec<u8>>>>;

/// The line of the response.
pub(crate) fn dispatch(request: &Request<'_>, by: Actor, shared: Rc<Shared>) -> Line {
    macro_rules! handlers {
        ([$($one:ty)*] [$($stream:ty)*]) => {
            match &*request.method {
                $(<$one as Operation>::NAME => handle::<$one>(request, by, shared),)*
                $(<$stream as Operation>::NAME => refuse(
                    request.id,
                    format!("{} is a stream: it takes a connection of the control socket over", request.method),
                ),)*
                _ => refuse(request.id, format!("not a request: there is no operation {:?}", request.method)),
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
        Err(bad) => refuse(id, format!("not a request: {}: {bad}", O::NAME)),
    }
}

fn refuse(id: u64, message: String) -> Line {
    let line = response_line::<()>(id, &Err(error(ErrorCode::InvalidRequest, message)));
    Box::pin(std::future::ready(line))
}
