-- The exact messages of finished turns with the provider's own items, which no event holds. No
-- projection: a rebuild leaves it alone, so nothing here refers to `turns`.
CREATE TABLE turn_messages (
    conversation_id TEXT    NOT NULL,
    turn_id         TEXT    NOT NULL,
    position        INTEGER NOT NULL,
    provider        TEXT    NOT NULL,
    model           TEXT    NOT NULL,
    message         TEXT    NOT NULL CHECK (json_valid(message)),
    turn_seq        INTEGER NOT NULL,
    PRIMARY KEY (turn_id, position)
) STRICT;

CREATE INDEX turn_messages_conversation ON turn_messages (conversation_id, turn_seq, position);
