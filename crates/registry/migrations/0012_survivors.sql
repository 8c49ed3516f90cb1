-- Processes of a run that could not be ended: no second copy is started while one of them lives.
ALTER TABLE runs ADD COLUMN survivors TEXT;
