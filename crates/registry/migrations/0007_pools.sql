-- Declared pools: one document per pool.
CREATE TABLE pools (
    instance_id TEXT NOT NULL,
    name        TEXT NOT NULL,
    spec        TEXT NOT NULL,
    PRIMARY KEY (instance_id, name)
) STRICT, WITHOUT ROWID;

-- The pool of a run without a unit, and its ticket in the queue of that pool.
ALTER TABLE runs ADD COLUMN pool TEXT;
ALTER TABLE runs ADD COLUMN ticket INTEGER;
