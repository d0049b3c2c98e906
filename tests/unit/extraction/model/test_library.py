"""The provider `llm`: the real library in a real child, with a model that a plug-in of the test registers."""

import os
import sys
from pathlib import Path

import pytest

from lineage.extraction.model import library
from lineage.extraction.model.library import LibraryProvider
from lineage.extraction.model.port import ModelAnswer, ModelError

pytestmark = pytest.mark.slow

PLUGIN = """
import os, time
import llm

class Own(llm.Model):
    model_id = "own"
    can_stream = True
    def execute(self, prompt, stream, response, conversation):
        yield "You said: "
        yield prompt.prompt.upper()
        response.set_usage(input=30, output=12)

class Silent(llm.Model):
    model_id = "silent"
    def execute(self, prompt, stream, response, conversation):
        print("chatter of a plug-in")
        yield "answer " + os.environ.get("LINEAGE_SUPPRESS", "")

class Hanging(llm.Model):
    model_id = "hanging"
    def execute(self, prompt, stream, response, conversation):
        time.sleep(600)
        yield "never"

class Failing(llm.Model):
    model_id = "failing"
    def execute(self, prompt, stream, response, conversation):
        raise llm.ModelError("the key is secret")

class Keyed(llm.KeyModel):
    model_id = "keyed"
    needs_key = "test-vendor"
    def execute(self, prompt, stream, response, conversation, key):
        yield "never"

class Empty(llm.Model):
    model_id = "empty"
    def execute(self, prompt, stream, response, conversation):
        yield ""

class Dying(llm.Model):
    model_id = "dying"
    def execute(self, prompt, stream, response, conversation):
        os._exit(7)
        yield ""

@llm.hookimpl
def register_models(register):
    for model in (Own, Silent, Hanging, Failing, Keyed, Empty, Dying):
        register(model())
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which the library finds a plug-in: a distribution with an entry point, as any other."""
    (tmp_path / "own_plugin.py").write_text(PLUGIN)
    info = tmp_path / "own_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[llm]\nown = own_plugin\n")
    return {**os.environ, "PYTHONPATH": str(tmp_path), "LLM_USER_PATH": str(tmp_path / "user"), "LINEAGE_SUPPRESS": "1"}


def ask(environment: dict[str, str], name: str, seconds: float = 60.0) -> ModelAnswer:
    return LibraryProvider.for_model(name, environment, seconds, 10_000).answer("hello “you”\n")


def test_a_model_of_a_plug_in_answers_and_its_tokens_are_those_it_counted(environment: dict[str, str]) -> None:
    assert ask(environment, "own") == ModelAnswer("You said: HELLO “YOU”\n", 42)


def test_a_model_that_counts_nothing_has_no_tokens_and_chatter_is_no_answer(environment: dict[str, str]) -> None:
    assert ask(environment, "silent") == ModelAnswer("answer 1", None)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no-such-model", "unknown model"),
        ("failing", "ModelError"),
        ("keyed", "no key"),
        ("empty", "empty"),
        ("dying", "exit code 7"),
    ],
)
def test_what_goes_wrong_has_a_reason(environment: dict[str, str], name: str, reason: str) -> None:
    with pytest.raises(ModelError) as caught:
        ask(environment, name)
    assert caught.value.reason == reason


def test_a_model_that_hangs_is_ended(environment: dict[str, str]) -> None:
    with pytest.raises(ModelError) as caught:
        ask(environment, "hanging", seconds=2.5)
    assert caught.value.reason == "timed out"


def test_without_the_library_nothing_is_started(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "executable", "/nowhere")
    with pytest.raises(ModelError) as caught:
        ask(environment, "own")
    assert caught.value.reason == "not installed"


@pytest.mark.parametrize("output", ["", "no json", "[1]", "{", '{"text": 5}', "{}", '{"text": " "}'])
def test_what_a_child_prints_that_is_no_answer_is_none(tmp_path: Path, output: str) -> None:
    from lineage.extraction.model.command import CommandProvider

    path = tmp_path / "child.py"
    path.write_text(f"print({output!r})")
    broken = LibraryProvider("own", CommandProvider((sys.executable, str(path)), os.environ, 60.0, 1_000))
    with pytest.raises(ModelError) as caught:
        broken.answer("hello")
    assert caught.value.reason in ("empty", "unreadable answer")


def test_the_library_writes_no_log_of_what_it_was_asked(environment: dict[str, str]) -> None:
    ask(environment, "own")
    assert not list(Path(environment["LLM_USER_PATH"]).rglob("*.db"))
