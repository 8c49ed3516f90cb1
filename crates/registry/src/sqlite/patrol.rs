use super::error::read_failed;
use super::reader::SqliteReader;
use super::writer::SqliteWriter;
use crate::{Ordered, ReadPatrol, RegistryError, WritePatrol};
use ostler_model::{InstanceId, PatrolMemory, PatrolOrders, PatrolSave, WatchReport};
use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

const STATE: &str = "state";
const SAID: &str = "said";
const TOWN: &str = "town";
const ORDERS: &str = "orders";
const SAVE: &str = "INSERT INTO patrol (instance_id, kind, name, document) VALUES (?, ?, ?, ?) \
     ON CONFLICT (instance_id, kind, name) DO UPDATE SET document = excluded.document";

impl WritePatrol for SqliteWriter {
    fn save_patrol(
        &mut self,
        instance: InstanceId,
        save: &PatrolSave,
    ) -> Result<(), RegistryError> {
        let instance = instance.to_string();
        self.write(|transaction| {
            transaction
                .prepare_cached("DELETE FROM patrol WHERE instance_id = ? AND kind = ?")?
                .execute([&*instance, STATE])?;
            let mut statement = transaction.prepare_cached(SAVE)?;
            for (name, state) in &save.states {
                statement.execute([&instance, STATE, name, &text(state)])?;
            }
            statement.execute([&*instance, TOWN, "", &text(&save.town)])?;
            Ok(())
        })
    }

    fn report_agent(
        &mut self,
        instance: InstanceId,
        agent: &str,
        said: &WatchReport,
    ) -> Result<(), RegistryError> {
        let instance = instance.to_string();
        self.write(|transaction| {
            if *said == WatchReport::default() {
                let forget = "DELETE FROM patrol WHERE instance_id = ? AND kind = ? AND name = ?";
                transaction.prepare_cached(forget)?.execute([&*instance, SAID, agent])?;
            } else {
                let values = [&*instance, SAID, agent, &text(said)];
                transaction.prepare_cached(SAVE)?.execute(values)?;
            }
            Ok(())
        })
    }

    fn order_patrol(
        &mut self,
        instance: InstanceId,
        seen: &PatrolOrders,
        now: &PatrolOrders,
    ) -> Result<Ordered, RegistryError> {
        // This process has one writer, and other processes have other instances.
        let orders: PatrolOrders =
            document(&self.connection, instance, ORDERS)?.unwrap_or_default();
        if orders != *seen {
            return Ok(Ordered::Changed);
        }
        let instance = instance.to_string();
        self.write(|transaction| {
            transaction.prepare_cached(SAVE)?.execute([&*instance, ORDERS, "", &text(now)])?;
            Ok(Ordered::Yes)
        })
    }

    fn said_of(
        &self,
        instance: InstanceId,
        agent: &str,
    ) -> Result<Option<WatchReport>, RegistryError> {
        let text: Option<String> = self
            .connection
            .prepare_cached(
                "SELECT document FROM patrol WHERE instance_id = ? AND kind = ? AND name = ?",
            )
            .and_then(|mut statement| {
                let instance = instance.to_string();
                statement.query_row([&*instance, SAID, agent], |row| row.get(0)).optional()
            })
            .map_err(read_failed)?;
        text.map(parsed).transpose()
    }
}

impl ReadPatrol for SqliteReader {
    fn patrol(&self, instance: InstanceId) -> Result<PatrolMemory, RegistryError> {
        let connection = self.connection();
        Ok(PatrolMemory {
            states: documents(connection, instance, STATE)?,
            said: documents(connection, instance, SAID)?,
            town: document(connection, instance, TOWN)?.unwrap_or_default(),
            orders: document(connection, instance, ORDERS)?.unwrap_or_default(),
        })
    }
}

/// Our own types can always be serialized.
fn text(document: &impl Serialize) -> String {
    serde_json::to_string(document).unwrap_or_default()
}

fn parsed<T: DeserializeOwned>(text: String) -> Result<T, RegistryError> {
    serde_json::from_str(&text)
        .map_err(|_| RegistryError::Value { what: "the patrol's state", value: text })
}

fn document<T: DeserializeOwned>(
    connection: &Connection,
    instance: InstanceId,
    kind: &str,
) -> Result<Option<T>, RegistryError> {
    let text: Option<String> = connection
        .prepare_cached(
            "SELECT document FROM patrol WHERE instance_id = ? AND kind = ? AND name = ''",
        )
        .and_then(|mut statement| {
            statement.query_row([instance.to_string().as_str(), kind], |row| row.get(0)).optional()
        })
        .map_err(read_failed)?;
    text.map(parsed).transpose()
}

fn documents<T: DeserializeOwned>(
    connection: &Connection,
    instance: InstanceId,
    kind: &str,
) -> Result<std::collections::BTreeMap<String, T>, RegistryError> {
    let texts: Vec<(String, String)> = connection
        .prepare_cached("SELECT name, document FROM patrol WHERE instance_id = ? AND kind = ?")
        .and_then(|mut statement| {
            let values = params![instance.to_string(), kind];
            statement.query_map(values, |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
        .map_err(read_failed)?;
    texts.into_iter().map(|(name, text)| Ok((name, parsed(text)?))).collect()
}
