"""The identity and token of a session, and the paths of artifacts, manifests, claims, tombstones and MEMORY.md.

(spec: session token contract, file naming; format: Workspace)
"""

import re
from functools import lru_cache
from typing import NamedTuple

from lineage.core.base.file_names import DEVICE_MARK, DEVICE_NAME, escape_name, unescape_name
from lineage.core.base.session_token import hash_identity
from lineage.core.base.times import from_file_name, to_file_name
from lineage.errors import InvalidInput

DEFAULT_AGENT = "default"
TOKEN = re.compile(r"[a-z2-7]{16}")
MAX_ID_LENGTH = 256
MODEL_FOLDER = "lineage-model-"
"""The beginning of the name of the temporary folders in which lineage runs a model."""

MEMORY = "memory/"
AGENTS = "agents/"
CLAIMS = "memory/claims/"
TOMBSTONES = "memory/tombstones/"

TRANSCRIPT = "transcript"
SUMMARY = "summary"
COMPACTION = "compaction"
MANIFEST = "manifest"
ARTIFACT_KINDS = (TRANSCRIPT, SUMMARY, COMPACTION)
ARTIFACT_DISPLAY_ORDER = (SUMMARY, TRANSCRIPT, COMPACTION)

_AGENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_TEST_PREFIXES = ("test-", "spec-", "fixture-", "synthetic-", "tmp-")
_TEMPORARY = re.compile(
    r"(?:/private)?(?:/tmp|/var/tmp|/var/folders|/dev/shm)(?:/|$)|.*[\\/]AppData[\\/]Local[\\/]Temp(?:[\\/]|$)"
    rf"|.*[\\/]{MODEL_FOLDER}",
    re.IGNORECASE,
)

_TIME = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z"
_TIME_LENGTH = len("2026-03-28T22-34-06.792Z")
STEM = re.compile(rf"({_TIME})--({TOKEN.pattern})")
_CLAIM_OR_TOMBSTONE = re.compile(rf"(?:{CLAIMS}|{TOMBSTONES}){TOKEN.pattern}\.md")
_TOKEN = re.compile(rf"(?<![a-z2-7]){TOKEN.pattern}(?![a-z2-7])")
_MEMORY_MD = re.compile(rf"{AGENTS}([^/]+)/MEMORY\.md")
_PATH = re.compile(rf"memory/({STEM.pattern})--({'|'.join((*ARTIFACT_KINDS, MANIFEST))})\.md")


# A named tuple: every document of a reindex makes one.
class Identity(NamedTuple):
    """One session of one agent. `session_key` is None unless the harness really has one (format: Identity)."""

    agent_id: str
    session_id: str
    session_key: str | None = None

    @property
    def token(self) -> str:
        """The session's token, 16 letters and digits, made of the key if there is one, else of the id."""
        return derive_session_token(self.agent_id, self.session_key or self.session_id)

    @staticmethod
    def in_lane(agent_id: str, session_id: str, lane: str | None, session_key: str | None = None) -> "Identity":
        """Return a session's identity: sessions of one lane are told apart by id, for their key is the lane's."""
        return Identity(agent_id, session_id, f"{lane}#{session_id}" if lane else session_key)


@lru_cache(maxsize=1024)
def derive_session_token(agent_id: str, identity: str) -> str:
    """Return the first 16 characters of lower-case base32(sha256("agent:identity")), or InvalidInput for a bad agent.

    >>> derive_session_token("default", "sess-1")
    'yruajzz2ynbltkjz'
    """
    return hash_identity(validate_agent_id(agent_id), identity)


def derive_parent_token(identity: Identity, parent_session: str | None) -> str | None:
    """Return the token of a sub-agent's parent, None for a session without one; no session is its own parent."""
    token = derive_session_token(identity.agent_id, parent_session) if parent_session else None
    return None if token == identity.token else token


def is_agent_id(text: str) -> bool:
    """Return whether a text is a valid agent id."""
    return _AGENT.fullmatch(text) is not None


def validate_agent_id(agent_id: str) -> str:
    """Return the agent id, or raise InvalidInput."""
    # A colon would let two identities share one token.
    if not is_agent_id(agent_id):
        hint = "use 1–64 letters, digits, dots, dashes or underscores, for example --agent default"
        raise InvalidInput(f"not an agent id: {agent_id[:80]!r}", hint=hint)
    return agent_id


def validate_id(name: str, value: object) -> str:
    """Return a session id or key, stripped. Raises InvalidInput if it is missing, too long or unprintable."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{name} is missing", hint=f"give {name} as the harness reports it")
    text = value.strip()
    if len(text) > MAX_ID_LENGTH or not (text.isprintable() or _CONTROL.search(text) is None):
        hint = f"{name} is one printable line of at most {MAX_ID_LENGTH} characters"
        raise InvalidInput(f"{name} is not usable: {text[:60]!r}", hint=hint)
    return text


def is_test_session(identity: Identity, project: str | None) -> bool:
    """Return whether this is a temp or test session: visible surfaces leave it out (format: MEMORY.md).

    >>> is_test_session(Identity("default", "test-1"), None), is_test_session(Identity("default", "x"), "/tmp/scratch")
    (True, True)
    """
    if project is not None:
        return _TEMPORARY.match(project) is not None
    return identity.session_id.startswith(_TEST_PREFIXES) or (identity.session_key or "").startswith(_TEST_PREFIXES)


# A named tuple: a reindex makes one for every file and link.
class ArtifactName(NamedTuple):
    """The parts of an artifact's or manifest's path."""

    stem: str
    captured_at: str
    token: str
    kind: str


def build_stem(captured_at: str, token: str) -> str:
    """Return the common part of the file names of one capture.

    >>> build_stem("2026-03-28T22:34:06.792Z", "h7k3n4p2m2x6q3r5")
    '2026-03-28T22-34-06.792Z--h7k3n4p2m2x6q3r5'
    """
    return f"{to_file_name(captured_at)}--{token}"


def parse_captured_at(stem: str) -> str:
    """Return the capture time of a stem as a canonical time."""
    return from_file_name(stem[:_TIME_LENGTH])


def build_alias(title: str, kind: str) -> str:
    """Return the alias of a session's file for Obsidian: the title, with the kind unless it is the summary."""
    return title if kind == SUMMARY else f"{title} ({kind})"


def build_css_classes(kind: str) -> list[str]:
    """Return the classes for the note of an artifact or manifest in a style sheet of Obsidian's."""
    return ["lineage", f"lineage-{kind}"]


def artifact_path(stem: str, kind: str) -> str:
    """Return the path of an artifact or a manifest."""
    return f"{MEMORY}{stem}--{kind}.md"


def parse_path(path: str) -> ArtifactName | None:
    """Return the parts of an artifact's or manifest's path, or None for anything else (sync leftovers, notes)."""
    match = _PATH.fullmatch(path)
    if match is None:
        return None
    stem, time, token, kind = match.groups()
    return ArtifactName(stem, from_file_name(time), token, kind)


def is_claim_or_tombstone(path: str) -> bool:
    """Return whether a path is that of a claim or a tombstone."""
    return _CLAIM_OR_TOMBSTONE.fullmatch(path) is not None


def find_tokens(path: str) -> list[str]:
    """Return all possible session tokens in a path of any form: copies by a sync client keep them.

    >>> find_tokens("memory/claims/h7k3n4p2m2x6q3r5.sync-conflict-20260328.md")
    ['h7k3n4p2m2x6q3r5']
    """
    return _TOKEN.findall(path)


def derive_unknown_session_token(agent_id: str) -> str:
    """Return the token for an agent's session if a command wasn't told its id."""
    return derive_session_token(agent_id, "unknown session")


def claim_path(token: str) -> str:
    """Return the path of a session's claim."""
    return f"{CLAIMS}{token}.md"


def tombstone_path(token: str) -> str:
    """Return the path of a session's tombstone."""
    return f"{TOMBSTONES}{token}.md"


@lru_cache(maxsize=256)
def memory_md_path(agent_id: str) -> str:
    """Return `MEMORY.md`, or `agents/<agent_id>/MEMORY.md` for every agent but the default one.

    >>> [memory_md_path(name) for name in ("default", "Ann", "con", "CON")]
    ['MEMORY.md', 'agents/~ann/MEMORY.md', 'agents/~-con/MEMORY.md', 'agents/~c~o~n/MEMORY.md']
    """
    if agent_id == DEFAULT_AGENT:
        return "MEMORY.md"
    folder = escape_name(agent_id)
    device = DEVICE_NAME.match(agent_id)
    if device and not device[0].islower():
        # The folders of agents never had this mark for `CON`: an escaped capital is no device to Windows.
        folder = folder.removeprefix(DEVICE_MARK)
    return f"{AGENTS}{folder}/MEMORY.md"


def parse_agent(path: str) -> str | None:
    """Return the agent of a MEMORY.md below `agents/`, or None for any other file."""
    match = _MEMORY_MD.fullmatch(path)
    agent = unescape_name(match[1]) if match else ""
    return agent if is_agent_id(agent) and memory_md_path(agent) == path else None
