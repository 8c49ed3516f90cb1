-- The resource limits of a run and how they are enforced: one document, if it has limits.
ALTER TABLE runs ADD COLUMN enforced TEXT;

-- Whether it ran out of memory, and how many of its processes were killed for that, as far as reported.
ALTER TABLE runs ADD COLUMN out_of_memory INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN memory_kills INTEGER NOT NULL DEFAULT 0;
