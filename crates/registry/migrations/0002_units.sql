-- Declaration, desired state and counters of each unit: one document per unit.
CREATE TABLE units (
    instance_id TEXT NOT NULL,
    name        TEXT NOT NULL,
    record      TEXT NOT NULL,
    PRIMARY KEY (instance_id, name)
) STRICT, WITHOUT ROWID;

-- The stop signal of a run, if it is not TERM.
ALTER TABLE runs ADD COLUMN stop_signal INTEGER;

-- The journal of a unit: its own entries, and those of its runs.
ALTER TABLE entries ADD COLUMN unit TEXT;
CREATE INDEX entries_unit ON entries (unit) WHERE unit IS NOT NULL;
CREATE INDEX runs_unit ON runs (unit, created_at_ms) WHERE unit IS NOT NULL;
