"""The user's rules: from `[[permissions.rules]]` to the values of `efr.policy.rules`.

Pure. A rule may carry examples that it must match, or must not: they are tried at each load, so a
rule that says less or more than its writer meant is an error and not a surprise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from efr.config.places import Path
from efr.config.schema import CommandEntry, ExitEntry, RuleEntry, Settings
from efr.policy.rules import (
    ClassIs,
    CommandIs,
    ExitIs,
    Resource,
    Rule,
    RuleProblem,
    Under,
    rule_problem,
)

if TYPE_CHECKING:
    from efr.policy.paths import PathView

RULES: Final[Path] = ("permissions", "rules")

_HOME: Final = "/home/you"  # what `~` means in an example; no example names another home


class NoResource(ValueError):
    """A resource that names nothing, or two things."""


def rules_of(settings: Settings) -> tuple[Rule, ...]:
    """The user's rules in the order of the file; the settings were checked when they were read."""
    return tuple(rule_of(entry) for entry in settings.permissions.rules)


def rule_of(entry: RuleEntry) -> Rule:
    """One rule. Raises NoResource."""
    return Rule(entry.action, _resource(entry), entry.effect)


def entry_of(rule: Rule, matches: Sequence[str] = ()) -> dict[str, Any]:
    """A rule as the file has it, with examples that it has to match."""
    examples = {"matches": list(matches)} if matches else {}
    resource = _resource_of(rule.resource)
    return {"action": rule.action, "resource": resource, "effect": rule.effect, **examples}


def _resource_of(resource: Resource) -> Any:
    if isinstance(resource, ClassIs):
        return {"class": resource.name}
    if isinstance(resource, Under):
        return {"under": resource.path}
    if isinstance(resource, CommandIs):
        return {"command": _given(resource)}
    return {"exit": _given(resource)} if isinstance(resource, ExitIs) else resource


def _given(value: CommandIs | ExitIs) -> dict[str, Any]:
    """The members that say something."""
    return {
        name: list(found) if isinstance(found, tuple) else found
        for name in value.__struct_fields__
        if (found := getattr(value, name)) not in (None, (), 0)
    }


def _resource(entry: RuleEntry) -> Resource:
    given = entry.resource
    if isinstance(given, str):
        return given
    found: list[Resource] = []
    if given.class_ is not None:
        found.append(ClassIs(given.class_))
    if given.under is not None:
        found.append(Under(given.under))
    if given.command is not None:
        found.append(_command(given.command))
    if given.exit is not None:
        found.append(_exit(given.exit))
    if len(found) != 1:
        raise NoResource
    return found[0]


def _command(entry: CommandEntry) -> CommandIs:
    return CommandIs(
        entry.program,
        entry.args,
        entry.forbid,
        entry.min_operands,
        entry.max_operands,
        entry.max_options,
        entry.under,
        entry.check,
    )


def _exit(entry: ExitEntry) -> ExitIs:
    return ExitIs(
        entry.kind,
        entry.host,
        entry.port,
        entry.under,
        entry.program,
        entry.args,
        entry.bus,
        entry.name,
        entry.members,
        entry.path,
        entry.remote,
        entry.url,
    )


def names_secrets(resource: Resource, home: str = _HOME) -> bool:
    """Whether the resource is one that names secrets: only such a rule can open one."""
    if isinstance(resource, ClassIs):
        return resource.name == "secrets"
    if not isinstance(resource, Under):
        return False
    paths = _paths(home)
    return paths.class_of(paths.form(_expanded(resource.path, home))) == "secrets"


def problems_of(entry: RuleEntry) -> Iterator[RuleProblem]:
    """What keeps a rule from being taken: its shape, its words, examples that come out wrong."""
    try:
        rule = rule_of(entry)
    except NoResource:
        yield RuleProblem("resource", "must name one of class, under, command and exit")
        return
    problem = rule_problem(rule)
    if problem is not None:
        yield RuleProblem(problem.member, f"efr does not take this rule: {problem.message}")
        return
    for member, wanted in (("matches", True), ("matches_not", False)):
        for index, example in enumerate(getattr(entry, member)):
            found = _matches(rule.resource, example)
            if found is None:
                yield RuleProblem(f"{member}[{index}]", _NO_EXAMPLE)
            elif found is not wanted:
                words = "does not match" if wanted else "matches"
                yield RuleProblem(f"{member}[{index}]", f"the rule {words} this example")


_NO_EXAMPLE: Final = (
    "an example is one line that efr can read, for a command, or a path that is absolute or starts"
    " with ~/, for a class or a directory"
)


def _matches(resource: Resource, example: str) -> bool | None:
    """Whether it is an example of the resource; None: it cannot be one."""
    if isinstance(resource, CommandIs):
        return _matches_line(resource, example)
    if isinstance(resource, ClassIs | Under) and example.startswith(("/", "~/")):
        from efr.policy.paths import holds

        paths = _paths()
        form = paths.form(_expanded(example))
        if isinstance(resource, Under):
            return holds(paths.form(_expanded(resource.path)), form)
        return paths.class_of(form) == resource.name
    return None


def _matches_line(command: CommandIs, line: str) -> bool | None:
    """Each simple command of the line; where it starts is not looked at."""
    from efr.policy.matching import Start, matches_command
    from efr.policy.privilege import privileged_in
    from efr.policy.reader import Unreadable, read_line

    found = read_line(line)
    if isinstance(found, Unreadable) or not found:
        return None
    anywhere, start = replace(command, under=None), Start((), _paths())
    return all(
        one.program == command.program
        and matches_command(anywhere, one, start)
        and privileged_in(one) is None
        for one in found
    )


def _paths(home: str = _HOME) -> PathView:
    from efr.policy.needs import Place
    from efr.policy.paths import view

    return view(Place(home, home, f"{home}/.config/efr", f"{home}/.local/share/efr"))


def _expanded(path: str, home: str = _HOME) -> str:
    return home + path[1:] if path == "~" or path.startswith("~/") else path
