"""Sessions and the questions about them: our own set, and files in LoCoMo's format."""

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from lineage.core.base.times import format_time

_CODING = Path(__file__).with_name("coding.txt")
_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D(\d+):")
_ROLES = {"U: ": "user", "A: ": "assistant"}
_SEED = 8
_PRINTING, _PRINTED = 24, 6  # sessions, and lines in each
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

    @property
    def text(self) -> str:
        """All that was said, with the day in words, as a plain file would hold it."""
        day = datetime.fromisoformat(self.at).strftime("%d %B %Y").lstrip("0")
        said = (" ".join(filter(None, (turn.get("name"), turn.get("input"), turn["text"]))) for turn in self.turns)
        return "\n".join([day, *said])


@dataclass(frozen=True, slots=True)
class Question:
    """`answers` are the ids of the sessions that answer it, empty where none may."""

    text: str
    group: str
    answers: frozenset[str]


@dataclass(slots=True)
class Material:
    name: str
    sessions: list[Session] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)


def coding() -> Material:
    """Our own set."""
    found = Material("coding sessions")
    for line in _CODING.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            name, project, day, *rest = line[3:].split(" | ")
            found.sessions.append(
                Session(name, "coding", f"/home/ada/{project}", f"{day}T10:00:00.000Z", removed=bool(rest))
            )
        elif line.startswith(("? ", "! ")):
            answers = frozenset({found.sessions[-1].id} if line[0] == "?" else ())
            found.questions.append(Question(line[2:], "coding", answers))
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


def _moment(text: str) -> str:
    return format_time(datetime.strptime(text, _TIME).replace(tzinfo=UTC))


def _spoken(turn: dict[str, Any], first: str) -> dict[str, Any]:
    """A turn with who said it; of a picture that was shared, its caption."""
    picture = f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""
    role = "user" if turn["speaker"] == first else "assistant"
    return {"role": role, "text": f"{turn['speaker']}: {turn['text']}{picture}"}
