"""Ids in their one written form. Pure; any thread may call it.

Facts: protocol, ids. Minting is `efr.base.ids`, not here.
"""

from __future__ import annotations

import re
from functools import cache

_URN = "urn:uuid:"


@cache
def _canonical() -> re.Pattern[str]:
    return re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


def canonical_uuid(text: str) -> str:
    """The lowercase hyphenated form of a UUID of any version.

    It may be in upper case, without hyphens, in braces or a URN. Raises ValueError for other text.
    """
    if _canonical().fullmatch(text):
        return text
    bare = text.lower()
    if bare.startswith(_URN):
        bare = bare.removeprefix(_URN)
    elif bare.startswith("{") and bare.endswith("}"):
        bare = bare[1:-1]
    elif len(bare) == 32:
        bare = f"{bare[:8]}-{bare[8:12]}-{bare[12:16]}-{bare[16:20]}-{bare[20:]}"
    if not _canonical().fullmatch(bare):
        raise ValueError("not a UUID")
    return bare


def canonical_job_id(text: str) -> str:
    """A job id (`j1`, `j2`, …) as it is. Raises ValueError for other text."""
    if re.fullmatch(r"j[1-9][0-9]*", text, re.ASCII) is None:
        raise ValueError("not a job id such as j1")
    return text
