use super::error::read_failed;
use super::writer::SqliteWriter;
use crate::{RegistryError, WriteSessions};
use ostler_model::{AgentSession, InstanceId};
use rusqlite::params;
use std::collections::HashMap;

impl WriteSessions for SqliteWriter {
    fn keep_session(
        &mut self,
        instance: InstanceId,
        unit: &str,
        session: Option<&AgentSession>,
    ) -> Result<(), RegistryError> {
        let instance = instance.to_string();
        self.write(|transaction| {
            match session {
                Some(session) => transaction
                    .prepare_cached(
                        "INSERT INTO sessions (instance_id, unit, id, program, learned_at_ms) VALUES (?, ?, ?, ?, ?) \
                         ON CONFLICT (instance_id, unit) DO UPDATE SET id = excluded.id, \
                         program = excluded.program, learned_at_ms = excluded.learned_at_ms",
                    )?
                    .execute(params![
                        instance,
                        unit,
                        session.id,
                        session.program,
                        session.learned_at_ms as i64
                    ])?,
                None => transaction
                    .prepare_cached("DELETE FROM sessions WHERE instance_id = ? AND unit = ?")?
                    .execute([&*instance, unit])?,
            };
            Ok(())
        })
    }

    fn sessions(
        &self,
        instance: InstanceId,
    ) -> Result<HashMap<String, AgentSession>, RegistryError> {
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT unit, id, program, learned_at_ms FROM sessions WHERE instance_id = ?",
            )
            .map_err(read_failed)?;
        let row = |row: &rusqlite::Row<'_>| {
            let learned_at_ms: i64 = row.get(3)?;
            let session = AgentSession {
                id: row.get(1)?,
                program: row.get(2)?,
                learned_at_ms: learned_at_ms as u64,
            };
            Ok((row.get(0)?, session))
        };
        statement
            .query_map([instance.to_string()], row)
            .and_then(Iterator::collect)
            .map_err(read_failed)
    }

    fn forget_sessions(
        &mut self,
        instance: InstanceId,
        before_ms: u64,
    ) -> Result<usize, RegistryError> {
        let instance = instance.to_string();
        self.write(|transaction| {
            transaction
                .prepare_cached(
                    "DELETE FROM sessions WHERE instance_id = ?1 AND learned_at_ms < ?2 AND unit NOT IN \
                     (SELECT name FROM units WHERE instance_id = ?1)",
                )?
                .execute(params![instance, before_ms as i64])
        })
    }
}
