"""Recorded model streams in fixtures/models, and what they read as.

`NAME.sse` holds the bytes of an answer; the word before the first dash is the shape of its API.
`NAME.ndjson` holds the canonical events, one transcript line each. `python -m
tests.providers.recorded` writes the second kind anew from the first (part of `make bless`).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from efr.providers.anthropic_stream import MessagesReader
from efr.providers.canonical import Json, StreamEvent, encode_event
from efr.providers.chat_stream import ChatReader
from efr.providers.errors import ApiError, Incomplete
from efr.providers.model_call import Reader
from efr.providers.openai_stream import ResponsesReader
from efr.providers.sse import SseDecoder

FOLDER = Path(__file__).parents[2] / "fixtures" / "models"
NAMES = sorted(path.stem for path in FOLDER.glob("*.sse"))


def reader_of(name: str) -> Reader:
    """The reader of a recording's shape."""

    def error(value: Json) -> ApiError:
        return ApiError(None, None, str(value))

    match name.partition("-")[0]:
        case "responses":
            return ResponsesReader(error)
        case "messages":
            return MessagesReader(error)
        case _:
            return ChatReader(error, "seed")


def read(name: str, chunks: Iterable[bytes]) -> list[StreamEvent]:
    """The events of a recording that arrives in these chunks. Raises what the reader raises."""
    reader, decoder = reader_of(name), SseDecoder()
    out: list[StreamEvent] = []
    for chunk in chunks:
        for event in decoder.feed(chunk):
            if not reader.finished:
                out += reader.feed(event)
    out += reader.end()
    if not reader.finished:
        raise Incomplete
    return out


def stream(name: str) -> bytes:
    return (FOLDER / f"{name}.sse").read_bytes()


def transcript(events: Iterable[StreamEvent]) -> bytes:
    return b"".join(encode_event(event) + b"\n" for event in events)


def expected(name: str) -> bytes:
    return (FOLDER / f"{name}.ndjson").read_bytes()


def main() -> None:
    for name in NAMES:
        (FOLDER / f"{name}.ndjson").write_bytes(transcript(read(name, [stream(name)])))


if __name__ == "__main__":
    main()
