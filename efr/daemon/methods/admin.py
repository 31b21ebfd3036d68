"""Methods about models and the daemon itself."""

from __future__ import annotations

from efr.base.roots import Root
from efr.daemon.rooms import Rooms
from efr.threads.requests import Call
from efr.wire import methods as m
from efr.wire import types as t

SCREEN_BACKEND = "vt100"  # the one that is built in; `screen = "ghostty"` takes it too


def models_list(rooms: Rooms, params: m.ModelsListParams, call: Call) -> m.ModelsListResult:
    """The models that a prompt may name."""
    return rooms.providers.models()


def admin_status(rooms: Rooms, params: m.AdminStatusParams, call: Call) -> m.AdminStatusResult:
    """The daemon as it is."""
    facts, roots = rooms.facts, rooms.roots
    return m.AdminStatusResult(
        daemon_id=facts.daemon_id,
        version=facts.version,
        protocol=t.PROTOCOL_VERSION,
        pid=facts.pid,
        started_at=t.time_from_us(facts.started_at_us),
        screen_backend=SCREEN_BACKEND,
        conversations=rooms.working(),
        shells=rooms.hidden.shells.count,
        providers=rooms.providers.statuses(),
        catalog=rooms.providers.catalog(),
        roots=t.Roots(
            config=_root(roots.config),
            data=_root(roots.data),
            state=_root(roots.state),
            runtime=_root(roots.runtime),
        ),
        config=rooms.settings.status(),
        full_mode=t.FullMode(allowed=rooms.settings.current().permissions.allow_full),
    )


def admin_config_reload(
    rooms: Rooms, params: m.AdminConfigReloadParams, call: Call
) -> m.AdminConfigReloadResult:
    """Reads the config file again. Whoever may ask is a user, so a held change is let go."""
    return rooms.settings.reload(by_user=True)


def _root(root: Root) -> t.RootDir:
    return t.RootDir(path=str(root.path), source=t.RootSource(root.source))
