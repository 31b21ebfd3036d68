-- The event log: the one source of truth. `seq` is global and only grows; a row is written once.
-- `payload` is the event object as it goes on the wire, without its envelope; `created_at` is in
-- microseconds since 1970, UTC. An event of the daemon as a whole has no conversation.
CREATE TABLE events (
    seq             INTEGER PRIMARY KEY,
    conversation_id TEXT,
    turn_id         TEXT,
    kind            TEXT    NOT NULL,
    payload         TEXT    NOT NULL CHECK (json_valid(payload)),
    created_at      INTEGER NOT NULL
) STRICT;

CREATE INDEX events_conversation ON events (conversation_id, seq);

-- A replacing INSERT deletes a row without its triggers, so no INSERT may find its number taken.
CREATE TRIGGER events_never_again BEFORE INSERT ON events
WHEN EXISTS (SELECT 1 FROM events WHERE seq = new.seq)
BEGIN
    SELECT RAISE(ABORT, 'an event is written once');
END;

CREATE TRIGGER events_never_change BEFORE UPDATE ON events
BEGIN
    SELECT RAISE(ABORT, 'an event never changes');
END;

CREATE TRIGGER events_never_go BEFORE DELETE ON events
BEGIN
    SELECT RAISE(ABORT, 'an event never goes');
END;
