"""`[embedding]` of this machine's settings. Fails without any check of `config/embedding.py`, and where a key shows."""

import os
from pathlib import Path

import pytest

from lineage.app.locations import read_machine_settings
from lineage.config.embedding import EmbeddingSettings
from lineage.config.machine import parse_machine_settings
from lineage.errors import InvalidInput
from tests.support.parametrize import each

FILE = "config.toml"
REMOTE = '[embedding]\nprovider = "openai"\nmodel = "small"\n'
KEY = "made-up-key-0123456789"


def settings(text: str) -> EmbeddingSettings:
    return parse_machine_settings(text, FILE).embedding


def test_nothing_configured_is_no_model() -> None:
    assert settings("") == settings("[embedding]\n") == EmbeddingSettings()
    assert EmbeddingSettings().provider == "none"


def test_settings_are_read() -> None:
    found = settings(f'{REMOTE}url = "https://host.example/v1"\nkey_variable = "K"\nbatch = 7\nseconds_per_run = 0\n')
    assert (found.url, found.model, found.key_variable, found.batch) == ("https://host.example/v1", "small", "K", 7)
    assert found.is_remote
    assert not settings('[embedding]\nprovider = "local"\nmodel = "~/models/small"\n').is_remote


@each(
    ("text", "hint"),
    [
        ('[embeding]\nprovider = "local"\n', "'embedding'"),
        ('[embedding]\nprovder = "local"\n', "embedding.provider"),
        ('[embedding]\nmodel = "x"\n', "none, local, openai"),
        ('[embedding]\nprovider = "locl"\n', "'local'"),
        ('[embedding]\nprovider = "zzz"\n', "none, local, openai"),
        (REMOTE, "url ="),
        ('[embedding]\nprovider = "openai"\nurl = "https://host.example/v1"\n', "url ="),
        (f'{REMOTE}url = "host.example"\n', "https"),
        (f'{REMOTE}url = "file:///etc/passwd"\n', "https"),
        (f'{REMOTE}url = "https://me:pw@host.example/v1"\n', "https"),
        (f'{REMOTE}url = "https://host.example/v1?key=x"\n', "https"),
        (f'{REMOTE}url = "https://[broken/v1"\n', "https"),
        (f'{REMOTE}url = "http://host.example/v1"\nkey = "{KEY}"\n', "use https"),
        (f'{REMOTE}url = "http://host.example/v1"\nkey_variable = "K"\n', "use https"),
    ],
)
def test_a_mistake_gets_a_hint(text: str, hint: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        settings(text)
    assert hint in caught.value.hint
    assert FILE in caught.value.message
    assert KEY not in caught.value.message + caught.value.hint


@pytest.mark.parametrize("line", ["batch = 0", "batch = true", "timeout_seconds = 0", 'batch = "9"', "model = 1"])
def test_a_value_of_another_type_or_range_is_refused(line: str) -> None:
    with pytest.raises(InvalidInput):
        settings(f'[embedding]\nprovider = "local"\n{line}\n')


def test_a_key_is_sent_unencrypted_only_to_this_machine() -> None:
    assert settings(f'{REMOTE}url = "http://127.0.0.1:1/v1"\nkey = "{KEY}"\n').key == KEY
    assert settings(f'{REMOTE}url = "http://lan.example/v1"\n').url
    assert KEY not in repr(settings(f'{REMOTE}url = "https://host.example/v1"\nkey = "{KEY}"\n'))


@pytest.mark.skipif(os.name == "nt", reason="modes of files are those of POSIX")
def test_a_file_with_a_key_must_be_private(tmp_path: Path) -> None:
    file = tmp_path / FILE
    file.write_text(f'{REMOTE}url = "https://host.example/v1"\nkey = "{KEY}"\n')
    file.chmod(0o644)
    with pytest.raises(InvalidInput, match="may be read by others") as caught:
        read_machine_settings(file)
    assert "chmod 600" in caught.value.hint
    file.chmod(0o600)
    assert read_machine_settings(file).embedding.key == KEY
