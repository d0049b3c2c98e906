"""What a harness's program is given, and what is read of its output; tests/harness asks the programs themselves."""

import json
import sys
from pathlib import Path

import pytest

from lineage.config.machine import HARNESSES
from lineage.extraction.model.harness_program import HARNESS_PROGRAMS, REFUSED, HarnessProvider
from lineage.extraction.model.port import EMPTY, UNREADABLE, ModelAnswer, ModelError

OUTPUTS = {
    "claude-code": json.dumps(
        {
            "is_error": False,
            "result": "said",
            "usage": {"input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 3},
        }
    ),
    "codex": '{"type":"thread.started"}\n'
    '{"type":"item.completed","item":{"type":"error","message":"x"}}\n'
    '{"type":"item.completed","item":{"type":"agent_message","text":"said"}}\n'
    '{"type":"turn.completed","usage":{"input_tokens":7,"output_tokens":3}}\n',
    "gemini": json.dumps({"response": "said", "stats": {"models": {"a": {"tokens": {"total": 10}}}}}, indent=2),
    "opencode": '{"type":"step_start","part":{"type":"step-start"}}\n'
    '{"type":"text","part":{"type":"text","text":"said"}}\n'
    '{"type":"step_finish","part":{"type":"step-finish","tokens":{"total":10}}}\n',
}


def test_every_harness_that_can_be_named_has_a_program() -> None:
    assert tuple(HARNESS_PROGRAMS) == HARNESSES == tuple(OUTPUTS)


@pytest.mark.parametrize("harness", HARNESSES)
def test_the_answer_and_the_program_s_own_count_are_read(harness: str) -> None:
    assert HARNESS_PROGRAMS[harness][1](OUTPUTS[harness]) == ("said", 10)


@pytest.mark.parametrize("harness", HARNESSES)
@pytest.mark.parametrize("output", ["Not logged in", "[]", '{"type":"text","part":5}', "{}", '{"is_error": true}', "{"])
def test_what_isn_t_an_answer_is_a_failure_of_a_few_words(
    harness: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / HARNESS_PROGRAMS[harness][0](tmp_path, {"HOME": str(tmp_path)}).arguments[0]
    program.write_text(f"#!{sys.executable}\nprint({output!r})\n")
    program.chmod(0o755)
    provider = HarnessProvider(harness, "", {"PATH": str(tmp_path), "HOME": str(tmp_path)}, 20, 10_000)
    with pytest.raises(ModelError) as caught:
        provider.answer("a prompt")
    assert caught.value.reason in (UNREADABLE, REFUSED, EMPTY)


def run_claude(folder: Path, text: str, tokens: str) -> ModelAnswer:
    """The answer of a program in Claude Code's place that prints these two values, in JSON."""
    output = f'{{"is_error": false, "result": {text}, "usage": {{"input_tokens": {tokens}}}}}'
    program = folder / "claude"
    program.write_text(f"#!{sys.executable}\nprint({output!r})\n")
    program.chmod(0o755)
    environment = {"PATH": str(folder), "HOME": str(folder)}
    return HarnessProvider("claude-code", "", environment, 20, 10_000).answer("a prompt")


@pytest.mark.parametrize("text", ["null", '["a"]', "5", "{}", "true"])
def test_an_answer_that_is_no_text_is_a_failure(text: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=UNREADABLE):
        run_claude(tmp_path, text, "1")


@pytest.mark.parametrize("tokens", ["1e30", str(10**30), "NaN", "Infinity", "-1000", "2.5", "null"])
def test_a_count_that_no_model_can_have_is_none(tokens: str, tmp_path: Path) -> None:
    answer = run_claude(tmp_path, '"said \\ud83d"', tokens)
    assert answer == ModelAnswer("said \ufffd", None)


@pytest.mark.parametrize("harness", HARNESSES)
def test_an_answer_without_a_count_or_with_odd_line_ends_is_read(harness: str) -> None:
    _, read = HARNESS_PROGRAMS[harness]
    for name in ("usage", "stats", "tokens"):
        output = OUTPUTS[harness].replace(f'"{name}"', '"other"')
        assert read(output.replace("said", "sa\\u2028\x85id").replace("\\u2028", "\u2028"))[0] == "sa\u2028\x85id"
    assert read(f"Loaded cached credentials.\n{OUTPUTS[harness]}")[0] == "said"


def test_codex_is_told_to_start_no_server_of_the_user_s(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[mcp_servers.notes]\ncommand = "x"\n[mcp_servers."b-2"]\ncommand = "y"\n')
    build, _ = HARNESS_PROGRAMS["codex"]
    words = build(tmp_path, {"CODEX_HOME": str(tmp_path)}).arguments
    assert {"mcp_servers.notes.enabled=false", "mcp_servers.b-2.enabled=false"} <= {*words}
    (tmp_path / "config.toml").write_text("mcp_servers = 5\n[broken")
    assert not any("mcp_servers" in word for word in build(tmp_path, {"CODEX_HOME": str(tmp_path)}).arguments)


def test_gemini_s_own_home_has_the_login_and_no_session(tmp_path: Path) -> None:
    user, folder = tmp_path / "user", tmp_path / "folder"
    for name in ("oauth_creds.json", "settings.json", "GEMINI.md", "tmp/x/chats/session-1.json"):
        (user / ".gemini" / name).parent.mkdir(parents=True, exist_ok=True)
        (user / ".gemini" / name).write_text("{}")
    folder.mkdir()
    call = HARNESS_PROGRAMS["gemini"][0](folder, {"HOME": str(user)})
    assert call.variables["GEMINI_CLI_HOME"] == str(folder)
    assert sorted(path.name for path in (folder / ".gemini").iterdir()) == ["oauth_creds.json", "settings.json"]
    (folder / ".gemini" / "oauth_creds.json").write_text("renewed")
    assert (user / ".gemini" / "oauth_creds.json").read_text() == "renewed"


def test_a_model_of_the_program_s_is_one_word(tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.write_text(
        f"#!{sys.executable}\nimport json, sys\n"
        "print(json.dumps({'is_error': False, 'result': sys.argv[-1], 'usage': {}}))\n"
    )
    program.chmod(0o755)
    provider = HarnessProvider("claude-code", "small --dangerous", {"PATH": str(tmp_path)}, 20, 10_000)
    assert provider.answer("a prompt").text == "--model=small --dangerous"
