"""Reading a call's input: closed schemas, and paths as the model writes them.

Pure. A member that the schema does not name, a wrong type and a value out of bounds are told to
the model in one sentence; nothing is guessed.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

from efr.tools.contract import BadInput, Input, Where
from efr.wire import codec
from efr.wire.errors import BadValue

_LONGEST_PATH: Final = 4096  # bytes: PATH_MAX of Linux
_SCRATCH: Final = "$SCRATCH"

T = TypeVar("T")


def read_input(input: Input, kind: type[T], tool: str) -> T:
    """The input as the tool's own type. Raises BadInput."""
    if isinstance(input, str):
        raise BadInput(f"The arguments of {tool} are not a JSON object.")
    try:
        return codec.from_builtins(input, kind)
    except BadValue as exc:
        raise BadInput(f"The arguments of {tool} do not fit: {exc}.") from exc


def closed_schema(required: tuple[str, ...], **members: Any) -> dict[str, Any]:
    """The JSON Schema of an object with these members and no other."""
    return {
        "type": "object",
        "properties": members,
        "required": list(required),
        "additionalProperties": False,
    }


def resolve(path: str, where: Where, *, start: str) -> str:
    """The absolute path, still unfolded: `~`, `$SCRATCH`, else below `start`. Raises BadInput."""
    if not path or "\0" in path:
        raise BadInput("The path is empty or holds a NUL character.")
    try:
        size = len(path.encode())
    except UnicodeEncodeError as exc:
        raise BadInput("The path is not valid Unicode.") from exc
    if size > _LONGEST_PATH:
        raise BadInput(f"The path has {size} bytes; at most {_LONGEST_PATH} are allowed.")
    if path.startswith("/"):
        return path
    first, _, rest = path.partition("/")
    if first == "~":
        return f"{where.home}/{rest}"
    if first == _SCRATCH:
        if where.scratch is None:
            raise BadInput("There is no $SCRATCH in this conversation.")
        return f"{where.scratch}/{rest}"
    return f"{start}/{path}"
