"""The tool `settings`: the model reads efr's settings, and changes them after a yes.

The only way of the model to `config.toml`: every other tool's write there is refused. A change is
planned when it is declared, so that a bad one asks nobody; the question shows the difference to the
file and says when more is allowed than before. After the yes the change is planned anew and written
only when it is still what the user saw. Nothing about secrets is changed, by nobody's wish. Runs on
the conversation's worker; blocks on the file system.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import msgspec
from msgspec import Struct

from efr.config.errors import ChangedMeanwhile, ConfigError, WriteFailed
from efr.config.example import example
from efr.config.keys import KEYS, RESTART
from efr.config.load import read
from efr.config.loosening import loosened
from efr.config.rules import NoResource, names_secrets, rule_of
from efr.config.schema import RuleEntry, Settings
from efr.config.toml import inline
from efr.config.values import find, parsed
from efr.config.writer import Original, open_original, save
from efr.policy.needs import CallNeeds, SettingsChange
from efr.providers.canonical import ToolDefinition
from efr.text.diff import file_diff
from efr.text.visible import visible_line
from efr.tools.contract import BadInput, Input, ToolContext, ToolResult, Where
from efr.tools.inputs import closed_schema, read_input
from efr.tools.settings_view import settings_text
from efr.wire import types as t

_NAME: Final = "settings"
_DIFF_BYTES: Final = 32 * 1024  # of a question, which is never cut: some screens
_RULES: Final = "permissions.rules"
_SECRETS: Final = "permissions.secret_paths"
_LOOSENS: Final = "This change loosens permissions: {keys}.\n"

_DESCRIPTION: Final = """\
Reads or changes efr's own settings (config.toml): defaults for later turns, never this terminal's
mode, model or effort. operation: read (all keys, values, rules, models); set {key, value};
unset {key}; add_rule {rule}; remove_rule {index from 0}. Every change asks the user, who sees the
difference to the file. Settings about secrets cannot be changed. No other tool may write the
file."""

_RULE_TEXT: Final = (
    "A rule as in [[permissions.rules]]: action (any, read, write, execute, network, exit),"
    ' resource ("any", "project", {"class": …}, {"under": …}, {"command": {"program": …}}),'
    " effect (allow, ask, deny), matches and matches_not (examples that are checked)."
)
_CHANGED: Final = (
    "The settings changed after the user was asked, so nothing was written. Read them again and"
    " call once more if the change is still wanted."
)
_TOO_LONG: Final = (
    "The change is too long for a question that shows all of it, so nobody was asked. The user can"
    " make it with `efr config edit`."
)
_ABOUT_SECRETS: Final = (
    "Settings about secrets are changed by the user alone, in config.toml. Nobody was asked."
)


class Live(Protocol):
    """The running settings."""

    @property
    def path(self) -> Path: ...

    def current(self) -> Settings: ...

    def overridden(self) -> dict[str, str]:
        """The sources of the keys that a variable or a flag sets."""
        ...

    def status(self) -> t.ConfigStatus: ...

    def reload(self) -> t.ReloadResult: ...


class SettingsInput(Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of a call."""

    operation: Literal["read", "set", "unset", "add_rule", "remove_rule"]
    key: str | None = None
    value: Any = None
    rule: dict[str, Any] | None = None
    index: int | None = None


class _Plan(Struct, frozen=True):
    """One change of the file as it is now."""

    original: Original
    before: str  # the file, or the example that a missing one starts from
    after: str
    key: str
    summary: str
    loosens: tuple[str, ...]

    @property
    def diff(self) -> str:
        lines = file_diff(str(self.original.real), self.before, self.after).lines
        return "".join(f"{line}\n" for line in lines)

    @property
    def shown(self) -> str:
        """What the user sees."""
        head = _LOOSENS.format(keys=", ".join(self.loosens)) if self.loosens else ""
        return head + self.diff

    @property
    def mark(self) -> str:
        """The same for the same file, text and change."""
        given = (str(self.original.real), self.original.text or "\0", self.after)
        return hashlib.sha256("\0\0".join(given).encode()).hexdigest()


class SettingsTool:
    """Reads and changes the settings."""

    definition: Final = ToolDefinition(
        _NAME,
        _DESCRIPTION,
        closed_schema(
            ("operation",),
            operation={
                "type": "string",
                "enum": ["read", "set", "unset", "add_rule", "remove_rule"],
            },
            key={"type": "string", "description": "A dotted key, such as model.effort."},
            value={"description": "The new value, of the key's type."},
            rule={"type": "object", "description": _RULE_TEXT},
            index={"type": "integer", "description": "The number of a rule, from 0."},
        ),
    )

    def __init__(self, live: Live, models: Callable[[], Sequence[t.ModelInfo]]) -> None:
        self._live = live
        self._models = models

    def declare(self, input: Input, where: Where) -> CallNeeds:
        """Nothing for a read; a change that can be made, planned against the file of now."""
        call = read_input(input, SettingsInput, _NAME)
        if call.operation == "read":
            return CallNeeds(_NAME)
        plan = self._plan(call, where)
        change = SettingsChange(plan.summary, bool(plan.loosens), plan.mark)
        return CallNeeds(_NAME, settings=change)

    def preview(self, input: Input, where: Where) -> str | None:
        """The difference to the file, under a line that says when it loosens permissions."""
        call = read_input(input, SettingsInput, _NAME)
        if call.operation == "read":
            return None
        try:
            return self._plan(call, where).shown
        except BadInput:
            return None  # the file changed since: what is not seen is not written

    def run(self, input: Input, ctx: ToolContext) -> ToolResult:
        """Reads; or writes what the user saw, and reloads."""
        call = read_input(input, SettingsInput, _NAME)
        if call.operation == "read":
            return ToolResult(settings_text(self._live, self._models()))
        if ctx.cancel.cancelled:
            return ToolResult("The user stopped it. Nothing was written.", is_error=True)
        declared = ctx.needs.settings if ctx.needs is not None else None
        try:
            plan = self._plan(call, ctx.where)
            if declared is None or (plan.mark, plan.shown) != (declared.mark, ctx.shown):
                return ToolResult(_CHANGED, is_error=True)
            save(plan.original, plan.after)
        except (BadInput, ChangedMeanwhile):
            return ToolResult(_CHANGED, is_error=True)
        except WriteFailed as exc:
            return ToolResult(f"Nothing was written: {exc}.", is_error=True)
        return ToolResult(self._told(plan), diff=plan.diff)

    # Planning.

    def _plan(self, call: SettingsInput, where: Where) -> _Plan:
        """Raises BadInput with what is wrong; nobody is asked then."""
        try:
            original = open_original(self._live.path)
            before = example() if original.text is None else original.text
            old = read(before.encode())
            key, summary, after = _edited(call, before, old, where.home)
            new = read(after.encode())
        except (ConfigError, WriteFailed) as exc:
            raise BadInput(f"Nobody was asked: {exc}.") from exc
        except RecursionError as exc:
            raise BadInput("Nobody was asked: the value is nested too deeply.") from exc
        self._check_model(key, new)
        if new == old and after == before:
            raise BadInput("The settings say this already. Nobody was asked.")
        plan = _Plan(original, before, after, key, summary, loosened(old, new))
        if len(plan.diff.encode()) > _DIFF_BYTES:
            raise BadInput(_TOO_LONG)
        return plan

    def _check_model(self, key: str, new: Settings) -> None:
        """What no turn could run with is refused while somebody can still choose another."""
        models = {one.id: one for one in self._models()}
        name, effort = new.model.name, new.model.effort
        if key == "model.name" and name is not None and models and name not in models:
            raise BadInput(_choose(f"There is no model {name}.", list(models)))
        if key not in ("model.name", "model.effort") or effort is None:
            return
        default = next((one for one in models.values() if one.default), None)
        model = default if name is None else models.get(name)
        if model is not None and model.efforts and effort not in model.efforts:
            raise BadInput(_choose(f"{model.id} takes no effort {effort}.", list(model.efforts)))

    # After the write.

    def _told(self, plan: _Plan) -> str:
        result = self._live.reload()
        lines = [f"Done: {plan.summary}, in {visible_line(str(plan.original.real))}."]
        if not result.applied and result.error is not None:
            lines.append(f"But it does not apply: {result.error.message}.")
        elif result.error is not None:
            lines.append(f"It is {result.error.message}.")
        elif plan.key in result.restart_needed:
            lines.append("It waits for a restart of efrd; until then the running value stays.")
        elif KEYS[plan.key].applies == RESTART:
            lines.append("The running value is the same.")
        else:
            lines.append(f"It applies with: {KEYS[plan.key].applies}.")
        source = self._live.overridden().get(plan.key)
        if source is not None:
            lines.append(f"But {source} wins over it while it is given.")
        return "\n".join((*lines, *(f"Warning: {one}." for one in result.warnings)))


def _edited(call: SettingsInput, before: str, old: Settings, home: str) -> tuple[str, str, str]:
    """(the key, the change in words, the new text). Raises BadInput, ConfigError."""
    from efr.config import edit  # brings tomlkit, which takes long to load

    if call.operation == "add_rule":
        rule = _rule(call, home)
        return _RULES, f"add_rule {inline(rule)}", edit.with_rule(before, rule)
    if call.operation == "remove_rule":
        if call.index is None:
            raise BadInput("remove_rule needs an index.")
        after = edit.without_rule(before, call.index)
        entry = old.permissions.rules[call.index]
        _refuse_secrets(entry, home)
        return _RULES, f"remove_rule {call.index}: {inline(msgspec.to_builtins(entry))}", after
    if call.key is None:
        raise BadInput(f"{call.operation} needs a key.")
    declared = find(call.key)
    if call.key == _RULES:
        raise BadInput("Rules are changed with add_rule and remove_rule.")
    if call.key == _SECRETS:
        raise BadInput(_ABOUT_SECRETS)
    if call.operation == "unset":
        rest = edit.without_key(before, call.key)
        if rest is None:
            raise BadInput(f"{call.key} is not set in the file. Nobody was asked.")
        return call.key, f"unset {call.key}", rest
    if call.value is None:
        raise BadInput("set needs a value.")
    value = parsed(declared, call.value) if isinstance(call.value, str) else call.value
    try:
        read(f"{call.key} = {inline(value)}\n".encode())
    except ConfigError as exc:
        raise BadInput(f"Nobody was asked: {exc.key or call.key}: {exc.message}.") from exc
    return call.key, f"set {call.key} = {inline(value)}", edit.with_key(before, call.key, value)


def _rule(call: SettingsInput, home: str) -> dict[str, Any]:
    if call.rule is None:
        raise BadInput("add_rule needs a rule.")
    try:
        entry = msgspec.convert(call.rule, RuleEntry)
    except msgspec.ValidationError as exc:
        raise BadInput(f"This is no rule: {exc}. {_RULE_TEXT}") from exc
    _refuse_secrets(entry, home)
    return call.rule


def _refuse_secrets(entry: RuleEntry, home: str) -> None:
    try:
        rule = rule_of(entry)
    except NoResource:
        return  # the check of the whole file says it better
    if names_secrets(rule.resource, home):
        raise BadInput(_ABOUT_SECRETS)


def _choose(what: str, choices: Sequence[str]) -> str:
    return f"{what} Choose one of: {', '.join(choices)}. Nobody was asked."
