-- The session of the agent that a unit runs. It outlives the unit's record: a unit that is withdrawn and declared again
-- takes up the same conversation.
CREATE TABLE sessions (
    instance_id   TEXT NOT NULL,
    unit          TEXT NOT NULL,
    id            TEXT NOT NULL,
    program       TEXT NOT NULL,
    learned_at_ms INTEGER NOT NULL,
    PRIMARY KEY (instance_id, unit)
) STRICT, WITHOUT ROWID;
