"""A model that takes freeform tools sends a patch as text; the user is asked; files change."""

from __future__ import annotations

import selectors
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from efr.base.inotify import Inotify
from efr.client import Connection, connect
from efr.store.reconcile import LOST_RESULT
from efr.tools.write_journal import PUT_BACK, WRITTEN
from efr.wire import events as ev
from efr.wire import types as t
from tests.e2e.test_models import APIS, log_in
from tests.harness.daemon import Daemon
from tests.harness.model_server import ModelServer
from tests.providers.test_vendor_requests import misfits

PATCH = """\
*** Begin Patch
*** Update File: app/run.sh
*** Move to: app/bin/run.sh
@@
-echo one
+echo größe
*** Delete File: app/old.txt
*** End Patch
"""
DELETE = "*** Begin Patch\n*** Delete File: app/kept.txt\n*** End Patch\n"
BROKEN = "*** Begin Patch\n*** Update File: app/bin/run.sh\n@@\n-echo two\n+x\n*** End Patch\n"
DIFF = """\
--- ~/app/run.sh
+++ ~/app/bin/run.sh
@@ -1,2 +1,2 @@
 #!/bin/sh
-echo one
+echo größe
--- ~/app/old.txt
+++ /dev/null
@@ -1 +0,0 @@
-old
"""


def call(patch: str) -> dict[str, Any]:
    custom = {"name": "apply_patch", "arguments": patch, "custom": True}
    return {"pieces": [{"call": custom}], "usage": {"input": 10, "output": 2}}


def turn(
    efr: Connection,
    text: str,
    model: str,
    conversation_id: str | None = None,
    before_yes: Callable[[str], object] = str,
) -> list[Any]:
    """The conversation and the events of a turn. Its questions are all answered with yes."""
    sent = efr.call(
        "prompt.send",
        text=text,
        conversation_id=conversation_id,
        settings=t.TurnSettings(model=model),
    )
    events: list[Any] = []
    with efr.again() as answers:
        for item in efr.follow(sent.conversation_id, after_seq=sent.seq):
            event = getattr(item, "event", None)
            events.append(event)
            if isinstance(event, ev.ApprovalRequested):
                before_yes(event.summary)
                asked = {"conversation_id": sent.conversation_id, "call_id": event.call_id}
                answers.call("approval.respond", **asked, decision=t.ApprovalDecision.ALLOW)
            if isinstance(event, ev.TurnCompleted | ev.TurnFailed):
                return [sent.conversation_id, *events]
    raise AssertionError("the turn never ended")


def test_a_freeform_patch_asks_and_applies(tmp_path: Path) -> None:
    with ModelServer() as server:
        models = [{"id": "gpt-6-sol"}, {"id": "fake-model"}]
        done = {"pieces": [{"text": "Done."}], "usage": {"input": 1, "output": 1}}
        server.play([call(PATCH), call(DELETE), call(BROKEN), done, done], models=models)
        settings = '[model]\nprovider = "openai-api"\n' + APIS["openai-api"].format(
            url=server.base_url
        )
        with Daemon(tmp_path, settings=settings) as daemon:
            log_in(daemon, "openai-api")
            app = daemon.home / "app"
            app.mkdir()
            (app / "run.sh").write_text("#!/bin/sh\necho one\n")
            (app / "run.sh").chmod(0o750)
            (app / "old.txt").write_text("old\n")
            (app / "kept.txt").write_text("one\n")

            def change_it(summary: str) -> None:
                if "kept.txt" in summary:
                    (app / "kept.txt").write_text("one\ntwo\n")

            with connect(daemon.env) as efr:
                conversation_id, *events = turn(efr, "move it", "gpt-6-sol", before_yes=change_it)
                turn(efr, "and now", "fake-model", conversation_id)
            bodies = server.bodies()
    started = [e for e in events if isinstance(e, ev.ToolCallStarted)]
    assert [(one.input, one.freeform) for one in started] == [
        (patch, True) for patch in (PATCH, DELETE, BROKEN)
    ]
    asked = next(e for e in events if isinstance(e, ev.ApprovalRequested))
    assert asked.diff_preview == DIFF
    assert "delete ~/app/old.txt (user data)" in asked.summary
    assert "move ~/app/run.sh (user data) to ~/app/bin/run.sh (user data)" in asked.summary
    applied, changed, refused = (e for e in events if isinstance(e, ev.ToolCallCompleted))
    assert applied.output == ("Success.\nDeleted: app/old.txt\nMoved: app/run.sh -> app/bin/run.sh")
    assert applied.diff == DIFF
    assert applied.changes == t.FileChanges(
        files=(
            t.FileChange(
                path="~/app/bin/run.sh",
                kind=t.ChangeKind.RENAMED,
                from_="~/app/run.sh",
                added=1,
                removed=1,
            ),
            t.FileChange(path="~/app/old.txt", kind=t.ChangeKind.DELETED, added=0, removed=1),
        ),
        more=0,
        added=1,
        removed=2,
    )
    assert changed.output.startswith("A file of this patch changed while the user was asked")
    assert (app / "kept.txt").read_text() == "one\ntwo\n"
    assert refused.is_error
    assert "2 | echo größe" in refused.output
    assert sorted(path.name for path in app.rglob("*")) == ["bin", "kept.txt", "run.sh"]
    assert (app / "bin/run.sh").read_text() == "#!/bin/sh\necho größe\n"
    assert stat.S_IMODE((app / "bin/run.sh").stat().st_mode) == 0o750
    assert_forms([body for body in bodies if body])


def assert_forms(bodies: list[Any]) -> None:
    """A custom tool and its calls for the one model; functions for the other."""
    first, second, _, _, other = bodies
    for body in bodies:
        assert misfits("responses", body) == []
    tool = next(one for one in first["tools"] if one["name"] == "apply_patch")
    assert tool["type"] == "custom"
    assert tool["format"]["type"] == "grammar"
    assert tool["format"]["syntax"] == "lark"
    call_item, output = second["input"][-2:]
    assert (call_item["type"], call_item["input"]) == ("custom_tool_call", PATCH)
    assert output["type"] == "custom_tool_call_output"
    assert output["output"].startswith("Success.\n")
    tool = next(one for one in other["tools"] if one["name"] == "apply_patch")
    assert tool["type"] == "function"
    kinds = {item["type"] for item in other["input"]}
    assert {"function_call", "function_call_output"} < kinds
    assert not {kind for kind in kinds if kind.startswith("custom")}


FILES = 120
MANY = "*** Begin Patch\n{}*** End Patch\n".format(
    "".join(f"*** Update File: app/f{n}\n-old\n+new\n" for n in range(FILES))
)


def test_a_kill_in_the_middle_of_a_patch_is_put_back_and_told(tmp_path: Path) -> None:
    with ModelServer() as server:
        server.play([call(MANY)], models=[{"id": "gpt-6-sol"}])
        settings = '[model]\nprovider = "openai-api"\n' + APIS["openai-api"].format(
            url=server.base_url
        )
        with Daemon(tmp_path, settings=settings) as daemon:
            log_in(daemon, "openai-api")
            app = daemon.home / "app"
            app.mkdir()
            for number in range(FILES):
                (app / f"f{number}").write_text("old\n")
            with connect(daemon.env) as efr:
                sent = efr.call(
                    "prompt.send", text="do it", settings=t.TurnSettings(model="gpt-6-sol")
                )
                with closing(Inotify()) as writes, efr.again() as answers:
                    writes.watch(str(app))
                    for item in efr.follow(sent.conversation_id, after_seq=sent.seq):
                        event = getattr(item, "event", None)
                        if isinstance(event, ev.ApprovalRequested):
                            asked = {
                                "conversation_id": sent.conversation_id,
                                "call_id": event.call_id,
                            }
                            answers.call(
                                "approval.respond", **asked, decision=t.ApprovalDecision.ALLOW
                            )
                            break
                    wait_for_a_place(writes)
                    daemon.kill()
            daemon.start()
            with connect(daemon.env) as efr:
                told = efr.call("conversation.history", conversation_id=sent.conversation_id)
            journal = daemon.roots.write_journal
            assert list(journal.iterdir()) == []
    (result,) = (one.event for one in told.events if isinstance(one.event, ev.ToolCallCompleted))
    texts = {path.read_text() for path in app.iterdir()}
    assert sorted(path.name for path in app.iterdir()) == sorted(f"f{n}" for n in range(FILES))
    # On a slow machine the kill comes after the last write, or after its record.
    new = {WRITTEN, LOST_RESULT} if result.is_error else {result.output}
    assert (texts == {"old\n"} and result.output == PUT_BACK) or (
        texts == {"new\n"} and result.output in new
    )


def wait_for_a_place(writes: Inotify) -> None:
    """Until the first file of the patch has its new content."""
    with selectors.DefaultSelector() as selector:
        selector.register(writes, selectors.EVENT_READ)
        while selector.select(30):
            if any(one.name == "f0" for one in writes.read()):
                return
    raise AssertionError("nothing was written")
