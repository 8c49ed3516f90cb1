-- Mail between agents. A removed message stays without its text for a while, so that a sender that got no answer
-- and repeats the request does not send it twice.
CREATE TABLE mail (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT,
    instance_id   TEXT NOT NULL,
    id            TEXT NOT NULL,
    sender        TEXT NOT NULL,
    recipient     TEXT NOT NULL,
    subject       TEXT NOT NULL,
    body          TEXT NOT NULL,
    kind          TEXT NOT NULL,
    bytes         INTEGER NOT NULL,
    sent_at_ms    INTEGER NOT NULL,
    read_at_ms    INTEGER,
    claimed_at_ms INTEGER,
    removed_at_ms INTEGER
) STRICT;

CREATE UNIQUE INDEX mail_id ON mail (instance_id, id);
CREATE INDEX mail_box ON mail (instance_id, recipient, seq) WHERE removed_at_ms IS NULL;
CREATE INDEX mail_unread ON mail (instance_id, recipient, bytes) WHERE read_at_ms IS NULL AND removed_at_ms IS NULL;

-- Texts that wait to be typed into a session, and the receipts of settled ones.
CREATE TABLE nudges (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT,
    instance_id   TEXT NOT NULL,
    id            TEXT NOT NULL,
    sender        TEXT NOT NULL,
    recipient     TEXT NOT NULL,
    text          TEXT NOT NULL,
    priority      TEXT NOT NULL,
    sent_at_ms    INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    receipt       TEXT NOT NULL,
    receipt_at_ms INTEGER NOT NULL,
    why           TEXT NOT NULL,
    claimed_at_ms INTEGER
) STRICT;

CREATE UNIQUE INDEX nudges_id ON nudges (instance_id, id);
CREATE INDEX nudges_queued ON nudges (instance_id, recipient, seq) WHERE receipt = 'queued';

-- The patrol's state, the reports of agents, and the orders of people: one document each.
CREATE TABLE patrol (
    instance_id TEXT NOT NULL,
    kind        TEXT NOT NULL,
    name        TEXT NOT NULL,
    document    TEXT NOT NULL,
    PRIMARY KEY (instance_id, kind, name)
) STRICT, WITHOUT ROWID;
