"""How a turn ended, and what its undo would touch (protocol: ends of turns)."""

from enum import StrEnum

from efr.wire.scalars import U32, Wire


class StopReason(StrEnum):
    """Why the model stopped. Open."""

    END_TURN = "end_turn"  # the model was done
    MAX_TOKENS = "max_tokens"  # the answer was cut
    REFUSAL = "refusal"  # the model refused
    CONTENT_FILTER = "content_filter"  # the provider cut the answer
    PAUSE_TURN = "pause_turn"  # the provider paused the answer
    UNKNOWN = "unknown"


class StopInfo(Wire, frozen=True):
    """Why a turn stopped, when that is not a normal answer."""

    reason: StopReason
    empty: bool = False  # the last model call gave neither text nor a tool call


class UndoRoot(Wire, frozen=True):
    """A folder that an undo would touch."""

    shown: str  # its path, as a client shows it
    files: U32 = 0  # that would change
    refs: U32 = 0  # git refs that would change


class UndoSummary(Wire, frozen=True):
    """What an ended turn can be undone to."""

    undoable: bool = False
    roots: tuple[UndoRoot, ...] = ()
    home_files: U32 = 0  # files of the home that are covered
    not_covered: tuple[str, ...] = ()  # paths as a client shows them
    not_covered_more: U32 = 0  # left out of that list
