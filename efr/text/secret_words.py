"""Words that are secrets by what they look like: tokens of services, and PEM keys.

Pure data for `efr.text.redact`. Sources: the forms that the services publish. A form is as strict
as its service allows, because code has names such as `hf_of_the_house`.
"""

from __future__ import annotations

import re
import string
from functools import cache
from typing import Final, NamedTuple

# The prefix, then at least 16 name characters.
WORD_PREFIXES: Final = (
    *("sk-ant-", "sk-proj-", "sk-", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"),
    *("github_pat_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    *("glpat-", "gldt-", "glft-", "glrt-", "glcbt-", "glptt-", "glagent-", "glsoat-", "glimt-"),
    *("gloas-", "GR1348941"),
    *("xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"),
    *("dop_v1_", "doo_v1_", "dor_v1_", "glsa_", "lin_api_", "lin_oauth_", "tskey-", "GOCSPX-"),
    *("shpat_", "shpss_", "shpca_", "shppa_", "AGE-SECRET-KEY-1", "dckr_pat_", "dckr_oat_"),
    *("pscale_tkn_", "pscale_pw_", "pscale_oauth_", "PMAK-", "pplx-", "nvapi-", "lsv2_pt_"),
    *("lsv2_sk_", "sntrys_", "sntryu_", "NRAK-", "xkeysib-", "xsmtpsib-", "sq0atp-", "sq0csp-"),
    *("figd_", "ATATT3xFfGF0", "ATCTT3xFfGF0", "sb_secret_", "CLOJARS_", "FLWSECK-"),
)
_NAME: Final = "[A-Za-z0-9_-]"
_AT_LEAST: Final = 16


class Form(NamedTuple):
    """Words that begin with one of `starts`, and what has to follow."""

    starts: str  # blank between two
    rest: str  # a regular expression


FORMS: Final = (
    Form(" ".join(WORD_PREFIXES), f"{_NAME}{{{_AT_LEAST},}}"),
    # JWTs: three parts signed, five encrypted; one may stand in a 1Password token
    Form("eyJ ops_eyJ", rf"{_NAME}{{8,}}+\.{_NAME}{{8,}}+(?:\.{_NAME}*+){{1,3}}"),
    Form("ops_eyJ", r"[A-Za-z0-9+/=_-]{100,}"),
    # packages and models: the prefix alone starts ordinary words too
    Form("npm_", r"[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    Form("pypi-AgE", rf"{_NAME}{{16,}}"),
    Form("rubygems_", r"[0-9a-f]{48}"),
    Form("cio", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    Form("hf_", r"[A-Za-z0-9]{30,}"),
    Form("gsk_ fw_", r"[A-Za-z0-9]{22,}(?![A-Za-z0-9_])"),
    Form("xai-", r"[A-Za-z0-9]{60,}"),
    Form("r8_", r"[A-Za-z0-9]{37}(?![A-Za-z0-9])"),
    Form("tvly-", r"(?:dev-|prod-)?[A-Za-z0-9]{32}"),
    # clouds and hosts
    Form(
        "A3T AKIA ASIA AGPA AIDA AROA AIPA ANPA ANVA ABIA ACCA",
        r"[A-Z0-9]{16,17}(?![A-Z0-9])",
    ),
    Form("AIza", rf"{_NAME}{{35}}"),
    Form("ya29.", rf"{_NAME}{{16,}}"),
    Form("LTAI", r"[A-Za-z0-9]{16,24}(?![A-Za-z0-9])"),
    Form("dapi", r"[0-9a-f]{32}(?:-\d)?"),
    Form("fm1_ fm2_", r"[A-Za-z0-9+/=_-]{32,}"),
    Form("sbp_ pul- squ_ sqp_ sqa_", r"[0-9a-f]{40}(?![0-9a-f])"),
    Form("nfp_ ntn_ secret_", r"[A-Za-z0-9]{36,}(?![A-Za-z0-9_])"),
    Form("glc_", r"[A-Za-z0-9+/]{40,}={0,2}"),
    Form("hvs. hvb. hvr.", rf"{_NAME}{{16,}}"),
    Form("dp.pt. dp.ct. dp.sa. dp.scim. dp.audit.", r"[A-Za-z0-9]{40,}"),
    Form("dp.st.", r"(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}"),
    Form("v1.0-", r"[0-9a-f]{24}-[0-9a-f]{146}"),
    Form("dt0c01.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    # mail, chat, work
    Form("SG.", rf"{_NAME}{{16,}}\.{_NAME}{{16,}}"),
    Form("key- SK", r"[0-9a-f]{32}(?![0-9a-zA-Z])"),
    Form("ATBB", r"[A-Za-z0-9]{28,}(?![A-Za-z0-9])"),
    Form("pat-na1- pat-eu1-", r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    Form("A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    Form(  # Discord: the bot's number in base64 comes first
        "MD MT Mj Mz ND NT Nj Nz OD OT",
        r"[A-Za-z0-9_-]{21,26}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}",
    ),
    # hashes of passwords, as in /etc/shadow
    Form("$1$ $5$ $6$ $2a$ $2b$ $2y$ $y$ $gy$", r"[./A-Za-z0-9$=,]{28,}"),
)


class Inside(NamedTuple):
    """Words that are known by what stands in their middle."""

    sign: str
    before: str  # the characters that lead to it
    most: int  # of them
    word: str  # a regular expression of the whole word


INSIDE: Final = (
    Inside(":AA", string.digits, 10, rf"\d{{8,10}}:AA{_NAME}{{33}}"),  # Telegram
    Inside(
        ".atlasv1.",
        string.ascii_letters + string.digits,
        14,
        r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}",
    ),
    Inside("-us", string.hexdigits, 32, r"[0-9a-f]{32}-us\d{1,2}(?![A-Za-z0-9])"),  # Mailchimp
)

# A PEM private key, also one that is cut off or stands inside a quoted text.
PEM_START: Final = "-----BEGIN "
_PEM: Final = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)"
)
# Addresses that let everybody post who knows them.
HOOK_STARTS: Final = ("/services/T", "/api/webhooks/")
_HOOKS: Final = (
    r"/services/T[A-Z0-9]{6,16}/B[A-Z0-9]{6,16}/[A-Za-z0-9]{16,}",
    rf"/api/webhooks/\d{{16,20}}/{_NAME}{{60,}}",
)

# Whole words. The lookbehind lets one follow an escape such as `\n` in a quoted text.
_START: Final = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"


def _pattern(form: Form) -> str:
    return f"(?:{'|'.join(map(re.escape, form.starts.split()))}){form.rest}"


_WORDS: Final = "|".join((*map(_pattern, FORMS), *(one.word for one in INSIDE)))
# What each match starts with, but for PEM keys, hooks and INSIDE; and the least length of a match.
SECRET_STARTS: Final = tuple(start for form in FORMS for start in form.starts.split())
SHORTEST_SECRET: Final = len("sk-") + _AT_LEAST


@cache
def secret_words() -> re.Pattern[str]:
    """All of them; it takes long to compile, and few texts hold a start."""
    return re.compile(f"{_PEM}|{'|'.join(_HOOKS)}|{_START}(?:{_WORDS})")
