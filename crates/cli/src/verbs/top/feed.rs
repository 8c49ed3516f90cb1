//! Polls the data of the live view, and reconnects after a supervisor restart.

use crate::context::Context;
use crate::exit::Failure;
use crate::verbs::unit;
use ostler_client::Client;
use ostler_model::{Depth, UnitLook};

pub struct Feed {
    context: Context,
    client: Option<Client>,
}

impl Feed {
    pub fn new(context: &Context) -> Self {
        Self { context: context.clone(), client: None }
    }

    /// All listed units. If usage is not included, it is sampled only for the visible units.
    pub fn units(&mut self, seen: &[String]) -> Result<Vec<UnitLook>, Failure> {
        let looked = self.look(seen);
        if looked.is_err() {
            self.client = None;
        }
        looked
    }

    fn look(&mut self, seen: &[String]) -> Result<Vec<UnitLook>, Failure> {
        let client = match &mut self.client {
            Some(client) => client,
            None => self.client.insert(self.context.connect_running()?),
        };
        let mut all = unit::table(client, Depth::Quick)?;
        all.retain(|look| look.view.is_listed());
        if !seen.is_empty() && all.iter().any(|look| look.usage.is_none()) {
            for look in unit::look(client, seen.to_vec(), Depth::Whole)? {
                if let Some(known) = all.iter_mut().find(|known| known.view.name == look.view.name)
                {
                    known.usage = look.usage;
                }
            }
        }
        Ok(all)
    }
}
