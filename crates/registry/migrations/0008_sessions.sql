-- The conversation id of a unit's agent. It outlives the unit's record: a unit that is removed and declared again
-- resumes the same conversation.
CREATE TABLE sessions (
    instance_id   TEXT NOT NULL,
    unit          TEXT NOT NULL,
    id            TEXT NOT NULL,
    program       TEXT NOT NULL,
    learned_at_ms INTEGER NOT NULL,
    PRIMARY KEY (instance_id, unit)
) STRICT, WITHOUT ROWID;
