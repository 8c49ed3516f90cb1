-- What a run may have of the machine and how it is kept to that: one document, where it has limits.
ALTER TABLE runs ADD COLUMN enforced TEXT;

-- Whether it ended for want of memory, and how many of its processes were killed for it as far as was told.
ALTER TABLE runs ADD COLUMN out_of_memory INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN memory_kills INTEGER NOT NULL DEFAULT 0;
