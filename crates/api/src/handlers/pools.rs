use super::dispatch::Handle;
use crate::server::Shared;
use ostler_model::{Actor, PoolView};
use ostler_ops::pools::List;
use ostler_ops::wire::WireError;

impl Handle for List {
    async fn handle(self, _: Actor, shared: &Shared) -> Result<Vec<PoolView>, WireError> {
        Ok(shared.engine.pools().await)
    }
}
