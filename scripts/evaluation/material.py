"""Sessions and the questions about them: our own set, and public sets in the formats that they are published in."""

import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from lineage.core.base.times import format_time
from lineage.errors import InvalidInput

_CODING = Path(__file__).with_name("coding.txt")
_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D(\d+):")
_ROLES = {"U: ": "user", "A: ": "assistant"}
_SEED = 8
_PRINTING, _PRINTED = 24, 6  # sessions, and lines in each
_PUBLISHED = "2026-01-01T10:00:00.000Z"  # of texts that tell no time
_TIME = "%I:%M %p on %d %B, %Y"


@dataclass(slots=True)
class Session:
    """A conversation; `group` is whose it is: only its own group's questions are asked of it."""

    id: str
    group: str
    project: str | None
    at: str
    turns: list[dict[str, Any]] = field(default_factory=list)
    removed: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """`answers` are the ids of the sessions that answer it, empty where none may; without a group all are asked."""

    text: str
    group: str | None
    answers: frozenset[str]
    kind: str = ""

    @property
    def is_held_out(self) -> bool:
        """Whether nothing was tuned on it: a rule that new questions don't move old ones by."""
        return bool(zlib.crc32(self.text.encode()) % 2)


@dataclass(slots=True)
class Material:
    """`history` is where other sessions lie, and of which harness, none for a workspace."""

    name: str
    sessions: list[Session] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    history: tuple[Path, str | None] | None = None

    def take_half(self, *, held_out: bool) -> "Material":
        """The same sessions with a half of the questions, and those that nothing may answer."""
        questions = [one for one in self.questions if not one.answers or one.is_held_out == held_out]
        return replace(self, name=f"{self.name}, {'held out' if held_out else 'tuned on'}", questions=questions)


def coding() -> Material:
    """Our own set."""
    found = Material("coding sessions")
    for line in _CODING.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            name, project, day, *rest = line[3:].split(" | ")
            found.sessions.append(
                Session(name, "coding", f"/home/ada/{project}", f"{day}T10:00:00.000Z", removed=bool(rest))
            )
        elif line.startswith("? "):
            kind, _, text = line[2:].partition(" | ")
            found.questions.append(Question(text, "coding", frozenset({found.sessions[-1].id}), kind))
        elif line.startswith("! "):
            found.questions.append(Question(line[2:], "coding", frozenset()))
        else:
            found.sessions[-1].turns.append(_turn(line))
    return found


def tools() -> Material:
    """Our own set, with what tools gave: every other session's answers stand in a file that a tool wrote, and what was
    said in the others is printed by commands of sessions that have nothing to do with it."""
    found, random = coding(), Random(_SEED)
    found.name = "coding sessions with tools"
    printed = [turn["text"] for session in found.sessions[::2] for turn in session.turns if not session.removed]
    for session in found.sessions[1::2]:
        for turn in session.turns:
            if turn["role"] == "assistant":
                turn |= {"role": "tool", "name": "Write", "input": "notes.md"}
    for number in range(_PRINTING):
        text = "\n".join(random.sample(printed, _PRINTED))
        session = Session(f"printing-{number}", "coding", "/home/ada/notes", "2026-08-01T10:00:00.000Z")
        session.turns = [_turn("U: Show me the page again."), _turn(f"T Bash cat page-{number}.md: {text}")]
        found.sessions.append(session)
    return found


def _turn(line: str) -> dict[str, Any]:
    if line.startswith("T "):
        call, _, result = line[2:].partition(": ")
        name, _, argument = call.partition(" ")
        return {"role": "tool", "name": name, "input": argument, "text": result}
    return {"role": _ROLES[line[:3]], "text": line[3:]}


def locomo(path: Path) -> Material:
    """A file in LoCoMo's format: each conversation is a group. Questions without evidence are left out."""
    found = Material("LoCoMo")
    for number, sample in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        group = f"c{number}"
        said = sample["conversation"]
        for key, turns in said.items():
            match = _SESSION.fullmatch(key)
            if match and turns:
                session = Session(f"{group}-s{match[1]}", group, None, _moment(said[f"{key}_date_time"]))
                session.turns = [_spoken(turn, said["speaker_a"]) for turn in turns]
                found.sessions.append(session)
        for asked in sample["qa"]:
            evidence = frozenset(
                f"{group}-s{session}" for one in asked["evidence"] for session in _EVIDENCE.findall(one)
            )
            if evidence:
                found.questions.append(Question(asked["question"], group, evidence))
    return found


def qmsum(path: Path) -> Material:
    """A file of QMSum: a session for each meeting; what is asked of a whole meeting in general is left out."""
    found = Material("QMSum")
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        meeting = json.loads(line)
        session = Session(f"m{number}", "qmsum", None, _PUBLISHED)
        said = (f"{turn['speaker']}: {turn['content']}" for turn in meeting["meeting_transcripts"])
        session.turns = [{"role": ("user", "assistant")[place % 2], "text": text} for place, text in enumerate(said)]
        found.sessions.append(session)
        asked = (one["query"] for one in meeting["specific_query_list"])
        found.questions += [Question(text, "qmsum", frozenset({session.id})) for text in asked]
    return found


def cranfield(folder: Path) -> Material:
    """The files `cran.all.1400`, `cran.qry` and `cranqrel` of a folder: a session for each abstract."""
    found = Material("Cranfield")
    for number, fields in _smart_records(folder / "cran.all.1400"):
        texts = [text for text in (fields["T"], fields["W"].removeprefix(fields["T"]).strip()) if text]
        session = Session(f"d{number}", "cranfield", None, _PUBLISHED)
        session.turns = [{"role": role, "text": text} for role, text in zip(("user", "assistant"), texts, strict=False)]
        if session.turns:
            found.sessions.append(session)
    judged = [line.split() for line in (folder / "cranqrel").read_text(encoding="utf-8").splitlines()]
    # The judgements name queries by their place, not by their number.
    for place, (_, fields) in enumerate(_smart_records(folder / "cran.qry"), 1):
        answers = frozenset(f"d{document}" for query, document, code in judged if query == str(place) and int(code) > 0)
        found.questions.append(Question(" ".join(fields["W"].split()), "cranfield", answers))
    return found


def _smart_records(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """The number and the fields of each record of a file in the format of the SMART system."""
    for record in re.split(r"^\.I ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        number, *parts = re.split(r"^\.([A-Z])[ \t]*\n", record, flags=re.MULTILINE)
        texts = {name: text.strip() for name, text in zip(parts[::2], parts[1::2], strict=True)}
        yield number.strip().lstrip("0"), {"T": "", "W": "", **texts}


def chosen(file: Path, sessions: Path, harness: str | None) -> Material:
    """Questions of a file over sessions of a place: a line of JSON for each, `{"question": …, "sessions": [id, …]}`,
    with `"kind"` where there are kinds. Raises InvalidInput for a line of another form."""
    found = Material(file.stem, history=(sessions, harness))
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            asked = json.loads(line)
            answers = frozenset(map(str, asked["sessions"]))
            found.questions.append(Question(str(asked["question"]), None, answers, str(asked.get("kind", ""))))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            hint = 'a line is {"question": "…", "sessions": ["id", …], "kind": "…"}'
            raise InvalidInput(f"line {number} of {file.name} is no question", hint=hint) from error
    return found


def _moment(text: str) -> str:
    return format_time(datetime.strptime(text, _TIME).replace(tzinfo=UTC))


def _spoken(turn: dict[str, Any], first: str) -> dict[str, Any]:
    """A turn with who said it; of a picture that was shared, its caption."""
    picture = f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""
    role = "user" if turn["speaker"] == first else "assistant"
    return {"role": role, "text": f"{turn['speaker']}: {turn['text']}{picture}"}
