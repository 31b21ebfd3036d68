"""What models are told of `apply_patch`: the description, the grammar, the function form.

Pure. The grammar is Lark text as the Responses API takes it for a custom tool; it holds the plain
language without the variants that are read besides. Source: the types `CustomTool` and
`CustomToolInputFormat` of the openai package.
"""

from __future__ import annotations

from typing import Final

from efr.providers.canonical import Grammar, ToolDefinition
from efr.tools.inputs import closed_schema

NAME: Final = "apply_patch"

_GRAMMAR: Final = r"""
start: "*** Begin Patch\n" operation+ "*** End Patch" "\n"?
operation: add | delete | update
add: "*** Add File: " PATH "\n" ADDED*
delete: "*** Delete File: " PATH "\n"
update: "*** Update File: " PATH "\n" (move changes? | changes)
move: "*** Move to: " PATH "\n"
changes: HEAD* lines (HEAD+ lines)*
lines: LINE+ END_OF_FILE?

PATH: /[^\r\n]*[^\s\/]/
ADDED: /\+[^\n]*\n/
HEAD: /@@( [^\n]+)?\n/
LINE: /[ +-][^\n]*\n/
END_OF_FILE: "*** End of File\n"
"""

_DESCRIPTION: Final = """\
Changes text files by a patch: all of it or nothing. Form:
*** Begin Patch
*** Add File: PATH, then every line with + in front
*** Delete File: PATH
*** Update File: PATH, then if it moves *** Move to: PATH, then hunks
*** End Patch
A hunk: @@ or @@ LINE (a line above the change, such as its def), then lines with a space (stays), -
(goes) or + (comes) in front. Show three lines around a change; they have to name one place. Hunks
of a file go from top to bottom. *** End of File below a hunk ties it to the end. Relative paths
start in the user's directory; ~ and $SCRATCH work. A file that changed since you read it has to be
read again. Paths through symbolic links are refused."""

DEFINITION: Final = ToolDefinition(
    NAME,
    _DESCRIPTION,
    closed_schema(
        ("input",), input={"type": "string", "description": "The patch, from *** Begin Patch on."}
    ),
    grammar=Grammar("lark", _GRAMMAR.lstrip("\n")),
)
