"""The port to language models, for providers below and use cases above."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from lineage.core.format.body import replace_surrogates
from lineage.extraction.candidates import Candidate

Value = TypeVar("Value")
EMPTY, UNREADABLE = "empty", "unreadable answer"
_MAX_TOKENS = 1_000_000_000  # of one call: more is no count of a model's


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A provider's answer. `tokens` is its own count for prompt and answer, None without one."""

    text: str
    tokens: int | None = None


class ModelError(Exception):
    """A call without answer. `reason` is one of a few short words: `lineage status` counts by it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def check_answer(text: object, tokens: object) -> ModelAnswer:
    """Return the answer in what a program printed: a count that no model can have is none.

    Raises ModelError for what is no text, and for a text that says nothing.
    """
    if not isinstance(text, str):
        raise ModelError(UNREADABLE)
    if not text.strip():
        raise ModelError(EMPTY)
    count = tokens if isinstance(tokens, int) and 0 < tokens <= _MAX_TOKENS else None
    return ModelAnswer(replace_surrogates(text), count)


class ModelProvider(Protocol):
    """Anything that answers a prompt."""

    @property
    def kind(self) -> str:
        """The name in the machine's configuration: `command` or `llm`."""
        ...

    @property
    def name(self) -> str:
        """The name of the program or model, as people know it."""
        ...

    def answer(self, prompt: str) -> ModelAnswer:
        """Answer a prompt within the bounds of time and size. Raises ModelError for every failure, nothing else."""
        ...


@dataclass(frozen=True, slots=True)
class ParsedAnswer(Generic[Value]):
    """A parsed answer: `value`, None if nothing is usable, and a `complaint` of a few fixed words about the rest."""

    value: Value | None
    complaint: str = ""


@dataclass(frozen=True, slots=True)
class MemoryProposals:
    """A model's proposals: candidates for `admit` (via MODEL), and the number of dropped lines by reason."""

    candidates: tuple[Candidate, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)


class Model(Protocol):
    """A provider for use cases, with counted and limited calls."""

    @property
    def max_chars(self) -> int:
        """The maximum length of a prompt in characters."""
        ...

    def ask(self, task: str, prompt: str, read: Callable[[str], ParsedAnswer[Value]]) -> Value | None:
        """Return the value that `read` parses from the answer, None without a usable answer.

        Never raises for a provider's failure. `task` names the purpose in a word.
        """
        ...
