"""Building the documents of a capture or a compaction: pure, from sanitized turns."""

from collections.abc import Sequence

from lineage.core import naming, sentence, transcript
from lineage.core import summary as summaries
from lineage.core.body import HASH_SCOPE, Body, body_sha256
from lineage.core.capture import DATA
from lineage.core.digest import Digest
from lineage.core.documents import FALLBACK, SENTENCE_VERSION, Artifact, with_body
from lineage.core.links import wikilink
from lineage.core.request import Request
from lineage.core.sanitizer import Sanitizer
from lineage.core.turns import Turn, Watermark
from lineage.pipeline.capture.source import Source


def memory_sentence(
    request: Request, source: Source, happened: Digest, ending: str, sanitizer: Sanitizer
) -> tuple[str, str]:
    """The one sentence of a capture, put together from what happened, and its quality. (spec: memory_sentence_v1)"""
    text = sanitizer.text(sentence.fallback(happened, setting_of(request, source), ending))
    return text, FALLBACK


def setting_of(request: Request, source: Source) -> sentence.Setting:
    """Whose session it is: what its sentence may be anchored by."""
    return sentence.Setting(request.harness, request.identity.session_id, source.project)


def transcript_of(
    request: Request, source: Source, turns: Sequence[Turn], stem: str, sentenced: tuple[str, str], sanitizer: str
) -> Artifact:
    """The transcript of a capture: `turns` are those that no earlier capture holds. `stem` names the claimed one,
    `sanitizer` is the version that the turns went through."""
    captured_at = request.captured_at
    own = naming.stem(captured_at, request.token)
    siblings = _links(
        (naming.artifact_path(own, naming.SUMMARY), "summary"),
        (naming.artifact_path(stem, naming.MANIFEST), "manifest"),
    )
    mark = Watermark(turns[-1].number, turns[-1].id, sanitizer)
    is_first = turns[0].number == 1
    return _artifact(
        naming.TRANSCRIPT,
        request,
        source,
        stem,
        sentenced,
        mark,
        started_at=request.started_at or (source.started_at if is_first else turns[0].at),
        body=transcript.body_of(siblings, turns),
    )


def summary_of(transcript_artifact: Artifact, happened: Digest, narrative: str | None) -> Artifact:
    """The summary of a capture, from its transcript alone and the narrative that came with the signal, if any.

    After a crash the same summary is made again from the transcript's file.
    """
    siblings = _links(
        (naming.artifact_path(transcript_artifact.stem, naming.TRANSCRIPT), "transcript"),
        (transcript_artifact.manifest_path, "manifest"),
    )
    body = summaries.summary(siblings, transcript_artifact.title, happened, narrative)
    summary = transcript_artifact._replace(
        kind=naming.SUMMARY,
        aliases=[naming.alias(transcript_artifact.title, naming.SUMMARY)],
        tags=_tags(naming.SUMMARY),
    )
    return with_body(summary, body)


def compaction_of(request: Request, source: Source, mark: Watermark, stem: str, sentenced: tuple[str, str]) -> Artifact:
    """The artifact of one compaction, as of the turns up to `mark`."""
    return _artifact(
        naming.COMPACTION,
        request,
        source,
        stem,
        sentenced,
        mark,
        started_at=request.started_at or source.started_at,
        body=compaction_body(source.summary or "", source.title, naming.artifact_path(stem, naming.MANIFEST)),
    )


def compaction_body(text: str, title: str, manifest_path: str) -> str:
    return summaries.compaction(_links((manifest_path, "manifest")), title, text)


def _artifact(
    kind: str,
    request: Request,
    source: Source,
    stem: str,
    sentenced: tuple[str, str],
    mark: Watermark,
    *,
    started_at: str | None,
    body: Body,
) -> Artifact:
    identity = request.identity
    return Artifact(
        kind=kind,
        agent_id=identity.agent_id,
        session_id=identity.session_id,
        session_key=identity.session_key,
        project=source.project,
        harness=request.harness,
        captured_at=request.captured_at,
        started_at=started_at,
        ended_at=request.ended_at or source.ended_at,
        manifest_path=naming.artifact_path(stem, naming.MANIFEST),
        source_node_id=None,
        content_sha256=body_sha256(body),
        hash_scope=HASH_SCOPE,
        sanitizer_version=mark.sanitizer,
        memory_sentence=sentenced[0],
        memory_sentence_version=SENTENCE_VERSION,
        memory_sentence_quality=sentenced[1],
        memory_sentence_generated_at=request.captured_at,
        lane=request.lane,
        private=request.private,
        forked_from=source.forked_from,
        parent_session=source.parent_session,
        models=source.models,
        branches=source.branches,
        title=source.title,
        aliases=[naming.alias(source.title, kind)],
        tags=_tags(kind, *[DATA] * source.has_data),
        watermark=mark.as_list(),
        body=body,
    )


def _tags(kind: str, *more: str) -> list[str]:
    return ["lineage", f"lineage/{kind}", *more]


def _links(*links: tuple[str, str]) -> str:
    return " ".join(wikilink(path, label) for path, label in links)
