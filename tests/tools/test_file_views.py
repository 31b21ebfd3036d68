"""What the model knows of files."""

from __future__ import annotations

from efr.tools import file_views
from efr.tools.file_views import FileViews


def test_it_compares_with_what_was_seen_last() -> None:
    views = FileViews()
    assert views.compare("/a", b"1") == "unseen"
    views.saw("/a", b"1")
    views.saw("/a", b"2")
    assert views.compare("/a", b"2") == "current"
    assert views.compare("/a", b"1") == "changed"
    assert views.compare("/b", b"2") == "unseen"


def test_the_oldest_are_forgotten() -> None:
    views = FileViews()
    views.saw("/first", b"")
    views.saw("/second", b"")
    views.saw("/first", b"")
    for number in range(file_views._MOST_FILES - 1):
        views.saw(f"/{number}", b"")
    assert views.compare("/first", b"") == "current"
    assert views.compare("/second", b"") == "unseen"
