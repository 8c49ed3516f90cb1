-- The processes that outlived a run's program outside its group, as a list, and whether that makes it a failure.
ALTER TABLE runs ADD COLUMN escaped TEXT;
ALTER TABLE runs ADD COLUMN strict INTEGER NOT NULL DEFAULT 0;

-- What a run ends with, besides its supervisor: its parent run, unless it is kept, and its foreground client (a
-- fingerprint).
ALTER TABLE runs ADD COLUMN parent TEXT;
ALTER TABLE runs ADD COLUMN keep INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN client TEXT;
