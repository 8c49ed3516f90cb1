-- Why a run was cancelled, in the words of whoever asked for it.
ALTER TABLE runs ADD COLUMN cancel_reason TEXT;
