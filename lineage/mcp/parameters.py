"""The parameters of a tool: how a client is told of them, and how what it gives is checked."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from lineage.errors import InvalidInput

TEXT, NUMBER, TEXTS = "string", "integer", "array"
MAX_CHARACTERS = 4_000
_MAX_TEXTS = 20

Arguments = Mapping[str, Any]
"""By the name of each parameter of a tool: what was given, else its default."""


@dataclass(frozen=True, slots=True)
class ToolParameter:
    """One parameter. `minimum` and `maximum` bound a number; `maximum` bounds the characters of a text."""

    name: str
    description: str
    _: KW_ONLY
    kind: str = TEXT
    choices: tuple[str, ...] = ()
    required: bool = False
    default: str | int | None = None
    minimum: int = 0
    maximum: int = MAX_CHARACTERS

    @property
    def schema(self) -> dict[str, Any]:
        """The parameter as JSON Schema."""
        schema = {"type": self.kind, "description": self.description}
        if self.kind == NUMBER:
            return schema | {"minimum": self.minimum, "maximum": self.maximum} | self._default
        if self.kind == TEXTS:
            return schema | {"items": {"type": TEXT, "maxLength": self.maximum}, "maxItems": _MAX_TEXTS}
        return schema | ({"enum": list(self.choices)} if self.choices else {"maxLength": self.maximum}) | self._default

    def parse(self, value: Any) -> Any:
        """Return the checked value, or the default for None. Raises InvalidInput."""
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
    """Return the JSON schema of a tool's input."""
    return {
        "type": "object",
        "properties": {parameter.name: parameter.schema for parameter in parameters},
        "required": [parameter.name for parameter in parameters if parameter.required],
        "additionalProperties": False,
    }


def parse_arguments(parameters: Sequence[ToolParameter], values: Mapping[str, Any]) -> Arguments:
    """Return the checked arguments by name. Raises InvalidInput for missing, wrong and unknown ones."""
    names = [parameter.name for parameter in parameters]
    unknown = sorted(set(values) - set(names))
    if unknown:
        raise InvalidInput(f"no such parameter: {unknown[0][:40]!r}", hint=f"it takes: {', '.join(names)}")
    return {parameter.name: parameter.parse(values.get(parameter.name)) for parameter in parameters}
