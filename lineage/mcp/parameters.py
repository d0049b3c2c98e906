"""What a tool takes: its JSON schema and the check of what was given, out of one table, so that they can't differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lineage.errors import InvalidInput

TEXT, NUMBER, TEXTS = "string", "integer", "array"
MAX_CHARACTERS = 4_000
_MAX_TEXTS = 20

Arguments = Mapping[str, Any]
"""By the name of each parameter of a tool: what was given, else its default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolParameter:
    """One parameter. Of a number `least` and `most` bound the value, of a text `most` its characters."""

    name: str
    description: str
    kind: str = TEXT
    choices: tuple[str, ...] = ()
    required: bool = False
    default: str | int | None = None
    minimum: int = 0
    maximum: int = MAX_CHARACTERS

    @property
    def schema(self) -> dict[str, Any]:
        """As JSON Schema."""
        said = {"type": self.kind, "description": self.description}
        if self.kind == NUMBER:
            return said | {"minimum": self.minimum, "maximum": self.maximum} | self._default
        if self.kind == TEXTS:
            return said | {"items": {"type": TEXT, "maxLength": self.maximum}, "maxItems": _MAX_TEXTS}
        return said | ({"enum": list(self.choices)} if self.choices else {"maxLength": self.maximum}) | self._default

    def parse(self, value: Any) -> Any:
        """What was given, checked; the default where nothing was. Raises InvalidInput."""
        if value is None:
            return self._parse_missing()
        if self.kind == NUMBER:
            return self._parse_number(value)
        if self.kind == TEXTS:
            if not isinstance(value, list) or len(value) > _MAX_TEXTS:
                raise self._invalid(f"a list of at most {_MAX_TEXTS} texts")
            return tuple(self._parse_text(item) for item in value)
        return self._parse_text(value)

    @property
    def _default(self) -> dict[str, Any]:
        return {} if self.default is None else {"default": self.default}

    def _parse_missing(self) -> Any:
        if self.required:
            raise self._invalid("given")
        return () if self.kind == TEXTS else self.default

    def _parse_number(self, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not self.minimum <= value <= self.maximum:
            raise self._invalid(f"a whole number from {self.minimum} to {self.maximum}")
        return value

    def _parse_text(self, value: Any) -> str:
        if not isinstance(value, str) or len(value) > self.maximum:
            raise self._invalid(f"a text of at most {self.maximum} characters")
        if self.choices and value not in self.choices:
            raise self._invalid(f"one of {', '.join(self.choices)}")
        if self.required and not value.strip():
            raise self._invalid("given, and not empty")
        return value

    def _invalid(self, wanted: str) -> InvalidInput:
        return InvalidInput(f"{self.name} has to be {wanted}", hint=f"{self.name}: {self.description}")


def build_schema(parameters: Sequence[ToolParameter]) -> dict[str, Any]:
    """The schema of a tool's input."""
    return {
        "type": "object",
        "properties": {parameter.name: parameter.schema for parameter in parameters},
        "required": [parameter.name for parameter in parameters if parameter.required],
        "additionalProperties": False,
    }


def parse_arguments(parameters: Sequence[ToolParameter], values: Mapping[str, Any]) -> Arguments:
    """What was given, checked. Raises InvalidInput for what is missing, wrong, or no parameter."""
    names = [parameter.name for parameter in parameters]
    unknown = sorted(set(values) - set(names))
    if unknown:
        raise InvalidInput(f"no such parameter: {unknown[0][:40]!r}", hint=f"it takes: {', '.join(names)}")
    return {parameter.name: parameter.parse(values.get(parameter.name)) for parameter in parameters}
