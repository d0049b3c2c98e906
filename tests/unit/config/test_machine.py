"""This machine's configuration: programs and models stand here alone, every key known, every mistake answered.

Fails without the check of `provider`, of a range or of a type, and when an unknown key is taken.
"""

from pathlib import Path

import pytest

from lineage.app.locations import machine_config_path, read_machine_settings
from lineage.app.models import build_provider
from lineage.app.workspace import open_workspace
from lineage.config import parse_settings
from lineage.config.machine import MachineSettings, ModelSettings, parse_machine_settings
from lineage.errors import InvalidInput
from tests.support.parametrize import each

FILE = "config.toml"


def settings(text: str) -> ModelSettings:
    return parse_machine_settings(text, FILE).model


def test_nothing_configured_is_no_model() -> None:
    assert parse_machine_settings("", FILE) == MachineSettings()
    assert settings("[model]\n") == ModelSettings()
    assert ModelSettings().provider == "none"
    assert build_provider(ModelSettings(), {}) is None


def test_settings_are_read() -> None:
    text = (
        '[model]\nprovider = "command"\ncommand = ["claude", "-p"]\nname = ""\ntimeout_seconds = 5\n'
        "max_prompt_chars = 4000\nmax_answer_bytes = 1000\ncalls_per_day = 0\ntokens_per_day = 7\n"
    )
    assert settings(text) == ModelSettings("command", ("claude", "-p"), "", 5, 4000, 1000, 0, 7)
    assert settings('[model]\nprovider = "llm"\nname = "gpt-x"\n') == ModelSettings("llm", name="gpt-x")
    text = '[model]\nprovider = "harness"\nname = "codex"\nmodel = "small"\n'
    assert settings(text) == ModelSettings("harness", name="codex", model="small")


def test_the_workspace_and_the_bucket_settings_are_read() -> None:
    text = 'workspace = "s3://b/team"\n[bucket]\nregion = "eu-1"\nskip_signature = true\nretries = 3\n'
    found = parse_machine_settings(text, FILE)
    assert found.workspace == "s3://b/team"
    assert found.bucket == {"region": "eu-1", "skip_signature": "true", "retries": "3"}
    assert "eu-1" not in repr(found), "credentials are never shown"


@pytest.mark.parametrize("text", ["workspace = 7", "[workspace]", "bucket = 1", "[bucket]\nkeys = [1]", "[buckets]"])
def test_a_mistyped_workspace_or_bucket_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=FILE):
        parse_machine_settings(text + "\n", FILE)


def test_a_command_as_text_is_split_like_in_a_shell() -> None:
    text = '[model]\nprovider = "command"\ncommand = "ollama run \'my model\' $HOME; rm"\n'
    assert settings(text).command == ("ollama", "run", "my model", "$HOME;", "rm")


@each(
    ("text", "hint"),
    [
        ("[modle]\n", "'model'"),
        ('[model]\nprovder = "none"\n', "'model.provider'"),
        ('[model]\nprovider = "none"\ncalls_by_day = 1\n', "'model.calls_per_day'"),
        ('[model]\nprovider = "comand"\n', "'command'"),
        ('[model]\nprovider = "zzz"\n', "none, command, llm, harness"),
        ('[model]\ncommand = ["x"]\n', "none, command, llm"),
        ('[model]\nprovider = "command"\n', "ollama"),
        ('[model]\nprovider = "command"\ncommand = []\n', "ollama"),
        ('[model]\nprovider = "command"\ncommand = ""\n', "ollama"),
        ('[model]\nprovider = "llm"\n', "llm models"),
        ('[model]\nprovider = "harness"\n', "claude-code"),
        ('[model]\nprovider = "harness"\nname = "cursor"\n', "claude-code"),
        ("zzz = 1\n", "known: model"),
    ],
)
def test_a_mistake_gets_a_hint(text: str, hint: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        settings(text)
    assert hint in caught.value.hint
    assert FILE in caught.value.message


@each(
    "values",
    [
        "timeout_seconds = 0", "timeout_seconds = 601", "timeout_seconds = 1.5", "timeout_seconds = true",
        "max_prompt_chars = 3999", "max_answer_bytes = 1", "calls_per_day = -1", 'tokens_per_day = "many"',
        "name = 5", "command = 5", "command = [5]", 'command = ["a\\u0000"]', 'command = "a \'b"', 'command = [""]',
        'command = [" ", "x"]',
    ],
)  # fmt: skip
def test_a_value_of_another_type_or_range_is_refused(values: str) -> None:
    with pytest.raises(InvalidInput, match=FILE):
        settings(f'[model]\nprovider = "none"\n{values}\n')


@pytest.mark.parametrize("text", ["[model\n", "model = 5\n", "[[model]]\n", "a = " + "[" * 5000])
def test_broken_tables_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=FILE):
        settings(text)


@pytest.mark.parametrize("text", ['[model]\nprovider = "command"\n', 'command = ["rm"]\n'])
def test_a_workspace_names_no_program(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_settings(text)
    assert "~/.config/lineage/config.toml" in caught.value.hint


def test_the_file_is_where_xdg_says(tmp_path: Path) -> None:
    assert machine_config_path({}, tmp_path) == tmp_path / ".config" / "lineage" / "config.toml"
    assert machine_config_path({"XDG_CONFIG_HOME": ""}, tmp_path) == tmp_path / ".config" / "lineage" / "config.toml"
    assert (
        machine_config_path({"XDG_CONFIG_HOME": "relative"}, tmp_path)
        == tmp_path / ".config" / "lineage" / "config.toml"
    )
    assert machine_config_path({"XDG_CONFIG_HOME": "/etc/xdg"}, tmp_path) == Path("/etc/xdg/lineage/config.toml")


def test_a_missing_file_means_defaults_and_an_unreadable_one_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    assert read_machine_settings(path) == MachineSettings()
    assert read_machine_settings(path / "below") == MachineSettings()
    path.write_text('[model]\nprovider = "llm"\nname = "x"\n')
    assert read_machine_settings(path).model.name == "x"
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_machine_settings(tmp_path)


def test_an_inaccessible_file_stops_every_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    around = tmp_path / "lineage"
    around.symlink_to(around)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with pytest.raises(InvalidInput, match="cannot be read"):
        open_workspace(tmp_path / "workspace", create=True)


def test_a_file_that_anybody_can_write_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[model]\nprovider = "none"\n')
    path.chmod(0o666)
    with pytest.raises(InvalidInput) as caught:
        read_machine_settings(path)
    assert caught.value.hint == f"run `chmod o-w {path}`"
    path.chmod(0o664)
    assert read_machine_settings(path) == MachineSettings()


def test_a_program_in_the_home_folder_is_found_and_its_hooks_are_suppressed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lineage.extraction.model.command import CommandProvider

    provider = build_provider(ModelSettings("command", ("~/bin/ask", "~")), {"CLAUDECODE": "1", "PATH": "/bin"})
    assert isinstance(provider, CommandProvider)
    assert provider.arguments == (f"{home}/bin/ask", "~")
    assert provider.environment == {"PATH": "/bin", "LINEAGE_SUPPRESS": "1", "NO_COLOR": "1"}
