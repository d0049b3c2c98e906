"""A browser for tests: Debian's Chromium without a window, with a profile of its own for each."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

DRIVER = shutil.which("chromedriver")
BINARY = shutil.which("chromium") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(not (DRIVER and BINARY), reason="chromium and its driver are not installed")

_TIMEOUT_SECONDS = 20
_MAX_STARTS = 4
_QUIET_OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--window-size=1200,900",
)  # fmt: skip
_WATCH = """
    window.ran = [];
    window.alert = (said) => window.ran.push(String(said));
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (one) => {
        window.violations.push(one.violatedDirective + " " + one.blockedURI + " " + one.sample);
    });
"""


class Browser:
    """Pages of one server as a person has them. What runs or breaks the policy is noted from the first moment on."""

    def __init__(self, driver: Any, url: str) -> None:
        self.driver, self.url = driver, url

    def open(self, path: str) -> None:
        """Show a page, as soon as all of it is there: on a busy machine the driver says so before its style is."""
        self.driver.get(self.url + path)
        self.wait_for_script("document.readyState === 'complete'")

    def find_all(self, selector: str) -> list[WebElement]:
        found: list[WebElement] = self.driver.find_elements(By.CSS_SELECTOR, selector)
        return found

    def find_one(self, selector: str) -> WebElement:
        found: WebElement = self.driver.find_element(By.CSS_SELECTOR, selector)
        return found

    def run_script(self, script: str) -> Any:
        return self.driver.execute_script(script)

    def wait_until_visible(self, selector: str) -> list[WebElement]:
        """What answers to the selector and is shown, as soon as something does."""

        def shown(_: Any) -> list[WebElement]:
            return [element for element in self.find_all(selector) if element.is_displayed()]

        found: list[WebElement] = self._build_wait().until(shown)
        return found

    def wait_for_text(self, selector: str, text: str) -> bool:
        """As soon as something that answers to the selector shows the text, on the page that a click leads to."""
        told = self._build_wait().until(lambda _: any(text in element.text for element in self.find_all(selector)))
        return bool(told)

    def _build_wait(self) -> WebDriverWait[Any]:
        """Elements of a page that is being left are none."""
        return WebDriverWait(self.driver, _TIMEOUT_SECONDS, ignored_exceptions=[StaleElementReferenceException])

    def wait_for_script(self, script: str) -> None:
        """Until a script says so."""
        WebDriverWait(self.driver, _TIMEOUT_SECONDS).until(lambda _: self.run_script(f"return {script}"))

    def press(self, *keys: str) -> None:
        """Keys to whatever has the focus."""
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def focused_text(self) -> str:
        text: str = self.run_script("return document.activeElement.textContent.trim()")
        return text

    def set_color_scheme(self, scheme: str) -> None:
        """`dark` or `light`, as the system has it."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def disable_scripts(self) -> None:
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})

    def open_clipboard(self) -> None:
        """Let the scripts of the page that is shown read and write the clipboard, as a person who clicks may."""
        granted = {
            "origin": self.run_script("return origin"),
            "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"],
        }
        self.driver.execute_cdp_cmd("Browser.grantPermissions", granted)

    def read_clipboard(self) -> str:
        found: str = self.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
        return found

    def read_violations(self) -> list[str]:
        found: list[str] = self.run_script("return window.violations")
        return found

    def read_executed(self) -> list[str]:
        found: list[str] = self.run_script("return window.ran")
        return found

    def take_screenshot(self, path: Path) -> bytes:
        """What the window shows, as PNG, in a file too."""
        self.driver.save_screenshot(str(path))
        return path.read_bytes()


def _start_driver(options: Options) -> webdriver.Chrome:
    """A browser that runs; on a busy machine it may not come up at once."""
    for _ in range(_MAX_STARTS - 1):
        with suppress(WebDriverException):
            return webdriver.Chrome(options=options, service=Service(DRIVER))
    return webdriver.Chrome(options=options, service=Service(DRIVER))


@contextmanager
def open_browser(url: str, profile: Path) -> Iterator[Browser]:
    """A browser whose profile is the folder `profile`, until the block ends."""
    options = Options()
    options.binary_location = BINARY or ""
    for flag in (*_QUIET_OPTIONS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    driver = _start_driver(options)
    try:
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _WATCH})
        yield Browser(driver, url)
    finally:
        driver.quit()
