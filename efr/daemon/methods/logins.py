"""Methods about the logins of providers. Each that changes one is recorded in the log."""

from __future__ import annotations

from functools import partial

from efr.daemon.item_stream import ItemStream
from efr.daemon.rooms import Rooms
from efr.threads.requests import Call, Later
from efr.wire import codec
from efr.wire import events as ev
from efr.wire import methods as m


def admin_login_api_key(
    rooms: Rooms, params: m.AdminLoginApiKeyParams, call: Call
) -> m.AdminLoginApiKeyResult | Later:
    """Stores a key; later, when the provider is asked about it before. A cancel cuts that."""
    login = partial(_login_api_key, rooms, params, call)
    return rooms.waits.errand(call, login) if params.check else login()


def admin_login_openai(rooms: Rooms, params: m.AdminLoginOpenaiParams, call: Call) -> ItemStream:
    """A stream: the page to open, then that the login worked. It ends with its connection."""
    stream = ItemStream()
    rooms.waits.stream(call, stream, partial(_login_openai, rooms, stream))
    return stream


def admin_logout(rooms: Rooms, params: m.AdminLogoutParams, call: Call) -> m.AdminLogoutResult:
    """Removes a login."""
    result = rooms.providers.logout(params.provider)
    if result.logged_out:
        rooms.record(ev.LogoutCompleted(result.provider))
    return result


def _login_api_key(
    rooms: Rooms, params: m.AdminLoginApiKeyParams, call: Call
) -> m.AdminLoginApiKeyResult:
    result = rooms.providers.login_api_key(params.provider, params.key, params.check, call.cancel)
    rooms.record(ev.LoginCompleted(result.provider))
    return result


def _login_openai(rooms: Rooms, stream: ItemStream) -> None:
    def say(url: str) -> None:
        stream.say(codec.encode(m.LoginAuthorizeUrl(url)))

    provider = rooms.providers.login_openai(say, stream.cancel)
    rooms.record(ev.LoginCompleted(provider))
    stream.say(codec.encode(m.LoginDone(provider)))
