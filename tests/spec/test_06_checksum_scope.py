"""Spec, test 6: `content_sha256` is of the normalized body, `body-normalized-v1`, and of nothing else.

Fails without any one step of `normalized` in core/body.py, with any step more, and without the comparison in
`_check_place` of core/documents.py.
"""

import hashlib
import re
from pathlib import Path

import pytest

from lineage.core.format.body import hash_body
from lineage.core.format.documents import Artifact, parse_document, serialize_document
from lineage.errors import FormatError
from lineage.pipeline.maintenance.reindex import reindex
from tests.support.workspace import compact_session, end_session, open_memory_workspace, open_test_workspace, read_store

SAME = {
    "CRLF": lambda body: body.replace("\n", "\r\n"),
    "lone CR": lambda body: body.replace("\n", "\r"),
    "spaces and tabs at line ends": lambda body: body.replace("\n", " \t \n"),
    "empty lines at the end": lambda body: body + "\n \n\t\n\n",
    "no newline at the end": lambda body: body.rstrip("\n"),
}
OTHER = {
    "a word": lambda body: body.replace("reader", "writer"),
    "a space inside": lambda body: body.replace("reader", "rea der"),
    "an empty line at the beginning": lambda body: "\n" + body,
    "an empty line between": lambda body: body.replace("\n", "\n\n", 1),
    "indentation": lambda body: body.replace("\n\n", "\n\n ", 1),
    "composed and decomposed letters": lambda body: body.replace("reader", "rea\u0308der"),
    "a no-break space at a line's end": lambda body: body.replace("\n", "\u00a0\n", 1),
    "a line separator for a newline": lambda body: body.replace("\n", "\u2028", 1),
    "a form feed at the end": lambda body: body + "\f",
}


def specified(body: str) -> str:
    """The spec's four lines, in other words than the code's."""
    lines = re.split(r"\r\n|\r|\n", body)
    kept = "\n".join(re.sub(r"[ \t]+$", "", line) for line in lines)
    return hashlib.sha256(re.sub(r"\n+$", "", kept).encode("utf-8")).hexdigest()


@pytest.fixture
def summary(tmp_path: Path) -> Artifact:
    with open_memory_workspace(tmp_path) as ws:
        artifact = ws.documents.artifacts.get(end_session(ws).summary_path or "")
    assert artifact is not None
    return artifact


def test_every_file_carries_the_hash_of_its_own_body(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        end_session(ws, transcript=[{"role": "user", "text": "trailing \t\n\n\r\nspaces\u2028and\x0cends \n\n"}])
        compact_session(ws, summary="Goal:  \n\n\n")
        hashes = {}
        for path, data in read_store(ws.documents.store, "memory/").items():
            if path.startswith("memory/2"):
                front, _, body = data.decode().partition("\n---\n")
                assert 'hash_scope: "body-normalized-v1"' in front
                hashes[path] = (re.search(r'content_sha256: "(\w+)"', front) or [""])[1], specified(body)
    assert len(hashes) == 4
    assert all(stored == computed for stored, computed in hashes.values())


@pytest.mark.parametrize("change", SAME.values(), ids=SAME)
def test_what_editors_and_git_do_to_line_ends_changes_no_hash(summary: Artifact, change: object) -> None:
    changed = summary._replace(body=change(summary.body))  # type: ignore[operator]
    assert hash_body(changed.body) == summary.content_sha256 == specified(changed.body)
    assert parse_document(serialize_document(changed), summary.path).path == summary.path


@pytest.mark.parametrize("change", OTHER.values(), ids=OTHER)
def test_any_other_change_of_the_body_is_found(summary: Artifact, change: object) -> None:
    changed = summary._replace(body=change(summary.body))  # type: ignore[operator]
    assert changed.body != summary.body
    assert hash_body(changed.body) != summary.content_sha256
    with pytest.raises(FormatError, match="content_sha256"):
        parse_document(serialize_document(changed), summary.path)


def test_the_frontmatter_is_outside_of_the_hash(summary: Artifact) -> None:
    changed = summary._replace(memory_sentence="Another.", tags=["mine"], title="Mine")
    assert parse_document(serialize_document(changed), summary.path) == changed


@pytest.mark.leaves_findings
def test_a_changed_body_is_reported_and_gets_no_row(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        path = end_session(ws).summary_path or ""
        file = tmp_path / path
        file.chmod(0o644)
        file.write_bytes(file.read_bytes().replace(b"## Outcome", b"## Outcome, forged"))
        report = reindex(ws)
        assert [problem[0] for problem in report.problems] == [path]
        assert path not in {item.path for item in ws.index.iter_files()}
