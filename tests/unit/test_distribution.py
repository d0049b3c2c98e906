"""The command that installs more, by way of how lineage was installed.

Fails without each of the branches of `format_install_command`, and without the look whether a wheel is still there.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from lineage.distribution import format_install_command
from lineage.errors import EngineMissing, ExtraMissing

WHEEL = "lineage_memory-1.0-py3-none-any.whl"


class Environment:
    """An environment as an installer leaves it."""

    def __init__(self, root: Path) -> None:
        self.root, self.site = root, root / "lib"
        self.metadata = self.site / "lineage_memory-1.0.dist-info"
        self.metadata.mkdir(parents=True)

    def come_from(self, **origin: Any) -> None:
        (self.metadata / "direct_url.json").write_text(json.dumps(origin), encoding="utf-8")

    def format(self, **wanted: str) -> str:
        folders = [str(self.root / "missing"), str(self.site)]
        return format_install_command(str(self.root), "/env/bin/python", folders, **wanted)


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path)


def test_from_an_index(environment: Environment) -> None:
    assert environment.format(extra="bucket") == "/env/bin/python -m pip install 'lineage-memory[bucket]'"
    (environment.root / "uv-receipt.toml").touch()
    assert environment.format(extra="bucket") == "uv tool install 'lineage-memory[bucket]'"
    assert environment.format(package="google-re2") == "uv tool install --with google-re2 lineage-memory"


def test_from_a_wheel_and_when_it_is_gone(environment: Environment) -> None:
    wheel = environment.root / WHEEL
    wheel.touch()
    environment.come_from(url=wheel.as_uri(), archive_info={})
    (environment.root / "pipx_metadata.json").touch()
    wanted = f"pipx inject --force lineage-memory 'lineage-memory[bucket] @ {wheel.as_uri()}'"
    assert environment.format(extra="bucket") == wanted
    assert environment.format(package="zstandard") == "pipx inject --force lineage-memory zstandard"
    wheel.unlink()
    assert environment.format(extra="bucket") == "pipx inject --force lineage-memory 'lineage-memory[bucket]'"


def test_from_a_clone(environment: Environment) -> None:
    clone = environment.root / "a clone"
    clone.mkdir()
    environment.come_from(url=clone.as_uri(), dir_info={"editable": True})
    assert environment.format(extra="web") == f"/env/bin/python -m pip install --editable '{clone}[web]'"
    assert environment.format(package="re2") == "/env/bin/python -m pip install re2"
    environment.come_from(url=clone.as_uri(), dir_info={})
    assert environment.format(extra="web") == f"/env/bin/python -m pip install 'lineage-memory[web] @ {clone.as_uri()}'"


def test_from_a_repository_by_uv(environment: Environment) -> None:
    (environment.metadata / "INSTALLER").write_text("uv\n", encoding="utf-8")
    environment.come_from(url="https://example.org/l.git", vcs_info={"vcs": "git", "commit_id": "1" * 40})
    wanted = "uv pip install --python /env/bin/python 'lineage-memory[web] @ git+https://example.org/l.git'"
    assert environment.format(extra="web") == wanted


@pytest.mark.parametrize("text", ["", "[]", "{", "[1]"])
def test_a_damaged_record_is_none(environment: Environment, text: str) -> None:
    (environment.metadata / "direct_url.json").write_text(text, encoding="utf-8")
    assert environment.format(extra="web") == "/env/bin/python -m pip install 'lineage-memory[web]'"


def test_errors_name_it() -> None:
    assert "[bucket]" in ExtraMissing("bucket", ["obstore"]).hint
    assert EngineMissing("no engine", then="lineage admin recover").hint.endswith(", then `lineage admin recover`")
    assert "install google-re2`" in EngineMissing("no engine").hint
