"""The gate for private sessions: nothing of them leaves their own scope."""

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.privacy import GLOBAL, is_allowed_in_scope, session_scope

TOKEN = "h7k3n4p2m2x6q3r5"
tokens = st.sampled_from(["", TOKEN, "a" * 16])
scopes = st.one_of(
    st.text(max_size=40),
    st.sampled_from([GLOBAL, "project/demo", "agent/ada", "session/", f"session/{TOKEN}", f"session/{'a' * 16}"]),
)


@given(scopes, tokens)
def test_what_is_private_reaches_its_own_session_and_nothing_else(scope: str, token: str) -> None:
    assert is_allowed_in_scope(scope, private=True, token=token) == (bool(token) and scope == f"session/{token}")


@given(scopes, tokens)
def test_what_is_not_private_is_not_the_gate_s_matter(scope: str, token: str) -> None:
    assert is_allowed_in_scope(scope, private=False, token=token)


def test_a_private_text_without_a_session_goes_nowhere() -> None:
    assert not is_allowed_in_scope(session_scope(""), private=True, token="")
