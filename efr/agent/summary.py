"""The summary of a conversation: what the model is asked, and its answer.

A side call of the conversation's own model: the same system prompt, tools and messages as its
other requests, so the provider's cache serves it; only the last words differ. Tool calls in the
answer are ignored. Blocks on the provider.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from efr.agent.rebuild import user_text
from efr.base.cancel import Cancel
from efr.providers.canonical import CallUsage, Message, Request, StreamFold
from efr.providers.provider import Provider
from efr.providers.provider_json import clean_text

SECTIONS = (
    "Task and state",
    "Decisions",
    "Important details",
    "Files and places",
    "Open work and next step",
    "Shell and directories",
    "System tasks",
)

_ASK = """\
[efr: this is not the user. The conversation gets too long for your context. Write a summary of all
of it. The summary will stand in place of the earlier messages: whoever goes on has the summary, the
newest messages and the machine itself, and nothing else.]

Answer with the summary alone. Call no tool. Write facts: exact paths, commands, names, numbers and
error messages, word for word where the words matter. Keep what the user stated, asked for and
decided, also from long ago. Carry over everything from an earlier summary that still counts. Say of
every task whether it is done, stopped or open; a task whose turn failed or was interrupted is
stopped until the user asks again. Use at most about {words} words.

Use these Markdown headings in this order, and write "none" below one that has nothing:
{sections}"""
_FOCUS = "\n\nThe user asks that the summary keep above all: {}"
_STOPPED = "\n\nThese turns did not end by themselves:\n{}"
_UNSEEN = "\n\nNot all of the conversation is above: {}"

# Why an answer is no summary, by the reason for which it stopped.
_CUT_OFF = {
    "max_tokens": "the answer reached its token limit",
    "content_filter": "the provider's filter stopped it",
    "refusal": "the model refused",
    "pause_turn": "the provider paused it",
}


_LARGEST_BYTES = 512 * 1024  # 16 times what is asked for: the event has to fit into a frame


class SummaryFailed(Exception):
    """The model gave no summary; the message says why."""


_MOST_WORDS = 2000
_LEAST_WORDS = 100
_TOKENS_PER_WORD = 4  # also in languages and paths that take more tokens than English prose


def ask(
    focus: str | None, stopped: Sequence[str], left_out: str | None, room_tokens: int
) -> Message:
    """The last message of the side call. `room_tokens`: for the answer; a longer one is cut."""
    words = max(_LEAST_WORDS, min(_MOST_WORDS, room_tokens // _TOKENS_PER_WORD))
    text = _ASK.format(sections="\n".join(f"## {name}" for name in SECTIONS), words=words)
    if stopped:
        text += _STOPPED.format("\n".join(f"- {one}" for one in stopped))
    if left_out is not None:
        text += _UNSEEN.format(left_out)
    if focus:
        text += _FOCUS.format(focus)
    return user_text(text)


def read_summary(
    provider: Provider, request: Request, cancel: Cancel
) -> tuple[str, CallUsage | None]:
    """The summary and its count. Raises SummaryFailed, ProviderError, Cancelled."""
    fold = StreamFold()
    with closing(provider.stream(request, cancel)) as stream:
        for event in stream:
            fold.feed(event)
            cancel.raise_if_cancelled()
    folded = fold.result()
    if (why := _CUT_OFF.get(folded.stop_reason)) is not None:
        raise SummaryFailed(why)
    text = clean_text(folded.message.text).strip()
    if not text:
        raise SummaryFailed("the answer was empty")
    if len(text.encode()) > _LARGEST_BYTES:
        raise SummaryFailed("the answer was far longer than a summary")
    return text, folded.usage
