"""Ids in their one written form. Pure; any thread may call it.

Facts: protocol, ids. Minting is `efr.base.ids`, not here.
"""

from __future__ import annotations

import re

# Any UUID version, upper or lower case, with hyphens, without, in braces or as a URN.
_HYPHENATED = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_CANONICAL = re.compile(_HYPHENATED)
_ANY = re.compile(
    rf"(?:urn:uuid:(?P<urn>{_HYPHENATED})|\{{(?P<brace>{_HYPHENATED})\}}"
    rf"|(?P<plain>{_HYPHENATED})|(?P<simple>[0-9a-f]{{32}}))",
    re.ASCII | re.IGNORECASE,
)
_JOB = re.compile(r"j[1-9][0-9]*", re.ASCII)


def canonical_uuid(text: str) -> str:
    """The lowercase hyphenated form of a UUID in any form. Raises ValueError for other text."""
    if _CANONICAL.fullmatch(text):
        return text
    found = _ANY.fullmatch(text)
    if found is None:
        raise ValueError("not a UUID")
    digits = found.group(found.lastgroup or 0).replace("-", "").lower()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def canonical_job_id(text: str) -> str:
    """A job id (`j1`, `j2`, …) as it is. Raises ValueError for other text."""
    if _JOB.fullmatch(text) is None:
        raise ValueError("not a job id such as j1")
    return text
