-- Projections of the log: what a conversation, a turn and a question look like now.
-- All of it can be emptied and built again from `events`.
CREATE TABLE conversations (
    id         TEXT    PRIMARY KEY,
    origin     TEXT    NOT NULL,
    title      TEXT,
    status     TEXT    NOT NULL DEFAULT 'idle',
    tty        TEXT,
    cwd        TEXT,
    scope      TEXT    CHECK (scope IS NULL OR json_valid(scope)),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    last_seq   INTEGER NOT NULL
) STRICT;

CREATE INDEX conversations_last_seq ON conversations (last_seq);

-- status: queued, held, running, completed, failed, interrupted, cancelled, withdrawn.
CREATE TABLE turns (
    id              TEXT    PRIMARY KEY,
    conversation_id TEXT    NOT NULL REFERENCES conversations (id),
    command_id      TEXT,
    prompt          TEXT    NOT NULL,
    status          TEXT    NOT NULL,
    queued_seq      INTEGER NOT NULL,
    started_at      INTEGER,
    ended_at        INTEGER,
    last_seq        INTEGER NOT NULL
) STRICT;

CREATE INDEX turns_conversation ON turns (conversation_id, queued_seq);
CREATE INDEX turns_status ON turns (status, conversation_id);

-- A question: about a tool call (`call`, its id is the call's) or about changed surfaces
-- (`surface`, its id is the question's own). state: pending, answered, expired.
CREATE TABLE approvals (
    id              TEXT    PRIMARY KEY,
    conversation_id TEXT    NOT NULL REFERENCES conversations (id),
    turn_id         TEXT    NOT NULL,
    call_id         TEXT    NOT NULL,
    about           TEXT    NOT NULL,
    state           TEXT    NOT NULL,
    answer          TEXT,
    origin          TEXT,
    requested_seq   INTEGER NOT NULL,
    requested_at    INTEGER NOT NULL,
    ended_seq       INTEGER,
    ended_at        INTEGER,
    request         TEXT    NOT NULL CHECK (json_valid(request))
) STRICT;

CREATE INDEX approvals_conversation ON approvals (conversation_id, state, requested_seq);
CREATE INDEX approvals_pending ON approvals (requested_seq) WHERE state = 'pending';
