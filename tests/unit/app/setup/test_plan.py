"""The plan of a set-up: what is missing, and nothing else."""

from pathlib import Path
from typing import Any

from lineage.app.setup.plan import (
    HarnessState,
    HistoryState,
    PlaceState,
    SetupPlan,
    SetupState,
    describe_history,
    plan_setup,
)

ROOT = Path("/home/ada/lineage")


def state(**more: Any) -> SetupState:
    values: dict[str, Any] = {
        "folder": ROOT,
        "root": ROOT,
        "place": PlaceState.FREE,
        "default": "",
        "variable": "",
        "harnesses": (HarnessState("claude-code"), HarnessState("codex", "/elsewhere", True)),
        "history": (HistoryState("claude-code", 3, 1), HistoryState("aider", 0), HistoryState("pi", 1)),
    }
    return SetupState(**{**values, **more})


def test_an_empty_machine_gets_everything() -> None:
    assert plan_setup(state()) == SetupPlan(
        folder=ROOT, root=ROOT, makes_memory=True, is_new=True, sets_default=True, is_default=True,
        connects=("claude-code", "codex"), imports=("claude-code", "pi"),
    )  # fmt: skip


def test_what_is_done_is_not_planned() -> None:
    done = state(
        place=PlaceState.MEMORY,
        default=str(ROOT),
        harnesses=(HarnessState("claude-code", str(ROOT), True),),
        history=(),
    )
    plan = plan_setup(done)
    assert not (plan.makes_memory or plan.is_new or plan.sets_default or plan.connects or plan.imports)


def test_what_an_older_version_or_half_a_set_up_left_is_planned() -> None:
    half = state(place=PlaceState.UNFINISHED, harnesses=(HarnessState("codex", str(ROOT), False),))
    plan = plan_setup(half)
    assert plan.makes_memory and not plan.is_new
    assert plan.connects == ("codex",)


def test_named_harnesses_and_choices_limit_it() -> None:
    assert plan_setup(state(), harnesses=["codex"]).connects == ("codex",)
    assert plan_setup(state(), harnesses=["codex"]).imports == ()
    plan = plan_setup(state(), wants_hooks=False, wants_history=False)
    assert (plan.connects, plan.imports) == ((), ())


def test_a_trial_touches_no_setting() -> None:
    plan = plan_setup(state(), is_trial=True, newest=20)
    assert (plan.sets_default, plan.is_default, plan.connects) == (False, False, ())
    assert (plan.imports, plan.newest) == (("claude-code", "pi"), 20)


def test_the_history_is_told_in_a_sentence() -> None:
    assert describe_history((), 4) == "no earlier sessions"
    assert describe_history([HistoryState("pi", 2)], 4) == "up to 2 sessions of pi"
