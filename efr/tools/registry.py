"""The tools on offer, by name and in a fixed order.

Frozen after construction; any thread. The turn's one check point is the only caller of `get`.
"""

from __future__ import annotations

from collections.abc import Sequence

from efr.providers.canonical import ToolDefinition
from efr.tools.apply_patch import ApplyPatchTool
from efr.tools.contract import Tool
from efr.tools.edit import EditTool
from efr.tools.read_file import ReadFileTool
from efr.tools.shell import ShellTool
from efr.tools.write_file import WriteFileTool
from efr.tools.write_journal import WriteJournal


class ToolRegistry:
    """Every tool of this build, or the ones given; `more` need something of the daemon."""

    def __init__(
        self,
        tools: Sequence[Tool] | None = None,
        more: Sequence[Tool] = (),
        journal: WriteJournal | None = None,
    ) -> None:
        """`journal`: where the tools that write say so; None: a stop in the middle is not seen."""
        writers = (WriteFileTool(journal), ApplyPatchTool(journal), EditTool(journal))
        offered: Sequence[Tool] = (
            (ShellTool(), ReadFileTool(), *writers) if tools is None else tools
        )
        self._tools = {tool.definition.name: tool for tool in (*offered, *more)}

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """What the model is told, always in the same order: a prompt cache depends on it."""
        return tuple(tool.definition for tool in self._tools.values())

    def get(self, name: str) -> Tool | None:
        """The tool with that name."""
        return self._tools.get(name)
