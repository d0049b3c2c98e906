"""Starts the machines of a fleet, kills them, cuts one off, and waits until everything is done."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from fleets.agent import DO, SETTLE, VIEW, Place
from fleets.plan import AGENTS, Fleet
from fleets.servers import Servers

_LOOK_EVERY = 0.05
_LONGEST_SLEEP = 2.0
_CUT_OFF = 0
"""The machine at the end of the wires."""


class Stuck(Exception):
    """A machine ended with an error, or nothing moved for a long time."""


@dataclass
class Machine:
    """A process group. `agents` are its processes, none while it is down."""

    places: list[Place]
    agents: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def start(self, mode: str, places: list[Place]) -> None:
        for place in places:
            group = self.agents[0].pid if self.agents else 0
            with Path(place.home, "log").open("ab") as log:
                self.agents.append(_started(mode, place, group, log.fileno()))

    def kill(self) -> None:
        """Every process at once, wherever it is."""
        if self.agents:
            os.killpg(self.agents[0].pid, signal.SIGKILL)
            self.wait()

    def wait(self) -> list[int]:
        codes = [agent.wait() for agent in self.agents]
        self.agents = []
        return codes

    def is_over(self) -> bool:
        """Whether its agents have done all. Raises Stuck where one failed."""
        codes = [agent.poll() for agent in self.agents]
        if any(codes):
            raise Stuck(Path(self.places[0].home, "log").read_text()[-4000:])
        return all(code is not None for code in codes)

    def done(self) -> int:
        return sum(len(place.journal.read_bytes().splitlines()) for place in self.places if place.journal.exists())


@dataclass
class Run:
    """What a fleet did: how tasks came out, the attempts that failed by reason, and for how many seconds it worked."""

    outcomes: Counter[str]
    troubles: Counter[str]
    seconds: float
    kills: int
    cuts: int
    places: list[Place]


def conducted(root: Path, fleet: Fleet, servers: Servers) -> Run:
    """Runs the fleet from its beginning to where nothing is left to do; then every machine settles, and looks."""
    machines = [_machine(root, fleet, servers, number) for number in range(fleet.machines)]
    began = time.monotonic()
    try:
        kills, cuts = _worked(fleet, machines, servers)
        seconds = time.monotonic() - began
        for mode in (SETTLE, VIEW):
            for machine in machines:
                machine.start(mode, machine.places[:1])
            if any(code for machine in machines for code in machine.wait()):
                raise Stuck(f"{mode}: " + Path(machines[0].places[0].home, "log").read_text()[-4000:])
    finally:
        for machine in machines:
            machine.kill()
    places = [place for machine in machines for place in machine.places]
    outcomes = Counter(line for place in places for line in _lines(place.journal))
    troubles = Counter(line for place in places for line in _lines(place.troubles))
    return Run(outcomes, troubles, seconds, kills, cuts, places)


@dataclass
class _Hazards:
    """What befalls machines, by how far the work has come: kills are spread over it, and after a third of it the
    machine at the end of the wires is cut off."""

    fleet: Fleet
    servers: Servers
    kills: int = 0
    cuts: int = 0
    _down: list[tuple[float, Machine]] = field(default_factory=list)
    _partition: ExitStack = field(default_factory=ExitStack)
    _mended: float = 0.0

    def __post_init__(self) -> None:
        self._chance = random.Random(self.fleet.seed)

    def strike(self, machines: list[Machine], now: float) -> None:
        done, count = sum(machine.done() for machine in machines), self.fleet.count
        if self.fleet.cut and not self.cuts and done * 3 >= count:
            self._partition.enter_context(self.servers.partition())
            self.cuts, self._mended = 1, now + self.fleet.cut
        working = [machine for machine in machines if machine.agents and not machine.is_over()]
        if self.kills < self.fleet.kills and done * (self.fleet.kills + 1) >= count * (self.kills + 1) and working:
            self.kills += 1
            machine = self._chance.choice(working)
            machine.kill()
            self._down.append((now + self._chance.uniform(0, _LONGEST_SLEEP), machine))

    def heal(self, now: float) -> bool:
        """Mends and starts what is due; whether nothing is left to."""
        if now >= self._mended:
            self._partition.close()
        for moment, machine in [found for found in self._down if found[0] <= now]:
            self._down.remove((moment, machine))
            machine.start(DO, machine.places)
        return not self._down

    def end(self) -> None:
        self._partition.close()


def _worked(fleet: Fleet, machines: list[Machine], servers: Servers) -> tuple[int, int]:
    """How often machines were killed, and how often one was cut off."""
    hazards = _Hazards(fleet, servers)
    try:
        for machine in machines:
            machine.start(DO, machine.places)
        while True:
            all_up = hazards.heal(time.monotonic())
            if all_up and all(machine.is_over() for machine in machines):
                break
            hazards.strike(machines, time.monotonic())
            time.sleep(_LOOK_EVERY)
    finally:
        hazards.end()
    for machine in machines:
        machine.wait()
    return hazards.kills, hazards.cuts


def _machine(root: Path, fleet: Fleet, servers: Servers, number: int) -> Machine:
    home = root / f"machine-{number}"
    configuration = home / ".config" / "lineage" / "config.toml"
    configuration.parent.mkdir(parents=True)
    configuration.write_text(servers.far(cuttable=number == _CUT_OFF))
    where = f"{servers.store.url}/{root.name}"
    return Machine([Place(fleet, number, agent, str(home), where, time.time()) for agent in range(AGENTS)])


def _started(mode: str, place: Place, group: int, log: int) -> "subprocess.Popen[bytes]":
    inherited = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "TMPDIR", "LANG") if name in os.environ}
    command = [sys.executable, "-m", "fleets.agent", mode, place.as_text()]
    environment = {**inherited, "HOME": place.home}
    return subprocess.Popen(
        command, env=environment, process_group=group, stdin=subprocess.DEVNULL, stdout=log, stderr=log
    )


def _lines(file: Path) -> Iterator[str]:
    yield from file.read_text().splitlines() if file.exists() else ()
