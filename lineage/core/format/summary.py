"""The bodies of summaries and compactions (format: Bodies)."""

import re
from collections.abc import Sequence

from lineage.core.base.fences import CODE_MARK, neutralize_markdown
from lineage.core.base.links import escape_markdown, escape_markdown_line
from lineage.core.base.markdown import escape_prose
from lineage.core.base.plural import pluralize
from lineage.core.format.digest import Digest

CHECK = re.compile(
    r"(?:^|[;&|]\s*|(?<![\w-])(?:run|exec|-m|npx|uvx?|poetry|mise|bundle)\s+)(?:\S*/)?(?:pytest|unittest|tox|nox|mypy|pyright|ruff|"
    r"flake8|pylint|eslint|tsc|vitest|jest|mocha|playwright|rspec|phpunit|golangci-lint|shellcheck|tests?|lint|check|typecheck|build|"
    r"(?:cargo|go|dotnet|swift|mix|gradlew?|mvn|bazel) (?:test|build|vet|clippy|check|verify)|"
    r"make (?:\w+ )?(?:test|check|lint)\w*|(?:npm|pnpm|yarn|bun) (?:test|t)\b)"
)
"""Matches a command that builds, tests or lints."""

_MAX_ITEMS = 12
_MAX_CHARACTERS = 400
_CODE = re.compile(r"`([^`]+)`")
_CHECKS_HEADING = "Checks that passed"
_CHECKS = re.compile(rf"^## {_CHECKS_HEADING}\n\n((?:- .*\n)+)", re.MULTILINE)
_FILES_HEADING = "Files touched"
_FILES = re.compile(rf"^## {_FILES_HEADING}\n\n((?:- .*\n)+)", re.MULTILINE)
_PLAIN_COMMAND = re.compile(r"[\w./:@=+,~-]+(?: [\w./:@=+,~*-]+){0,6}")  # no quotes: they may hold any text
_REDIRECTION = re.compile(r" *\d?>(?:&\d| *\S+)")
_MAX_PLAIN_LENGTH = 80
_ENDINGS = {
    "reply": "The agent said nothing.",
    "repeated": "The agent's last message repeats what a tool printed; the transcript has it.",
    "request": "The user's last message was not answered.",
    "call": "The last tool call was not answered.",
    "result": "A tool result came last; the agent did not comment on it.",
}


def render_summary(siblings: str, title: str, digest: Digest, narrative: str | None) -> str:
    """Return the summary of a digest; a `narrative` by the harness or a model replaces the part about the work."""
    ending = "repeated" if digest.ending == "reply" and digest.replies else digest.ending
    outcome = [] if digest.ending == "reply" and digest.last_reply else [_ENDINGS[ending]]
    if not digest.last_reply and digest.outcomes:
        outcome.append("\n".join(_render_item(text, quote=True, code=False) for text in digest.outcomes))
    if digest.last_reply:
        quoted = (f"> {line}".rstrip() for line in escape_prose(digest.last_reply).split("\n"))
        outcome.append("\n".join(("> [!agent]", *quoted)))
    parts = [siblings, f"# {escape_markdown(title)}"]
    if narrative:
        parts.append(neutralize_markdown(narrative.strip("\n")))
    parts += [
        _render_section("Asked", digest.requests, quote=True),
        "\n\n".join(("## Outcome", *outcome)),
        _render_section("Commits", digest.commits),
        _render_section("Pull requests", digest.pull_requests),
        _render_section(_CHECKS_HEADING, digest.checks, code=True),
        "" if narrative else _render_section("Work", _describe_work(digest)),
        _render_section(_FILES_HEADING, digest.edited_files, code=True),
        _render_section("Commands run", digest.commands, code=True),
        _render_section("Decisions", digest.decisions),
        _render_section("Lessons", digest.lessons),
        _render_section("Open", digest.open_items),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def list_checks(summary: str) -> list[str]:
    r"""Return the plain commands among a summary's checks, each once, without redirections.

    A pipe ends well after anything, and so does the part before `;`: of these nothing is known. A change
    to a folder of the project stays.

    >>> list_checks("## Checks that passed\n\n- `go vet ./... 2>&1 && make test | tail -9`\n- `cd web && npm test`\n")
    ['go vet ./...', 'cd web && npm test']
    """
    found = _CHECKS.search(summary)
    checks = dict[str, None]()
    for command in _CODE.findall(found[1]) if found else ():
        folder = ""
        for part in command.rpartition(";")[2].split("&&"):
            plain = _REDIRECTION.sub("", part).strip()
            if plain.startswith("cd "):
                folder = f"{plain} && " if plain[3:4].isalnum() else ""
            elif CHECK.search(plain) and _PLAIN_COMMAND.fullmatch(plain) and len(folder + plain) <= _MAX_PLAIN_LENGTH:
                checks[folder + plain] = None
    return list(checks)


def list_files(summary: str) -> list[str]:
    r"""Return the edited files that a summary lists, as calls named them.

    >>> list_files("## Files touched\n\n- `src/a.py`\n- … and 3 more, in the transcript\n")
    ['src/a.py']
    """
    found = _FILES.search(summary)
    return _CODE.findall(found[1]) if found else []


def render_compaction(siblings: str, title: str, text: str) -> str:
    """Return the compaction: the harness's summary of its dropped context, neutralized."""
    return f"{siblings}\n\n# {escape_markdown(title)}\n\n{neutralize_markdown(text.strip(chr(10)))}\n"


def _render_section(heading: str, items: Sequence[str], *, quote: bool = False, code: bool = False) -> str:
    if not items:
        return ""
    lines = [_render_item(line, quote=quote, code=code) for line in items[:_MAX_ITEMS]]
    if len(items) > _MAX_ITEMS:
        lines.append(f"- … and {len(items) - _MAX_ITEMS} more, in the transcript")
    return f"## {heading}\n\n" + "\n".join(lines)


def _render_item(text: str, *, quote: bool, code: bool) -> str:
    line = text if len(text) <= _MAX_CHARACTERS else text[: _MAX_CHARACTERS - 1] + "…"
    if code:
        return f"- {_render_code(line.replace('`', chr(39)))}"
    return f"- “{_escape_prose(line)}”" if quote else f"- {_escape_prose(line)}"


def _escape_prose(line: str) -> str:
    """Escape a line of text outside of its code spans."""
    parts = _CODE.split(line)
    return "".join(_render_code(part) if index % 2 else escape_markdown_line(part) for index, part in enumerate(parts))


def _render_code(code: str) -> str:
    # Inline queries of Obsidian plug-ins begin with `=` or `$`, templates with `<%`.
    marker = CODE_MARK if code.lstrip().startswith(("=", "$")) else ""
    return f"`{marker}{code.replace('<%', '< %')}`"


def _describe_work(digest: Digest) -> Sequence[str]:
    lines = [f"{pluralize(digest.turns, 'turn')}, of which the agent's replies: {digest.replies}"]
    if digest.tools:
        lines.append("Tools: " + ", ".join(f"{name} ×{count}" for name, count in digest.tools[:_MAX_ITEMS]))
    if digest.errors:
        lines.append(pluralize(digest.errors, "tool error"))
    return lines
