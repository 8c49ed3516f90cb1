-- The tmux server belongs to the daemon and is in no file: it gets another name, and its dependents use that name.
-- The unit `tmux` of an earlier version is recognized by its command and its check.
UPDATE units SET
    name = 'ostler:tmux',
    record = json_set(record,
        '$.spec.name', 'ostler:tmux',
        '$.spec.part', 'daemon',
        '$.spec.file', NULL,
        '$.spec.restart.limit', NULL,
        '$.tally.opened', NULL)
WHERE name = 'tmux'
    AND json_extract(record, '$.spec.argv[1]') = '-D'
    AND json_extract(record, '$.spec.argv[2]') = '-S'
    AND json_extract(record, '$.spec.ready.check.of[3]') = 'show-options';

UPDATE units SET
    record = json_set(record, '$.spec.dependsOn', json((
        SELECT json_group_array(CASE value WHEN 'tmux' THEN 'ostler:tmux' ELSE value END)
        FROM json_each(record, '$.spec.dependsOn'))))
WHERE json_extract(record, '$.spec.tmux.server') = 'ours'
    AND (instance_id, 'ostler:tmux') IN (SELECT instance_id, name FROM units);

UPDATE runs SET unit = 'ostler:tmux', scope_key = 'unit ostler:tmux'
WHERE unit = 'tmux' AND (owner_instance_id, 'ostler:tmux') IN (SELECT instance_id, name FROM units);

UPDATE entries SET unit = 'ostler:tmux'
WHERE unit = 'tmux' AND run_id IN (SELECT run_id FROM runs WHERE unit = 'ostler:tmux');
