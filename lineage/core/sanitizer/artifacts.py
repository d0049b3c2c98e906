"""Sanitizing committed artifacts again, under other rules. (spec: sanitization contract)."""

from collections.abc import Iterable

from lineage.core.base import naming
from lineage.core.base.links import to_one_line
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact, with_body
from lineage.core.format.turns import InputPart
from lineage.core.sanitizer.sanitizer import Sanitizer


def resanitize_artifact(artifact: Artifact, sanitizer: Sanitizer) -> Artifact | None:
    """Return the artifact without the secrets that these rules find, None if they find nothing.

    Turn ids and the watermark stay: they identify captured turns and do not depend on the rules.
    """
    title = _sanitize_line(artifact.title, sanitizer)
    clean = artifact._replace(
        project=_sanitize_line(artifact.project, sanitizer) if artifact.project else None,
        repository=_sanitize_line(artifact.repository, sanitizer) if artifact.repository else None,
        subfolder=_sanitize_line(artifact.subfolder, sanitizer),
        memory_sentence=sanitizer.sanitize(artifact.memory_sentence),
        models=[_sanitize_line(model, sanitizer) for model in artifact.models],
        branches=[_sanitize_line(branch, sanitizer) for branch in artifact.branches],
        title=title,
        aliases=artifact.aliases if title == artifact.title else [naming.build_alias(title, artifact.kind)],
    )
    clean = with_body(clean, _sanitize_body(artifact, sanitizer))
    return None if clean == artifact else clean._replace(sanitizer_version=sanitizer.ruleset.version)


def _sanitize_line(text: str, sanitizer: Sanitizer) -> str:
    return to_one_line(sanitizer.sanitize(text))


def _sanitize_body(artifact: Artifact, sanitizer: Sanitizer) -> str:
    if artifact.kind != naming.TRANSCRIPT:
        siblings, newline, rest = str(artifact.body).partition("\n")
        return siblings + newline + sanitizer.sanitize(rest)
    turns = transcript.parse_turns(artifact.body)
    texts = sanitizer.sanitize_all([turn.text for turn in turns])
    clean = [
        turn._replace(
            text=text,
            name=_sanitize_line(turn.name, sanitizer),
            input=_sanitize_line(turn.input, sanitizer),
            parts=sanitize_parts(turn.parts, sanitizer),
        )
        for turn, text in zip(turns, texts, strict=True)
    ]
    return str(artifact.body) if clean == list(turns) else transcript.rerender_turns(artifact.body, clean)


def sanitize_parts(parts: Iterable[InputPart], sanitizer: Sanitizer) -> tuple[InputPart, ...]:
    """Return the parts of a call's input without secrets."""
    return tuple(
        part._replace(
            text=sanitizer.sanitize(part.text),
            label=sanitizer.sanitize(part.label),
            old=sanitizer.sanitize_optional(part.old),
        )
        for part in parts
    )
