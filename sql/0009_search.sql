-- The search index. No projection: its text was cut, cleaned and redacted before it came here.
-- kind: 0 prompt, 1 steer, 2 answer, 3 command line.
CREATE TABLE search_docs (
    seq             INTEGER PRIMARY KEY,
    conversation_id TEXT    NOT NULL,
    kind            INTEGER NOT NULL,
    text            TEXT    NOT NULL
) STRICT;

CREATE INDEX search_docs_conversation ON search_docs (conversation_id);

CREATE VIRTUAL TABLE search_fts USING fts5 (
    text,
    content = 'search_docs',
    content_rowid = 'seq',
    tokenize = 'unicode61 remove_diacritics 2',
    prefix = '3'
);

-- Merges in short steps and leaves of 1,000 bytes: a page of the indexer stays a short writer job.
INSERT INTO search_fts (search_fts, rank) VALUES ('automerge', 8);
INSERT INTO search_fts (search_fts, rank) VALUES ('pgsz', 1000);

CREATE TABLE search_titles (
    conversation_id TEXT    PRIMARY KEY,
    title           TEXT    NOT NULL,
    first_seq       INTEGER NOT NULL
) STRICT;

CREATE TABLE search_state (
    only              INTEGER PRIMARY KEY CHECK (only = 1),
    indexed_seq       INTEGER NOT NULL,
    redaction_version INTEGER NOT NULL
) STRICT;

INSERT INTO search_state (only, indexed_seq, redaction_version) VALUES (1, 0, 0);

-- The recent list and the titles of a search, newest first, without a sort.
CREATE INDEX conversations_updated ON conversations (updated_at, last_seq);
