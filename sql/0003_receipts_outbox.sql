-- The stored answer of each write command. outcome: done, refused. `seq` is the event whose number
-- the answer carries; NULL for an answer without an event.
CREATE TABLE receipts (
    command_id TEXT    PRIMARY KEY,
    method     TEXT    NOT NULL,
    outcome    TEXT    NOT NULL,
    result     TEXT    NOT NULL CHECK (json_valid(result)),
    seq        INTEGER,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX receipts_seq ON receipts (seq);

-- Durable side effects, decided in a batch and done by one worker in the order of their ids.
CREATE TABLE outbox (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    kind         TEXT    NOT NULL,
    payload      TEXT    NOT NULL CHECK (json_valid(payload)),
    replay_safe  INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    claimed_at   INTEGER,
    done_at      INTEGER,
    cancelled_at INTEGER
) STRICT;

CREATE INDEX outbox_open ON outbox (id) WHERE done_at IS NULL AND cancelled_at IS NULL;
