"""The settings of a harness, which its program may save at any moment.

What each guard rests on: the second comparison in `file_swap.swap`, and the one behind the renaming of a file that is
to go; `os.link` for a new file; `_discard`; `_collect_abandoned`.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from lineage import file_swap
from lineage.errors import WorkspaceError
from lineage.installing import config_files

OLD, NEW, THEIRS = b'{"a": 1}\n', b'{"a": 1, "hooks": {}}\n', b'{"a": 2}\n'


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    path = tmp_path / "settings.json"
    path.write_bytes(OLD)
    return path


def replace(path: Path, before: bytes | None, after: bytes | None) -> None:
    config_files.replace(path, before, after, last_digest=config_files.compute_digest(OLD))


def save(path: Path) -> None:
    new = path.with_name("new")
    new.write_bytes(THEIRS)
    new.replace(path)


def run_before(monkeypatch: pytest.MonkeyPatch, owner: object, name: str, edit: Callable[[], object]) -> None:
    genuine, edits = getattr(owner, name), iter([edit])

    def call(*arguments: object, **options: object) -> object:
        next(edits, lambda: None)()
        return genuine(*arguments, **options)

    monkeypatch.setattr(owner, name, call)


def names(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir())


@pytest.mark.parametrize("after", [NEW, None])
def test_a_save_just_before_the_exchange_stays(
    settings: Path, monkeypatch: pytest.MonkeyPatch, after: bytes | None
) -> None:
    run_before(monkeypatch, *((Path, "rename") if after is None else (file_swap, "exchange")), lambda: save(settings))
    with pytest.raises(WorkspaceError, match="changed in this moment"):
        replace(settings, OLD, after)
    assert settings.read_bytes() == THEIRS
    assert names(settings) == ["settings.json"]


def test_a_file_that_appears_just_before_it_is_made_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "settings.json"
    run_before(monkeypatch, config_files, "_create_exclusively", lambda: save(path))
    with pytest.raises(WorkspaceError, match="changed in this moment"):
        replace(path, None, NEW)
    assert path.read_bytes() == THEIRS
    assert names(path) == ["settings.json"]


@pytest.mark.parametrize("after", [NEW, None])
def test_what_is_written_into_a_file_that_was_open_is_kept_as_a_backup(settings: Path, after: bytes | None) -> None:
    with settings.open("r+b", buffering=0) as program:
        replace(settings, OLD, after)
        program.write(THEIRS)
    assert settings.with_name("settings.json.lineage-backup-1").read_bytes() == THEIRS
    assert settings.exists() == (after is not None)


def test_the_next_writer_deletes_what_a_dead_one_left_but_no_words_of_others(settings: Path) -> None:
    settings.with_name(".lineage-tmp-0123456789abcdef").write_bytes(b"half")
    digests = "-".join(config_files.compute_digest(data)[:16] for data in (OLD, NEW))
    settings.with_name(f".lineage-tmp-0123456789abcdee-{digests}").write_bytes(NEW)
    settings.with_name(f".lineage-tmp-0123456789abcded-{digests}").write_bytes(THEIRS)
    replace(settings, OLD, NEW)
    assert names(settings) == ["settings.json", "settings.json.lineage-backup-1"]
    assert settings.with_name("settings.json.lineage-backup-1").read_bytes() == THEIRS
