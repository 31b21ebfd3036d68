"""Whether a file is a database of efr's, at the version that it names: seen before it is changed.

`user_version` is any program's to use, so the number alone says nothing. What a database has beyond
its version's tables and columns is no fault.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import apsw

from efr.store.steps import STEPS, sql_of

if TYPE_CHECKING:
    from efr.store.db import Connection

_COLUMNS: Final = """
SELECT one.name, its.name FROM sqlite_schema AS one JOIN pragma_table_info(one.name) AS its
WHERE one.type = 'table' AND one.rootpage > 0
"""


def foreign_in(conn: Connection, version: int) -> str | None:
    """What says that it is not ours; None when it is. `version` is none that we do not know."""
    if version < 0:
        return f"its schema version is {version}"
    if version == 0:
        some = conn.execute("SELECT 1 FROM sqlite_schema LIMIT 1").get
        return "it has tables and no schema version" if some else None
    found = frozenset(conn.execute(_COLUMNS).fetchall())
    for table, column in _columns_of(version):
        if (table, column) not in found:
            return f"it names schema {version} and has no {table}.{column}"
    return None


@cache
def _columns_of(version: int) -> list[tuple[object, ...]]:
    conn = apsw.Connection(":memory:")
    try:
        for step in STEPS[:version]:
            conn.execute(sql_of(step))
        return conn.execute(_COLUMNS).fetchall()
    finally:
        conn.close()
