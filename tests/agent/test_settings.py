from __future__ import annotations

import msgspec
import pytest

from efr.agent.settings import NO_SANDBOX, ModeLimits, resolve
from efr.config.schema import Model, Permissions, Settings
from efr.providers.canonical import ModelFacts
from efr.tools.contract import ToolContext, ToolResult
from efr.wire import types as t
from efr.wire.errors import Refusal
from tests.agent.scripted_model import (
    MODEL,
    Hold,
    ScriptedModels,
    ScriptedProvider,
    calls,
    said,
)
from tests.agent.world import World

ALL_ON = ModeLimits(auto_off=None, full_off=None)


def resolved(
    asked: t.TurnSettings | None = None,
    settings: Settings | None = None,
    limits: ModeLimits = NO_SANDBOX,
    *,
    remote: bool = False,
) -> t.EffectiveSettings:
    chosen = settings or Settings()
    models = ScriptedModels(ScriptedProvider(MODEL, ModelFacts("scripted-2")), lambda: chosen)
    asked = asked or t.TurnSettings()
    return resolve(asked, chosen, models, limits, remote=remote).effective


def refused(asked: t.TurnSettings, settings: Settings | None = None) -> object:
    with pytest.raises(Refusal) as caught:
        resolved(asked, settings)
    assert caught.value.body.code is t.ErrorCode.INVALID
    return caught.value.body.data


def test_defaults_come_from_the_config_and_the_catalogs_first_model() -> None:
    assert resolved() == t.EffectiveSettings(mode=t.Mode.CAUTIOUS, model="scripted-1")


def test_what_the_prompt_names_is_marked() -> None:
    asked = t.TurnSettings(mode=t.Mode.MANUAL, model="scripted-2", effort="weird")
    assert resolved(asked) == t.EffectiveSettings(
        mode=t.Mode.MANUAL,
        model="scripted-2",
        effort="weird",
        overridden=t.Overridden(mode=True, model=True, effort=True),
    )


def test_auto_without_a_sandbox_runs_as_cautious_and_says_why() -> None:
    effective = resolved(t.TurnSettings(mode=t.Mode.AUTO))
    assert effective.mode is t.Mode.CAUTIOUS
    assert effective.fallback is not None
    assert effective.fallback.asked is t.Mode.AUTO
    assert "sandbox" in effective.fallback.reason


def test_a_remote_turn_runs_with_at_most_cautious() -> None:
    assert resolved(t.TurnSettings(mode=t.Mode.AUTO), limits=ALL_ON, remote=True).mode is (
        t.Mode.CAUTIOUS
    )
    assert resolved(t.TurnSettings(mode=t.Mode.MANUAL), remote=True).fallback is None


def test_full_is_refused_until_it_is_allowed() -> None:
    data = refused(t.TurnSettings(mode=t.Mode.FULL))
    assert data == {
        "choices": ["manual", "cautious", "auto"],
        "setting": "mode",
        "value": "full",
    }


def test_a_default_of_full_that_does_not_fit_runs_as_auto_or_below() -> None:
    settings = Settings(permissions=Permissions(mode="full"))
    effective = resolved(settings=settings, limits=ALL_ON)
    assert effective.mode is t.Mode.AUTO
    assert effective.fallback is not None
    assert effective.fallback.asked is t.Mode.FULL
    assert resolved(settings=settings).mode is t.Mode.CAUTIOUS


def test_full_that_is_allowed_runs() -> None:
    settings = Settings(permissions=Permissions(allow_full=True))
    assert resolved(t.TurnSettings(mode=t.Mode.FULL), settings, ALL_ON).mode is t.Mode.FULL


def test_a_model_that_is_not_listed_is_refused_with_the_choices() -> None:
    assert refused(t.TurnSettings(model="nope")) == {
        "choices": ["scripted-1", "scripted-2"],
        "setting": "model",
        "value": "nope",
    }


def test_an_effort_must_be_one_of_the_models() -> None:
    assert refused(t.TurnSettings(effort="ultra")) == {
        "choices": ["low", "high"],
        "model": "scripted-1",
        "setting": "effort",
        "value": "ultra",
    }


def test_the_configs_own_effort_is_checked_too() -> None:
    data = refused(t.TurnSettings(), Settings(model=Model(effort="ultra")))
    assert isinstance(data, dict)
    assert data["setting"] == "effort"


def test_the_data_of_a_refusal_is_sorted() -> None:
    with pytest.raises(Refusal) as caught:
        resolved(t.TurnSettings(effort="ultra"))
    body = msgspec.to_builtins(caught.value.body)
    assert list(body["data"]) == sorted(body["data"])


def test_a_turn_in_full_mode_is_known_while_it_runs(world: World) -> None:
    world.settings = Settings(permissions=Permissions(mode="full", allow_full=True))
    world.limits = ALL_ON
    for mode, known in (("full", True), ("cautious", False)):
        world.settings = Settings(
            permissions=msgspec.structs.replace(world.settings.permissions, mode=mode)
        )
        held = Hold()
        world.provider.answers([held])
        sent = world.send("go")
        held.wait()
        assert world.agent.runs_full() is known
        world.interrupt(sent.conversation_id)
        world.wait_end(sent.turn_id)
        assert not world.agent.runs_full()


def test_a_running_turn_keeps_the_settings_it_started_with(world: World) -> None:
    world.settings = Settings(model=Model(system_prompt="old", max_output_tokens=5))

    def save(input: object, ctx: ToolContext) -> ToolResult:
        world.settings = Settings(model=Model(system_prompt="new", max_output_tokens=6))
        return ToolResult("saved")

    world.tools.look.do = save
    world.provider.answers(calls(("look", "{}")), said("done"), said("next"))
    world.wait_end(world.send("go").turn_id)
    world.wait_end(world.send("again").turn_id)
    asked = [(one.system, one.max_output_tokens) for one in world.provider.requests]
    assert asked == [("old", 5), ("old", 5), ("new", 6)]
