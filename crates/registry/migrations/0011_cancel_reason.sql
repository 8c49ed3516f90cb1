-- Why a run was cancelled, in the caller's words.
ALTER TABLE runs ADD COLUMN cancel_reason TEXT;
