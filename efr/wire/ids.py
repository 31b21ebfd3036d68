"""Ids in their one written form. Pure; any thread may call it.

Facts: protocol, ids. Minting is `efr.base.ids`, not here.
"""

from __future__ import annotations

import re

_CANONICAL = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_JOB = re.compile(r"j[1-9][0-9]*", re.ASCII)
_URN = "urn:uuid:"


def canonical_uuid(text: str) -> str:
    """The lowercase hyphenated form of a UUID of any version.

    It may be in upper case, without hyphens, in braces or a URN. Raises ValueError for other text.
    """
    if _CANONICAL.fullmatch(text):
        return text
    bare = text.lower()
    if bare.startswith(_URN):
        bare = bare.removeprefix(_URN)
    elif bare.startswith("{") and bare.endswith("}"):
        bare = bare[1:-1]
    elif len(bare) == 32:
        bare = f"{bare[:8]}-{bare[8:12]}-{bare[12:16]}-{bare[16:20]}-{bare[20:]}"
    if not _CANONICAL.fullmatch(bare):
        raise ValueError("not a UUID")
    return bare


def canonical_job_id(text: str) -> str:
    """A job id (`j1`, `j2`, …) as it is. Raises ValueError for other text."""
    if _JOB.fullmatch(text) is None:
        raise ValueError("not a job id such as j1")
    return text
