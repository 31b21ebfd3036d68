"""Snapshots of a deleted conversation leave their stores, with real git."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from efr.store.delete_snapshots import Snapshots
from tests.store.samples import CONVERSATION, OTHER, an_id

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

TURN = an_id(0x10)
ENV = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "efr"),
    **dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "efr@localhost"),
}


def git(store: Path, *arguments: str, input: str = "") -> str:
    done = subprocess.run(
        ["git", *arguments],
        env={**ENV, "GIT_DIR": str(store)},
        input=input,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def a_store(folder: Path, name: str, refs: dict[str, str]) -> Path:
    """A bare repository with a commit for each ref; the text of each is its content."""
    store = folder / f"{name}.git"
    subprocess.run(["git", "init", "-q", "--bare", store], env=ENV, check=True)
    (folder / f"{name}.index").write_text("x")
    (folder / f"{name}.root").write_text("/home/u/x")
    for ref, text in refs.items():
        blob = git(store, "hash-object", "-w", "--stdin", input=text)
        tree = git(store, "mktree", input=f"100644 blob {blob}\tfile\n")
        git(store, "update-ref", ref, git(store, "commit-tree", tree, "-m", ref))
    return store


def objects(store: Path, ref: str) -> list[Path]:
    """The files of everything that a ref reaches."""
    lines = git(store, "rev-list", "--objects", ref).splitlines()
    names = [line.split()[0] for line in lines]
    return [store / "objects" / name[:2] / name[2:] for name in names]


def refs_of(store: Path) -> list[str]:
    return git(store, "for-each-ref", "--format=%(refname)").split()


def own_refs(kind: str = "x") -> dict[str, str]:
    return {
        f"refs/efr/{CONVERSATION}/{TURN}/pre": f"{kind} pre",
        f"refs/efr/{CONVERSATION}/{TURN}/post": f"{kind} post",
        f"refs/efr-mirror/{CONVERSATION}/main": f"{kind} mirror",
        f"refs/efr-undo/{CONVERSATION}/{an_id(0x20)}": f"{kind} undo",
        f"refs/efr-home/{CONVERSATION}/{TURN}": f"{kind} home",
    }


OTHERS = {f"refs/efr/{OTHER}/{TURN}/pre": "of another"}


def forget(folder: Path) -> list[Path]:
    return Snapshots(folder, os.environ["PATH"]).forget(CONVERSATION)


def test_refs_go_and_those_of_others_stay(tmp_path: Path) -> None:
    store = a_store(tmp_path, "a" * 16, own_refs() | OTHERS)
    untouched = a_store(tmp_path, "b" * 16, OTHERS)
    assert forget(tmp_path) == []
    assert refs_of(store) == refs_of(untouched) == list(OTHERS)
    assert git(store, "fsck", "--full") is not None


def test_a_store_without_another_conversation_goes_whole(tmp_path: Path) -> None:
    a_store(tmp_path, "a" * 16, own_refs() | {"refs/efr-live/tree": "in use"})
    assert forget(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_loose_objects_go_when_they_are_older_than_an_hour(tmp_path: Path) -> None:
    store = a_store(tmp_path, "a" * 16, own_refs() | OTHERS)
    old = objects(store, f"refs/efr/{CONVERSATION}/{TURN}/pre")
    new = objects(store, f"refs/efr/{CONVERSATION}/{TURN}/post")
    for file in old:
        os.utime(file, (0, 0))
    assert forget(tmp_path) == []
    assert [file for file in old if file.exists()] == []
    assert [file for file in new if not file.exists()] == []


def test_a_stop_in_the_middle_is_made_up_for(tmp_path: Path) -> None:
    store = a_store(tmp_path, "a" * 16, own_refs())
    (tmp_path / f"{'a' * 16}.index").unlink()
    assert forget(tmp_path) == []
    shutil.rmtree(store, ignore_errors=True)
    (tmp_path / "c.git.removed" / "objects").mkdir(parents=True)
    assert forget(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_broken_store_is_named_and_holds_up_no_other(tmp_path: Path) -> None:
    broken = tmp_path / f"{'a' * 16}.git"
    broken.mkdir()
    good = a_store(tmp_path, "b" * 16, own_refs() | OTHERS)
    assert forget(tmp_path) == [broken]
    assert refs_of(good) == list(OTHERS)


def test_without_git_the_stores_are_named(tmp_path: Path) -> None:
    store = a_store(tmp_path, "a" * 16, own_refs())
    assert Snapshots(tmp_path, "/nowhere").forget(CONVERSATION) == [store]


def test_without_stores_there_is_nothing_to_do(tmp_path: Path) -> None:
    assert forget(tmp_path / "snapshots") == []


def test_hooks_never_run_and_links_are_left(tmp_path: Path) -> None:
    store = a_store(tmp_path, "a" * 16, own_refs() | OTHERS)
    hook = store / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    outside = tmp_path / "outside"
    outside.mkdir()
    linked = a_store(outside, "f" * 16, own_refs())
    (tmp_path / f"{'f' * 16}.git").symlink_to(linked)
    assert forget(tmp_path) == []
    assert not (tmp_path / "ran").exists()
    assert len(refs_of(linked)) == len(own_refs())
