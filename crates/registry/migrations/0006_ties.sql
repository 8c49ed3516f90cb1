-- Which processes outlived a run's program outside of its group, as a list, and whether that makes it a failure.
ALTER TABLE runs ADD COLUMN escaped TEXT;
ALTER TABLE runs ADD COLUMN strict INTEGER NOT NULL DEFAULT 0;

-- What a run ends with, beside its supervisor: the run it was started from, unless it is to be kept, and the process
-- that asked for it, where that shows it in the foreground (a fingerprint).
ALTER TABLE runs ADD COLUMN parent TEXT;
ALTER TABLE runs ADD COLUMN keep INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN client TEXT;
