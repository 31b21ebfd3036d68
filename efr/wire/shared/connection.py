"""What the two sides of a connection say about themselves (protocol: scopes, origins, hello)."""

from enum import StrEnum
from typing import Any

from msgspec import field

from efr.wire.scalars import Path, Wire


class ScopeName(StrEnum):
    """What a connection may do, from the least to the most powerful."""

    READ = "read"  # lists, subscriptions, history, models, projects
    OPERATE = "operate"  # prompts, steers, interrupts, jobs, undo
    APPROVE = "approve"  # answers to questions
    TERMINAL = "terminal"  # screens and keys of hidden shells, typed answers, deletes
    ADMIN = "admin"  # the daemon itself, logins, devices


class Origin(StrEnum):
    """Where a client sits."""

    SHELL = "shell"  # the zsh plugin
    CLI = "cli"  # `efr` by hand or in a script
    PROXY = "proxy"  # a PTY proxy around a visible terminal
    PHONE = "phone"  # the remote listener


class Capabilities(Wire, frozen=True):
    """Optional features of one side; absent means not supported.

    `others` is no member: it holds the keys this version does not know, which are written again
    after the known ones, sorted by name.
    """

    admin: bool | None = None  # daemon: `admin.*` is open on this connection
    # daemon: pty.attach can start with one; client: it can draw one
    screen_snapshots: bool | None = None
    search: bool | None = None  # daemon: answers conversations.search and conversation.search
    drafts_coalesced: bool | None = None  # daemon: merges the drafts of a slow reader, loses none
    snapshot_live: bool | None = None  # daemon: the snapshot of a subscription has `live`
    approval_local_only: bool | None = None  # daemon: approval_requested has `local_only`
    device_prove: bool | None = None  # daemon: the connection takes device.enroll and device.prove
    conversations_watch: bool | None = None  # daemon: answers conversations.watch
    others: dict[str, Any] = field(default_factory=dict)


class DaemonPaths(Wire, frozen=True):
    """Folders of the daemon; both empty on a remote connection."""

    scratch_root: Path  # parent of every $SCRATCH
    data_dir: Path


class ProveFacts(Wire, frozen=True):
    """What a device signs besides the challenge: stable ids of the tailnet."""

    peer_node: str
    daemon_node: str
    daemon_tailnet: str
