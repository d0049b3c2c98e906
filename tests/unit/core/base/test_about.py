"""What an entry is bound to: the form decides, unless the sort is named; `_PLACE`, `ERROR_NAME`, `_MAX_LENGTH`."""

import pytest

from lineage.core.base.about import ERROR_NAME, classify_subject


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("`src/app.py`", "file:src/app.py"),
        ("src/app.py:12:3", "file:src/app.py"),
        (".github/workflows/ci.yml", "file:.github/workflows/ci.yml"),
        ("migrations/", "file:migrations/"),
        ("Dockerfile", "file:Dockerfile"),
        ("/srv/app/main.py", "file:/srv/app/main.py"),
        (r"C:\app\main.py", r"file:C:\app\main.py"),
        ("/usr/bin/env", "command:/usr/bin/env"),
        ("requests.exceptions.ConnectionError", "error:requests.exceptions.ConnectionError"),
        ("ECONNREFUSED", "error:ECONNREFUSED"),
        ("TS2345", "error:TS2345"),
        ("alembic  upgrade\nhead", "command:alembic upgrade head"),
        ("./gradlew test", "command:./gradlew test"),
        ("file:two words.txt", "file:two words.txt"),
        ("error:E501", "error:E501"),
        ("x" * 201, ""),
        ("file: ", ""),
        ("", ""),
    ],
)
def test_the_form_of_a_text_says_what_it_names(text: str, subject: str) -> None:
    assert classify_subject(text) == subject


def test_words_that_only_look_like_an_error_s_name_are_none() -> None:
    for word in ("Error", "the Error", "handleError", "ERROR", "ENABLE", "E2E", "noexception", "Terror"):
        assert not ERROR_NAME.search(word), word
