"""Short ids mean one session.

Fails without the comparison of tokens in `_means`, or where the other names of a session are left out of it.
"""

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.short_ids import SessionName, shorten_names

_IDS = st.text("aB1-:\u0645 ", min_size=1, max_size=24)
_TOKENS = st.text("ab", min_size=16, max_size=16)


def find(names: list[SessionName], reference: str) -> set[str]:
    """The sessions that a reference finds, as `resolve_session` does."""
    low = reference.lower()
    found = [name for name in names if any(text.lower().startswith(low) for text in name if text)]
    exact = {name.token for name in found if reference in name}
    whole = exact & {reference}
    return whole or exact or {name.token for name in found}


@given(st.lists(st.tuples(_TOKENS, _IDS, st.none() | _IDS), max_size=12, unique_by=lambda one: one[0]))
def test_a_short_id_means_its_session_alone(rows: list[tuple[str, str, str | None]]) -> None:
    names = [SessionName(*row) for row in rows]
    for token, short in shorten_names(names, [name.token for name in names]).items():
        assert find(names, short) == {token}, (short, names)
        assert not short.startswith("-")


def test_it_is_as_long_as_it_has_to_be() -> None:
    names = [
        SessionName("a" * 16, "2489c83d-1f2e-4a5b-9c55-000000000001", None),
        SessionName("b" * 16, "2489c83d-1f2f-4a5b-9c55-000000000002", None),
        SessionName("c" * 16, "5f0c2f7e-1d7a-5b7e-9c55-7a1d6e0c9b11", None),
        SessionName("d" * 16, "-rf", None),
        SessionName("e" * 16, "a session", "k"),
    ]
    wanted = [name.token for name in names]
    assert list(shorten_names(names, wanted).values()) == ["a" * 8, "b" * 8, "5f0c2f7e", "d" * 8, "e" * 8]
    assert shorten_names([], ["gone"]) == {"gone": "gone"}
