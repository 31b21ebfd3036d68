"""What stands around the messages of a request: model, system prompt, tools, effort.

It stays the same from call to call of a turn, and as long as nobody changes a setting from turn to
turn: a change of its bytes loses the provider's whole cache. A turn, a compaction and the report
of the context make their requests with it. Pure but for the look at the provider's list.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from msgspec import Struct

from efr.agent import system_prompt
from efr.agent.accounting import Limits, limits_of, tokens_of_bytes
from efr.agent.settings import Resolved
from efr.config.schema import Settings
from efr.providers.canonical import EditTool, Message, Request, ToolDefinition
from efr.providers.provider import Provider
from efr.wire import codec

_EDIT_TOOLS = frozenset({"apply_patch", "edit"})


class Frame(Struct, frozen=True, dict=True):  # a dict for what is cached
    """The frame of one conversation's requests."""

    conversation_id: str
    resolved: Resolved
    settings: Settings
    system: str
    tools: tuple[ToolDefinition, ...]

    @property
    def limits(self) -> Limits:
        """The sizes of the model's context."""
        return limits_of(self.resolved.model, self.settings.compaction)

    @cached_property
    def system_bytes(self) -> int:
        """The system prompt as JSON."""
        return len(codec.encode(self.system or ""))

    @cached_property
    def tools_bytes(self) -> int:
        """The definitions of the tools as JSON."""
        return sum(len(codec.encode(tool)) for tool in self.tools)

    @property
    def tokens(self) -> int:
        """The estimate of a request without messages."""
        return tokens_of_bytes(self.system_bytes + self.tools_bytes)

    def request(self, messages: Sequence[Message]) -> Request:
        """The next request of the conversation."""
        return Request(
            model=self.resolved.model.id,
            messages=tuple(messages),
            system=self.system,
            tools=self.tools,
            max_output_tokens=self.settings.model.max_output_tokens,
            effort=self.resolved.effective.effort,
            conversation_id=self.conversation_id,
        )

    def side_request(self, messages: Sequence[Message], output_tokens: int) -> Request:
        """The same with other last words: it asks for a summary."""
        own = self.settings.model.max_output_tokens
        return Request(
            model=self.resolved.model.id,
            messages=tuple(messages),
            system=self.system,
            tools=self.tools,
            max_output_tokens=output_tokens if own is None else min(own, output_tokens),
            effort=self.resolved.effective.effort,
            side_call=True,
            conversation_id=self.conversation_id,
        )


def frame_of(
    conversation_id: str,
    resolved: Resolved,
    settings: Settings,
    definitions: Sequence[ToolDefinition],
) -> Frame:
    """The frame with the settings and the registry of now."""
    return Frame(
        conversation_id=conversation_id,
        resolved=resolved,
        settings=settings,
        system=settings.model.system_prompt or system_prompt.built_in(),
        tools=offered(definitions, resolved),
    )


def offered(
    definitions: Sequence[ToolDefinition], resolved: Resolved
) -> tuple[ToolDefinition, ...]:
    """The registry's tools in its order, with one edit tool: the model's, or the only one."""
    known = _EDIT_TOOLS & {one.name for one in definitions}
    edit = {_edit_tool(resolved)} if len(known) > 1 else known
    return tuple(one for one in definitions if one.name not in known or one.name in edit)


def _edit_tool(resolved: Resolved) -> EditTool:
    """The model's own, else the one that every listed model shares, else the provider's."""
    if resolved.model.edit_tool is not None:
        return resolved.model.edit_tool
    return _shared_edit_tool(resolved.provider) or resolved.provider.default_edit_tool()


def _shared_edit_tool(provider: Provider) -> EditTool | None:
    listed = {one.edit_tool for one in provider.models() if one.edit_tool is not None}
    return listed.pop() if len(listed) == 1 else None
