"""Rules of the whole house that no linter knows."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
SOURCES = sorted([*(ROOT / "efr").rglob("*.py"), *ROOT.glob("*.py")])


@cache
def modules() -> list[tuple[Path, ast.Module, list[ast.AST]]]:
    """Each source below the root, its tree, and every node of it; parsed once for all rules."""
    trees = ((path.relative_to(ROOT), ast.parse(path.read_text())) for path in SOURCES)
    return [(path, tree, list(ast.walk(tree))) for path, tree in trees]


def test_threads_are_constructed_in_one_room_and_named() -> None:
    faults = []
    for path, _, nodes in modules():
        for node in nodes:
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
                ("threading.Thread", "ThreadPoolExecutor", "threading.Timer", "Timer")
            ):
                inside = path.parts[:2] == ("efr", "threads")
                # efr.threads.timer.Timer is ours.
                if not inside and "Timer" not in ast.unparse(node.func):
                    faults.append(f"{path}:{node.lineno}")
                if ast.unparse(node.func) == "threading.Timer":
                    faults.append(f"{path}:{node.lineno}")
    assert faults == []


def test_no_thread_is_a_daemon_thread() -> None:
    text = {path: path.read_text() for path in (ROOT / "efr").rglob("*.py")}
    assert [p for p, t in text.items() if re.search(r"daemon\s*=\s*True", t)] == []


def test_modules_stay_readable() -> None:
    """Under 600 lines, and a docstring that says what the module owns."""
    faults = []
    for path, tree, _ in modules():
        if len((ROOT / path).read_text().splitlines()) > 600:
            faults.append(f"{path} has more than 600 lines")
        if not ast.get_docstring(tree):
            faults.append(f"{path} does not say what it owns")
    assert faults == []


def test_a_dataclass_hides_a_member() -> None:
    """A record is a struct, whose class is made in a tenth of the time; it cannot hide a member."""
    faults = [
        str(path)
        for path, _, _ in modules()
        if "@dataclass" in (text := (ROOT / path).read_text())
        and not re.search(r"(?:repr|compare)=False", text)
    ]
    assert faults == []


def test_a_daemon_that_stays_loads_all_that_it_may_need() -> None:
    """An import in a function is in `efr.daemon.later`: an upgrade must not mix versions."""
    wanted = {
        name
        for path, _, nodes in modules()
        if path.parts[0] == "efr" and path.parts[1] not in ("cli", "client")
        for node in nodes
        if isinstance(node, ast.FunctionDef)
        for name in _imported(node)
    }
    code = "import sys, efr.daemon.main; efr.daemon.later.load(); print(*sys.modules, sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert len(wanted) > 10
    assert wanted - set(done.stdout.split()) == set()


def _imported(function: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            for alias in node.names:
                if (ROOT / node.module.replace(".", "/") / f"{alias.name}.py").exists():
                    yield f"{node.module}.{alias.name}"


def test_functions_stay_short() -> None:
    faults = [
        f"{path}:{node.lineno} {node.name} has {(node.end_lineno or 0) - node.lineno + 1} lines"
        for path, _, nodes in modules()
        for node in nodes
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno + 1 > 60
    ]
    assert faults == []


@pytest.mark.parametrize(
    ("package", "rooms"),
    [
        ("apsw", ("store",)),
        ("sqlite3", ()),
        ("orjson", ("wire",)),
        ("pyte", ("shell",)),
        ("urllib3", ("providers",)),
        ("tree_sitter", ("policy",)),
        ("argparse", ()),
        ("asyncio", ()),
    ],
)
def test_a_dangerous_package_has_one_owner(package: str, rooms: tuple[str, ...]) -> None:
    users = set()
    for path, _, nodes in modules():
        for node in nodes:
            names = (
                [a.name for a in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            if any(name.split(".")[0] == package for name in names):
                users.add(path.parts[1] if path.parts[0] == "efr" else path.name)
    assert users <= set(rooms)


def _declared(*groups: list[str]) -> list[Requirement]:
    return [Requirement(text) for group in groups for text in group]


def test_a_dependency_has_a_reason_and_a_use() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    lists = re.findall(r"^(?:dependencies|test) = \[\n(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    lines = [line for part in lists for line in part.splitlines()]
    assert len(lines) > 20
    assert [line for line in lines if not re.fullmatch(r' +"[^"]+", +# \S.*', line)] == []

    imported = {
        name.split(".")[0]
        for _, _, nodes in modules()
        for node in nodes
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
        )
    }
    owners = packages_distributions()
    used = {canonicalize_name(one) for name in imported for one in owners.get(name, ())}
    wanted = _declared(tomllib.loads(text)["project"]["dependencies"])
    assert {canonicalize_name(one.name) for one in wanted} - used == set()


def test_the_lock_pins_what_is_needed_and_nothing_else() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==\S+", line)] == []
    pins = {canonicalize_name(name): pin for name, pin in (line.split("==") for line in lines)}
    todo = _declared(
        table["project"]["dependencies"],
        table["dependency-groups"]["test"],
        table["build-system"]["requires"],
    )
    needed: dict[str, set[str]] = {}
    while todo:
        one = todo.pop()
        name, extras = canonicalize_name(one.name), one.extras or {""}
        if name in pins:
            assert one.specifier.contains(pins[name]), f"{one}, and the lock has {pins[name]}"
        for extra in extras - needed.setdefault(name, set()):
            needed[name].add(extra)
            todo += [
                each
                for each in map(Requirement, distribution(name).requires or ())
                if each.marker is None or each.marker.evaluate({"extra": extra})
            ]
    assert set(needed) - set(pins) == set()
    assert set(pins) - set(needed) == set()


def test_the_product_speaks_of_itself_alone() -> None:
    """No path of a build machine, no note to its makers."""
    words = re.compile(r"/work/|\bTODO\b|\bFIXME\b|\bXXX\b|issue #?\d|NotImplementedError")
    folders = ("efr", "docs", "sql", "scripts", "bench", "tests")
    kinds = {".py", ".md", ".sql", ".zsh", ".service", ".toml", ".lock", ""}
    files = [
        p
        for p in [*ROOT.iterdir(), *(p for f in folders for p in (ROOT / f).rglob("*"))]
        if p.is_file() and p.suffix in kinds and p != Path(__file__)
    ]
    faults = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if words.search(line)
    ]
    assert faults == []


def test_no_possessive_groups() -> None:
    """Python before 3.11.5, such as Debian 12's, reads a possessive group wrongly (gh-101955).

    After one character class they work; after a group they match too little or too much.
    """
    group = re.compile(r"\)(?:[*+?]|\{[0-9,]+\})\+(?!-)")
    faults = [
        f"{path}:{node.lineno}"
        for path, _, nodes in modules()
        for node in nodes
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and group.search(node.value)
        and not node.value.startswith("%/")
    ]
    assert faults == []


def test_make_help_lists_every_target() -> None:
    """But for those that prepare the others."""
    text = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):(?!=)", text, re.MULTILINE))
    told = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    listed = {line.split()[0] for line in told.stdout.splitlines()}
    phony = set(text.split(".PHONY: ")[1].replace("\\\n", " ").split("\n")[0].split())
    assert phony == targets
    assert targets - listed == {"prepare-run", "prepare-test"}


PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_links_between_the_pages_lead_somewhere() -> None:
    faults = []
    for page in PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
            name, _, anchor = link.partition("#")
            target = page.parent / name if name else page
            if link.startswith(("http://", "https://")):
                continue
            if not target.exists() or (anchor and anchor not in _anchors(target)):
                faults.append(f"{page.relative_to(ROOT)}: {link}")
    assert faults == []


def test_every_variable_is_told() -> None:
    """But for those by which the picker of `efr` calls itself."""
    told = "\n".join(page.read_text() for page in PAGES)
    files = [*SOURCES, *(path for path in (ROOT / "efr" / "assets").rglob("*") if path.is_file())]
    used = {
        name
        for path in files
        if "__pycache__" not in path.parts
        for name in re.findall(r"\bEFR_[A-Z_]*[A-Z]\b", path.read_text())
    }
    assert len(used) > 20
    assert {name for name in used if name not in told} == {"EFR_PICKER", "EFR_PICKER_QUERY"}
