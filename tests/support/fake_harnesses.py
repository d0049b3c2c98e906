"""The harnesses that run hooks, played: where they keep things, what they send, and how they run a command.

Each reads the commands back from its own configuration file, and gives them no more than the real one does: its
environment, its working folder, no terminal, its way with stdin, its time. (harnesses.md 0.1, 0.4 and the sections of
each harness)
"""

import contextlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import tomllib
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

import lineage
from lineage.cli.main import run
from tests.support import goose
from tests.support.commands import CommandResult

Object = dict[str, Any]
Events = Mapping[str, tuple[str, Object]]
Fields = Callable[["HarnessSession", str], Object]

CHECKOUT = Path(lineage.__file__).parents[1]
DATA = Path(__file__).parents[1] / "data"
DRIVER = Path(__file__).with_name("plugins.mjs")
START, TURN, END = "start", "turn", "end"

SHELL = shutil.which("bash") or "/bin/sh"
_PATH = os.pathsep.join(("/usr/local/bin", "/usr/bin", "/bin"))
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_START_SECONDS = 30.0


@dataclass(frozen=True)
class FakeMachine:
    """A home with one harness, the folder that it works in, and the workspace that its hooks name."""

    home: Path
    project: Path
    workspace: Path

    def environment(self, **more: str) -> dict[str, str]:
        """What a harness that was started from a terminal has. PYTHONPATH: `lineage` is this checkout's."""
        return {
            "HOME": str(self.home),
            "PATH": _PATH,
            "SHELL": SHELL,
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(CHECKOUT),
            **more,
        }


@dataclass(frozen=True)
class HarnessSession:
    """A session of a harness on a machine, with its transcript."""

    machine: FakeMachine
    session: str
    path: Path

    @property
    def cwd(self) -> str:
        return str(self.machine.project)


@dataclass(frozen=True)
class Handler:
    """A command as a harness runs it: the arguments of the process, and the seconds until it is killed."""

    argv: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class HookRun:
    """How a hook ended. `code` is negative where it was killed."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class FakeHarness:
    """One harness.

    settings     the file of its hooks, below the home; `before`: what somebody else has in it, None for no file
    sample       a transcript of its, below the samples; `transcript_path`: where it keeps it, below the home
    session      the sample's id, a UUID if it is `injected`; `prompt`: words that somebody typed in the sample
    events       what it calls a start, the end of a turn and the end of a session, and what it sends with each: the
                 last at least, the first where its start takes context (`injected`)
    environment  what it sets for hooks
    handler      how it runs an entry of its settings
    injected     the keys that lead to the context in what its start prints; none: it takes none
    echo         how context comes back: the sample with a block in it
    play         how a driver plays it that loads its plugin; none: it runs commands
    project      the folder that its transcript names, where its hooks name none
    lane         the chat that lives on while its sessions come and go, where it has that
    """

    label: str
    name: str
    settings: str
    sample: str
    transcript_path: str
    session: str
    prompt: str
    before: str | None = None
    events: Events = field(default_factory=dict)
    fields: Fields = lambda visit, event: {}
    environment: Callable[[HarnessSession], dict[str, str]] = lambda visit: {}
    handler: Callable[[Object], Handler] | None = None
    folder: Callable[[HarnessSession], Path] = lambda visit: visit.machine.project
    injected: tuple[str, ...] = ()
    echo: Callable[[str, str], str] = lambda sample, block: sample
    play: str = ""
    project: str = ""
    lane: str = ""

    def install_files(self, machine: FakeMachine) -> None:
        """Its configuration, as somebody has it who knows nothing of lineage."""
        machine.project.mkdir()
        (machine.home / Path(self.settings).parts[0]).mkdir()
        if self.before is not None:
            (machine.home / self.settings).write_text(self.before, encoding="utf-8")

    def start_session(self, machine: FakeMachine, session: str = "", block: str = "") -> HarnessSession:
        """A session with its transcript where the harness keeps it: the sample's, or a new one of the same words, with
        a block that comes back in it."""
        found = HarnessSession(
            machine,
            session or self.session,
            machine.home / self.transcript_path.format(session=session or self.session),
        )
        found.path.parent.mkdir(parents=True, exist_ok=True)
        sample = DATA / self.sample
        if found.path.suffix == ".db":
            self._keep_database(found.path)
            return found
        text = sample.read_text(encoding="utf-8")
        if session:
            text = _UUID.sub(lambda match: _replace_all(match[0], self.session, session), self.echo(text, block))
        found.path.write_text(text, encoding="utf-8")
        return found

    def handlers(self, machine: FakeMachine, event: str, more: Object) -> Iterator[Handler]:
        """What its settings say to run at an event: everybody's."""
        for element in read_hooks(machine.home / self.settings).get(event, []):
            if _matches(element.get("matcher"), more):
                yield from map(self.parse_handler, element.get("hooks", [element]))

    def parse_handler(self, entry: Object) -> Handler:
        assert self.handler is not None
        return self.handler(entry)

    def send_event(self, visit: HarnessSession, kind: str, *, is_late: bool = False) -> list[HookRun]:
        """Runs what is registered for an event; how each ended."""
        event, more = self.events[kind]
        found = list(self.handlers(visit.machine, event, more))
        return [self.run(visit, kind, handler, is_late=is_late) for handler in found]

    def run(
        self,
        visit: HarnessSession,
        kind: str,
        handler: Handler,
        *,
        more: Mapping[str, str] = MappingProxyType({}),
        is_late: bool = False,
    ) -> HookRun:
        """Runs one handler; with `is_late`, stdin stays open after the payload until the handler has ended."""
        event, extra = self.events[kind]
        payload = json.dumps({**self.fields(visit, event), **extra}).encode()
        environment = visit.machine.environment(**self.environment(visit), **more)
        return run_handler(handler, payload, environment, self.folder(visit), is_late=is_late)

    def play_session(self, visit: HarnessSession, times: int = 1) -> HookRun:
        """Has the driver load the installed plugin as often as it is installed, and tell it of a session."""
        plugin = str(visit.machine.home / self.settings)
        told = {"play": self.play, "files": [plugin] * times, "session": visit.session, "lane": self.lane}
        told |= {"cwd": visit.cwd, "path": str(visit.path)}
        node = shutil.which("node")
        assert node
        driver = Handler((node, str(DRIVER), json.dumps(told)), _START_SECONDS)
        return run_handler(driver, b"", visit.machine.environment(), self.folder(visit))

    def _keep_database(self, path: Path) -> None:
        sample = DATA / self.sample
        if sample.suffix == ".json":
            goose.write_database(path, json.loads(sample.read_text(encoding="utf-8")))
        else:
            shutil.copyfile(sample, path)


def run_lineage(machine: FakeMachine, *arguments: str) -> CommandResult:
    """The command line in this process, with the environment and the folder of somebody on the machine."""
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.dict(os.environ, machine.environment(), clear=True),
        contextlib.chdir(machine.home),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = run(list(arguments))
    return CommandResult(code, out.getvalue(), err.getvalue())


def read_hooks(path: Path) -> Mapping[str, list[Object]]:
    """The table of hooks in a configuration file."""
    text = path.read_text(encoding="utf-8")
    loaded = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    hooks: Mapping[str, list[Object]] = loaded["hooks"]
    return hooks


def run_handler(
    handler: Handler, payload: bytes, environment: Mapping[str, str], folder: Path, *, is_late: bool = False
) -> HookRun:
    """Runs a command in a session of its own, without a terminal, and kills its whole group when its time is over."""
    with subprocess.Popen(
        handler.argv,
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=folder,
        start_new_session=True,
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(payload)
        if not is_late:
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(handler.seconds)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return HookRun(process.wait(), process.stdout.read().decode(), process.stderr.read().decode())


def _matches(matcher: str | None, more: Object) -> bool:
    """Whether a group is for this event: by its source or reason, every one where it names none."""
    value = more.get("source") or more.get("reason") or ""
    return matcher in (None, "", "*") or re.fullmatch(matcher or "", value) is not None


def _replace_all(found: str, old: str, new: str) -> str:
    """Another id for every id of a sample, `new` for its session's."""
    return new if found == old else str(uuid.uuid5(uuid.UUID(new), found))
