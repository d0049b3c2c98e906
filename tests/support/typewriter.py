"""A harness that nobody has: its adapter, its entry, and lineage with that entry as one command.

`python -m tests.support.typewriter ARGUMENTS` is `lineage ARGUMENTS` on a machine where lineage knows of it.
"""

from collections.abc import Iterator
from pathlib import Path

from lineage.__main__ import main
from lineage.core.capture.capture import Capture
from lineage.core.format.turns import ASSISTANT, USER, Turn
from lineage.harness.adapter import Collector, SessionLocation, list_files
from lineage.harness.json_values import JsonObject, as_string
from lineage.harness.registry import HARNESSES
from lineage.harness.spec import (
    HOOK_OUTPUT,
    HOOKS,
    SESSION,
    SESSION_END,
    SESSION_START,
    TURN_END,
    HarnessSpec,
    HookFormat,
    Installation,
    Program,
    Retention,
    ServerSettings,
)

NAME = "typewriter"
SPEC = HarnessSpec(
    title="Typewriter",
    reads="JSONL",
    arrives="hooks",
    adapter=__name__,
    sessions=("${TYPEWRITER_HOME:-~/.typewriter}/pages",),
    hooks=HookFormat(
        events={"page-in": SESSION_START, "bell": TURN_END, "page-out": SESSION_END},
        prompts=("key-down",),
        fields={"session_id": ("page",), "cwd": ("desk",), "transcript_path": ("sheet",), "reason": ("why",)}
        | {"trigger": (), "summary": ()},
        event_fields=("lever",),
        output=HOOK_OUTPUT,
    ),
    installation=Installation(
        folder="${TYPEWRITER_HOME:-~/.typewriter}",
        files={"levers.json": HOOKS},
        events={"page-in": {"timeout": 10}, "key-down": {"timeout": 5}, "page-out": {"timeout": 10}},
        server=ServerSettings(file="servers.json"),
        has_skills=True,
        next_step="pull the lever",
    ),
    program=Program(name="typewriter", resume=("--page", SESSION), spawn=("--new",)),
    variables=("TYPEWRITER_BELL",),
    retention=Retention(file="${TYPEWRITER_HOME:-~/.typewriter}/levers.json", key="burnAfterDays", days=7),
)


class _Reader(Collector):
    page: str | None = None

    def add(self, record: JsonObject) -> None:
        role = {"typist": USER, "machine": ASSISTANT}.get(as_string(record.get("who")))
        if role is None:
            self.skip("unknown")
            return
        self.recognized_count += 1
        self.page = as_string(record.get("page")) or self.page
        turn = Turn(role, as_string(record.get("line")))
        self.append(self.keep_text(turn, "unknown"), self.record_time(record.get("at")), None)


def read(path: Path, session: str | None = None) -> Capture:
    """Return the session of a page."""
    reader = _Reader()
    reader.read_lines(path, "line of a typewriter")
    return reader.build_capture(session_id=reader.page or session)


def discover(root: Path) -> Iterator[SessionLocation]:
    """Yield every page."""
    return list_files(root, (".page",))


if __name__ == "__main__":
    HARNESSES[NAME] = HarnessSpec(**{**vars(SPEC), "adapter": "tests.support.typewriter"})
    main()
