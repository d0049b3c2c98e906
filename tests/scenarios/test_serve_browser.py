"""The page in a browser: its policy, its keys, search while one types, dark mode, a narrow screen, and no script."""

import struct
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from lineage.app.init_workspace import init_workspace
from lineage.app.workspace import run_in_workspace
from tests.support.browser import Browser, needs_browser, open_browser
from tests.support.sample_workspace import write_sample_workspace
from tests.support.servers import skip_or_fail
from tests.support.web_client import WebClient, serve_workspace
from tests.support.workspace import end_session, make_turns

pytestmark = [pytest.mark.slow, needs_browser]

AXE = Path(__file__).parents[2] / ".venv/axe-core/node_modules/axe-core/axe.min.js"
PATHS = (
    "/", "/?since=2026-11-20&text=checkout", "/memory", "/memory?group=global", "/status", "/sessions/long",
    "/sessions/long?only=said&find=parser", "/sessions/long/turns/3", "/sessions/long/remove", "/search?q=parser",
    "/search?what=entry&since=2026-01-01",
    "/help", "/help?topic=formats", "/nope",
)  # fmt: skip


@pytest.fixture
def client(tmp_path: Path) -> Any:
    with serve_workspace(write_sample_workspace(tmp_path / "vault", length=120)) as made:
        yield made


@pytest.fixture
def browser(client: WebClient, tmp_path: Path) -> Any:
    with open_browser(client.url, tmp_path / "profile") as made:
        yield made


@pytest.fixture
def talk(tmp_path: Path, client: WebClient) -> str:
    """The page of a session with markdown, code, edits, an error and a long result."""
    turns: list[dict[str, Any]] = [
        {"role": "user", "text": "# Task\n\nMend `reader.py`:\n\n1. test\n2. fix\n\n| a | b |\n|---|---|\n| 1 | 2 |"},
        {"role": "assistant", "text": "```python\ndef read(path):  # see https://example.org\n    return 1\n```"},
        {"role": "assistant", "text": "", "name": "Edit", "input": {
            "file_path": "/a/reader.py", "old_string": "a = 1\nb = 2", "new_string": "a = 2\nb = 2"}},
        {"role": "tool", "name": "Edit", "text": "Error: no such file\n" * 200, "error": True},
    ]  # fmt: skip
    run_in_workspace(tmp_path / "vault", lambda ws: end_session(ws, "talk", transcript=turns), writes=True)
    return "/sessions/talk"


def colours(browser: Browser) -> tuple[str, str]:
    found = browser.run_script(
        "const s = getComputedStyle(document.documentElement); return [s.backgroundColor, s.color]"
    )
    return found[0], found[1]


def brightness(colour: str) -> float:
    values = [float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    return sum(values) / 3


def test_our_own_pages_keep_to_the_policy(browser: Browser, tmp_path: Path) -> None:
    for number, path in enumerate(PATHS):
        browser.open(path)
        browser.wait_until_visible("h1")
        assert browser.read_violations() == [], path
        assert browser.run_script("return document.styleSheets[0].cssRules.length") > 50
        picture = browser.take_screenshot(tmp_path / f"{number}.png")
        assert struct.unpack(">II", picture[16:24])[0] >= 1000


def test_search_answers_while_one_types(browser: Browser) -> None:
    browser.open("/")
    browser.find_one("#q").send_keys("checkout")
    (found, *_) = browser.wait_until_visible("#live .hit a")
    assert "checkout.py" in found.text
    assert not browser.find_one("#page").is_displayed()
    assert "found" in browser.run_script("return document.getElementById('live-count').textContent")
    assert browser.wait_until_visible("#live mark")
    browser.press(Keys.ESCAPE)
    assert browser.find_one("#page").is_displayed()
    browser.find_one("#q").send_keys("checkout")
    browser.wait_until_visible("#live .hit a")
    browser.press(Keys.ARROW_DOWN, Keys.ENTER)
    browser.wait_until_visible("h1.sentence")
    assert "/sessions/" in browser.driver.current_url


def test_keys_lead_through_the_page(browser: Browser) -> None:
    browser.open("/")
    browser.press("j")
    first = browser.focused_text()
    browser.press("j")
    second = browser.focused_text()
    assert first != second
    assert browser.run_script("return document.activeElement.pathname").startswith("/sessions/")
    browser.press("k")
    assert browser.focused_text() == first
    outline = browser.run_script("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    browser.press("/")
    assert browser.run_script("return document.activeElement.id") == "q"
    browser.press("j")
    assert browser.run_script("return document.getElementById('q').value") == "j"
    browser.open("/")
    browser.press("j", Keys.ENTER)
    browser.wait_until_visible("h1.sentence")


def test_the_first_tab_skips_to_the_content(browser: Browser) -> None:
    browser.open("/memory")
    browser.press(Keys.TAB)
    assert browser.focused_text() == "Skip to content"
    assert browser.run_script("return document.activeElement.getBoundingClientRect().left") >= 0
    browser.press(Keys.ENTER)
    assert browser.run_script("return document.activeElement.id") == "main"


def test_dark_is_dark_and_light_is_light_and_both_can_be_read(browser: Browser, tmp_path: Path) -> None:
    pictures = set()
    for scheme in ("light", "dark"):
        browser.set_color_scheme(scheme)
        browser.open("/memory")
        paper, ink = colours(browser)
        assert (brightness(paper) > brightness(ink)) == (scheme == "light")
        assert abs(brightness(paper) - brightness(ink)) > 120
        pictures.add(browser.take_screenshot(tmp_path / f"{scheme}.png"))
    assert len(pictures) == 2


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_keeps_anybody_from_using_a_page(browser: Browser, talk: str, scheme: str, width: int) -> None:
    """Every rule of axe on every page, with all that is folded opened."""
    if not AXE.is_file():
        skip_or_fail("axe-core", "npm install --prefix .venv/axe-core axe-core")
    rules = AXE.read_text()
    browser.set_color_scheme(scheme)
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    for path in (*PATHS, talk, f"{talk}?only=edits"):
        browser.open(path)
        browser.wait_until_visible("h1")
        browser.run_script("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        browser.run_script(rules)
        found = browser.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            "axe.run().then((told) => done(told.violations.map((one) => [one.id, one.nodes.map((node) => node.html)])))"
        )
        assert found == [], path
    assert len(browser.find_all("ins")) == 1


def test_three_clicks_lead_from_home_to_what_was_decided(browser: Browser, tmp_path: Path) -> None:
    said = make_turns(
        "Which one?", "I decided to use calamine instead of openpyxl: it reads Excel files ten times faster."
    )
    run_in_workspace(tmp_path / "vault", lambda ws: end_session(ws, "excel", transcript=said), writes=True)
    browser.open("/")
    browser.find_one('nav a[href="/memory"]').click()
    browser.wait_until_visible("#of")[0].send_keys("decision")
    browser.find_one("form.narrow button").click()
    (entry,) = [one for one in browser.wait_until_visible(".entry") if "calamine" in one.text]
    assert "project/demo" in entry.text
    entry.find_element(By.LINK_TEXT, "where from").click()
    assert "calamine" in browser.wait_until_visible(".turn:target")[0].text


def test_the_filter_narrows_while_one_types(browser: Browser) -> None:
    browser.open("/memory")
    assert len(browser.wait_until_visible("[data-entry]")) > 2
    browser.find_one("#filter").send_keys("tabs")
    browser.wait_for_script("[...document.querySelectorAll('[data-entry]')].filter((one) => !one.hidden).length === 1")
    (left,) = browser.wait_until_visible("[data-entry]")
    assert "Prefers tabs" in left.text


@pytest.mark.parametrize("path", ["/", "/memory", "/sessions/long", "/sessions/long/remove"])
def test_a_narrow_screen_needs_no_scrolling_sideways(browser: Browser, path: str) -> None:
    metrics = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.open(path)
    assert browser.run_script("return document.documentElement.scrollWidth") <= 360


def test_what_one_copies_has_a_button(browser: Browser, tmp_path: Path) -> None:
    init_workspace(tmp_path / "new")
    with serve_workspace(tmp_path / "new") as client:
        browser.driver.get(client.url)
        assert browser.wait_until_visible("code[data-copy]")[0].text == "lineage hooks install"
        browser.open_clipboard()
        browser.find_one(".copy").click()
        assert browser.wait_for_text(".copy", "Copied")
        assert browser.read_clipboard() == "lineage hooks install"
        assert browser.read_violations() == []


def test_a_session_is_resumed_copied_from_and_opened_in_obsidian(browser: Browser, tmp_path: Path, talk: str) -> None:
    """Fails where a button copies another text, and where the address is of a file that isn't there."""
    ended = run_in_workspace(
        tmp_path / "vault", lambda ws: end_session(ws, "claude", harness="claude-code"), writes=True
    )
    browser.open(f"/sessions/{ended.session_token}")
    browser.open_clipboard()
    browser.find_one(".take .copy").click()
    assert browser.wait_for_text(".take .copy", "Copied")
    assert browser.read_clipboard() == f"lineage resume {ended.session_token}"
    browser.open(talk)
    browser.run_script("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    for button in browser.find_all(".copy"):
        button.click()
        WebDriverWait(browser.driver, 20).until(lambda _, copied=button: copied.text == "Copied")
        copied = browser.driver.execute_script("return arguments[0].previousElementSibling.textContent", button)
        assert browser.read_clipboard() == copied
    assert len(browser.find_all(".copy")) > 1
    assert browser.read_violations() == []
    browser.open(f"/sessions/{ended.session_token}")
    browser.run_script("navigation.addEventListener('navigate', (one) => { window.went = one.destination.url; })")
    browser.find_one("button[data-go]").click()
    browser.wait_for_script("Boolean(window.went)")
    address = urlsplit(browser.run_script("return window.went"))
    (path,) = parse_qs(address.query)["path"]
    assert (address.scheme, address.netloc) == ("obsidian", "open")
    assert Path(path) == tmp_path / "vault" / str(ended.summary_path)
    assert Path(path).is_file()


def test_what_was_decided_last_week_is_three_clicks_away(browser: Browser, tmp_path: Path) -> None:
    """By search: Search, what it is narrowed to and from when, Show; each decision leads to its words."""
    said = make_turns(
        "Which one?", "I decided to use calamine instead of openpyxl: it reads Excel files ten times faster."
    )
    run_in_workspace(tmp_path / "vault", lambda ws: end_session(ws, "excel", transcript=said), writes=True)
    browser.open("/")
    browser.find_one("#q").send_keys("calamine" + Keys.ENTER)
    browser.wait_until_visible("#what")[0].send_keys("decisions")
    browser.run_script("document.getElementById('since').value = '2026-11-14'")
    browser.find_one("form.narrow button").click()
    browser.wait_for_script("location.search.includes('since=2026-11-14') && document.readyState === 'complete'")
    (hit,) = browser.wait_until_visible(".hit")
    assert "calamine instead of openpyxl" in hit.find_element(By.CSS_SELECTOR, "h2 a").text
    hit.find_element(By.CSS_SELECTOR, "h2 a").click()
    browser.wait_until_visible(".facts a")[0].click()
    assert "calamine" in browser.wait_until_visible(".turn:target")[0].text


def test_without_scripts_everything_is_read_and_done(browser: Browser, client: WebClient) -> None:
    browser.disable_scripts()
    waiting = client.get("/api/pending").json["entries"][0]["id"]
    browser.open(f"/entries/{waiting}/confirm")
    assert "Prefers short commit messages" in browser.find_one(".quote").text
    browser.find_one(f'form[action="/entries/{waiting}/confirm"] button').click()
    assert browser.wait_for_text(".told", "it is in force")
    tabs = client.get("/api/entries", kind="preference").json["entries"][0]["id"]
    browser.find_one(f'form[action="/entries/{tabs}/pin"] button').click()
    assert browser.wait_for_text(".told", "never rolls over")
    browser.find_one(f'#e-{tabs} a[href="/entries/{tabs}"]').click()
    browser.wait_until_visible(f'form[action="/entries/{tabs}/forget"] button')[0].click()
    assert browser.wait_for_text(".told", "Forgotten")
    assert client.get(f"/api/entries/{tabs}").status == 404
    browser.find_one("#q").send_keys("checkout" + Keys.ENTER)
    browser.wait_until_visible(".hit")[0].find_element(By.CSS_SELECTOR, "a").click()
    browser.wait_until_visible("h1.sentence")
    browser.find_one(".leave a").click()
    browser.wait_until_visible("#sure")[0].click()
    browser.find_one("form.remember button").click()
    assert browser.wait_for_text(".told", "is gone")


def test_the_token_lets_a_browser_in(tmp_path: Path) -> None:
    token = "a-token-that-nobody-guesses"
    with (
        serve_workspace(write_sample_workspace(tmp_path / "other"), token=token) as client,
        open_browser(client.url, tmp_path / "stranger") as browser,
    ):
        browser.open("/memory")
        browser.wait_until_visible("#token")[0].send_keys(token + Keys.ENTER)
        assert browser.wait_until_visible("h2")
        assert browser.read_violations() == []
        assert token not in browser.driver.current_url
        assert browser.run_script("return document.cookie") == ""
        browser.find_one("#q").send_keys("checkout")
        browser.wait_until_visible("#live .hit")
