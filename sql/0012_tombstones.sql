-- A tombstone opens the log for a delete. So it is written once, for an event that says so, and of
-- what it says only the marks of how far the delete is may change.
CREATE TRIGGER conversation_deletes_are_recorded BEFORE INSERT ON conversation_deletes
WHEN NOT EXISTS (
    SELECT 1 FROM events WHERE seq = new.seq
    AND conversation_id = new.conversation_id AND kind = 'conversation_deleted'
) OR EXISTS (
    SELECT 1 FROM conversation_deletes WHERE conversation_id = new.conversation_id
)
BEGIN
    SELECT RAISE(ABORT, 'a tombstone is written once, for a delete in the log');
END;

CREATE TRIGGER conversation_deletes_never_change
BEFORE UPDATE OF conversation_id, seq, requested_at, parts ON conversation_deletes
BEGIN
    SELECT RAISE(ABORT, 'a tombstone never changes');
END;

CREATE TRIGGER conversation_deletes_never_go BEFORE DELETE ON conversation_deletes
BEGIN
    SELECT RAISE(ABORT, 'a tombstone never goes');
END;

-- Databases of the first builds lack it.
CREATE TRIGGER IF NOT EXISTS events_never_again BEFORE INSERT ON events
WHEN EXISTS (SELECT 1 FROM events WHERE seq = new.seq)
BEGIN
    SELECT RAISE(ABORT, 'an event is written once');
END;
