"""The identity of a session: agent, session id, session key and their token (spec: session token contract)."""

import base64
import hashlib
import re
from functools import lru_cache
from typing import NamedTuple

from lineage.errors import InvalidInput

DEFAULT_AGENT = "default"
TOKEN = re.compile(r"[a-z2-7]{16}")
MAX_ID_LENGTH = 256

_AGENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_TEST_PREFIXES = ("test-", "spec-", "fixture-", "synthetic-", "tmp-")
MODEL_FOLDER = "lineage-model-"
"""The beginning of the name of the temporary folders in which lineage runs a model."""
_TEMPORARY = re.compile(
    r"(?:/private)?(?:/tmp|/var/tmp|/var/folders|/dev/shm)(?:/|$)|.*[\\/]AppData[\\/]Local[\\/]Temp(?:[\\/]|$)"
    rf"|.*[\\/]{MODEL_FOLDER}",
    re.IGNORECASE,
)


# A named tuple: every document of a reindex makes one.
class Identity(NamedTuple):
    """One session of one agent. `session_key` is None unless the harness really has one (format: Identity)."""

    agent_id: str
    session_id: str
    session_key: str | None = None

    @property
    def canonical_id(self) -> str:
        """The source of the token: the key if there is one, else the id."""
        return self.session_key or self.session_id

    @property
    def token(self) -> str:
        """The session's token, 16 letters and digits."""
        return derive_session_token(self.agent_id, self.canonical_id)


@lru_cache(maxsize=1024)
def derive_session_token(agent_id: str, identity: str) -> str:
    """Return the first 16 characters of lower-case base32(sha256("agent:identity")), or InvalidInput for a bad agent.

    >>> derive_session_token("default", "sess-1")
    'yruajzz2ynbltkjz'
    """
    seed = f"{validate_agent_id(agent_id)}:{identity.strip()}".encode()
    return base64.b32encode(hashlib.sha256(seed).digest()).decode("ascii").lower()[:16]


def is_agent_id(text: str) -> bool:
    """Return whether a text is a valid agent id."""
    return _AGENT.fullmatch(text) is not None


def validate_agent_id(agent_id: str) -> str:
    """Return the agent id, or raise InvalidInput."""
    # A colon would let two identities share one token.
    if not is_agent_id(agent_id):
        raise InvalidInput(
            f"not an agent id: {agent_id[:80]!r}",
            hint="use 1–64 letters, digits, dots, dashes or underscores, for example --agent default",
        )
    return agent_id


def validate_id(name: str, value: object) -> str:
    """Return a session id or key, stripped. Raises InvalidInput if it is missing, too long or unprintable."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{name} is missing", hint=f"give {name} as the harness reports it")
    text = value.strip()
    if len(text) > MAX_ID_LENGTH or not (text.isprintable() or _CONTROL.search(text) is None):
        raise InvalidInput(
            f"{name} is not usable: {text[:60]!r}",
            hint=f"{name} is one printable line of at most {MAX_ID_LENGTH} characters",
        )
    return text


def is_test_session(identity: Identity, project: str | None) -> bool:
    """Return whether this is a temp or test session: visible surfaces leave it out (format: MEMORY.md).

    >>> is_test_session(Identity("default", "test-1"), None), is_test_session(Identity("default", "x"), "/tmp/scratch")
    (True, True)
    """
    if project is not None:
        return _TEMPORARY.match(project) is not None
    return identity.session_id.startswith(_TEST_PREFIXES) or (identity.session_key or "").startswith(_TEST_PREFIXES)
