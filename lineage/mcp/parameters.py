"""What a tool takes: its JSON schema and the check of what was given, out of one table, so that they can't differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lineage.errors import InvalidInput

TEXT, NUMBER, TEXTS = "string", "integer", "array"
MOST_CHARACTERS = 4_000
_MOST_TEXTS = 20

Arguments = Mapping[str, Any]
"""By the name of each parameter of a tool: what was given, else its default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter. Of a number `least` and `most` bound the value, of a text `most` its characters."""

    name: str
    description: str
    kind: str = TEXT
    choices: tuple[str, ...] = ()
    required: bool = False
    default: str | int | None = None
    least: int = 0
    most: int = MOST_CHARACTERS

    @property
    def schema(self) -> dict[str, Any]:
        """As JSON Schema."""
        said = {"type": self.kind, "description": self.description}
        if self.kind == NUMBER:
            return said | {"minimum": self.least, "maximum": self.most} | self._default
        if self.kind == TEXTS:
            return said | {"items": {"type": TEXT, "maxLength": self.most}, "maxItems": _MOST_TEXTS}
        return said | ({"enum": list(self.choices)} if self.choices else {"maxLength": self.most}) | self._default

    def read(self, value: Any) -> Any:
        """What was given, checked; the default where nothing was. Raises InvalidInput."""
        if value is None:
            return self._missing()
        if self.kind == NUMBER:
            return self._number(value)
        if self.kind == TEXTS:
            if not isinstance(value, list) or len(value) > _MOST_TEXTS:
                raise self._wrong(f"a list of at most {_MOST_TEXTS} texts")
            return tuple(self._text(item) for item in value)
        return self._text(value)

    @property
    def _default(self) -> dict[str, Any]:
        return {} if self.default is None else {"default": self.default}

    def _missing(self) -> Any:
        if self.required:
            raise self._wrong("given")
        return () if self.kind == TEXTS else self.default

    def _number(self, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not self.least <= value <= self.most:
            raise self._wrong(f"a whole number from {self.least} to {self.most}")
        return value

    def _text(self, value: Any) -> str:
        if not isinstance(value, str) or len(value) > self.most:
            raise self._wrong(f"a text of at most {self.most} characters")
        if self.choices and value not in self.choices:
            raise self._wrong(f"one of {', '.join(self.choices)}")
        if self.required and not value.strip():
            raise self._wrong("given, and not empty")
        return value

    def _wrong(self, wanted: str) -> InvalidInput:
        return InvalidInput(f"{self.name} has to be {wanted}", hint=f"{self.name}: {self.description}")


def schema_of(parameters: Sequence[Parameter]) -> dict[str, Any]:
    """The schema of a tool's input."""
    return {
        "type": "object",
        "properties": {parameter.name: parameter.schema for parameter in parameters},
        "required": [parameter.name for parameter in parameters if parameter.required],
        "additionalProperties": False,
    }


def arguments_of(parameters: Sequence[Parameter], given: Mapping[str, Any]) -> Arguments:
    """What was given, checked. Raises InvalidInput for what is missing, wrong, or no parameter."""
    names = [parameter.name for parameter in parameters]
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise InvalidInput(f"no such parameter: {unknown[0][:40]!r}", hint=f"it takes: {', '.join(names)}")
    return {parameter.name: parameter.read(given.get(parameter.name)) for parameter in parameters}
