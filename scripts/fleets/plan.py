"""What a fleet has to do, and under which clocks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

END, REMOVE, END_AGAIN = "end", "remove", "end again"
AGENTS = 2
_HOUR = 3_600_000
_SHARED_EVERY = 4
_REMOVED_AFTER, _AGAIN_AFTER = 3, 6


class Task(NamedTuple):
    """A session's end as an agent signals it, its removal, or an end that is signalled when it is removed."""

    what: str
    session_id: str


@dataclass(frozen=True, slots=True)
class Fleet:
    """So many machines with `AGENTS` agents each. `removals` sessions are removed midway, `kills` machines are killed,
    one is cut off for `cut` seconds; `seed` decides which and when."""

    machines: int
    sessions: int
    removals: int = 0
    kills: int = 0
    cut: float = 0.0
    seed: int = 1

    @property
    def ids(self) -> list[str]:
        return [_id(number) for number in range(self.sessions)]

    @property
    def removed(self) -> list[str]:
        """The sessions that are removed: all over the run, those that two machines end among them."""
        return [_id(number * self.sessions // self.removals) for number in range(self.removals)]

    def tasks(self, machine: int, agent: int) -> list[Task]:
        """What an agent does, in order."""
        share = (found for found in self._all() if found[1:3] == (machine, agent))
        return [task for *_, task in sorted(share, key=lambda found: found[0])]

    @property
    def count(self) -> int:
        return sum(1 for _ in self._all())

    def drift(self, machine: int) -> int:
        """By how many milliseconds a machine's clock is wrong: an hour behind to an hour ahead."""
        return (2 * _HOUR * machine) // max(self.machines - 1, 1) - _HOUR

    def _all(self) -> Iterator[tuple[int, int, int, Task]]:
        """(place in the order, machine, agent, task). Each session ends on its own machine; one in `_SHARED_EVERY` on
        the next one too, at about the same time, and one that is removed again after that."""
        removed = set(self.removed)
        for number, session in enumerate(self.ids):
            round_, machine = divmod(number, self.machines)
            turn, agent = divmod(round_, AGENTS)
            yield round_, machine, agent, Task(END, session)
            if session in removed:
                yield round_ + _REMOVED_AFTER, machine, agent, Task(REMOVE, session)
                yield round_ + _AGAIN_AFTER, (machine + 1) % self.machines, agent, Task(END_AGAIN, session)
            if (turn + machine) % _SHARED_EVERY == 0:  # as many of each agent as of any other
                yield round_, (machine + 1) % self.machines, agent, Task(END, session)


def _id(number: int) -> str:
    return f"fleet-{number:05}"
