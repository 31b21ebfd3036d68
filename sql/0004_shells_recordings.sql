-- Projection: the hidden shells. `running_call` is the call whose command was left running in the
-- shell; `exited_at` is NULL while the shell runs, `exit_code` is NULL also after a signal.
CREATE TABLE shells (
    pty_id          TEXT    PRIMARY KEY,
    conversation_id TEXT    NOT NULL REFERENCES conversations (id),
    cwd             TEXT    NOT NULL,
    host            TEXT,
    pid             INTEGER,
    running_call    TEXT,
    started_seq     INTEGER NOT NULL,
    started_at      INTEGER NOT NULL,
    exited_at       INTEGER,
    exit_code       INTEGER
) STRICT;

CREATE INDEX shells_conversation ON shells (conversation_id, started_seq);
CREATE INDEX shells_running ON shells (conversation_id) WHERE exited_at IS NULL;

-- The files of the recordings (no projection). `start_seq` is the stream offset of a segment's
-- first byte, `bytes` counts stream bytes, `path` is relative to the recordings directory and NULL
-- in the row that only keeps the offset after a collected recording.
CREATE TABLE recording_segments (
    pty_id     TEXT    NOT NULL,
    start_seq  INTEGER NOT NULL,
    path       TEXT,
    bytes      INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    closed_at  INTEGER,
    PRIMARY KEY (pty_id, start_seq)
) STRICT, WITHOUT ROWID;
