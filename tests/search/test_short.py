"""Short ids: what tells a conversation from all others."""

from __future__ import annotations

from pathlib import Path

import pytest

from efr.store.search.short import short_id
from tests.store.samples import append, appending, created

ONE = "019a9b11-0000-7000-8000-000000000000"


@pytest.mark.parametrize(
    ("other", "short"),
    [
        ("019a9b22-0000-7000-8000-000000000000", "019a9b11"),
        ("019a9b11-1000-7000-8000-000000000000", "019a9b11-0"),
        ("019a9b11-0001-7000-8000-000000000000", "019a9b11-0000"),
        ("019a9b11-0000-8000-8000-000000000000", "019a9b11-0000-7"),
        ("019a9b11-0000-7000-8000-000000000001", ONE),
    ],
)
def test_it_is_the_shortest_start_and_never_ends_in_a_dash(
    tmp_path: Path, other: str, short: str
) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created(ONE))
        assert short_id(conn, ONE) == "019a9b11"
        append(appender, created(other))
        assert short_id(conn, ONE) == short
        assert not short_id(conn, other).endswith("-")
