//! Changes the registry's file from outside, to create a state that tests cannot reach otherwise.

use crate::home::Home;
use rusqlite::Connection;

pub struct Registry {
    pub connection: Connection,
}

impl Registry {
    pub fn open(home: &Home) -> Self {
        let connection = Connection::open(home.registry_file()).expect("the registry opens");
        connection.busy_timeout(std::time::Duration::from_secs(10)).expect("a timeout");
        Self { connection }
    }

    pub fn execute(&self, statement: &str, values: impl rusqlite::Params) -> usize {
        self.connection
            .execute(statement, values)
            .unwrap_or_else(|error| panic!("{statement}: {error}"))
    }

    pub fn number(&self, query: &str) -> i64 {
        self.connection
            .query_row(query, [], |row| row.get(0))
            .unwrap_or_else(|error| panic!("{query}: {error}"))
    }

    pub fn text(&self, query: &str) -> String {
        self.connection
            .query_row(query, [], |row| row.get(0))
            .unwrap_or_else(|error| panic!("{query}: {error}"))
    }
}
