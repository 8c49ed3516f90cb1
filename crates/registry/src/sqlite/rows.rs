//! Converts records and entries to rows and back.

use super::error::read_failed;
use crate::error::RegistryError;
use ostler_model::{
    Backend, Entry, Extinct, InstanceId, Purpose, RunId, RunRecord, RunState, SpawnErrorKind,
    Termination, What,
};
use rusqlite::{Row, ToSql, named_params};

pub(super) const RUN_COLUMNS: &str = "runs.run_id, session_id, backend_id, unit, pid, start_time, runs.boot_id, \
    process_group_id, cgroup, state, created_at_ms, updated_at_ms, last_output_at_ms, owner_instance_id, \
    leases.expires_at_ms, termination, exit_code, exit_signal, extinct, scope_key, command, error, \
    spawn_error_kind, started_at_ms, ended_at_ms, timeout_ms, no_output_timeout_ms, grace_ms, \
    detach_allowed, started_mono_ms, output_bytes, process_unique, stop_signal, enforced, out_of_memory, memory_kills, \
    escaped, strict, parent, keep, client, pool, ticket, reaper, cancel_reason, survivors, purpose";

pub(super) const FROM_RUNS: &str = "FROM runs LEFT JOIN leases ON leases.instance_id = runs.owner_instance_id AND runs.state <> 'exited'";

/// A record that another instance owns is never overwritten.
pub(super) const SAVE_RUN: &str = "INSERT INTO runs (run_id, session_id, backend_id, unit, pid, start_time, \
    boot_id, process_group_id, cgroup, state, created_at_ms, updated_at_ms, last_output_at_ms, \
    owner_instance_id, termination, exit_code, exit_signal, extinct, scope_key, command, error, \
    spawn_error_kind, started_at_ms, ended_at_ms, timeout_ms, no_output_timeout_ms, grace_ms, \
    detach_allowed, started_mono_ms, output_bytes, process_unique, stop_signal, enforced, out_of_memory, memory_kills, \
    escaped, strict, parent, keep, client, pool, ticket, reaper, cancel_reason, survivors, purpose) \
  VALUES (:run_id, :session_id, :backend_id, :unit, :pid, :start_time, :boot_id, :process_group_id, :cgroup, \
    :state, :created_at_ms, :updated_at_ms, :last_output_at_ms, :owner_instance_id, :termination, :exit_code, \
    :exit_signal, :extinct, :scope_key, :command, :error, :spawn_error_kind, :started_at_ms, :ended_at_ms, \
    :timeout_ms, :no_output_timeout_ms, :grace_ms, :detach_allowed, :started_mono_ms, :output_bytes, :process_unique, :stop_signal, \
    :enforced, :out_of_memory, :memory_kills, :escaped, :strict, :parent, :keep, :client, :pool, :ticket, :reaper, :cancel_reason, :survivors, :purpose) \
  ON CONFLICT (run_id) DO UPDATE SET pid = excluded.pid, start_time = excluded.start_time, \
    boot_id = excluded.boot_id, process_group_id = excluded.process_group_id, cgroup = excluded.cgroup, \
    state = excluded.state, updated_at_ms = excluded.updated_at_ms, \
    last_output_at_ms = excluded.last_output_at_ms, termination = excluded.termination, \
    exit_code = excluded.exit_code, exit_signal = excluded.exit_signal, extinct = excluded.extinct, \
    error = excluded.error, spawn_error_kind = excluded.spawn_error_kind, \
    started_at_ms = excluded.started_at_ms, ended_at_ms = excluded.ended_at_ms, \
    started_mono_ms = excluded.started_mono_ms, output_bytes = excluded.output_bytes, \
    process_unique = excluded.process_unique, enforced = excluded.enforced, \
    out_of_memory = excluded.out_of_memory, memory_kills = excluded.memory_kills, \
    escaped = excluded.escaped, client = excluded.client, ticket = excluded.ticket, reaper = excluded.reaper, \
    cancel_reason = excluded.cancel_reason, survivors = excluded.survivors \
  WHERE runs.owner_instance_id = excluded.owner_instance_id AND runs.state <> 'exited'";

pub(super) fn save_run(
    statement: &mut rusqlite::CachedStatement<'_>,
    run: &RunRecord,
) -> rusqlite::Result<usize> {
    // It contains numbers, words and paths: serialization cannot fail.
    let enforced = run.enforced.as_ref().and_then(|held| serde_json::to_string(held).ok());
    let escaped = Some(&run.escaped).filter(|escaped| !escaped.is_empty());
    let escaped = escaped.and_then(|escaped| serde_json::to_string(escaped).ok());
    let survivors = Some(&run.survivors).filter(|survivors| !survivors.is_empty());
    let survivors = survivors.and_then(|survivors| serde_json::to_string(survivors).ok());
    let client = run.client.as_ref().and_then(|client| serde_json::to_string(client).ok());
    let reaper = run.reaper.as_ref().and_then(|reaper| serde_json::to_string(reaper).ok());
    let values: &[(&str, &dyn ToSql)] = named_params! {
        ":run_id": run.run_id.to_string(),
        ":session_id": run.session_id,
        ":backend_id": run.backend_id.as_str(),
        ":unit": run.unit,
        ":pid": run.pid,
        ":start_time": run.start_time.map(|value| value as i64),
        ":boot_id": run.boot_id,
        ":process_group_id": run.process_group_id,
        ":cgroup": run.cgroup,
        ":state": run.state.as_str(),
        ":created_at_ms": run.created_at_ms as i64,
        ":updated_at_ms": run.updated_at_ms as i64,
        ":last_output_at_ms": run.last_output_at_ms.map(|value| value as i64),
        ":owner_instance_id": run.owner_instance_id.to_string(),
        ":termination": run.termination.map(Termination::as_str),
        ":exit_code": run.exit_code,
        ":exit_signal": run.exit_signal,
        ":extinct": run.extinct.as_str(),
        ":scope_key": run.scope_key,
        ":command": run.command,
        ":error": run.error,
        ":spawn_error_kind": run.spawn_error_kind.map(SpawnErrorKind::as_str),
        ":started_at_ms": run.started_at_ms.map(|value| value as i64),
        ":ended_at_ms": run.ended_at_ms.map(|value| value as i64),
        ":timeout_ms": run.timeout_ms.map(|value| value as i64),
        ":no_output_timeout_ms": run.no_output_timeout_ms.map(|value| value as i64),
        ":grace_ms": run.grace_ms as i64,
        ":detach_allowed": run.detach_allowed,
        ":started_mono_ms": run.started_mono_ms.map(|value| value as i64),
        ":output_bytes": run.output_bytes as i64,
        ":process_unique": run.process_unique.map(|value| value as i64),
        ":stop_signal": run.stop_signal,
        ":enforced": enforced,
        ":out_of_memory": run.out_of_memory,
        ":memory_kills": run.memory_kills as i64,
        ":escaped": escaped,
        ":strict": run.strict,
        ":parent": run.parent.map(|parent| parent.to_string()),
        ":keep": run.keep,
        ":client": client,
        ":pool": run.pool,
        ":ticket": run.ticket.map(|value| value as i64),
        ":reaper": reaper,
        ":cancel_reason": run.cancel_reason,
        ":survivors": survivors,
        ":purpose": run.purpose.as_str(),
    };
    // In the order of the statement: to look up forty-six names for each save takes longer than to bind the values.
    for (place, (name, value)) in (1..).zip(values) {
        debug_assert_eq!(statement.parameter_name(place), Some(*name));
        statement.raw_bind_parameter(place, value)?;
    }
    statement.raw_execute()
}

/// A row with an unknown word is an error that names the word, not a guess.
pub(super) fn read_run(row: &Row<'_>) -> Result<RunRecord, RegistryError> {
    let text = |index: usize| row.get::<_, String>(index).map_err(read_failed);
    let optional_text = |index: usize| row.get::<_, Option<String>>(index).map_err(read_failed);
    let number =
        |index: usize| row.get::<_, i64>(index).map(|value| value as u64).map_err(read_failed);
    let optional = |index: usize| {
        row.get::<_, Option<i64>>(index)
            .map(|value| value.map(|value| value as u64))
            .map_err(read_failed)
    };
    let small = |index: usize| row.get::<_, Option<i32>>(index).map_err(read_failed);
    let state = word(text(9)?, "a run state", RunState::parse)?;
    Ok(RunRecord {
        run_id: run_id(text(0)?)?,
        session_id: text(1)?,
        backend_id: word(text(2)?, "a backend", Backend::parse)?,
        unit: optional_text(3)?,
        pid: small(4)?,
        start_time: optional(5)?,
        boot_id: text(6)?,
        process_group_id: small(7)?,
        cgroup: optional_text(8)?,
        state,
        created_at_ms: number(10)?,
        updated_at_ms: number(11)?,
        last_output_at_ms: optional(12)?,
        owner_instance_id: instance_id(text(13)?)?,
        lease_expires_at_ms: optional(14)?,
        termination: optional_text(15)?
            .map(|text| word(text, "a termination", Termination::parse))
            .transpose()?,
        exit_code: small(16)?,
        exit_signal: small(17)?,
        extinct: word(text(18)?, "an extinct value", Extinct::parse)?,
        scope_key: optional_text(19)?,
        command: text(20)?,
        error: optional_text(21)?,
        spawn_error_kind: optional_text(22)?
            .map(|text| word(text, "a spawn error kind", SpawnErrorKind::parse))
            .transpose()?,
        started_at_ms: optional(23)?,
        ended_at_ms: optional(24)?,
        timeout_ms: optional(25)?,
        no_output_timeout_ms: optional(26)?,
        grace_ms: number(27)?,
        stop_signal: row.get(32).map_err(read_failed)?,
        detach_allowed: row.get(28).map_err(read_failed)?,
        started_mono_ms: optional(29)?,
        output_bytes: number(30)?,
        process_unique: optional(31)?,
        enforced: document(optional_text(33)?, "run limits")?,
        out_of_memory: row.get(34).map_err(read_failed)?,
        memory_kills: number(35)?,
        escaped: document(optional_text(36)?, "escaped processes")?.unwrap_or_default(),
        strict: row.get(37).map_err(read_failed)?,
        parent: optional_text(38)?.map(run_id).transpose()?,
        keep: row.get(39).map_err(read_failed)?,
        client: document(optional_text(40)?, "a run client")?,
        pool: optional_text(41)?,
        ticket: optional(42)?,
        reaper: document(optional_text(43)?, "a run reaper")?,
        cancel_reason: optional_text(44)?,
        survivors: document(optional_text(45)?, "what a run left alive")?.unwrap_or_default(),
        purpose: word(text(46)?, "a purpose", Purpose::parse)?,
        why: None,
    })
}

pub(super) fn read_entry(row: &Row<'_>) -> Result<Entry, RegistryError> {
    let text = |index: usize| row.get::<_, String>(index).map_err(read_failed);
    let who = text(2)?;
    let evidence = text(6)?;
    Ok(Entry {
        seq: row.get(0).map_err(read_failed)?,
        at_ms: row.get::<_, i64>(1).map_err(read_failed)? as u64,
        who: serde_json::from_str(&who)
            .map_err(|_| RegistryError::Value { what: "an actor", value: who.clone() })?,
        what: word(text(3)?, "an entry kind", What::parse)?,
        run_id: row.get::<_, Option<String>>(4).map_err(read_failed)?.map(run_id).transpose()?,
        why: text(5)?,
        evidence: serde_json::from_str(&evidence)
            .map_err(|_| RegistryError::Value { what: "evidence", value: evidence.clone() })?,
    })
}

fn word<T>(
    text: String,
    what: &'static str,
    parse: fn(&str) -> Option<T>,
) -> Result<T, RegistryError> {
    parse(&text).ok_or(RegistryError::Value { what, value: text })
}

fn document<T: serde::de::DeserializeOwned>(
    text: Option<String>,
    what: &'static str,
) -> Result<Option<T>, RegistryError> {
    let read = |text: String| {
        serde_json::from_str(&text).map_err(|_| RegistryError::Value { what, value: text })
    };
    text.map(read).transpose()
}

pub(super) fn run_id(text: String) -> Result<RunId, RegistryError> {
    text.parse().map_err(|_| RegistryError::Value { what: "a run id", value: text })
}

pub(super) fn instance_id(text: String) -> Result<InstanceId, RegistryError> {
    text.parse().map_err(|_| RegistryError::Value { what: "an instance id", value: text })
}
