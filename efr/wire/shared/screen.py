"""A terminal screen (protocol: screen)."""

from typing import Annotated, TypeAlias

from msgspec import Meta

from efr.wire.scalars import U8, U16, Wire


class Size(Wire, frozen=True):
    """Size of a terminal."""

    cols: U16
    rows: U16


class CursorPos(Wire, frozen=True):
    """Where the cursor is, from 0."""

    row: U16
    col: U16
    hidden: bool = False


class Color(Wire, frozen=True):
    """A colour: exactly one of the two is set."""

    indexed: U8 | None = None  # of the palette
    rgb: tuple[U8, U8, U8] | None = None  # red, green, blue

    def __post_init__(self) -> None:
        if (self.indexed is None) == (self.rgb is None):
            raise ValueError("a colour is either indexed or rgb")


# Any other key, or a second one, is refused.
_Color: TypeAlias = Annotated[Color, Meta(extra={"form": "one_key"})]


class Cell(Wire, frozen=True):
    """One cell; its text is empty when it is blank or the second half of a wide one."""

    text: str
    fg: _Color | None = None
    bg: _Color | None = None
    bold: bool = False
    italic: bool = False
    underline: bool = False
    inverse: bool = False
    wide: bool = False  # it covers two columns


class RowCells(Wire, frozen=True):
    """One row; blank cells at its end may be left out."""

    cells: tuple[Cell, ...]
    wrapped: bool = False  # the next row goes on with the same line


class ScreenSnapshot(Wire, frozen=True):
    """A whole screen."""

    size: Size
    cursor: CursorPos
    rows: tuple[RowCells, ...]
    scrollback: tuple[RowCells, ...] = ()  # oldest first
    title: str | None = None
    alternate_screen: bool = False  # a full-screen program runs
    modes: tuple[U16, ...] = ()  # DEC private modes that are set, of those for keys and mouse
