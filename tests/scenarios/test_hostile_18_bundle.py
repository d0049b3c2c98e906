"""Inputs to try, number 18: a bundle that was made to do harm. Nothing of it is written, and a message says why.

Fails without any single check of `_check_end`, `_check_infos`, `_member`, `_read` or `_check_ratio` in
documents/bundle_zip.py (overlap and ratio are each held by the limits, too), of core/transfer/bundle.py's `_fault`, and
of `_delivery`, `_document`, `_check_artifact`, `_check_manifest` and `_check_siblings` in
pipeline/transfer/delivery.py.
"""

import io
import re
import stat
import struct
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lineage.core.format.body import hash_body
from lineage.core.transfer.bundle import DESCRIPTION, LIMITS, Bundle, Member
from lineage.documents.bundle_zip import build_members, pack, read_description, unpack
from lineage.errors import FormatError
from lineage.pipeline.transfer.bundles import import_bundle
from lineage.workspace.workspace import Workspace
from tests.support.bundles import (
    Files,
    change_description,
    export_bundle,
    rebuild_bundle,
    replace_bytes,
    write_session_with_books,
    zip_members,
)
from tests.support.commands import LineageCommand
from tests.support.dead_processes import read_all_files
from tests.support.workspace import open_test_workspace

pytestmark = pytest.mark.slow

SECRET = "AKIA" + "QWERTYUIOPASDFGH"


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bundle of a session with two captures, a compaction and books."""
    with open_test_workspace(tmp_path_factory.mktemp("there")) as ws:
        write_session_with_books(ws)
        return export_bundle(ws)


@pytest.fixture
def ws(tmp_path: Path) -> Any:
    with open_test_workspace(tmp_path / "here") as opened:
        yield opened


def refused(ws: Workspace, data: bytes, *words: str) -> None:
    """Asserts that every way of importing it is refused for that reason, and that no byte is written."""
    files = [key for key in read_all_files(ws.index.path.parents[1]) if ".db" not in key and "/locks/" not in key]
    for options in ({}, {"restore": True}, {"dry_run": True}, {"trust": True}):
        with pytest.raises(FormatError) as caught:
            import_bundle(ws, data, **options)
        assert all(word in caught.value.message for word in words), caught.value.message
        assert caught.value.hint
    after = [key for key in read_all_files(ws.index.path.parents[1]) if ".db" not in key and "/locks/" not in key]
    assert after == files


def described_by(honest: bytes, files: Files) -> Bundle:
    return replace(unpack(honest).bundle, members=build_members(files))


@pytest.mark.parametrize(
    "name",
    ["../escape.md", "/tmp/escape.md", "C:\\escape.md", "memory/../../escape.md", "books/global/con.md", "MEMORY.md",
     "lineage.toml", ".git/hooks/pre-commit", "memory/tombstones/aaaaaaaaaaaaaaaa.md", "escape\n.md"],
)  # fmt: skip
def test_18_a_name_that_leads_out_or_has_no_place(ws: Workspace, honest: bytes, name: str) -> None:
    files = dict(unpack(honest).files)
    declared = described_by(honest, {**files, name: b"x"})
    refused(ws, zip_members(declared, [*files.items(), (name, b"x")]), "name")
    refused(ws, zip_members(described_by(honest, files), [*files.items(), (name, b"x")]), "name")


@pytest.mark.parametrize("mode", [stat.S_IFLNK, stat.S_IFDIR, stat.S_IFIFO, stat.S_IFCHR])
def test_18_a_member_that_is_a_link_or_no_file(ws: Workspace, honest: bytes, mode: int) -> None:
    files = dict(unpack(honest).files)
    path = next(iter(files))
    info = zipfile.ZipInfo(path)
    info.external_attr = (mode | 0o777) << 16
    rest = [item for item in files.items() if item[0] != path]
    refused(ws, zip_members(unpack(honest).bundle, [(info, files[path]), *rest]), "no plain file")


def test_18_names_that_are_there_twice_or_differ_in_case(ws: Workspace, honest: bytes) -> None:
    files = dict(unpack(honest).files)
    path = next(iter(files))
    for twin in (path, path.upper()):
        with pytest.warns(UserWarning) if twin == path else _nothing():
            data = zip_members(unpack(honest).bundle, [*files.items(), (twin, files[path])])
        refused(ws, data, "twice")


class _nothing:  # noqa: N801
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


def test_18_members_that_nobody_declared_or_that_are_missing(ws: Workspace, honest: bytes) -> None:
    files = dict(unpack(honest).files)
    last = list(files)[-1]
    without = {path: data for path, data in files.items() if path != last}
    refused(ws, zip_members(unpack(honest).bundle, list(without.items())), "declares")
    refused(ws, zip_members(described_by(honest, without), list(files.items())), "declares")


def test_18_a_description_that_does_not_come_first_or_twice(ws: Workspace, honest: bytes) -> None:
    files = dict(unpack(honest).files)
    refused(ws, zip_members(unpack(honest).bundle, list(files.items()), first="x"), DESCRIPTION)
    with pytest.warns(UserWarning):
        data = zip_members(unpack(honest).bundle, [*files.items(), (DESCRIPTION, b"{}")])
    refused(ws, data, "no place")
    for value in ({"private": "no"}, {"format_version": 9}, {"holds": "global"}, {"sessions": []}):
        refused(ws, _with_description(honest, change_description(honest, **value)), DESCRIPTION)


def _with_description(honest: bytes, description: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(DESCRIPTION, description)
        for name, data in unpack(honest).files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def test_18_a_hash_or_a_size_that_lies(ws: Workspace, honest: bytes) -> None:
    files = dict(unpack(honest).files)
    bundle, path = unpack(honest).bundle, next(iter(files))
    refused(ws, zip_members(bundle, [*{**files, path: files[path][:-1] + b"x"}.items()]), "hash")
    refused(ws, zip_members(bundle, [*{**files, path: files[path] + b"x"}.items()]), "size")


def test_18_a_bomb_is_not_unpacked(ws: Workspace, honest: bytes) -> None:
    bundle = unpack(honest).bundle
    book = next(member.path for member in bundle.members if member.path.startswith("books/"))
    bomb = bytes(LIMITS.member_bytes)
    declared = replace(bundle, members=tuple(_grown(member, book, len(bomb)) for member in bundle.members))
    files = {**unpack(honest).files, book: bomb}
    refused(ws, zip_members(declared, list(files.items())), "proportion")
    larger = replace(bundle, members=tuple(_grown(member, book, LIMITS.member_bytes + 1) for member in bundle.members))
    refused(ws, zip_members(larger, list(files.items())), "larger")


def _grown(member: Member, path: str, size: int) -> Member:
    return replace(member, bytes=size) if member.path == path else member


def test_18_a_bomb_that_says_it_is_small_is_read_no_further_than_it_says(ws: Workspace, honest: bytes) -> None:
    files = dict(unpack(honest).files)
    path = next(iter(files))
    bomb = zip_members(unpack(honest).bundle, [*{**files, path: files[path] + bytes(5_000_000)}.items()])
    data, size = bytearray(bomb), struct.pack("<L", len(files[path]))
    for signature, name_at, size_at in ((b"PK\x03\x04", 30, 22), (b"PK\x01\x02", 46, 24)):
        header = next(at for at in _places(bomb, signature) if bomb[at + name_at :].startswith(path.encode()))
        data[header + size_at : header + size_at + 4] = size
    refused(ws, bytes(data))


def _places(data: bytes, signature: bytes) -> list[int]:
    return [match.start() for match in re.finditer(re.escape(signature), data)]


def test_18_a_bomb_in_the_description(ws: Workspace, honest: bytes) -> None:
    spaces = b" " * (LIMITS.description_bytes + 1)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(DESCRIPTION, spaces)
    refused(ws, buffer.getvalue(), DESCRIPTION)


def test_18_more_members_than_a_bundle_may_hold_are_counted_before_they_are_read(ws: Workspace, honest: bytes) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(LIMITS.members + 2):
            archive.writestr(f"{number}", b"")
    refused(ws, buffer.getvalue(), "members")


@pytest.mark.parametrize(
    "alter",
    [
        lambda data: b"", lambda data: b"PK\x03\x04", lambda data: data[:-1], lambda data: data[: len(data) // 2],
        lambda data: data + b"x", lambda data: b"MZ" + data, lambda data: data[:-2] + b"\x01\x00" + b"x",
        lambda data: data.replace(b"PK\x01\x02", b"PK\x01\x03"),
        lambda data: data.replace(b"PK\x03\x04", b"PK\x03\x05", 2),
        lambda data: data[:60] + bytes(200) + data[260:], lambda data: data * 2, lambda data: b"x" * 100_000,
    ],
)  # fmt: skip
def test_18_an_archive_that_is_damaged_or_none(ws: Workspace, honest: bytes, alter: Callable[[bytes], bytes]) -> None:
    refused(ws, alter(honest))
    assert read_description(alter(b"no bundle")) is None


def test_18_an_archive_that_is_encrypted_or_packed_in_another_way(ws: Workspace, honest: bytes) -> None:
    data = bytearray(honest)
    at = data.rindex(b"PK\x01\x02")
    data[at + 8] |= 1
    refused(ws, bytes(data), "packed")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr(DESCRIPTION, b"{}")
    refused(ws, buffer.getvalue(), "packed")


def test_18_a_directory_that_is_longer_than_it_says(ws: Workspace, honest: bytes) -> None:
    """The extension for huge archives would let the directory be anywhere and of any size."""
    end = honest[-22:]
    refused(ws, honest[:-22] + b"PK\x06\x07" + bytes(16) + end, "not an archive of ours")


def transcript(files: Files) -> str:
    return next(path for path in files if path.endswith("--transcript.md"))


def rehashed(data: bytes) -> bytes:
    """A file whose frontmatter carries the hash of the body that it has by now."""
    head, _, body = data.decode().partition("\n---\n")
    lines = [
        f'content_sha256: "{hash_body(body)}"' if line.startswith("content_sha256") else line
        for line in head.split("\n")
    ]
    return ("\n".join(lines) + "\n---\n" + body).encode()


ALTERATIONS: dict[str, tuple[str, bytes, bytes, bool, str]] = {
    "body without its hash": ("summary", b"## Asked", b"## Never asked", False, "content_sha256"),
    "identity": ("summary", b'session_id: "s-1"', b'session_id: "s-2"', False, "belong"),
    "agent": ("summary", b'agent_id: "default"', b'agent_id: "victim"', False, ""),
    "time": ("summary", b'captured_at: "2026-11-21T12', b'captured_at: "2026-11-21T11', False, "belong"),
    "kind": ("summary", b'kind: "summary"', b'kind: "tombstone"', False, ""),
    "doubled key": ("summary", b"private: false", b"private: true\nprivate: false", False, ""),
    "unknown key": ("summary", b"private: false", b"private: false\nonload: 1", False, "onload"),
    "python tag": ("summary", b"lane: null", b"lane: !!python/object/apply:os.system ['x']", False, ""),
    "manifest elsewhere": ("summary", b"--manifest.md\"\nsource", b"--summary.md\"\nsource", False, ""),
    "text outside of turns": ("transcript", b"\n\n## 1 ", b"\n\n```dataviewjs\nx\n```\n\n## 1 ", True, "turns"),
    "text behind the turns": ("transcript", b"roots.\n", b"roots.\n\n<script>x</script>\n", True, "turns"),
    "text within a turn": ("transcript", b"roots.\n", b"roots.\n> <script>x</script>\n", True, "turns"),
    "link to a stranger": (
        "summary", b"[[memory/", b"[[memory/2026-11-20T10-00-00.000Z--aaaaaaaaaaaaaaaa--summary.md|x]] [[memory/", True,
        "come with it",
    ),
    "sentence of two lines": ("summary", b'memory_sentence: "', b'memory_sentence: "x\\n- a row ', False, "sentence"),
    "endless sentence": ("summary", b'memory_sentence: "', b'memory_sentence: "' + b"word " * 60, False, "sentence"),
    "manifest names less": ("manifest", b'captures: ["', b'captures: []\nx: ["', False, ""),
    "manifest names twice": ("manifest", b"resanitized: []", b'resanitized: ["../x 0 0 a b"]', False, ""),
    "replaced by something else": (
        "manifest", b"resanitized: []",
        b'resanitized: ["%PATH% ' + b"0" * 64 + b" " + b"1" * 64 + b' v1 v2"]', False, "replaced",
    ),
    "imported from a path": ("manifest", b"tags:", b'imported_from: ["../../x"]\ntags:', False, "imported_from"),
    "imported from a text": ("manifest", b"tags:", b'imported_from: "aaaaaaaaaaaaaaaa"\ntags:', False, "imported_from"),
}  # fmt: skip


@pytest.mark.parametrize("name", ALTERATIONS)
def test_18_files_that_somebody_altered(ws: Workspace, honest: bytes, name: str) -> None:
    """Hashes in the description follow: the one who altered the file made the bundle."""
    kind, old, new, follow, why = ALTERATIONS[name]

    def alter(files: Files) -> None:
        replacement = new.replace(b"%PATH%", transcript(files).encode())
        files.update(replace_bytes(files, kind, old, replacement))
        path = next(path for path in files if path.endswith(f"--{kind}.md"))
        if follow:
            files[path] = rehashed(files[path])

    refused(ws, rebuild_bundle(honest, alter), why)


def test_18_a_bundle_without_a_manifest_or_with_a_part_of_a_session(ws: Workspace, honest: bytes) -> None:
    for kind in ("manifest", "summary", "transcript", "compaction"):

        def drop(files: Files, kind: str = kind) -> None:
            del files[next(path for path in files if path.endswith(f"--{kind}.md"))]

        refused(ws, rebuild_bundle(honest, drop))


def test_18_a_reference_that_hides_in_an_escape(ws: Workspace, honest: bytes) -> None:
    """Renaming does not see it, its reader would: a copy never points at the session that it came from."""
    token = unpack(honest).bundle.sessions[0].session_token
    hidden = "".join(f"\\u{ord(char):04x}" for char in token)

    def alter(files: Files) -> None:
        path = next(path for path in files if path.startswith("books/session/"))
        opening, comment, rest = files[path].partition(b"lineage:entry ")
        files[path] = opening + comment + rest.replace(token.encode(), hidden.encode(), 1)

    with pytest.raises(FormatError, match="hidden"):
        import_bundle(ws, rebuild_bundle(honest, alter))


def test_18_what_would_run_is_made_harmless_and_secrets_are_redacted(ws: Workspace, honest: bytes) -> None:
    def alter(files: Files) -> None:
        path = next(path for path in files if path.endswith("--summary.md"))
        files[path] = rehashed(files[path] + f"\n```dataviewjs\nx\n```\n<script>y</script> {SECRET}\n".encode())
        book = next(path for path in files if path.startswith("books/session/"))
        files[book] += f"\n![[embedded]] <%* z %>\n---\nthe key {SECRET}\n".encode()

    done = import_bundle(ws, rebuild_bundle(honest, alter))
    assert done.defused == 2
    assert done.redactions == {"aws-access-key-id": 2}
    text = b"\n".join(ws.documents.store.read(path).data for path in done.sessions[0].files).decode()
    for harmful in ("```dataviewjs", "<script", "![[", "<%", SECRET):
        assert harmful not in text
    assert "\n---\nthe key [REDACTED:aws-access-key-id]" in text


def test_18_the_command_refuses_it_with_a_hint_and_exit_code_1(
    tmp_path: Path, lineage: LineageCommand, honest: bytes
) -> None:
    file = tmp_path / "x.zip"
    file.write_bytes(honest[:-1])
    lineage("init")
    before = {path: data for path, data in read_all_files(lineage.root).items() if ".lineage/" not in path}
    done = lineage("bundle", "import", str(file))
    assert (done.code, done.err.count("\n")) == (1, 2)
    assert "nothing was written" in done.err
    assert {path: data for path, data in read_all_files(lineage.root).items() if ".lineage/" not in path} == before
    for missing in ("nowhere.zip", ".", "/dev/null"):
        assert lineage("bundle", "import", missing).code in (1, 2)


def test_18_an_honest_bundle_is_not_refused(ws: Workspace, honest: bytes) -> None:
    whole = unpack(honest)
    assert pack(whole.bundle, whole.files) == honest
    assert import_bundle(ws, honest).sessions[0].status == "imported"
