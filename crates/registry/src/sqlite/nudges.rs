use super::error::read_failed;
use super::mail::{VOID, number, word};
use super::reader::SqliteReader;
use super::writer::SqliteWriter;
use crate::{ReadNudges, RegistryError, WriteNudges};
use ostler_model::{InstanceId, Mail, Nudge, Priority, Receipt};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

const COLUMNS: &str =
    "id, sender, recipient, text, priority, sent_at_ms, expires_at_ms, receipt, receipt_at_ms, why";
const TOO_LATE: &str = "it waited too long";

impl WriteNudges for SqliteWriter {
    fn queued_nudges(
        &mut self,
        instance: InstanceId,
        to: &str,
        now_ms: u64,
    ) -> Result<u64, RegistryError> {
        let instance = instance.to_string();
        self.write(|transaction| {
            transaction
                .prepare_cached(
                    "SELECT count(*) FROM nudges WHERE instance_id = ? AND recipient = ? AND receipt = 'queued' \
                     AND expires_at_ms > ?",
                )?
                .query_row(params![instance, to, now_ms as i64], |row| number(row, 0))
        })
    }

    fn queue_nudge(
        &mut self,
        instance: InstanceId,
        mut nudge: Nudge,
    ) -> Result<Nudge, RegistryError> {
        let instance = instance.to_string();
        self.write(|transaction| {
            // The same call twice queues one nudge.
            if let Some(known) = find(transaction, &instance, &nudge.id)? {
                return Ok(known);
            }
            expire(transaction, &instance, Some(&nudge.to), nudge.sent_at_ms)?;
            let waiting: u64 = transaction
                .prepare_cached(
                    "SELECT count(*) FROM nudges WHERE instance_id = ? AND recipient = ? AND receipt = 'queued'",
                )?
                .query_row([&instance, &nudge.to], |row| number(row, 0))?;
            if waiting >= Nudge::DEPTH as u64 {
                nudge.receipt = Receipt::Refused;
                nudge.why = format!("{waiting} nudges wait for {} already, which is the limit", nudge.to);
                return Ok(nudge);
            }
            transaction
                .prepare_cached(
                    "INSERT INTO nudges (instance_id, id, sender, recipient, text, priority, sent_at_ms, \
                     expires_at_ms, receipt, receipt_at_ms, why) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                )?
                .execute(params![
                    instance,
                    nudge.id,
                    nudge.from,
                    nudge.to,
                    nudge.text,
                    nudge.priority.as_str(),
                    nudge.sent_at_ms as i64,
                    nudge.expires_at_ms as i64,
                    nudge.receipt.as_str(),
                    nudge.receipt_at_ms as i64,
                    nudge.why,
                ])?;
            Ok(nudge)
        })
    }

    fn claim_nudges(
        &mut self,
        instance: InstanceId,
        to: &str,
        most: u32,
        now_ms: u64,
    ) -> Result<Vec<Nudge>, RegistryError> {
        let instance = instance.to_string();
        self.write(|transaction| {
            expire(transaction, &instance, Some(to), now_ms)?;
            let claimed = select(
                transaction,
                &format!(
                    "SELECT {COLUMNS} FROM nudges WHERE instance_id = ?1 AND recipient = ?4 AND receipt = 'queued' \
                     AND {VOID} ORDER BY priority <> 'urgent', seq LIMIT ?5"
                ),
                params![instance, now_ms as i64, Mail::CLAIM_MS as i64, to, most],
            )?;
            let mut claim = transaction.prepare_cached(
                "UPDATE nudges SET claimed_at_ms = ? WHERE instance_id = ? AND id = ?",
            )?;
            for nudge in &claimed {
                claim.execute(params![now_ms as i64, instance, nudge.id])?;
            }
            Ok(claimed)
        })
    }

    fn settle_nudge(
        &mut self,
        instance: InstanceId,
        id: &str,
        receipt: Receipt,
        why: &str,
        now_ms: u64,
    ) -> Result<Option<Nudge>, RegistryError> {
        let instance = instance.to_string();
        self.write(|transaction| {
            transaction
                .prepare_cached(
                    "UPDATE nudges SET claimed_at_ms = NULL, receipt = ?, receipt_at_ms = ?, why = ? \
                     WHERE instance_id = ? AND id = ? AND receipt = 'queued'",
                )?
                .execute(params![receipt.as_str(), now_ms as i64, why, instance, id])?;
            find(transaction, &instance, id)
        })
    }

    fn forget_nudges(
        &mut self,
        instance: InstanceId,
        now_ms: u64,
        most: u64,
    ) -> Result<(), RegistryError> {
        let instance = instance.to_string();
        let are_there: bool = self
            .connection
            .query_row(
                "SELECT EXISTS (SELECT 1 FROM nudges WHERE instance_id = ?)",
                [&instance],
                |row| row.get(0),
            )
            .map_err(read_failed)?;
        if !are_there {
            return Ok(());
        }
        self.write(|transaction| {
            expire(transaction, &instance, None, now_ms)?;
            let long_ago = now_ms.saturating_sub(Nudge::SETTLED_KEPT_MS) as i64;
            transaction.execute(
                "DELETE FROM nudges WHERE seq IN (SELECT seq FROM nudges WHERE instance_id = ? \
                 AND receipt <> 'queued' AND receipt_at_ms < ? LIMIT ?)",
                params![instance, long_ago, most as i64],
            )?;
            Ok(())
        })
    }
}

impl ReadNudges for SqliteReader {
    fn nudges(
        &self,
        instance: InstanceId,
        to: Option<&str>,
        now_ms: u64,
    ) -> Result<Vec<Nudge>, RegistryError> {
        const SHOWN: u32 = 1_000;
        let mut nudges = select(
            self.connection(),
            &format!(
                "SELECT {COLUMNS} FROM (SELECT {COLUMNS}, claimed_at_ms, seq FROM nudges WHERE instance_id = ?1 \
                 AND (?2 IS NULL OR recipient = ?2) ORDER BY receipt <> 'queued', seq DESC LIMIT ?3) ORDER BY seq"
            ),
            params![instance.to_string(), to, SHOWN],
        )
        .map_err(read_failed)?;
        for nudge in &mut nudges {
            if nudge.receipt == Receipt::Queued && nudge.expires_at_ms <= now_ms {
                nudge.receipt = Receipt::Expired;
                nudge.receipt_at_ms = nudge.expires_at_ms;
                nudge.why = TOO_LATE.to_owned();
            }
        }
        Ok(nudges)
    }
}

/// Expires nudges, except those that are being delivered.
fn expire(
    transaction: &Transaction<'_>,
    instance: &str,
    to: Option<&str>,
    now_ms: u64,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(&format!(
            "UPDATE nudges SET receipt = 'expired', receipt_at_ms = expires_at_ms, why = ?5 \
             WHERE instance_id = ?1 AND receipt = 'queued' AND expires_at_ms <= ?2 AND {VOID} \
             AND (?4 IS NULL OR recipient = ?4)"
        ))?
        .execute(params![instance, now_ms as i64, Mail::CLAIM_MS as i64, to, TOO_LATE])?;
    Ok(())
}

fn find(connection: &Connection, instance: &str, id: &str) -> rusqlite::Result<Option<Nudge>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM nudges WHERE instance_id = ? AND id = ?"))?
        .query_row([instance, id], read)
        .optional()
}

fn select(
    connection: &Connection,
    sql: &str,
    values: impl rusqlite::Params,
) -> rusqlite::Result<Vec<Nudge>> {
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_map(values, read)?.collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<Nudge> {
    Ok(Nudge {
        id: row.get(0)?,
        from: row.get(1)?,
        to: row.get(2)?,
        text: row.get(3)?,
        priority: word(row, 4, Priority::parse)?,
        sent_at_ms: number(row, 5)?,
        expires_at_ms: number(row, 6)?,
        receipt: word(row, 7, Receipt::parse)?,
        receipt_at_ms: number(row, 8)?,
        why: row.get(9)?,
    })
}
