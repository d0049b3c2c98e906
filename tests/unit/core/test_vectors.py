"""The test vectors that every implementation of the format shares: tokens, body hashes, file names."""

import json
from pathlib import Path
from typing import Any

import pytest

from lineage.core.base import naming
from lineage.core.base.naming import derive_session_token
from lineage.core.base.times import to_utc
from lineage.core.format.body import hash_body
from lineage.errors import InvalidInput
from tests.support.parametrize import each

VECTORS: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[2] / "data" / "contracts.json").read_text(encoding="utf-8")
)


def test_every_group_of_vectors_is_tested_here() -> None:
    assert set(VECTORS) == {"token", "token_refused", "body_sha256", "stem"}
    assert all(VECTORS.values())


@each("vector", VECTORS["token"], ids=repr)
def test_a_token_follows_from_agent_and_identity(vector: dict[str, str]) -> None:
    assert derive_session_token(vector["agent_id"], vector["identity"]) == vector["token"]


@pytest.mark.parametrize("vector", VECTORS["token_refused"], ids=repr)
def test_an_agent_id_that_could_be_ambiguous_is_refused(vector: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match="not an agent id"):
        derive_session_token(vector["agent_id"], "sess-1")


@each("vector", VECTORS["body_sha256"], ids=repr)
def test_a_body_has_the_hash_of_its_normalized_form(vector: dict[str, str]) -> None:
    assert hash_body(vector["body"]) == vector["sha256"]


@pytest.mark.parametrize("vector", VECTORS["stem"], ids=repr)
def test_a_file_name_follows_from_time_and_token(vector: dict[str, str]) -> None:
    token = derive_session_token(vector["agent_id"], vector["identity"])
    path = naming.artifact_path(naming.build_stem(to_utc(vector["captured_at"]), token), naming.SUMMARY)
    assert path == vector["summary"]
