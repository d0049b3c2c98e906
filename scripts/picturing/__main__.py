"""Makes a workspace of the sample, as of one fixed moment, and takes the pictures of its page and its notes."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lineage.app import clock
from lineage.app.init_workspace import init_workspace
from lineage.app.workspace import run_in_workspace
from lineage.core.base.times import shift_time
from lineage.core.capture.request import SESSION_END, parse_request
from lineage.pipeline.capture.session_end import capture_session
from lineage.workspace.workspace import Workspace
from tests.support.browser import Browser, open_browser
from tests.support.codex import make_message, make_meta
from tests.support.web_client import serve_workspace

NOW = "2026-11-03T09:00:00.000Z"
WIDE = (1100, 660)
SCHEMES = ("light", "dark")
PAGES = (("sessions", "/", WIDE),)
NOTE = "projects/reader.md"

_SCRIPTS = Path(__file__).parents[1]
_SAMPLE = _SCRIPTS / "sample"
_READERS = _SCRIPTS.parent / ".venv/readers"
_PACKAGES = (
    "unified@11", "remark-parse@11", "remark-gfm@4", "remark-math@6", "@quartz-community/remark-obsidian@1.1.0",
    "remark-rehype@11", "rehype-stringify@10",
)  # fmt: skip


def main(folder: Path) -> None:
    """Write every picture into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    clock.now = lambda: NOW
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch, "vault")
        init_workspace(root)
        run_in_workspace(root, lambda ws: _fill(ws, Path(scratch)), writes=True)
        note = _render_note(root, Path(scratch))
        with serve_workspace(root) as client, open_browser(client.url, Path(scratch, "profile")) as browser:
            for scheme in SCHEMES:
                browser.set_color_scheme(scheme)
                for name, path, size in PAGES:
                    _take(browser, client.url + path, size, folder / f"{name}-{scheme}.png")
                _take(browser, note.as_uri(), WIDE, folder / f"note-{scheme}.png")


def _fill(ws: Workspace, scratch: Path) -> None:
    for payload in (*_write_weeks(scratch), _find_sample()):
        capture_session(ws, parse_request(SESSION_END, payload, agent_id=None, now=ws.now))


def _find_sample() -> dict[str, Any]:
    path = _SAMPLE / "claude-code.jsonl"
    name = "5f0c2f7e-1d7a-5b7e-9c55-7a1d6e0c9b11"
    times = {"ended_at": "2026-11-02T14:08:00Z", "captured_at": "2026-11-02T14:08:00Z"}
    return {"harness": "claude-code", "session_id": name, "transcript_path": str(path), **times}


def _write_weeks(folder: Path) -> Iterator[dict[str, Any]]:
    """Write the sessions of the weeks before as their harnesses do, and yield what their ends say."""
    for one in json.loads((_SAMPLE / "weeks.json").read_text(encoding="utf-8")):
        lines = list({"claude-code": _list_claude_lines, "codex": _list_codex_lines}[one["harness"]](one))
        path = folder / f"{one['id']}.jsonl"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        times = {"ended_at": lines[-1]["timestamp"], "captured_at": lines[-1]["timestamp"]}
        names = {"harness": one["harness"], "session_id": one["id"], "project": one["folder"]}
        yield {**names, "transcript_path": str(path), **times}


def _list_turns(one: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield time, role and text of requests and answers in turn, one each four minutes."""
    for number, text in enumerate(one["turns"]):
        yield shift_time(one["at"], milliseconds=number * 240_000), ("user", "assistant")[number % 2], text


def _list_claude_lines(one: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for number, (at, role, text) in enumerate(_list_turns(one)):
        place = {"sessionId": one["id"], "cwd": one["folder"], "uuid": f"{one['id']}-{number}", "timestamp": at}
        said = {"role": role, "content": [{"type": "text", "text": text}]}
        yield {
            "type": role,
            "isSidechain": False,
            "userType": "external",
            **place,
            "message": said,
        }


def _list_codex_lines(one: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"timestamp": one["at"], **make_meta(one["id"], cwd=one["folder"])}
    for at, role, text in _list_turns(one):
        yield {"timestamp": at, **make_message(role, text)}


def _render_note(root: Path, scratch: Path) -> Path:
    """Return a page with one note, as another author's reader of Obsidian's markdown renders it."""
    if not (_READERS / "node_modules/rehype-stringify").is_dir():
        _READERS.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", _READERS, *_PACKAGES], check=True
        )
    (scratch / "node_modules").symlink_to(_READERS / "node_modules")
    script = shutil.copy(Path(__file__).parent / "render_note.mjs", scratch)
    text = (root / NOTE).read_text(encoding="utf-8")
    done = subprocess.run(["node", script], input=text, capture_output=True, text=True, check=True)
    style = (Path(__file__).parent / "note.css").read_text(encoding="utf-8")
    snippet = (root / ".obsidian/snippets/lineage.css").read_text(encoding="utf-8")
    page = scratch / "note.html"
    page.write_text(f"<!doctype html><meta charset=utf-8><style>{style}{snippet}</style><main>{done.stdout}</main>")
    return page


def _take(browser: Browser, address: str, size: tuple[int, int], path: Path) -> None:
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    browser.driver.get(address)
    browser.wait_until_visible("h1")
    browser.take_screenshot(path)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else _SCRIPTS.parent / ".github/pictures"))
