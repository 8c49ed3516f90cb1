-- What a run is for. Until now, a session's name said it; a session is now only a caller's group of runs.
ALTER TABLE runs ADD COLUMN purpose TEXT NOT NULL DEFAULT 'program';

UPDATE runs SET purpose = CASE
    WHEN session_id = '(check)' AND scope_key IS NOT NULL THEN 'sweep'
    WHEN session_id = '(check)' THEN 'check'
    WHEN session_id = '(left)' THEN 'left-container'
    WHEN session_id = '(hook)' THEN 'hook'
    WHEN session_id = 'nudges' AND command LIKE '% nudge --deliver %' THEN 'delivery'
    WHEN session_id = 'patrol escalation' THEN 'escalation'
    WHEN session_id = 'patrol work' THEN 'work-query'
    ELSE 'program' END
WHERE unit IS NULL;

UPDATE runs SET session_id = '' WHERE purpose <> 'program' OR (unit IS NOT NULL AND session_id = 'unit');
