"""The names of a project's folder of books. Fails without the owner's name or the length's limit in `list_names`."""

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.file_names import escape_name
from lineage.workspace.folder_names import list_names


def test_the_base_name_comes_first_the_owners_next_and_the_hash_last() -> None:
    names = list(list_names("github.com/ada/demo"))
    assert names[:2] == ["demo", "ada-demo"]
    assert names[2].startswith("demo-") and len(names[2]) == len("demo-") + 8
    assert len(list(list_names("~/code/demo"))) == 2, "a path has no owner"


@given(st.text(min_size=1, max_size=600), st.text(min_size=1, max_size=600))
def test_the_last_is_a_files_name_and_no_other_project_has_it(one: str, other: str) -> None:
    names = [list(list_names(f"~/{key}"))[-1] for key in (one, other)]
    assert all(map(escape_name, names))
    assert (names[0] == names[1]) == (one == other)
