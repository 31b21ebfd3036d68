"""Which changes loosen what the agent may do, and which do not."""

from __future__ import annotations

import pytest

from efr.config.declared import declared
from efr.config.load import keep_keys, read, value_of
from efr.config.loosening import loosened
from efr.config.toml import inline

ALLOW = "{ action = 'any', resource = 'any', effect = 'allow' }"
ASK = "{ action = 'any', resource = 'project', effect = 'ask' }"
DENY = "{ action = 'read', resource = 'any', effect = 'deny' }"
SECRET = "{ action = 'read', resource = { class = 'secrets' }, effect = 'ask' }"
KEY = "{ action = 'read', resource = { under = '~/.ssh/x' }, effect = 'ask' }"
NOTED = "{ action = 'any', resource = { under = '~/x' }, effect = 'ask' }"
TRIED = "{ action = 'any', resource = { under = '~/x' }, effect = 'ask', matches = ['~/x/y'] }"

# key, the tighter value, the looser one
ONE_WAY = [
    ("permissions.mode", "'manual'", "'cautious'"),
    ("permissions.mode", "'cautious'", "'auto'"),
    ("permissions.mode", "'auto'", "'full'"),
    ("permissions.allow_full", "false", "true"),
    ("permissions.secret_paths", "['~/a', '~/b']", "['~/b']"),
    ("permissions.rules", "[]", f"[{ALLOW}]"),
    ("permissions.rules", f"[{ASK}]", "[]"),
    ("permissions.rules", f"[{DENY}]", "[]"),
    ("permissions.rules", f"[{ASK}, {ASK}]", f"[{ASK}]"),
    ("permissions.rules", f"[{DENY}]", f"[{DENY}, {ALLOW}]"),
    ("permissions.rules", f"[{ASK}, {DENY}]", f"[{ASK}]"),
    ("permissions.rules", f"[{DENY}]", f"[{ALLOW}]"),
    ("permissions.rules", "[]", f"[{SECRET}]"),
    ("permissions.rules", "[]", f"[{KEY}]"),
    ("shell.sudo_cache", "'per_call'", "'keep'"),
    ("sandbox.write_projects", "'turn'", "'all'"),
    ("sandbox.write_projects", "'named'", "'all'"),
    ("sandbox.write_roots", "[]", "['~/x']"),
    ("sandbox.caches", "[]", "['~/.cache']"),
    ("sandbox.env_keep", "[]", "['X']"),
    ("sandbox.promote_env", "['A']", "['A', 'B']"),
    ("sandbox.rebuildable", "[]", "['build']"),
    ("sandbox.mask", "['~/a']", "[]"),
    ("sandbox.mask_globs", "['.env']", "[]"),
    ("sandbox.mask_globs", "['.env']", "['.env', '!.env']"),
    ("sandbox.protect", "['~/a']", "[]"),
    ("sandbox.env_deny", "['A']", "[]"),
    ("sandbox.export_deny", "['A']", "[]"),
    ("sandbox.synced_dirs", "['~/a']", "[]"),
    ("sandbox.surface_files", "['a']", "[]"),
    ("snapshot.enabled", "true", "false"),
    ("undo.enabled", "true", "false"),
    ("network.netview", "true", "false"),
    ("network.bus_filter", "true", "false"),
    ("network.deny", "['a.b']", "[]"),
    ("network.allow", "[]", "['a.b']"),
    ("network.plain_http", "false", "true"),
    ("network.upload_kib", "1", "2"),
    ("classifier.enabled", "false", "true"),
    ("remote.enabled", "false", "true"),
]
BOTH_WAYS = [
    ("permissions.rules", f"[{DENY}]", f"[{DENY}, {ASK}]"),
    ("sandbox.bwrap", "'/a'", "'/b'"),
    ("permissions.rules", f"[{ASK}, {DENY}]", f"[{DENY}, {ASK}]"),
]
NEITHER = [
    ("permissions.rules", f"[{NOTED}]", f"[{TRIED}]"),
    ("sandbox.write_projects", "'turn'", "'named'"),
    ("sandbox.caches", "['~/a', '~/b']", "['~/b', '~/a']"),
    ("sandbox.enabled", "true", "false"),
    ("shell.idle_minutes", "1", "2"),
    ("model.name", "'a'", "'b'"),
]


def both(key: str, tighter: str, looser: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    one, other = (read(f"{key} = {value}\n".encode()) for value in (tighter, looser))
    return loosened(one, other), loosened(other, one)


@pytest.mark.parametrize(("key", "tighter", "looser"), ONE_WAY)
def test_a_change_that_loosens_and_the_way_back(key: str, tighter: str, looser: str) -> None:
    there, back = both(key, tighter, looser)
    assert there == (key,)
    takes_away = SECRET in looser or KEY in looser  # an ask that is lost always counts
    assert back == ((key,) if takes_away else ())


@pytest.mark.parametrize(("key", "one", "other"), NEITHER)
def test_a_change_that_loosens_nothing(key: str, one: str, other: str) -> None:
    assert both(key, one, other) == ((), ())


def test_what_loosens_in_both_directions() -> None:
    for key, one, other in BOTH_WAYS:
        assert both(key, one, other) == ((key,), (key,))


def test_a_held_change_keeps_exactly_the_keys_that_loosen() -> None:
    old = read(b"")
    new = read(
        f"permissions.mode = 'auto'\nshell.idle_minutes = 5\npermissions.rules = [{ALLOW}]".encode()
    )
    keys = loosened(old, new)
    assert keys == ("permissions.mode", "permissions.rules")
    kept = keep_keys(old, new, keys)
    assert loosened(old, kept) == ()
    assert kept.shell.idle_minutes == 5


def test_every_key_of_the_lists_is_a_key() -> None:
    for key in declared():
        value = value_of(read(b""), key)
        text = inline(list(value) if isinstance(value, tuple) else value)
        if value is not None:
            assert loosened(read(b""), read(f"{key} = {text}\n".encode())) == ()
