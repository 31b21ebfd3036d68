"""A walk over declared types: what to do with the values of each, found when it is first met.

Pure; any thread. What is found for a type says what is done with its members, and is kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from types import NoneType, UnionType
from typing import Annotated, Any, Generic, TypeVar, Union, get_args, get_origin

from msgspec import Struct

from efr.wire.hints import is_struct

Step = TypeVar("Step", bound=Callable[[Any], Any])


class Walk(dict[Any, "Step | None"], ABC, Generic[Step]):
    """By the type; None: nothing is to do."""

    def __missing__(self, hint: Any) -> Step | None:
        self[hint] = found = self._found(hint)
        return found

    def _found(self, hint: Any) -> Step | None:
        origin = get_origin(hint)
        if origin is Annotated:
            return self.annotated(hint)
        if origin is Union or origin is UnionType:
            options = [option for option in get_args(hint) if option is not NoneType]
            return self.union(options) if len(options) > 1 else self[options[0]]
        if origin is tuple:
            return self.listed(get_args(hint))
        return self.object(hint) if is_struct(hint) else self.plain(hint)

    @abstractmethod
    def annotated(self, hint: Any) -> Step | None:
        """A scalar with notes."""

    @abstractmethod
    def union(self, options: list[Any]) -> Step | None:
        """Several kinds."""

    @abstractmethod
    def listed(self, elements: tuple[Any, ...]) -> Step | None:
        """A list; of one type when the second element is an ellipsis."""

    @abstractmethod
    def object(self, kind: type[Struct]) -> Step | None:
        """A declared object."""

    def plain(self, hint: Any) -> Step | None:
        """Any other type."""
        return None
