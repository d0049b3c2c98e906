"""The packages for publishing: what is in them, the folder they are written into, and their hooks beside others.

Fails if a package registers anything else than `hooks install`, names a path of this machine, or overwrites a file
that isn't lineage's; and if a plug-in's hook speaks where lineage isn't, or beside installed hooks.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest

from lineage import __version__
from lineage.app.packages import write_packages
from lineage.cli import hook_entry
from lineage.errors import InvalidInput
from lineage.installing.commands import HookCommand
from lineage.installing.hook_definitions import build_hooks
from lineage.installing.packages import build_packages

HARNESSES = ("claude-code", "codex", "gemini")
NAMESPACE = "io.github.ada"
SERVER_SCHEMA = {  # what the registry's schema of 2025-12-11 asks of the fields that are used
    "required": ["$schema", "name", "title", "description", "version", "packages"],
    "properties": {
        "$schema": {"pattern": "/2025-12-11/server\\.schema\\.json$"},
        "name": {"pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "minLength": 3, "maxLength": 200},
        "title": {"minLength": 1, "maxLength": 100},
        "description": {"minLength": 1, "maxLength": 100},
        "version": {"pattern": "^[0-9]", "maxLength": 255},
        "packages": {
            "minItems": 1,
            "items": {
                "required": ["registryType", "identifier", "version", "transport"],
                "properties": {
                    "registryType": {"const": "pypi"},
                    "runtimeHint": {"const": "uvx"},
                    "transport": {"properties": {"type": {"const": "stdio"}}, "additionalProperties": False},
                    "packageArguments": {
                        "items": {
                            "required": ["type", "value"],
                            "properties": {"type": {"const": "positional"}, "value": {"type": "string"}},
                            "additionalProperties": False,
                        }
                    },
                    "environmentVariables": {
                        "items": {
                            "required": ["name", "description"],
                            "properties": {"name": {"type": "string"}, "description": {"type": "string"}},
                            "additionalProperties": False,
                        }
                    },
                    "identifier": {"type": "string"},
                    "version": {"type": "string", "minLength": 1},
                },
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_package_registers_what_installing_registers(harness: str) -> None:
    packaged = json.loads(build_packages(__version__, NAMESPACE)[f"{harness}/hooks/hooks.json"])["hooks"]
    elements = build_hooks(HookCommand(("/opt/lineage",), harness, "/w", "default"))
    assert list(packaged) == list(elements)
    for event, element in elements.items():
        (group,) = packaged[event]
        (handler,), (installed,) = group["hooks"], element["hooks"]
        assert group.get("matcher") == element.get("matcher")
        assert handler.pop("command").endswith(f"exec lineage hook {harness} --plugin")
        assert handler == {key: value for key, value in installed.items() if key not in ("command", "args")}


def test_every_manifest_has_this_version_and_none_names_this_machine() -> None:
    files = build_packages(__version__, NAMESPACE)
    manifests = ("claude-code/.claude-plugin/plugin.json", "codex/.codex-plugin/plugin.json")
    for name in (*manifests, "gemini/gemini-extension.json", "server.json"):
        assert json.loads(files[name])["version"] == __version__
    assert not any(str(Path.home()) in text or "@" in text.replace("lineage@lineage", "") for text in files.values())
    jsonschema.validate(json.loads(files["server.json"]), SERVER_SCHEMA)


def test_the_registry_s_clients_start_a_command_that_there_is() -> None:
    """They run `uvx IDENTIFIER` with the package's arguments: a command of the distribution's name."""
    (package,) = json.loads(build_packages(__version__, NAMESPACE)["server.json"])["packages"]
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert package["identifier"] == project["name"] and project["scripts"][package["identifier"]]
    assert [one["value"] for one in package["packageArguments"]] == ["mcp"]


def test_the_same_bytes_are_written_again_and_nobody_else_s_are_touched(tmp_path: Path) -> None:
    folder = tmp_path / "packages"
    names = write_packages(folder, NAMESPACE)
    before = {name: (folder / name).read_bytes() for name in names}
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert write_packages(folder, NAMESPACE) == names
    assert {name: (folder / name).read_bytes() for name in names} == before
    (folder / "notes.md").write_text("mine")
    with pytest.raises(InvalidInput, match=r"notes\.md"):
        write_packages(folder, "io.github.bob")
    assert (folder / "server.json").read_bytes() == before["server.json"]


@pytest.mark.parametrize("text", ['{"name": "io.github.bob/other"}', "[]", "not JSON"])
def test_a_server_of_somebody_else_s_is_not_overwritten(tmp_path: Path, text: str) -> None:
    (tmp_path / "server.json").write_text(text)
    with pytest.raises(InvalidInput, match="not lineage's"):
        write_packages(tmp_path, NAMESPACE)
    assert (tmp_path / "server.json").read_text() == text
    with pytest.raises(InvalidInput, match="no folder"):
        write_packages(tmp_path / "server.json", NAMESPACE)
    with pytest.raises(InvalidInput, match="not a namespace"):
        write_packages(tmp_path / "new", "../..")


@pytest.mark.skipif(os.name == "nt", reason="a line of a POSIX shell")
@pytest.mark.parametrize("harness", HARNESSES)
def test_a_hook_without_lineage_ends_well_and_says_so_at_the_start_alone(harness: str) -> None:
    shell = shutil.which("sh") or ""
    packaged = json.loads(build_packages(__version__, NAMESPACE)[f"{harness}/hooks/hooks.json"])["hooks"]
    for event, ((group),) in packaged.items():
        line = group["hooks"][0]["command"]
        run = subprocess.run([shell, "-c", line], env={"PATH": "/nowhere"}, capture_output=True, check=True)
        assert run.stderr == b""
        said = json.loads(run.stdout)["systemMessage"] if run.stdout else ""
        assert ("not on PATH" in said) == (event == "SessionStart"), event


@pytest.mark.slow
@pytest.mark.leaves_findings  # what the hooks left waits for a worker
@pytest.mark.parametrize("harness", HARNESSES)
def test_a_plugin_s_hook_stands_back_beside_installed_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harness: str
) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(name, raising=False)
    command = [sys.executable, "-m", "lineage"]
    environment = {**os.environ, "HOME": str(tmp_path), "LINEAGE_NO_WORKER": "1"}
    environment |= {"LINEAGE_WORKSPACE": str(tmp_path / "memory")}
    payload = {"hook_event_name": "SessionEnd", "session_id": "s-1", "transcript_path": "/t.jsonl", "cwd": "/w"}
    events = tmp_path / "memory" / ".lineage" / "spool" / "signals"

    def call() -> int:
        words = [*command, "hook", harness, "--plugin"]
        subprocess.run(words, env=environment, input=json.dumps(payload).encode(), check=True)
        return len(list(events.glob("*.json")))

    subprocess.run([*command, "init"], env=environment, check=True, capture_output=True)
    assert call() == 1
    subprocess.run([*command, "hooks", "install", harness], env=environment, check=True, capture_output=True)
    assert call() == 1
    subprocess.run([*command, "hooks", "uninstall", harness], env=environment, check=True, capture_output=True)
    assert call() == 2


def test_a_plugin_s_hook_finds_the_workspace_of_the_set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LINEAGE_WORKSPACE", "SIGNET_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "lineage").mkdir()
    (tmp_path / "lineage" / "config.toml").write_text(f'workspace = "{tmp_path / "mine"}"\n')
    assert hook_entry._resolve_root(None) == str(tmp_path / "mine")
