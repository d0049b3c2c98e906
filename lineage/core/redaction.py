"""Committed artifacts under other redaction rules than those they were written under. (spec: sanitization contract)"""

from lineage.core import naming, transcript
from lineage.core.documents import Artifact, with_body
from lineage.core.links import one_line
from lineage.core.sanitizer import Sanitizer


def resanitized(artifact: Artifact, sanitizer: Sanitizer) -> Artifact | None:
    """The artifact under other rules; None where they find nothing in it.

    Turn ids and the watermark stay: they say what was captured, and under which rules ids were made.
    """
    title = _line(artifact.title, sanitizer)
    clean = artifact._replace(
        project=_line(artifact.project, sanitizer) if artifact.project else None,
        memory_sentence=sanitizer.text(artifact.memory_sentence),
        models=[_line(model, sanitizer) for model in artifact.models],
        branches=[_line(branch, sanitizer) for branch in artifact.branches],
        title=title,
        aliases=artifact.aliases if title == artifact.title else [naming.alias(title, artifact.kind)],
    )
    clean = with_body(clean, _body(artifact, sanitizer))
    return None if clean == artifact else clean._replace(sanitizer_version=sanitizer.rules.version)


def _line(text: str, sanitizer: Sanitizer) -> str:
    return one_line(sanitizer.text(text))


def _body(artifact: Artifact, sanitizer: Sanitizer) -> str:
    siblings, newline, rest = str(artifact.body).partition("\n")
    if artifact.kind != naming.TRANSCRIPT:
        return siblings + newline + sanitizer.text(rest)
    turns = transcript.parsed(artifact.body)
    texts = sanitizer.texts([turn.text for turn in turns])
    clean = [
        turn._replace(text=text, name=_line(turn.name, sanitizer), input=_line(turn.input, sanitizer))
        for turn, text in zip(turns, texts, strict=True)
    ]
    return str(artifact.body) if clean == list(turns) else transcript.rendered(siblings, clean)
