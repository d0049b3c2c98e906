"""An export in a browser, from a folder and below a path of a server: links, search, the policy, axe, and no network.

Fails without `file:` in the policy's script-src for browsers that give folders no origin, without the named policy of
`search.js`, for a script that isn't found from a page in a folder, and without `autoescape`.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from lineage.app.workspace import run_in_workspace
from lineage.core.base.naming import derive_session_token
from lineage.index import SessionFilter
from lineage.pipeline.memory.remember import Memo, remember
from lineage.web.export.folder import export_site
from lineage.workspace.workspace import Workspace
from tests.scenarios.test_serve_browser import AXE
from tests.support.browser import Browser, needs_browser, open_browser
from tests.support.sample_workspace import write_sample_workspace
from tests.support.servers import skip_or_fail
from tests.support.workspace import end_session, make_turns

pytestmark = [pytest.mark.slow, needs_browser]

LONG = derive_session_token("default", "long")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    root = write_sample_workspace(tmp_path / "vault", length=120)

    def fill(ws: Workspace) -> None:
        asked = make_turns("Always use the csv module in the okapi reader.", "日本語の説明 is in `okapi.py`, naïvely.")
        end_session(ws, "okapi", project="/home/ada/reader", transcript=asked)
        for number in range(14):
            remember(ws, Memo(text=f"Fact number {number} of the reader.", kind="fact"))

    run_in_workspace(root, fill, writes=True)
    export_site(root, tmp_path / "site", None, SessionFilter())
    return tmp_path / "site"


@pytest.fixture
def browser(site: Path, tmp_path: Path) -> Iterator[Browser]:
    with open_browser(f"{site.as_uri()}/", tmp_path / "profile") as made:
        yield made


@contextmanager
def serve_folder(folder: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/site/"
        server.shutdown()
        thread.join()


def search(browser: Browser, words: str) -> list[str]:
    browser.find_one("#q").clear()
    browser.find_one("#q").send_keys(words)
    browser.wait_for_script("document.getElementById('live-count').textContent.includes('found')")
    return [found.text for found in browser.find_all("#live .hit h2 a")]


def test_three_clicks_lead_from_the_first_page_to_an_entry(browser: Browser) -> None:
    browser.open("index.html")
    browser.find_one(".projects a").click()
    browser.wait_for_text("h1", "reader")
    okapi = next(link for link in browser.find_all(".row a") if "okapi" in link.text)
    okapi.click()
    browser.wait_until_visible("h1.sentence")
    browser.find_one(".panel .deeds a").click()
    assert browser.wait_for_text(".said", "csv module")
    browser.find_one(".facts a").click()
    browser.wait_until_visible(".turn:target")
    assert "csv module" in browser.find_one(".turn:target").text
    assert browser.read_violations() == []


@pytest.mark.parametrize("page", ["index.html", f"sessions/{LONG}.2.html"])
def test_search_works_from_a_folder_on_every_page(browser: Browser, page: str) -> None:
    browser.open(page)
    assert any("okapi" in title for title in search(browser, "okap"))
    browser.press(Keys.ESCAPE)
    assert search(browser, "naively")
    assert search(browser, "語の")
    browser.press(Keys.ESCAPE)
    browser.find_one("#q").send_keys("nowhere-at-all-zzz")
    browser.wait_for_script("document.getElementById('live-count').textContent === 'nothing found'")
    browser.press(Keys.ESCAPE)
    assert search(browser, "118 parser")
    (first, *_) = browser.find_all("#live .hit h2 a")
    assert f"{LONG}.3.html" in (first.get_attribute("href") or "")
    assert len([one for one in browser.find_all("#live .hit h2 a") if LONG in (one.get_attribute("href") or "")]) == 1
    first.click()
    browser.wait_until_visible(".turn")
    assert f"{LONG}.3.html" in browser.driver.current_url
    assert browser.read_violations() == []


def test_it_lies_below_any_path_of_a_server(browser: Browser, site: Path) -> None:
    with serve_folder(site.parent) as url:
        for page in ("index.html", "memory.html", "memory/global.html", f"sessions/{LONG}.html"):
            browser.driver.get(url + page)
            browser.wait_until_visible("h1")
            assert search(browser, "okapi")
            assert browser.run_script("return document.styleSheets[0].href") == f"{url}static/style.css"
            assert browser.read_violations() == [], page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_keeps_anybody_from_using_a_page(browser: Browser, site: Path, scheme: str) -> None:
    """Every rule of axe on every page, with all that is folded opened; no page scrolls sideways on a telephone."""
    if not AXE.is_file():
        skip_or_fail("axe-core", "npm install --prefix .venv/axe-core axe-core")
    rules = AXE.read_text()
    browser.set_color_scheme(scheme)
    for page in sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html")):
        browser.open(page)
        browser.wait_until_visible("h1")
        assert browser.read_violations() == [], page
        browser.run_script("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        browser.run_script(rules)
        found = browser.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            "axe.run().then((told) => done(told.violations.map((one) => [one.id, one.nodes.map((node) => node.html)])))"
        )
        assert found == [], page
    metrics = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    for page in ("index.html", "memory.html", f"sessions/{LONG}.html"):
        browser.open(page)
        assert browser.run_script("return document.documentElement.scrollWidth") <= 360


def test_without_scripts_everything_is_read_and_nothing_promises_search(browser: Browser) -> None:
    browser.disable_scripts()
    browser.open("index.html")
    assert not browser.find_one("#q").is_displayed()
    browser.find_one(".row a").click()
    assert browser.wait_until_visible(".turn")
