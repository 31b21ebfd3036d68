-- Projections: background jobs, and the events that a notice tells the model about.
CREATE TABLE jobs (
    conversation_id TEXT    NOT NULL REFERENCES conversations (id),
    number          INTEGER NOT NULL,
    turn_id         TEXT    NOT NULL,
    call_id         TEXT    NOT NULL,
    command         TEXT    NOT NULL,
    launch          TEXT    NOT NULL CHECK (json_valid(launch)),
    state           TEXT    NOT NULL,
    started_at      INTEGER NOT NULL,
    ends_by         INTEGER NOT NULL,
    ended_at        INTEGER,
    exit_code       INTEGER,
    stopped_by      TEXT,
    output_bytes    INTEGER NOT NULL,
    launcher_pid    INTEGER NOT NULL,
    launcher_start  INTEGER NOT NULL,
    start_seq       INTEGER NOT NULL,
    info            TEXT    NOT NULL CHECK (json_valid(info)),
    PRIMARY KEY (conversation_id, number)
) STRICT;

CREATE INDEX jobs_running ON jobs (conversation_id) WHERE state = 'running';
CREATE INDEX jobs_start_seq ON jobs (start_seq);

-- `source_seq` is the event that the notice tells about; `turn_id` the turn that took it; `held`
-- why it waits for the next turn of a user. Both NULL: nobody decided yet.
CREATE TABLE job_notices (
    source_seq      INTEGER PRIMARY KEY,
    conversation_id TEXT    NOT NULL REFERENCES conversations (id),
    number          INTEGER NOT NULL,
    kind            TEXT    NOT NULL,
    turn_id         TEXT,
    held            TEXT
) STRICT;

CREATE INDEX job_notices_untaken ON job_notices (conversation_id, source_seq)
    WHERE turn_id IS NULL;
CREATE INDEX job_notices_conversation ON job_notices (conversation_id);

-- 1 for a turn that a job notice started; the limits per hour count these.
ALTER TABLE turns ADD COLUMN wake INTEGER NOT NULL DEFAULT 0;

CREATE INDEX turns_wake ON turns (started_at) WHERE wake = 1;
