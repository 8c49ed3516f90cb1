-- The story of an entry: its unit, else its run, else the daemon. The journal is bounded per story, so that one that
-- grows fast does not push out the others.
UPDATE entries SET unit = (SELECT runs.unit FROM runs WHERE runs.run_id = entries.run_id)
WHERE unit IS NULL AND run_id IS NOT NULL;

ALTER TABLE entries ADD COLUMN story TEXT GENERATED ALWAYS AS (
    CASE WHEN unit IS NOT NULL THEN 'unit ' || unit
         WHEN run_id IS NOT NULL THEN 'run ' || run_id
         ELSE 'daemon' END) VIRTUAL;
DROP INDEX entries_unit;
CREATE INDEX entries_story ON entries (story);
CREATE INDEX entries_runless ON entries (at_ms) WHERE run_id IS NULL;

-- The size of each story. 200 bytes stand for the overhead of a row without its texts, indexes included.
CREATE TABLE stories (
    story TEXT PRIMARY KEY NOT NULL,
    count INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO stories
SELECT story, count(*), sum(200 + length(CAST(who AS BLOB)) + length(CAST(why AS BLOB)) + length(CAST(evidence AS BLOB)))
FROM entries GROUP BY story;

CREATE TRIGGER entry_added AFTER INSERT ON entries BEGIN
    INSERT INTO stories (story, count, bytes) VALUES (
        new.story, 1,
        200 + length(CAST(new.who AS BLOB)) + length(CAST(new.why AS BLOB)) + length(CAST(new.evidence AS BLOB)))
    ON CONFLICT (story) DO UPDATE SET count = count + 1, bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER entry_removed AFTER DELETE ON entries BEGIN
    UPDATE stories SET count = count - 1, bytes = bytes
        - (200 + length(CAST(old.who AS BLOB)) + length(CAST(old.why AS BLOB)) + length(CAST(old.evidence AS BLOB)))
    WHERE story = old.story;
END;

-- Runs whose record is deleted and whose entries are still to be deleted, a slice at a time.
CREATE TABLE forgotten (
    run_id TEXT PRIMARY KEY NOT NULL
) STRICT, WITHOUT ROWID;

-- Ended runs are counted and removed by unit.
CREATE INDEX runs_ended_of ON runs (owner_instance_id, unit, ended_at_ms) WHERE state = 'exited';
