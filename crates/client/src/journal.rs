//! Reads the journal in slices.

use crate::connection::Client;
use crate::error::ClientError;
use ostler_model::Entry;
use ostler_ops::journal::Entries;

/// The position of a reader of the journal. It may continue on another connection.
#[derive(Debug)]
pub struct Journal {
    filter: Entries,
    /// The newest entry when reading began. Later entries are not read.
    until: Option<i64>,
    is_over: bool,
}

impl Journal {
    pub fn new(filter: Entries) -> Self {
        Self { filter, until: None, is_over: false }
    }

    /// The next entries, oldest first; `None` at the end.
    pub fn next_slice(&mut self, client: &mut Client) -> Result<Option<Vec<Entry>>, ClientError> {
        if self.is_over {
            return Ok(None);
        }
        let until = match self.until {
            Some(until) => until,
            None => {
                let newest = Entries { newest: Some(1), ..self.filter.clone() };
                let until = client.call(&newest)?.last().map_or(0, |entry| entry.seq);
                *self.until.insert(until)
            }
        };
        let mut slice = client.call(&self.filter)?;
        slice.retain(|entry| entry.seq <= until);
        match slice.last() {
            None => self.is_over = true,
            Some(last) => {
                self.filter.after_seq = Some(last.seq);
                self.filter.newest = None;
                self.is_over = last.seq >= until;
            }
        }
        Ok(Some(slice).filter(|slice| !slice.is_empty()))
    }
}
