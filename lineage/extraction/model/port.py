"""The port to language models: what a provider does, and what a use case asks for."""

from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, Protocol, TypeVar

from lineage.extraction.candidates import Candidate

Value = TypeVar("Value")


class ModelAnswer(NamedTuple):
    """What a provider gave back. `tokens` are those of prompt and answer as it counted them, None where it does not."""

    text: str
    tokens: int | None = None


class ModelError(Exception):
    """There is no answer. `reason` is one of few, in a word or two: `lineage status` counts by it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ModelProvider(Protocol):
    """Anything that answers a prompt."""

    @property
    def kind(self) -> str:
        """How the machine's configuration calls it: `command` or `llm`."""
        ...

    @property
    def name(self) -> str:
        """The program's or the model's name: what people know it by."""
        ...

    def answer(self, prompt: str) -> ModelAnswer:
        """Comes back within its bounds of time and size. Raises NoAnswer, and nothing else for what goes wrong."""
        ...


class ParsedAnswer(NamedTuple, Generic[Value]):
    """What somebody made of an answer: `value` is None where nothing of it is usable, `complaint` says what is not, in
    a few fixed words."""

    value: Value | None
    complaint: str = ""


class MemoryProposals(NamedTuple):
    """What a model would remember: candidates for `admit` (via MODEL), and how many of its lines were dropped, by
    reason."""

    candidates: tuple[Candidate, ...] = ()
    dropped: Mapping[str, int] = {}


class Model(Protocol):
    """What use cases work with: a provider whose calls are counted and held to a limit."""

    @property
    def max_chars(self) -> int:
        """How long a prompt may be, in characters."""
        ...

    def ask(self, task: str, prompt: str, read: Callable[[str], ParsedAnswer[Value]]) -> Value | None:
        """What `read` makes of the answer; None where there is no answer, or none that is usable. Never raises for what
        a provider does. `task` is what it is for, in a word."""
        ...
