-- Projection: one row per conversation_compacted.
CREATE TABLE compactions (
    seq             INTEGER PRIMARY KEY,
    conversation_id TEXT    NOT NULL REFERENCES conversations (id),
    compaction_id   TEXT    NOT NULL,
    has_summary     INTEGER NOT NULL,
    compaction      TEXT    NOT NULL CHECK (json_valid(compaction))
) STRICT;

CREATE INDEX compactions_conversation ON compactions (conversation_id, has_summary, seq);
