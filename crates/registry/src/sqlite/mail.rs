use super::error::read_failed;
use super::reader::SqliteReader;
use super::writer::SqliteWriter;
use crate::RegistryError;
use crate::mail::{PAGE_BYTES, PAGE_MESSAGES, ReadMail, Sent, WriteMail};
use ostler_model::{InstanceId, Mail, MailKind, Waiting};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use std::collections::{BTreeMap, BTreeSet};

const COLUMNS: &str = "id, sender, recipient, subject, body, kind, sent_at_ms, read_at_ms";
/// True for an expired claim. A clock that was set back must not keep a claim alive.
pub(super) const VOID: &str =
    "(claimed_at_ms IS NULL OR claimed_at_ms <= ?2 - ?3 OR claimed_at_ms > ?2 + ?3)";

impl WriteMail for SqliteWriter {
    fn send_mail(&mut self, instance: InstanceId, mail: &Mail) -> Result<Sent, RegistryError> {
        let instance = instance.to_string();
        self.write(|transaction| {
            if let Some(known) = known(transaction, &instance, &mail.id)? {
                let is_same = is_same(&known, mail);
                return Ok(if is_same { Sent::Before(known.mail) } else { Sent::IdTaken });
            }
            let (unread, bytes): (u64, u64) = transaction
                .prepare_cached(
                    "SELECT count(*), coalesce(sum(bytes), 0) FROM mail WHERE instance_id = ? AND recipient = ? \
                     AND read_at_ms IS NULL AND removed_at_ms IS NULL",
                )?
                .query_row(params![instance, mail.to], |row| Ok((number(row, 0)?, number(row, 1)?)))?;
            let size = size(mail);
            if unread >= Mail::UNREAD_MOST || bytes + size > Mail::UNREAD_BYTES_MOST {
                return Ok(Sent::Full { unread, bytes });
            }
            transaction
                .prepare_cached(
                    "INSERT INTO mail (instance_id, id, sender, recipient, subject, body, kind, bytes, sent_at_ms) \
                     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                )?
                .execute(params![
                    instance,
                    mail.id,
                    mail.from,
                    mail.to,
                    mail.subject,
                    mail.body,
                    mail.kind.as_str(),
                    size as i64,
                    mail.sent_at_ms as i64,
                ])?;
            Ok(Sent::Now)
        })
    }

    fn claim_mail(
        &mut self,
        instance: InstanceId,
        to: &str,
        most: u32,
        now_ms: u64,
    ) -> Result<Vec<Mail>, RegistryError> {
        let instance = instance.to_string();
        self.write(|transaction| {
            let sql = format!(
                "SELECT {COLUMNS} FROM mail WHERE instance_id = ?1 AND recipient = ?4 AND read_at_ms IS NULL \
                 AND removed_at_ms IS NULL AND {VOID} ORDER BY kind <> 'handoff', seq LIMIT ?5"
            );
            let claim = Mail::CLAIM_MS as i64;
            let most = most.min(PAGE_MESSAGES);
            let claimed = page(
                transaction,
                &sql,
                params![instance, now_ms as i64, claim, to, most],
            )?;
            mark(transaction, &instance, &claimed, "claimed_at_ms = ?1", now_ms)?;
            Ok(claimed)
        })
    }

    fn settle_mail(
        &mut self,
        instance: InstanceId,
        ids: &[String],
        is_read: bool,
        now_ms: u64,
    ) -> Result<Vec<Mail>, RegistryError> {
        let instance = instance.to_string();
        self.write(|transaction| {
            let settle = if is_read {
                "claimed_at_ms = NULL, read_at_ms = coalesce(read_at_ms, ?1)"
            } else {
                "claimed_at_ms = NULL"
            };
            let there = there(transaction, &instance, ids)?;
            mark(transaction, &instance, &there, settle, now_ms)?;
            self::there(transaction, &instance, ids)
        })
    }

    fn remove_mail(
        &mut self,
        instance: InstanceId,
        ids: &[String],
        now_ms: u64,
    ) -> Result<Vec<Mail>, RegistryError> {
        let instance = instance.to_string();
        self.write(|transaction| {
            let removed = there(transaction, &instance, ids)?;
            let remove = "body = '', claimed_at_ms = NULL, removed_at_ms = ?1";
            mark(transaction, &instance, &removed, remove, now_ms)?;
            Ok(removed)
        })
    }

    fn forget_mail(
        &mut self,
        instance: InstanceId,
        now_ms: u64,
        most: u64,
    ) -> Result<Vec<String>, RegistryError> {
        let long_ago = |kept_ms| now_ms.saturating_sub(kept_ms) as i64;
        let (removed, read) = (long_ago(Mail::REMOVED_KNOWN_MS), long_ago(Mail::READ_KEPT_MS));
        let old: Vec<i64> = self
            .connection
            .prepare_cached(
                "SELECT seq FROM mail WHERE instance_id = ? AND (removed_at_ms < ? OR read_at_ms < ?) LIMIT ?",
            )
            .and_then(|mut statement| {
                let values = params![instance.to_string(), removed, read, most as i64];
                statement.query_map(values, |row| row.get(0))?.collect()
            })
            .map_err(read_failed)?;
        if old.is_empty() {
            return Ok(Vec::new());
        }
        self.write(|transaction| {
            let mut forget =
                transaction.prepare_cached("DELETE FROM mail WHERE seq = ? RETURNING recipient")?;
            let mut boxes = BTreeSet::new();
            for seq in old {
                boxes.insert(forget.query_row([seq], |row| row.get(0))?);
            }
            Ok(boxes.into_iter().collect())
        })
    }

    fn waiting_for(
        &self,
        instance: InstanceId,
        names: &[String],
        now_ms: u64,
    ) -> Result<(u32, u32), RegistryError> {
        let (mut mail, mut nudges) = (0, 0);
        let instance = instance.to_string();
        for name in names {
            let unread: u32 = self
                .connection
                .prepare_cached(
                    "SELECT count(*) FROM mail WHERE instance_id = ? AND recipient = ? AND read_at_ms IS NULL \
                     AND removed_at_ms IS NULL",
                )
                .and_then(|mut count| count.query_row(params![instance, name], |row| row.get(0)))
                .map_err(read_failed)?;
            let queued: u32 = self
                .connection
                .prepare_cached(
                    "SELECT count(*) FROM nudges WHERE instance_id = ? AND recipient = ? AND receipt = 'queued' \
                     AND (expires_at_ms > ? OR claimed_at_ms IS NOT NULL)",
                )
                .and_then(|mut count| {
                    count.query_row(params![instance, name, now_ms as i64], |row| row.get(0))
                })
                .map_err(read_failed)?;
            mail += unread;
            nudges += queued;
        }
        Ok((mail, nudges))
    }
}

impl ReadMail for SqliteReader {
    fn mail_of(
        &self,
        instance: InstanceId,
        to: &str,
        unread_only: bool,
        after: Option<&str>,
    ) -> Result<Vec<Mail>, RegistryError> {
        page(
            self.connection(),
            &format!(
                "SELECT {COLUMNS} FROM mail WHERE instance_id = ?1 AND recipient = ?2 AND removed_at_ms IS NULL \
                 AND (?3 = 0 OR read_at_ms IS NULL) \
                 AND seq > coalesce((SELECT seq FROM mail WHERE instance_id = ?1 AND id = ?4), 0) \
                 ORDER BY seq LIMIT ?5"
            ),
            params![instance.to_string(), to, unread_only, after, PAGE_MESSAGES],
        )
        .map_err(read_failed)
    }

    fn mail_like(&self, instance: InstanceId, end: &str) -> Result<Vec<Mail>, RegistryError> {
        let sql = |is_it: &str| {
            format!(
                "SELECT {COLUMNS} FROM mail WHERE instance_id = ?1 AND removed_at_ms IS NULL AND {is_it} LIMIT 2"
            )
        };
        let values = params![instance.to_string(), end];
        let whole = page(self.connection(), &sql("id = ?2"), values).map_err(read_failed)?;
        if !whole.is_empty() || end.is_empty() {
            return Ok(whole);
        }
        page(self.connection(), &sql("substr(id, -length(?2)) = ?2"), values).map_err(read_failed)
    }

    fn waiting(&self, instance: InstanceId, now_ms: u64) -> Result<Vec<Waiting>, RegistryError> {
        let mut waiting: BTreeMap<String, Waiting> = BTreeMap::new();
        let mail = "SELECT recipient, count(*) FROM mail WHERE instance_id = ?1 AND read_at_ms IS NULL \
                    AND removed_at_ms IS NULL GROUP BY recipient";
        let nudges = "SELECT recipient, count(*) FROM nudges WHERE instance_id = ?1 AND receipt = 'queued' \
                      AND (expires_at_ms > ?2 OR claimed_at_ms IS NOT NULL) GROUP BY recipient";
        let instance = instance.to_string();
        for (name, count) in self.counted(mail, params![instance])? {
            waiting.insert(name.clone(), Waiting { name, mail: count, nudges: 0 });
        }
        for (name, count) in self.counted(nudges, params![instance, now_ms as i64])? {
            let none = Waiting { name: name.clone(), mail: 0, nudges: 0 };
            waiting.entry(name).or_insert(none).nudges = count;
        }
        Ok(waiting.into_values().collect())
    }

    fn mailboxes(&self, instance: InstanceId) -> Result<Vec<String>, RegistryError> {
        self.connection()
            .prepare_cached(
                "SELECT DISTINCT recipient FROM mail WHERE instance_id = ? AND removed_at_ms IS NULL",
            )
            .and_then(|mut statement| {
                statement.query_map([instance.to_string()], |row| row.get(0))?.collect()
            })
            .map_err(read_failed)
    }
}

impl SqliteReader {
    fn counted(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
    ) -> Result<Vec<(String, u32)>, RegistryError> {
        self.connection()
            .prepare_cached(sql)
            .and_then(|mut statement| {
                statement.query_map(values, |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
            })
            .map_err(read_failed)
    }
}

struct Known {
    mail: Mail,
    is_removed: bool,
}

fn known(
    transaction: &Transaction<'_>,
    instance: &str,
    id: &str,
) -> rusqlite::Result<Option<Known>> {
    transaction
        .prepare_cached(&format!(
            "SELECT {COLUMNS}, removed_at_ms IS NOT NULL FROM mail WHERE instance_id = ? AND id = ?"
        ))?
        .query_row([instance, id], |row| Ok(Known { mail: read(row)?, is_removed: row.get(8)? }))
        .optional()
}

/// A removed message no longer has its body.
fn is_same(known: &Known, mail: &Mail) -> bool {
    let Known { mail: before, is_removed } = known;
    before.from == mail.from
        && before.to == mail.to
        && before.subject == mail.subject
        && before.kind == mail.kind
        && (*is_removed || before.body == mail.body)
}

fn there(
    transaction: &Transaction<'_>,
    instance: &str,
    ids: &[String],
) -> rusqlite::Result<Vec<Mail>> {
    let mut statement = transaction.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM mail WHERE instance_id = ? AND id = ? AND removed_at_ms IS NULL"
    ))?;
    let mut there = Vec::new();
    for id in ids {
        there.extend(statement.query_row([instance, id], read).optional()?);
    }
    Ok(there)
}

/// `?1` is the time.
fn mark(
    transaction: &Transaction<'_>,
    instance: &str,
    mail: &[Mail],
    change: &str,
    at_ms: u64,
) -> rusqlite::Result<()> {
    let mut statement = transaction
        .prepare_cached(&format!("UPDATE mail SET {change} WHERE instance_id = ?2 AND id = ?3"))?;
    for message in mail {
        statement.execute(params![at_ms as i64, instance, message.id])?;
    }
    Ok(())
}

fn page(
    connection: &Connection,
    sql: &str,
    values: impl rusqlite::Params,
) -> rusqlite::Result<Vec<Mail>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    let mut page = Vec::new();
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        let mail = read(row)?;
        bytes += size(&mail) as usize;
        if bytes > PAGE_BYTES && !page.is_empty() {
            break;
        }
        page.push(mail);
    }
    Ok(page)
}

fn size(mail: &Mail) -> u64 {
    (mail.subject.len() + mail.body.len()) as u64
}

fn read(row: &Row<'_>) -> rusqlite::Result<Mail> {
    Ok(Mail {
        id: row.get(0)?,
        from: row.get(1)?,
        to: row.get(2)?,
        subject: row.get(3)?,
        body: row.get(4)?,
        kind: word(row, 5, MailKind::parse)?,
        sent_at_ms: number(row, 6)?,
        read_at_ms: row.get::<_, Option<i64>>(7)?.map(|at| at as u64),
    })
}

pub(super) fn number(row: &Row<'_>, index: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(index).map(|value| value as u64)
}

/// An unknown word is an error that names it, not a guess.
pub(super) fn word<T>(
    row: &Row<'_>,
    index: usize,
    parse: fn(&str) -> Option<T>,
) -> rusqlite::Result<T> {
    let text: String = row.get(index)?;
    parse(&text).ok_or_else(|| {
        let description = format!("{text:?} is not a known word");
        rusqlite::Error::FromSqlConversionFailure(index, Type::Text, description.into())
    })
}
