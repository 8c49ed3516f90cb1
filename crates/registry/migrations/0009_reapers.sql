-- The subreaper above a run without a cgroup (a fingerprint).
ALTER TABLE runs ADD COLUMN reaper TEXT;
