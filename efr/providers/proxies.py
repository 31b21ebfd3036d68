"""Which proxy a request goes through, as the environment says it to every program. Pure.

HTTPS_PROXY, HTTP_PROXY and ALL_PROXY name an http:// proxy by the scheme of the request, in small
letters first; NO_PROXY lists what is reached directly, as curl(1) reads it: names with all below
them, addresses, networks, and `*`. This machine itself is always reached directly.
"""

from __future__ import annotations

import base64
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit

from efr.providers.errors import TransportFailed

_PORT: Final = 80  # of a proxy whose address names none
_ENTRY: Final = re.compile(r"[^\s,]+")


@dataclass(frozen=True)
class Proxy:
    """A proxy, and the variable that names it."""

    host: str
    port: int
    variable: str
    authorization: str | None = field(default=None, repr=False)


class Proxies:
    """The variables of one environment."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._direct = _ENTRY.findall(self._value("NO_PROXY"))

    def of(self, scheme: str, host: str, port: int) -> Proxy | None:
        """The proxy of a request; None: there is none. Raises TransportFailed for a bad one."""
        if _is_here(host) or any(_covers(entry, host, port) for entry in self._direct):
            return None
        for variable in (f"{scheme.upper()}_PROXY", "ALL_PROXY"):
            if value := self._value(variable):
                return _proxy(variable, value)
        return None

    def _value(self, variable: str) -> str:
        return (self._env.get(variable.lower()) or self._env.get(variable) or "").strip()


def _proxy(variable: str, value: str) -> Proxy:
    try:
        parts = urlsplit(value if "://" in value else f"http://{value}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if host is None or parts.scheme != "http":
        raise TransportFailed(f"{variable} does not name an http:// proxy", sent=False)
    authorization = None
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        authorization = f"Basic {base64.b64encode(pair).decode()}"
    return Proxy(host, port or _PORT, variable, authorization)


def _is_here(host: str) -> bool:
    address = _address(host)
    if address is not None:
        return address.is_loopback
    return host == "localhost" or host.endswith(".localhost")  # RFC 6761 section 6.3


def _covers(entry: str, host: str, port: int) -> bool:
    """Whether an entry of NO_PROXY means this host."""
    if entry == "*":
        return True
    name, colon, number = entry.rpartition(":")
    if colon and number.isdecimal() and (name.startswith("[") or ":" not in name):
        if int(number) != port:
            return False
        entry = name
    entry = entry.strip("[]").lower()
    address = _address(host)
    if address is not None:
        try:
            return address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    domain = entry.removeprefix("*").removeprefix(".")
    return bool(domain) and (host == domain or host.endswith(f".{domain}"))


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
