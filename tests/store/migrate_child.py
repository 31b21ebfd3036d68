"""A child of a test: migrates a database, and kills itself. argv: database, step, count."""

from __future__ import annotations

import sys
from pathlib import Path

from efr.store import db
from efr.store.migrate import migrate
from efr.store.rebuild import rebuild
from tests.search.kill_child import KillAt


def main() -> None:
    kill = KillAt(sys.argv[2], int(sys.argv[3]))
    conn = db.open(Path(sys.argv[1]))
    migrate(conn, kill)
    rebuild(conn, kill)
    conn.close()


if __name__ == "__main__":
    main()
