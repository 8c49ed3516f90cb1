-- The process that takes in the orphans of a run, where the run has no cgroup (a fingerprint).
ALTER TABLE runs ADD COLUMN reaper TEXT;
