"""The block in a note: what stands around it stays, byte for byte, whatever it is; and no two notes share a path.

Fails when `replace_block` writes into a file without a block, loses a byte around one or leaves a second one, and when
two names give one path.
"""

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.note_paths import find_block, parse_project_note, project_note_path, replace_block

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=60).map(lambda text: text.replace("\r", "") + "\n")
AROUND = st.binary(max_size=60).filter(lambda data: b"lineage:" not in data)


@given(AROUND, AROUND, TEXTS, TEXTS)
def test_what_a_person_wrote_around_the_block_stays(before: bytes, after: bytes, first: str, second: str) -> None:
    block = replace_block(None, first) or b""
    note = before + block + after
    assert (find_block(note) or b"").decode() == first
    changed = replace_block(note, second)
    assert (changed is None) == (first == second)
    assert changed in (None, before + (replace_block(None, second) or b"") + after)
    assert replace_block(note, None) == before + after
    assert replace_block(before, second) is None


def test_an_editor_s_line_ends_are_no_change_and_a_second_block_goes() -> None:
    note = replace_block(None, "a\nb\n") or b""
    assert replace_block(note.replace(b"\n", b"\r\n"), "a\nb\n") is None
    assert replace_block(b"x\n" + note + b"mine\n" + note, "a\nb\n") == b"x\n" + note + b"mine\n"


def test_no_name_is_the_month_of_another_nor_differs_in_case_alone() -> None:
    names = ["demo", "Demo", "demo.md", "demo 2026-11", "CON", "a/b", "..", "مشروع", "x" * 60]
    paths = [project_note_path(name, month).lower() for name in names for month in ("", "2026-11")]
    assert len(set(paths)) == len(paths)
    assert [parse_project_note(project_note_path(name, "2026-11")) for name in names] == [(n, "2026-11") for n in names]
