"""Edits of config.toml's text: what is asked for, and nothing else."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from efr.config.declared import declared
from efr.config.edit import NoSuchRule, with_key, with_rule, without_key, without_rule
from efr.config.errors import ConfigError
from efr.config.example import example

MINE = """\
#:schema ./config.schema.json
# my file

[shell] # s
idle_minutes = 3 # why

# about the model
[model]
name = 'x'
"""
RULE = {"action": "any", "resource": {"under": "~/x"}, "effect": "ask"}
RULE_TEXT = '[[permissions.rules]]\naction = "any"\nresource = {under = "~/x"}\neffect = "ask"\n'

EDITS = [
    (MINE, "shell.idle_minutes", 7, MINE.replace("= 3", "= 7")),
    (MINE, "shell.login", False, MINE.replace("# why\n", "# why\nlogin = false\n")),
    (MINE, "screen", "vt100", MINE.replace("\n\n[shell]", '\n\nscreen = "vt100"\n\n[shell]')),
    (MINE, "undo.enabled", False, MINE + "\n[undo]\nenabled = false\n"),
    (MINE.rstrip(), "model.effort", "high", MINE + 'effort = "high"\n'),
    ("", "shell.login", True, "[shell]\nlogin = true\n"),
    ("", "log", "warn", 'log = "warn"\n'),
    ("# only this", "log", "warn", '# only this\n\nlog = "warn"\n'),
    ("# of the shell\n[shell]\n", "log", "warn", 'log = "warn"\n\n# of the shell\n[shell]\n'),
    ("a.b = 1\nlog = 'x'\n", "a.c", 2, "a.b = 1\nlog = 'x'\na.c = 2\n"),
    ("shell = { login = true } # c\n", "shell.login", False, "shell = { login = false } # c\n"),
    (
        "shell = {login = true} # c\n",
        "shell.idle_minutes",
        1,
        "shell = {login = true,idle_minutes = 1} # c\n",
    ),
    (
        "[shell]\r\nlogin = true\r\n",
        "shell.idle_minutes",
        1,
        "[shell]\r\nlogin = true\r\nidle_minutes = 1\r\n",
    ),
    ("[shell]\r\nlogin = true", "log", "x", 'log = "x"\r\n\r\n[shell]\r\nlogin = true'),
    (
        "[sandbox]\nmask = [ # all\n  '~/a',\n]\n",
        "sandbox.mask",
        ["~/b"],
        '[sandbox]\nmask = ["~/b"]\n',
    ),
    (
        "[shell]\n# one\n#login = true\n\n# two\n",
        "shell.login",
        False,
        "[shell]\n# one\n#login = true\nlogin = false\n\n# two\n",
    ),
    ("[[openai.models]]\nid = 'm'\n", "openai.models", ["a"], '[openai]\nmodels = ["a"]\n'),
]


@pytest.mark.parametrize(("before", "key", "value", "after"), EDITS)
def test_a_key_is_set_where_it_belongs(before: str, key: str, value: Any, after: str) -> None:
    assert with_key(before, key, value) == after


def test_every_key_is_set_in_every_layout() -> None:
    """The example, an empty file, dotted keys: only the key differs from what was there."""
    small = ["", MINE, "shell.login = true\n[render]\nmotion = true\n"]
    for number, one in enumerate(declared().values()):
        if one.name == "permissions.rules":
            continue
        layouts = [*small, example()] if number % 5 == 0 else small  # the example is long
        value = tomllib.loads(f"x = {one.key.example or _toml(one.default)}")["x"]
        for text in layouts:
            after = with_key(text, one.name, value)
            found: Any = tomllib.loads(after)
            for name in one.name.split("."):
                found = found[name]
            assert found == value
            assert with_key(after, one.name, value) == after
            back = without_key(after, one.name)
            assert back is not None
            assert one.name in text or tomllib.loads(back).keys() >= tomllib.loads(text).keys()


def _toml(value: Any) -> str:
    from efr.config.toml import inline

    return inline(list(value) if isinstance(value, tuple) else value)


UNSET = [
    (MINE, "shell.idle_minutes", MINE.replace("idle_minutes = 3 # why\n", "")),
    (MINE, "shell.login", None),
    (MINE, "log", None),
    ("a.b = 1\na.c = 2\n", "a.b", "a.c = 2\n"),
    ("shell = {login = true, idle_minutes = 1}\n", "shell.login", "shell = { idle_minutes = 1}\n"),
    ("[sandbox]\nmask = [\n  '~/a',\n]\ncaches = []\n", "sandbox.mask", "[sandbox]\ncaches = []\n"),
    ("[x]\na = '''\n1\n''' # c\nb = 2", "x.b", "[x]\na = '''\n1\n''' # c\n"),
]


@pytest.mark.parametrize(("before", "key", "after"), UNSET)
def test_a_key_is_taken_out(before: str, key: str, after: str | None) -> None:
    assert without_key(before, key) == after


RULES = [
    ("", RULE_TEXT),
    ("[permissions]\nmode = 'auto'\n", f"[permissions]\nmode = 'auto'\n\n{RULE_TEXT}"),
    (
        "[permissions]\nmode = 'auto'\n\n# s\n[shell]\n",
        f"[permissions]\nmode = 'auto'\n\n{RULE_TEXT}\n# s\n[shell]\n",
    ),
    (f"{RULE_TEXT}# end\n", f"{RULE_TEXT}\n{RULE_TEXT}\n# end\n"),
    (
        "permissions.rules = [] # c\n",
        'permissions.rules = [{action = "any", resource = {under = "~/x"}, effect = "ask"}] # c\n',
    ),
]


@pytest.mark.parametrize(("before", "after"), RULES)
def test_a_rule_is_added_behind_the_others(before: str, after: str) -> None:
    assert with_rule(before, RULE) == after


def test_rules_are_removed_by_number_with_the_comments_that_are_theirs() -> None:
    text = f"[permissions]\nmode = 'auto'\n\n# the first\n{RULE_TEXT}\n# the second\n{RULE_TEXT}"
    head = "[permissions]\nmode = 'auto'\n\n"
    assert without_rule(text, 0) == f"{head}# the second\n{RULE_TEXT}"
    assert without_rule(text, 1) == f"{head}# the first\n{RULE_TEXT}\n"
    assert without_rule(without_rule(text, 0), 0) == head
    inline = "permissions.rules = [{ action = 'any' }, { action = 'read' }]\n"
    assert tomllib.loads(without_rule(inline, 0)) == {
        "permissions": {"rules": [{"action": "read"}]}
    }
    assert "rules" not in without_rule(without_rule(inline, 0), 0)
    for index in (-1, 2):
        with pytest.raises(NoSuchRule, match="there are 2, from 0 to 1"):
            without_rule(text, index)
    with pytest.raises(NoSuchRule, match="there is none"):
        without_rule("", 0)


def test_a_text_that_is_no_toml_is_not_edited() -> None:
    with pytest.raises(ConfigError, match="line 1"):
        with_key("x = = 1", "log", "warn")


@pytest.mark.parametrize(
    ("text", "told"),
    [("shell = 1", "shell: must be a table"), ("[[shell]]", "shell: must be a table")],
)
def test_a_value_in_place_of_a_table_is_not_edited(text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        with_key(text, "shell.login", True)
    with pytest.raises(ConfigError, match=told):
        without_key(text, "shell.x")
    with pytest.raises(ConfigError, match=r"permissions\.rules: must be a list"):
        with_rule("permissions.rules = {}", RULE)


def test_a_bad_value_is_mended_in_place() -> None:
    assert with_key("[shell]\nlogin = 'x' # c\n", "shell.login", True) == (
        "[shell]\nlogin = true # c\n"
    )
