"""What the methods work with: the composed rooms of one running daemon. Built by `app.py`."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from efr.agent.agent import Agent
from efr.agent.ports import Caller
from efr.base.roots import Roots
from efr.daemon.attachments import Attachments
from efr.daemon.deleting import Deleter
from efr.daemon.diffs import Diffs
from efr.daemon.live_settings import LiveSettings
from efr.daemon.peers import ModelSide
from efr.daemon.projects import KnownProjects
from efr.daemon.searching import Searches
from efr.daemon.subscriptions import Subscriptions
from efr.daemon.waits import Waits
from efr.daemon.watches import Watches
from efr.providers.registry import Providers
from efr.shell.shells import Shells
from efr.threads.indexer import Indexer
from efr.threads.readers import ReaderPool
from efr.threads.requests import Peer
from efr.wire import events as ev
from efr.wire import types as t


class Facts(Struct, frozen=True):
    """What does not change while this process runs."""

    daemon_id: str
    version: str
    pid: int
    started_at_us: int
    home: str


class HiddenShells(Struct, frozen=True):
    """The hidden shells, and who looks at them."""

    shells: Shells
    attachments: Attachments
    look_soon: Callable[[], None]  # something was asked of one


class Rooms(Struct, frozen=True):
    """Everything that a method may use."""

    facts: Facts
    roots: Roots
    settings: LiveSettings
    readers: ReaderPool
    agent: Agent
    providers: Providers
    projects: KnownProjects
    subscriptions: Subscriptions
    watches: Watches
    model_side: ModelSide
    waits: Waits  # for requests that wait long
    searches: Searches
    indexer: Indexer
    deleter: Deleter
    diffs: Diffs
    record: Callable[[ev.Event], None]  # commits an event of no conversation
    working: Callable[[], int]  # conversations with work in progress
    hidden: HiddenShells


def caller_of(peer: Peer) -> Caller:
    """The peer as the agent sees it. Only after its hello."""
    origin = t.Origin.PHONE if peer.remote or peer.origin is None else peer.origin
    return Caller(peer.connection_id, origin, None if peer.remote else peer.tty, peer.remote)
