"""The documents of a capture or a compaction: pure functions of sanitized turns."""

from collections.abc import Sequence

from lineage.core.base import naming
from lineage.core.base.links import wikilink
from lineage.core.capture.capture import DATA_TAG
from lineage.core.capture.request import Request
from lineage.core.format import sentence, transcript
from lineage.core.format import summary as summaries
from lineage.core.format.body import HASH_SCOPE, Body, hash_body
from lineage.core.format.contract import FALLBACK
from lineage.core.format.digest import Digest
from lineage.core.format.documents import FORMAT, SENTENCE_VERSION, Artifact, with_body
from lineage.core.format.turns import Turn, Watermark
from lineage.core.sanitizer import Sanitizer
from lineage.pipeline.capture.source import SessionSource


def compose_sentence(
    request: Request, source: SessionSource, digest: Digest, ending: str, sanitizer: Sanitizer
) -> tuple[str, str]:
    """Return a capture's sentence, composed from its digest, and its quality (spec: memory_sentence_v1)."""
    text = sentence.build_fallback(digest, build_sentence_context(request, source), ending)
    return sanitizer.sanitize(text), FALLBACK


def build_sentence_context(request: Request, source: SessionSource) -> sentence.SentenceContext:
    """Return the anchors of a session's sentence that are not in its turns."""
    return sentence.SentenceContext(request.harness, request.identity.session_id, source.project)


def build_transcript(
    request: Request,
    source: SessionSource,
    turns: Sequence[Turn],
    stem: str,
    sentence_and_quality: tuple[str, str],
    sanitizer: str,
) -> Artifact:
    """Return the transcript of `turns` (no earlier capture holds them) under the claimed stem."""
    own_stem = naming.build_stem(request.captured_at, request.token)
    links = _render_links(
        (naming.artifact_path(own_stem, naming.SUMMARY), "summary"),
        (naming.artifact_path(stem, naming.MANIFEST), "manifest"),
    )
    watermark = Watermark(turns[-1].number, turns[-1].id, sanitizer)
    # A later capture starts with its own first turn, not with the session.
    started_at = request.started_at or (source.started_at if turns[0].number == 1 else turns[0].at)
    body = transcript.build_body(links, turns)
    return _build_artifact(naming.TRANSCRIPT, request, source, stem, sentence_and_quality, watermark, started_at, body)


def build_summary(transcript_artifact: Artifact, digest: Digest, narrative: str | None) -> Artifact:
    """Return the summary of a capture, made of its transcript and the signal's narrative alone: a crash loses none."""
    links = _render_links(
        (naming.artifact_path(transcript_artifact.stem, naming.TRANSCRIPT), "transcript"),
        (transcript_artifact.manifest_path, "manifest"),
    )
    body = summaries.render_summary(links, transcript_artifact.title, digest, narrative)
    summary = transcript_artifact._replace(
        kind=naming.SUMMARY,
        aliases=[naming.build_alias(transcript_artifact.title, naming.SUMMARY)],
        tags=_build_tags(naming.SUMMARY),
        cssclasses=naming.build_css_classes(naming.SUMMARY),
    )
    return with_body(summary, body)


def rebuild_transcript(summary: Artifact, turns: Sequence[Turn], *, has_data: bool) -> Artifact:
    """Return the transcript that a summary was made of, with `turns`: the inverse of `build_summary`."""
    links = _render_links(
        (naming.artifact_path(summary.stem, naming.SUMMARY), "summary"), (summary.manifest_path, "manifest")
    )
    transcript_artifact = summary._replace(
        kind=naming.TRANSCRIPT,
        aliases=[naming.build_alias(summary.title, naming.TRANSCRIPT)],
        tags=_build_tags(naming.TRANSCRIPT, *[DATA_TAG] * has_data),
        cssclasses=naming.build_css_classes(naming.TRANSCRIPT),
    )
    return with_body(transcript_artifact, transcript.build_body(links, turns))


def build_compaction(
    request: Request, source: SessionSource, watermark: Watermark, stem: str, sentence_and_quality: tuple[str, str]
) -> Artifact:
    """Return the artifact of one compaction of the turns up to `watermark`."""
    started_at = request.started_at or source.started_at
    body = render_compaction_body(source.summary or "", source.title, naming.artifact_path(stem, naming.MANIFEST))
    return _build_artifact(naming.COMPACTION, request, source, stem, sentence_and_quality, watermark, started_at, body)


def render_compaction_body(text: str, title: str, manifest_path: str) -> str:
    """Return the body of a compaction with this summary."""
    return summaries.render_compaction(_render_links((manifest_path, "manifest")), title, text)


def _build_artifact(
    kind: str,
    request: Request,
    source: SessionSource,
    stem: str,
    sentence_and_quality: tuple[str, str],
    watermark: Watermark,
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
        content_sha256=hash_body(body),
        hash_scope=HASH_SCOPE,
        sanitizer_version=watermark.sanitizer,
        memory_sentence=sentence_and_quality[0],
        memory_sentence_version=SENTENCE_VERSION,
        memory_sentence_quality=sentence_and_quality[1],
        memory_sentence_generated_at=request.captured_at,
        format=FORMAT,
        repository=source.repository,
        lane=request.lane,
        private=request.private,
        forked_from=source.forked_from,
        parent_session=source.parent_session,
        partial=source.partial,
        models=source.models,
        branches=source.branches,
        title=source.title,
        aliases=[naming.build_alias(source.title, kind)],
        tags=_build_tags(kind, *[DATA_TAG] * source.has_data),
        cssclasses=naming.build_css_classes(kind),
        watermark=watermark.as_list(),
        body=body,
        subfolder=source.subfolder,
    )


def _build_tags(kind: str, *more: str) -> list[str]:
    return ["lineage", f"lineage/{kind}", *more]


def _render_links(*links: tuple[str, str]) -> str:
    return " ".join(wikilink(path, label) for path, label in links)
