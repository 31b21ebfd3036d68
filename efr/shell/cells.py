"""What a screen is made of: rows of cells that are made when first written to.

Used by the screen that owns them alone.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Final

from pyte.screens import Char, StaticDefaultDict

_BLANK: Final = Char(" ")
_DATA: Final = itemgetter(0)  # of a cell: its characters


class Row(StaticDefaultDict[int, Char]):
    """The cells of a row by column. `wraps`: its text goes on in the next row; `wide`: it may hold
    a character of two columns (the second cell is empty)."""

    def __init__(self, default: Char) -> None:
        super().__init__(default)
        self.wraps = False
        self.wide = False

    def cut(self, columns: int) -> None:
        """Drops the cells from `columns` on; half of a wide character leaves a blank."""
        if columns in self and self[columns].data == "":
            self[columns - 1] = self[columns - 1]._replace(data=" ")
        for x in [x for x in self if x >= columns]:
            del self[x]

    @property
    def text(self) -> str:
        """What it says; without trailing blanks unless it goes on in the next row."""
        if not self:
            return ""
        cells = map(self.__getitem__, range(max(self) + 1))
        text = "".join(map(_DATA, cells))
        return text if self.wraps else text.rstrip(" ")


class Rows:
    """The rows of a screen, made when first written to; scrolling moves them."""

    def __init__(self, count: int) -> None:
        self._rows: list[Row | None] = [None] * count

    def __getitem__(self, y: int) -> Row:
        row = self._rows[y]
        if row is None:
            row = self._rows[y] = Row(_BLANK)
        return row

    def get(self, y: int) -> Row | None:
        """The row when it was written to."""
        return self._rows[y]

    def resize(self, count: int, columns: int) -> None:
        """Adds blank rows at the end or drops the last ones, and what is right of `columns`."""
        self._rows[count:] = []
        self._rows += [None] * (count - len(self._rows))
        for row in self._rows:
            if row is not None:
                row.cut(columns)

    def clear(self) -> None:
        """Blanks all."""
        self.blank(0, len(self._rows) - 1)

    def blank(self, first: int, last: int) -> None:
        """Blanks the rows from `first` to `last`."""
        self._rows[first : last + 1] = [None] * (last + 1 - first)

    def move_up(self, top: int, bottom: int, count: int) -> None:
        """Drops `count` rows at `top`; the same number of blank ones ends at `bottom`."""
        self._rows[bottom + 1 : bottom + 1] = [None] * count
        del self._rows[top : top + count]

    def move_down(self, top: int, bottom: int, count: int) -> None:
        """Drops `count` rows that end at `bottom`; as many blank ones start at `top`."""
        del self._rows[bottom + 1 - count : bottom + 1]
        self._rows[top:top] = [None] * count


class Pens(dict[str, Char]):
    """The cell of each character in one colour, made when first asked for."""

    def __init__(self, attrs: Char) -> None:
        super().__init__()
        self._attrs = attrs

    def __missing__(self, char: str) -> Char:
        cell = self[char] = self._attrs._replace(data=char)
        return cell
