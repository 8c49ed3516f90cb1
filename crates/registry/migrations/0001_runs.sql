CREATE TABLE runs (
    run_id               TEXT PRIMARY KEY NOT NULL,
    session_id           TEXT NOT NULL,
    backend_id           TEXT NOT NULL,
    unit                 TEXT,
    pid                  INTEGER,
    start_time           INTEGER,
    boot_id              TEXT NOT NULL,
    process_unique       INTEGER,
    process_group_id     INTEGER,
    cgroup               TEXT,
    state                TEXT NOT NULL,
    created_at_ms        INTEGER NOT NULL,
    updated_at_ms        INTEGER NOT NULL,
    last_output_at_ms    INTEGER,
    owner_instance_id    TEXT NOT NULL,
    termination          TEXT,
    exit_code            INTEGER,
    exit_signal          INTEGER,
    extinct              TEXT NOT NULL,
    scope_key            TEXT,
    command              TEXT NOT NULL,
    error                TEXT,
    spawn_error_kind     TEXT,
    started_at_ms        INTEGER,
    ended_at_ms          INTEGER,
    timeout_ms           INTEGER,
    no_output_timeout_ms INTEGER,
    grace_ms             INTEGER NOT NULL,
    detach_allowed       INTEGER NOT NULL,
    started_mono_ms      INTEGER,
    output_bytes         INTEGER NOT NULL DEFAULT 0,
    lease_epoch          INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX runs_live ON runs (owner_instance_id) WHERE state <> 'exited';
CREATE INDEX runs_ended ON runs (ended_at_ms) WHERE state = 'exited';

-- The journal: who did what to which run, why, and with what evidence.
CREATE TABLE entries (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms    INTEGER NOT NULL,
    who      TEXT NOT NULL,
    what     TEXT NOT NULL,
    run_id   TEXT,
    why      TEXT NOT NULL,
    evidence TEXT NOT NULL
) STRICT;

CREATE INDEX entries_run ON entries (run_id) WHERE run_id IS NOT NULL;

-- One lease for all runs of an instance. The wall time is the promised expiry; the monotonic time is
-- not affected by clock jumps, but valid only within one boot.
CREATE TABLE leases (
    instance_id     TEXT PRIMARY KEY NOT NULL,
    boot_id         TEXT NOT NULL,
    renewed_at_ms   INTEGER NOT NULL,
    expires_at_ms   INTEGER NOT NULL,
    expires_mono_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE counters (
    name  TEXT NOT NULL,
    label TEXT NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (name, label)
) STRICT, WITHOUT ROWID;
