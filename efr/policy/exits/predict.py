"""The exits of a call: what of it the sandbox would block, told from its text before it runs.

Pure; `exits_of` is the entry. It looks at every program of the line, also behind wrappers and in
substitutions, at its redirections, at the declared paths, and at what the model asks for beyond the
sandbox. It prefers one exit too many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from efr.policy.envelope import Envelope
from efr.policy.exits.kinds import Exit, Grant, exit_of
from efr.policy.exits.programs import git_words, kind_of
from efr.policy.exits.targets import Made, read_exit, write_exit
from efr.policy.lines.inner import all_programs, base_name, without_prefix
from efr.policy.lines.split import LineWord, split_line
from efr.policy.needs import Beyond, CallNeeds, Sandbox
from efr.policy.paths import PathView

Words = Sequence[LineWord]

_NO_PROGRAM: Final = frozenset((":", "true"))  # a redirection with one of these only empties a file
_TO_NETWORK: Final = frozenset(("host", "host_view", "upload", "privilege", "outside"))
_SEEN_DEVICES: Final = re.compile(
    r"/dev/(?:null|zero|full|random|urandom|tty|console|ptmx|stdin|stdout|stderr|core"
    r"|(?:pts|shm|fd|mqueue)(?:/.*)?)",
    re.DOTALL,
)
_URL_HOST: Final = re.compile(r"[a-z][a-z0-9+.-]*://(?:[^/@]*@)?([^/:?#]+)(?::([0-9]+))?", re.I)
_CONTAINER_SOCKETS: Final = frozenset(("docker.sock", "podman.sock", "containerd.sock"))
_BUS_SOCKETS: Final = frozenset(("system_bus_socket", "bus"))
_DISPLAY_SOCKET: Final = re.compile(
    r"X[0-9]+|wayland-.*|sway-ipc.*|.*hypr.*|niri.*|\.socket2?\.sock"
)
_REMOTE_SHELLS: Final = frozenset(("ssh", "mosh", "autossh"))
_MOVES: Final = frozenset(("cd", "pushd", "popd", "chdir"))


def exits_of(needs: CallNeeds, envelope: Envelope, sandbox: Sandbox) -> tuple[Exit, ...]:
    """Every exit, each (kind, grant, target) once, but for what the machine judges by itself."""
    found = _Finder(needs, envelope, sandbox)
    exits = list(found.exits())
    kinds = {one.kind for one in exits}
    if needs.network and not kinds & _TO_NETWORK:
        exits.append(found.host(()))
    exits += found.asked(needs.beyond)
    kept = [one for one in exits if not _handled(one, sandbox)]
    return tuple({(one.kind, one.grant, one.target): one for one in reversed(kept)}.values())[::-1]


def file_tool_exits(needs: CallNeeds, envelope: Envelope) -> tuple[Exit, ...]:
    """A file tool runs outside the sandbox; masks and floors hold for it all the same."""
    exits: list[Exit] = []
    for use in needs.paths:
        path = envelope.view.form(use.path)
        if use.access == "write" and envelope.is_floor(path):
            exits.append(exit_of("persistence", path))
        elif use.access != "write" and envelope.is_masked(path):
            exits.append(exit_of("masked_read", path, Grant("unmask", path)))
    return tuple(exits)


def _handled(one: Exit, sandbox: Sandbox) -> bool:
    """What the machine supports is no exit: a proxy, filter or snapshot judges it."""
    if one.source == "needs":
        return False
    by_kind = {
        "host": sandbox.proxy,
        "bus": sandbox.bus_filter,
        "host_view": sandbox.net_view,
        "destructive": sandbox.snapshots,
    }
    return by_kind.get(one.kind, False)


class _Finder:
    """One call while its exits are collected."""

    def __init__(self, needs: CallNeeds, envelope: Envelope, sandbox: Sandbox) -> None:
        self._needs = needs
        self._envelope = envelope
        self._sandbox = sandbox
        self._view: PathView = envelope.view
        self._line = needs.command or ""
        self._programs = [
            (base_name(words[0].text), words[1:])
            for words in all_programs(self._line, envelope.view.home)
        ]
        # Facts are about paths; behind a `cd` a relative one is unknown.
        self._moved = any(name in _MOVES for name, _ in self._programs)

    def exits(self) -> Iterator[Exit]:
        for name, words in self._programs:
            yield from self._of_program(name, words)
        yield from self._emptied()
        yield from self._of_paths()

    # -- programs

    def _of_program(self, name: str, words: Words) -> Iterator[Exit]:
        texts = [word.text for word in words]
        kind = kind_of(name, texts)
        if kind == "host":
            outside = self._sandbox.proxy and name in _REMOTE_SHELLS
            yield exit_of("outside", name) if outside else self.host(texts)
        elif kind == "host_view":
            yield exit_of(kind, name, Grant("net_view"))
        elif kind == "bus":
            yield exit_of(kind, name, Grant("bus", "session" if "--user" in texts else "system"))
        elif kind == "desktop_ipc":
            yield exit_of(kind, name, Grant("desktop"))
        elif kind is not None:
            yield exit_of(kind, name)
        if name == "rm" and self._removes_tracked(words):
            yield exit_of("destructive", name)
        yield from self._devices(texts)

    def host(self, texts: Sequence[str]) -> Exit:
        """Access to the network; the host that a URL names, when one does."""
        urls = (_URL_HOST.match(text) for text in texts)
        found = next((url for url in urls if url is not None), None)
        target = "" if found is None else f"{found[1].lower()}:{found[2] or 443}"
        if self._sandbox.proxy and target:
            return exit_of("host", target, Grant("host", target))
        return exit_of("host", target, Grant("open_network"))

    def _devices(self, texts: Sequence[str]) -> Iterator[Exit]:
        for text in texts:
            for part in {text, text.partition("=")[2]}:
                if part.startswith("/dev/"):
                    path = self._view.form(part)
                    if path.startswith("/dev/") and not _SEEN_DEVICES.fullmatch(path):
                        yield self._device(path)

    def _device(self, path: str) -> Exit:
        is_block = self._needs.facts.kinds.get(path) == "block"
        return exit_of("device", path, Grant("device", path), only_user=is_block)

    def _removes_tracked(self, words: Words) -> bool:
        """`rm -r` of a directory that may hold files of git."""
        if not any(map(_is_recursive, (word.text for word in words))):
            return False
        operands = [word for word in words if not word.text.startswith("-")]
        tracked = self._needs.facts.tracked
        paths = [self._resolved(word) for word in operands]
        return not paths or any(path is None or tracked.get(path) != 0 for path in paths)

    # -- redirections and paths

    def _emptied(self) -> Iterator[Exit]:
        for command in split_line(self._line, self._view.home).commands:
            words = without_prefix(command.words)
            if words and words[0].text not in _NO_PROGRAM:
                continue
            for word in command.truncates:
                path = self._resolved(word)
                if path is None or self._needs.facts.kinds.get(path) != "missing":
                    yield exit_of("destructive", path or word.text)

    def _of_paths(self) -> Iterator[Exit]:
        made = self._made()
        for use in self._needs.paths:
            path = self._view.form(use.path)
            if _SEEN_DEVICES.fullmatch(path):
                continue  # the sandbox has it
            if use.access == "write":
                found = write_exit(path, self._envelope, self._needs.facts, made)
            else:
                found = read_exit(path, self._envelope)
            if found is not None and not (use.guessed and found.kind == "write"):
                yield found

    def _made(self) -> Made:
        """Paths that the line's programs make themselves."""
        made: dict[str, Literal["file", "dir"]] = {}
        for command in split_line(self._line, self._view.home).commands:
            made.update(dict.fromkeys(filter(None, map(self._resolved, command.writes)), "file"))
        for name, words in self._programs:
            kind = _made_by(name, [word.text for word in words])
            operands = [word for word in words if not word.text.startswith("-")]
            if kind is not None:
                made.update(dict.fromkeys(filter(None, map(self._resolved, operands)), kind))
        return made

    def _resolved(self, word: LineWord) -> str | None:
        """The path of a word in normal form, when the line shows it."""
        if word.expansion or word.pattern_at is not None or not word.text:
            return None
        if word.text.startswith("/"):
            return self._view.form(word.text)
        if self._moved or self._needs.command_dir is None:
            return None
        return self._view.form(f"{self._needs.command_dir}/{word.text}")

    # -- what the model asks for

    def asked(self, beyond: Beyond) -> Iterator[Exit]:
        """Entries of `needs`; what the envelope allows is dropped."""
        directory = self._needs.command_dir or self._view.home
        for text in beyond.write:
            path = _absolute(text, directory, self._view)
            found = write_exit(path, self._envelope, self._needs.facts, {})
            if found is not None:
                yield _from_needs(found)
        for text in beyond.unmask:
            path = _absolute(text, directory, self._view)
            found = read_exit(path, self._envelope)
            if found is not None:
                yield _from_needs(found)
        for text in beyond.hosts:
            yield _from_needs(self.host([text if "://" in text else f"https://{text}"]))
        for text in beyond.sockets:
            yield _from_needs(_socket(_absolute(text, directory, self._view)))
        if beyond.bus is not None:
            yield _from_needs(exit_of("bus", beyond.bus, Grant("bus", beyond.bus)))
        if beyond.device is not None:
            yield _from_needs(self._device(_absolute(beyond.device, directory, self._view)))
        if beyond.outside:
            yield _from_needs(exit_of("outside"))


def _is_recursive(option: str) -> bool:
    """`-r`, `-R` and `--recursive` of rm, also abbreviated or in a cluster."""
    if option.startswith("--"):
        return len(option) > 2 and "recursive".startswith(option[2:])
    return option.startswith("-") and ("r" in option or "R" in option)


def _made_by(name: str, texts: Sequence[str]) -> Literal["file", "dir"] | None:
    """What a program makes of its operands, when it makes exactly them."""
    if name in ("touch", "tee"):
        return "file"
    adds_tree = name == "git" and git_words(texts)[:2] == ["worktree", "add"]
    return "dir" if name == "mkdir" or adds_tree else None


def _absolute(text: str, directory: str, view: PathView) -> str:
    if text.startswith(("/", "~/")) or text == "~":
        return view.expanded(text)
    return view.form(f"{directory}/{text}")


def _socket(path: str) -> Exit:
    """A socket is named by what answers on it."""
    name = base_name(path)
    if name in _CONTAINER_SOCKETS:
        return exit_of("privilege", path)
    if name in _BUS_SOCKETS:
        bus = "session" if name == "bus" else "system"
        return exit_of("bus", bus, Grant("bus", bus))
    if _DISPLAY_SOCKET.fullmatch(name) or "/hypr/" in path:
        return exit_of("desktop_ipc", path, Grant("desktop", path))
    return exit_of("socket", path, Grant("socket", path))


def _from_needs(one: Exit) -> Exit:
    return Exit(one.kind, one.target, one.grant, one.user_only, one.unsandboxed, "needs")
