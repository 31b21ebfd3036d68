-- Enrolled devices such as a phone. No projection: no event holds a device. `public_key` is the
-- 65-byte X9.63 form of a P-256 key. A revoked row stays and never comes back.
CREATE TABLE devices (
    device_id         TEXT    PRIMARY KEY,
    name              TEXT    NOT NULL,
    public_key        BLOB    NOT NULL,
    key_fingerprint   TEXT    NOT NULL,
    node_stable_id    TEXT    NOT NULL,
    user_id           TEXT    NOT NULL,
    tailnet_stable_id TEXT    NOT NULL,
    scopes            TEXT    NOT NULL CHECK (json_valid(scopes)),
    created_at        INTEGER NOT NULL,
    last_seen_at      INTEGER,
    revoked_at        INTEGER
) STRICT;

CREATE UNIQUE INDEX devices_active_key ON devices (public_key) WHERE revoked_at IS NULL;
