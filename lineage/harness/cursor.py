"""The adapter of Cursor: agent transcripts of the editor and of its command line. (harnesses.md 5.3).

Cursor rewrites the whole file at a resume, without ids or tool results, and with times in prompts only. So a turn has
no id of its own: session, place and text identify it. (format: Captures)
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lineage.core.capture.capture import Capture
from lineage.core.format.turns import ASSISTANT, USER, Turn
from lineage.harness.adapter import BOOKKEEPING, FOREIGN_HINT, NOTES, UNKNOWN, Collector, SessionLocation, list_files
from lineage.harness.json_values import as_blocks, as_mapping, as_string, format_media_note
from lineage.harness.text import strip_injections
from lineage.harness.tool_inputs import build_call_turn

_TRANSCRIPTS = "agent-transcripts"
_SUB_AGENTS = "subagents"
# Cursor's marker for hidden thinking.
_REDACTED = "[REDACTED]"
_QUERY = ("<user_query>", "</user_query>")

_ATTACHED_BLOCK = re.compile(
    r"\s*<(timestamp|system_notification|system_reminder|open_and_recently_viewed_files|attached_files|image_files"
    r"|git_status|user_info|rules|agent_transcripts|agent_skills|manually_attached_skills|mcp_file_system"
    r"|cursor_commands|external_links|additional_data)>"
)
_STAMP = re.compile(
    r"[A-Za-z]+, ([A-Z][a-z]{2}) (\d{1,2}), (\d{4}), (0?[1-9]|1[0-2]):([0-5]\d)\s?([AP]M)"
    r" \(UTC(?:([+-])(\d{1,2})(?::(\d{2}))?)?\)"
)
# Not `strptime`, which follows the locale.
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ALPHANUMERIC = re.compile(r"[A-Za-z0-9]+")
_ABSOLUTE = re.compile(r"(?:[A-Za-z]:)?[/\\]")
_PATH_KEYS = ("working_directory", "path", "file_path", "target_directory", "target_file")


def read(path: Path, session: str | None = None) -> Capture:
    """Return the session of a transcript, or a sub-agent's. Raise TranscriptError for unreadable and foreign files."""
    location = _PathParts.parse(path)
    reader = _Reader(folder=location.project)
    reader.read_lines(path, "Cursor record", f"{FOREIGN_HINT}; .txt is `generic`")
    return reader.build_capture(
        session_id=location.session, parent_session=location.parent, project=reader.workspace or None
    )


def list_sub_agent_places(transcript: Path, session: str) -> list[Path]:
    """Return the files and folders that may hold the transcripts of a session's sub-agents."""
    return [transcript.parent / "subagents"]


def discover(root: Path) -> Iterator[SessionLocation]:
    """Yield every main transcript and every sub-agent's."""
    return (replace(item, parent=_PathParts.parse(item.path).parent) for item in list_files(root, (".jsonl",)))


@dataclass(frozen=True, slots=True)
class _PathParts:
    """The parts of a path: `<project>/agent-transcripts/<session>/<session>.jsonl`, with `subagents/` beside the file.

    Older versions kept it flat, `agent-transcripts/<session>.jsonl`.
    """

    project: str = ""
    session: str | None = None
    parent: str | None = None

    @staticmethod
    def parse(path: Path) -> "_PathParts":
        parts = path.parts
        if _TRANSCRIPTS not in parts:
            return _PathParts()
        at = len(parts) - 1 - parts[::-1].index(_TRANSCRIPTS)
        project = parts[at - 1] if at else ""
        match parts[at + 1 :]:
            case [session, _]:
                return _PathParts(project, session)
            case [parent, folder, _] if folder == _SUB_AGENTS:
                return _PathParts(project, path.stem, parent)
            case _:
                return _PathParts(project, path.stem)


@dataclass(slots=True)
class _Reader(Collector):
    folder: str = ""
    workspace: str = ""

    def add(self, record: dict[str, Any]) -> None:
        role, content = record.get("role"), as_mapping(record.get("message")).get("content")
        if record.get("type") == "turn_ended":
            self.recognized_count += 1
            self.skip(BOOKKEEPING)
        elif role not in ("user", "assistant") or not isinstance(content, list | str):
            self.skip(UNKNOWN)
        else:
            self.recognized_count += 1
            blocks = [as_mapping(block) for block in as_blocks(content)]
            if role == "user":
                self._prompt(blocks)
            else:
                self.append((turn for block in blocks for turn in self._block(block)), None, None)

    def _prompt(self, blocks: list[dict[str, Any]]) -> None:
        texts, stamp = [], ""
        for block in blocks:
            match block.get("type"):
                case "text" if isinstance(block.get("text"), str):
                    text, block_stamp = _parse_prompt(block["text"])
                    stamp = stamp or block_stamp
                    texts.append(strip_injections(text))
                case "image":
                    texts.append(_image(block))
                case _:
                    self.skip(UNKNOWN)
        if text := "\n".join(filter(None, texts)):
            self.append([Turn(USER, text)], self.record_time(_parse_stamp(stamp)), None)
        else:
            self.skip(NOTES)

    def _block(self, block: dict[str, Any]) -> Iterator[Turn]:
        match block.get("type"):
            case ("text" | "thinking") as kind if as_string(block.get(kind)).strip() not in ("", _REDACTED):
                yield Turn(ASSISTANT, block[kind].strip("\n"), thinking=kind == "thinking")
            case "text" | "thinking":
                self.skip(BOOKKEEPING)
            case "tool_use":
                self.workspace = self.workspace or _find_workspace(self.folder, as_mapping(block.get("input")))
                yield build_call_turn(block.get("name"), block.get("input"))
            case "image":
                yield Turn(ASSISTANT, _image(block))
            case _:
                self.skip(UNKNOWN)


def _parse_prompt(text: str) -> tuple[str, str]:
    """Return the text that a person typed, and the time in the prompt."""
    rest, attached = _strip_attached(text)
    stamp = attached.get("timestamp", "")
    if "system_notification" in attached:
        return "", stamp  # the query after such a notice is Cursor's own
    # Cursor escapes nothing, so the query reaches from the first opening tag to the last closing one.
    begin, end = rest.find(_QUERY[0]), rest.rfind(_QUERY[1])
    if not 0 <= begin < end:
        return rest, stamp
    query, attached = _strip_attached(rest[begin + len(_QUERY[0]) : end])
    return query, stamp or attached.get("timestamp", "")


def _strip_attached(text: str) -> tuple[str, dict[str, str]]:
    """Return the text without the blocks that Cursor puts before it, and those blocks by tag."""
    attached: dict[str, str] = {}
    position = 0
    while match := _ATTACHED_BLOCK.match(text, position):
        end = text.find(f"</{match[1]}>", match.end())
        if end < 0:
            break
        attached[match[1]] = text[match.end() : end].strip()
        position = end + len(match[1]) + 3
    return text[position:], attached


def _parse_stamp(stamp: str) -> str | None:
    """Return `Friday, Oct 2, 2026, 9:00 AM (UTC-7)` in ISO form, None for any other form."""
    match = _STAMP.fullmatch(stamp)
    if not match or match[1] not in _MONTHS:
        return None
    month, hour = _MONTHS.index(match[1]) + 1, int(match[4]) % 12 + 12 * (match[6] == "PM")
    zone = f"{match[7] or '+'}{int(match[8] or 0):02d}:{match[9] or '00'}"
    return f"{match[3]}-{month:02d}-{int(match[2]):02d}T{hour:02d}:{match[5]}:00{zone}"


def _find_workspace(folder: str, arguments: dict[str, Any]) -> str:
    """Return the working directory from a path in a call's input, "" if none fits the transcript's folder."""
    # The name of the transcript's folder is not reversible, but it tells which beginning of a path to take.
    words = _ALPHANUMERIC.findall(folder)
    directory = re.compile(r"[/\\]?" + r"[^A-Za-z0-9]+".join(words) + r"[^A-Za-z0-9/\\]*(?=[/\\]|$)")
    for key in _PATH_KEYS:
        value = as_string(arguments.get(key))
        if words and _ABSOLUTE.match(value) and (match := directory.match(value)):
            return match[0]
    return ""


def _image(block: dict[str, Any]) -> str:
    source = as_mapping(block.get("source"))
    return format_media_note(source.get("media_type"), source.get("data"))
