"""Whole installations in a home of their own: files, folders, backups, links, and what the record is for."""

import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage.errors import InvalidInput, LineageError, WorkspaceError
from lineage.installing import (
    INSTALLATIONS,
    HookCommand,
    HostMachine,
    apply_changes,
    plan_install,
    plan_uninstall,
    read_record,
)
from lineage.installing.installation import FileChange, find_record_path

TEMPLATE = Path(__file__).parents[3] / "workspace_template"


@pytest.fixture
def machine(tmp_path: Path) -> HostMachine:
    home = tmp_path / "home"
    home.mkdir()
    return HostMachine(home=home, environment={}, template=TEMPLATE, system=tmp_path / "system")


def make_command(harness: str, workspace: str = "/home/ada/memory") -> HookCommand:
    return HookCommand((sys.executable, "-m", "lineage"), harness, workspace, "default")


def install(machine: HostMachine, harness: str, workspace: str = "/home/ada/memory") -> list[FileChange]:
    changes = plan_install(machine, make_command(harness, workspace), read_record(machine))
    apply_changes(machine, changes)
    return changes


def uninstall(machine: HostMachine, harness: str) -> list[FileChange]:
    changes = plan_uninstall(machine, make_command(harness), read_record(machine))
    apply_changes(machine, changes)
    return changes


def read_state(folder: Path) -> dict[str, bytes | None]:
    """Every folder (None), file and link below a folder."""
    return dict(_iter_state(folder))


def _iter_state(folder: Path) -> Iterator[tuple[str, bytes | None]]:
    for path in sorted(folder.rglob("*")):
        link = str(path.readlink()).encode() if path.is_symlink() else b""
        yield str(path.relative_to(folder)), link or (None if path.is_dir() else path.read_bytes())


def write_settings(machine: HostMachine, text: str = '{\n  "model": "x" // mine\n}\n') -> Path:
    path = machine.home / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("harness", INSTALLATIONS)
def test_nothing_is_left_of_what_was_made(machine: HostMachine, harness: str) -> None:
    before = read_state(machine.home)
    install(machine, harness)
    assert read_state(machine.home) != before
    assert install(machine, harness) == []
    uninstall(machine, harness)
    assert read_state(machine.home) == before
    assert uninstall(machine, harness) == []


@pytest.mark.parametrize("harness", INSTALLATIONS)
def test_another_workspace_replaces_the_first(machine: HostMachine, harness: str) -> None:
    before = read_state(machine.home)
    install(machine, harness, "/one")
    install(machine, harness, "/two")
    texts = [data.decode() for data in read_state(machine.home).values() if data]
    assert not any("/one" in text for text in texts)
    assert any("/two" in text for text in texts)
    uninstall(machine, harness)
    assert read_state(machine.home) == before


def test_variables_move_the_folders(tmp_path: Path) -> None:
    variables = {
        "CLAUDE_CONFIG_DIR": ("claude-code", "settings.json"),
        "CODEX_HOME": ("codex", "hooks.json"),
        "GEMINI_CLI_HOME": ("gemini", ".gemini/settings.json"),
        "COPILOT_HOME": ("copilot", "hooks/lineage.json"),
        "XDG_CONFIG_HOME": ("opencode", "opencode/plugins/lineage.js"),
        "PI_CODING_AGENT_DIR": ("pi", "extensions/lineage.ts"),
        "OPENCLAW_STATE_DIR": ("openclaw", "extensions/lineage/index.mjs"),
    }
    for variable, (harness, name) in variables.items():
        moved = tmp_path / variable
        here = HostMachine(
            tmp_path / "home", {variable: str(moved), "XDG_STATE_HOME": str(tmp_path / "state")}, TEMPLATE
        )
        install(here, harness)
        assert (moved / name).is_file()
    assert not (tmp_path / "home").exists()


def test_the_backup_is_what_the_file_was_and_goes_with_the_hooks(machine: HostMachine) -> None:
    path = write_settings(machine)
    before = path.read_bytes()
    install(machine, "claude-code")
    backup = path.with_name("settings.json.lineage-backup-1")
    assert backup.read_bytes() == before
    install(machine, "claude-code", "/other")
    assert [one.name for one in path.parent.iterdir() if "backup" in one.name] == [backup.name]
    uninstall(machine, "claude-code")
    assert list(path.parent.iterdir()) == [path]


def test_backups_stay_where_somebody_else_changed_the_file(machine: HostMachine) -> None:
    path = write_settings(machine)
    before = path.read_bytes()
    install(machine, "claude-code")
    by_hand = path.read_bytes().replace(b'"x"', b'"y"')
    path.write_bytes(by_hand)
    uninstall(machine, "claude-code")
    assert path.read_bytes() == before.replace(b'"x"', b'"y"')
    assert path.with_name("settings.json.lineage-backup-1").read_bytes() == before
    assert path.with_name("settings.json.lineage-backup-2").read_bytes() == by_hand


def rewrite(path: Path, text: str) -> str:
    """The text as a harness writes it that keeps no form: with a member of its own, and no word gone."""
    if path.suffix == ".toml":
        more = "" if "projects" in text else '\n[projects."/home/ada"]\ntrust_level = "trusted"\n'
        return text.replace(" = ", "=") + more
    return json.dumps({**json.loads(text), "theme": "dark"}, indent=8)


@pytest.mark.parametrize(
    ("harness", "name", "text"),
    [
        ("claude-code", ".claude/settings.json", '{"model": "x", "hooks": {"Stop": [{"hooks": []}]}}'),
        ("gemini", ".gemini/settings.json", '{"security": {"auth": {"selectedType": "oauth"}}}'),
        ("codex", ".codex/config.toml", 'model = "x"\n# mine\n[[hooks.Stop]]\nhooks = []\n'),
    ],
)
def test_backups_go_where_the_harness_rewrote_its_file(
    machine: HostMachine, harness: str, name: str, text: str
) -> None:
    path = machine.home / name
    path.parent.mkdir()
    path.write_text(text)
    install(machine, harness)
    path.write_text(rewrite(path, path.read_text()))
    install(machine, harness, "/other")  # which makes one of the rewritten file
    path.write_text(rewrite(path, path.read_text()))
    uninstall(machine, harness)
    assert list(path.parent.iterdir()) == [path]


def test_a_backup_stays_where_it_alone_has_a_comment(machine: HostMachine) -> None:
    path = write_settings(machine)
    before = path.read_bytes()
    install(machine, "claude-code")
    path.write_text(rewrite(path, path.read_text().replace("// mine", "")))
    uninstall(machine, "claude-code")
    assert path.with_name("settings.json.lineage-backup-1").read_bytes() == before


def test_a_backup_that_is_there_is_never_overwritten(machine: HostMachine) -> None:
    path = write_settings(machine)
    first = path.with_name("settings.json.lineage-backup-1")
    first.write_text("older")
    install(machine, "claude-code")
    assert first.read_text() == "older"
    assert path.with_name("settings.json.lineage-backup-2").is_file()


@pytest.mark.skipif(os.name == "nt", reason="modes")
def test_the_mode_stays_also_the_backups(machine: HostMachine) -> None:
    path = write_settings(machine)
    path.chmod(0o600)
    install(machine, "claude-code")
    assert {stat.S_IMODE(one.stat().st_mode) for one in path.parent.iterdir() if one.is_file()} == {0o600}


def test_a_link_is_written_through(machine: HostMachine, tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    real = dotfiles / "claude.json"
    real.write_text("{}\n")
    link = machine.home / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(real)
    before = read_state(tmp_path)
    install(machine, "claude-code")
    assert link.is_symlink()
    assert "claude-code" in real.read_text()
    assert {one.name for one in dotfiles.iterdir()} == {"claude.json", "claude.json.lineage-backup-1"}
    uninstall(machine, "claude-code")
    assert read_state(tmp_path) == before


def test_a_link_to_nowhere_makes_its_target(machine: HostMachine, tmp_path: Path) -> None:
    link = machine.home / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "dotfiles" / "claude.json")
    before = read_state(tmp_path)
    install(machine, "claude-code")
    assert (tmp_path / "dotfiles" / "claude.json").is_file()
    uninstall(machine, "claude-code")
    assert read_state(tmp_path) == before


BROKEN = {
    "no JSON": (b'{\n  "a": ,\n}', 2),
    "another shape": (b'{\n\n"hooks": []}', 3),
    "no UTF-8": b'{"a":\n"\xff"}',
    "UTF-16": '{"a": 1}'.encode("utf-16"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_file_that_is_not_understood_stays_as_it_is(machine: HostMachine, case: str) -> None:
    given = BROKEN[case]
    data, line = given if isinstance(given, tuple) else (given, 1 + given.count(b"\n"))
    path = write_settings(machine)
    path.write_bytes(data)
    before = read_state(machine.home)
    with pytest.raises(InvalidInput) as caught:
        install(machine, "claude-code")
    assert f"{path}:{line}: " in caught.value.message
    assert "nothing was changed" in caught.value.hint
    assert read_state(machine.home) == before


def test_one_bad_file_of_two_keeps_the_other_as_it_is(machine: HostMachine) -> None:
    folder = machine.home / ".openclaw" / "extensions" / "lineage"
    folder.mkdir(parents=True)
    (folder / "index.mjs").write_text("export default {};\n")
    before = read_state(machine.home)
    with pytest.raises(InvalidInput, match="not lineage's"):
        install(machine, "openclaw")
    assert uninstall(machine, "openclaw") == []
    assert read_state(machine.home) == before


@pytest.mark.parametrize("name", ["plugin.json", "hooks/hooks.json"])
def test_files_of_others_in_our_folder_stay(machine: HostMachine, name: str) -> None:
    path = machine.home / ".agents" / "plugins" / "lineage" / name
    path.parent.mkdir(parents=True)
    path.write_text('{"name": "another"}')
    before = read_state(machine.home)
    if name == "plugin.json":
        with pytest.raises(InvalidInput, match="not lineage's"):
            install(machine, "goose")
    else:
        install(machine, "goose")
    uninstall(machine, "goose")
    assert read_state(machine.home) == before


def test_a_plugin_that_was_edited_goes_and_leaves_a_backup(machine: HostMachine) -> None:
    install(machine, "opencode")
    path = machine.home / ".config" / "opencode" / "plugins" / "lineage.js"
    path.write_text(path.read_text() + "// mine\n")
    uninstall(machine, "opencode")
    assert [one.name for one in path.parent.iterdir()] == ["lineage.js.lineage-backup-1"]


def test_a_plugin_that_was_copied_by_hand_is_taken_over(machine: HostMachine) -> None:
    path = machine.home / ".pi" / "agent" / "extensions" / "lineage.ts"
    path.parent.mkdir(parents=True)
    path.write_bytes((TEMPLATE / "integrations" / "pi" / "lineage.ts").read_bytes())
    install(machine, "pi")
    assert '"--workspace", "/home/ada/memory"' in path.read_text()


def test_an_empty_file_of_a_plugin_s_name_stays_empty(machine: HostMachine) -> None:
    path = machine.home / ".pi" / "agent" / "extensions" / "lineage.ts"
    path.parent.mkdir(parents=True)
    path.touch()
    before = read_state(machine.home)
    install(machine, "pi")
    uninstall(machine, "pi")
    assert read_state(machine.home) == before


def test_a_file_that_is_gone_is_forgotten(machine: HostMachine) -> None:
    install(machine, "cursor")
    (machine.home / ".cursor" / "hooks.json").unlink()
    uninstall(machine, "cursor")
    assert read_state(machine.home) == {}


def test_a_file_that_others_made_anew_is_theirs(machine: HostMachine) -> None:
    install(machine, "claude-code")
    path = machine.home / ".claude" / "settings.json"
    path.write_text("{}")
    install(machine, "claude-code")
    uninstall(machine, "claude-code")
    assert path.read_text() == "{}"


def test_what_others_put_into_a_file_we_made_stays(machine: HostMachine) -> None:
    install(machine, "claude-code")
    path = machine.home / ".claude" / "settings.json"
    path.write_text(path.read_text().replace("{", '{\n  "model": "x",', 1))
    uninstall(machine, "claude-code")
    assert path.read_text() == '{\n  "model": "x"\n}\n'


def test_without_the_record_the_entries_still_go(machine: HostMachine) -> None:
    path = write_settings(machine)
    before = path.read_bytes()
    install(machine, "claude-code")
    find_record_path(machine).unlink()
    uninstall(machine, "claude-code")
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": {"/x": 1}, "folders": []}'])
def test_a_damaged_record_is_named(machine: HostMachine, text: str) -> None:
    find_record_path(machine).parent.mkdir(parents=True)
    find_record_path(machine).write_text(text)
    with pytest.raises(InvalidInput, match=r"hooks\.json: damaged") as caught:
        install(machine, "claude-code")
    assert "delete it" in caught.value.hint


def test_a_file_that_changes_meanwhile_is_not_overwritten(machine: HostMachine) -> None:
    path = write_settings(machine)
    changes = plan_install(machine, make_command("claude-code"), read_record(machine))
    path.write_text('{"saved": "by the harness"}')
    with pytest.raises(WorkspaceError, match="was changed in this moment"):
        apply_changes(machine, changes)
    assert path.read_text() == '{"saved": "by the harness"}'


def test_a_folder_in_the_place_of_a_file_is_named(machine: HostMachine) -> None:
    (machine.home / ".claude" / "settings.json").mkdir(parents=True)
    with pytest.raises(LineageError, match=r"settings\.json"):
        install(machine, "claude-code")


class TestCodex:
    """Two files: hooks.json, or config.toml where the user keeps hooks there."""

    TOML = '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "echo"\n'
    STATE = '[hooks.state."/h:stop:0:0"]\ntrusted_hash = "sha256:1"\n'

    def test_state_alone_is_no_hooks(self, machine: HostMachine) -> None:
        self.config(machine, self.STATE)
        install(machine, "codex")
        assert "lineage" in (machine.home / ".codex" / "hooks.json").read_text()
        assert "hooks.Stop" not in (machine.home / ".codex" / "config.toml").read_text()

    def test_hooks_are_kept_where_the_user_keeps_them(self, machine: HostMachine) -> None:
        self.config(machine, self.TOML)
        before = read_state(machine.home)
        assert [change.path.name for change in install(machine, "codex")] == ["config.toml", "SKILL.md"]
        assert install(machine, "codex") == []
        uninstall(machine, "codex")
        assert read_state(machine.home) == before

    def test_a_hooks_json_wins_and_takes_the_entries_over(self, machine: HostMachine) -> None:
        path = self.config(machine, self.TOML)
        install(machine, "codex")
        (path.parent / "hooks.json").write_text('{"hooks": {}}\n')
        install(machine, "codex")
        assert path.read_text().startswith(f"{self.TOML}\n[mcp_servers.lineage]\n")
        assert path.read_text().count("[[hooks.") == self.TOML.count("[[hooks.")
        assert "lineage" in (path.parent / "hooks.json").read_text()

    def config(self, machine: HostMachine, text: str) -> Path:
        path = machine.home / ".codex" / "config.toml"
        path.parent.mkdir()
        path.write_text(text)
        return path
