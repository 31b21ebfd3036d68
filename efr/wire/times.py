"""Times in their one written form: RFC 3339 in UTC. Pure; any thread may call it.

Facts: protocol, timestamps. A time stays text, because up to 9 digits of fraction must survive
a read and a write, and `datetime` holds 6.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from functools import cache

_RFC3339 = r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:([Zz])|([+-])(\d\d):(\d\d))"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)


@cache
def _as_written() -> Callable[[str], re.Match[str] | None]:
    """Nearly every time: as it is written, of four-digit years and days that no month lacks."""
    return re.compile(
        r"[1-9]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d"
        r"(?:\.\d{0,8}[1-9])?Z",
        re.ASCII,
    ).fullmatch


def canonical_time(text: str) -> str:
    """The same instant in UTC, without trailing zeros of the fraction.

    Raises ValueError for text that is no RFC 3339 time, has no offset, or has more than nine
    digits of fraction.
    """
    return text if _as_written()(text) else _join(*_split(text))


def time_from_us(us: int) -> str:
    """The time of so many microseconds since 1970 in UTC."""
    seconds, micros = divmod(us, 1_000_000)
    return _join(_EPOCH + timedelta(seconds=seconds), f"{micros:06d}" if micros else "")


def time_to_us(time: str) -> int:
    """Microseconds since 1970 in UTC; digits below a microsecond are cut.

    Raises ValueError as `canonical_time` does.
    """
    seconds, digits = _split(time)
    return (seconds - _EPOCH) // _SECOND * 1_000_000 + int(digits[:6].ljust(6, "0") or 0)


def _split(text: str) -> tuple[datetime, str]:
    """The whole second in UTC, and the digits of the fraction."""
    found = re.fullmatch(_RFC3339, text, re.ASCII)
    if found is None:
        raise ValueError("not an RFC 3339 time with an offset")
    date, clock, fraction, _zulu, sign, hours, minutes = found.groups()
    try:
        seconds = datetime.fromisoformat(f"{date}T{clock}").replace(tzinfo=UTC)
        if sign is not None:
            seconds -= _offset(sign, int(hours), int(minutes))
    except (ValueError, OverflowError):
        raise ValueError("not a time that exists") from None
    return seconds, fraction or ""


def _offset(sign: str, hours: int, minutes: int) -> timedelta:
    if minutes > 59:
        raise ValueError(minutes)
    ahead = timedelta(hours=hours, minutes=minutes)
    timezone(ahead)  # refuses an offset of a day or more
    return ahead if sign == "+" else -ahead


def _join(seconds: datetime, digits: str) -> str:
    digits = digits.rstrip("0")
    whole = seconds.isoformat()[:19]  # without its offset, which is zero
    return f"{whole}.{digits}Z" if digits else f"{whole}Z"
