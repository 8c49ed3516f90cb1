-- The writer counts the entries of each subject (sqlite/entries.rs). The trigger made every insert copy the pages that
-- it changed.
DROP TRIGGER entry_added;
