-- The slots of the terminals. A row with a tty is the conversation of that terminal for its route;
-- `shell_pid` is the shell that holds the slot; of a terminal's rows the one with the largest
-- `routed_seq` is current. Only a row with a `routed_seq` was ever held by a terminal.
ALTER TABLE conversations ADD COLUMN route TEXT CHECK (route IS NULL OR json_valid(route));
ALTER TABLE conversations ADD COLUMN shell_pid INTEGER;
ALTER TABLE conversations ADD COLUMN routed_seq INTEGER;

CREATE INDEX conversations_tty ON conversations (tty, route) WHERE tty IS NOT NULL;
CREATE INDEX conversations_route ON conversations (route, last_seq) WHERE routed_seq IS NOT NULL;
