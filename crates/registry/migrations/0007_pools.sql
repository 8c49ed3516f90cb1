-- Pools that files have declared: one document a pool.
CREATE TABLE pools (
    instance_id TEXT NOT NULL,
    name        TEXT NOT NULL,
    spec        TEXT NOT NULL,
    PRIMARY KEY (instance_id, name)
) STRICT, WITHOUT ROWID;

-- The pool of a run that is no unit's, and its number in the line of that pool.
ALTER TABLE runs ADD COLUMN pool TEXT;
ALTER TABLE runs ADD COLUMN ticket INTEGER;
