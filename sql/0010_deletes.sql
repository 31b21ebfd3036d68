-- The tombstones of deleted conversations. `seq` is the conversation_deleted event; `parts` names
-- the PTYs and undos of the conversation; `rows_done_at` and `done_at` mark how far the delete is.
CREATE TABLE conversation_deletes (
    conversation_id TEXT    PRIMARY KEY,
    seq             INTEGER NOT NULL,
    requested_at    INTEGER NOT NULL,
    parts           TEXT    NOT NULL CHECK (json_valid(parts)),
    rows_done_at    INTEGER,
    done_at         INTEGER
) STRICT;

CREATE INDEX conversation_deletes_open ON conversation_deletes (seq) WHERE done_at IS NULL;

-- The one exception to "an event never goes": those of a deleted conversation, below its tombstone.
DROP TRIGGER events_never_go;

CREATE TRIGGER events_never_go BEFORE DELETE ON events
WHEN NOT EXISTS (
    SELECT 1 FROM conversation_deletes AS gone
    WHERE gone.conversation_id = old.conversation_id AND old.seq < gone.seq
)
BEGIN
    SELECT RAISE(ABORT, 'an event never goes');
END;
