"""Bind statements to the files, commands and errors that their own words name, or the calls around them.

A wrong file is worse than none. A path in a statement counts if a call of the session names the same file, or if it
can't mean anything else; of several files that a name may mean none is taken.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from lineage.core.base.about import COMMAND, ERROR, ERROR_NAME, FILE, build_subject
from lineage.core.base.project import is_absolute, relate_path
from lineage.core.format.turns import ASSISTANT, TOOL, USER, Turn
from lineage.extraction.calls import EDITS, READS, RUNS, get_tool_name, list_call_files
from lineage.extraction.candidates import Candidate
from lineage.extraction.sentence_kinds import LESSON

_MAX_FILES = 4  # more than these are a list of what was done
_MAX_COMMAND_WORDS = 6
_EXTENSIONS = (
    "py|pyi|ipynb|js|jsx|mjs|cjs|ts|tsx|mts|cts|vue|svelte|astro|css|scss|sass|less|html|htm|xml|json|jsonc|json5|jsonl"
    "|ya?ml|toml|ini|cfg|conf|env|lock|md|mdx|rst|txt|csv|tsv|sql|prisma|graphql|gql|proto|sh|bash|zsh|fish|ps1|bat|rb"
    "|erb|go|rs|java|kt|kts|swift|m|mm|c|h|cc|cpp|cxx|hpp|cs|fs|fsx|php|pl|lua|r|jl|ex|exs|erl|hs|clj|scala|dart|zig"
    "|nim|tf|tfvars|hcl|gradle|cmake|mk|nix|plist|xcconfig|storyboard|snap|patch"
)
_PATH = re.compile(
    rf"(?<![\w@/.~$\\-])(?:~/|[A-Za-z]:[\\/]|\.{{1,2}}/|/)?(?:[\w.@+()\[\]-]+[\\/])*"
    rf"(?:[\w@+-][\w.@+-]*\.(?:{_EXTENSIONS})|\.env(?:\.\w+)?|[A-Z]\w*file)(?![\w/\\-]|\.\w)"
)
_REFERENCE = re.compile(
    r"(?<!\w)(?:per|see|like|unlike|similar to|matching|match|as in|following)[ `*]+$", re.IGNORECASE
)
"""Before a file that is an example or a source, not the subject."""
_URL = re.compile(r"\b\w{2,20}://\S+")
_SPAN = re.compile(r"`([^`\n]{2,160})`")
_PLACEHOLDER = re.compile(r"(?:^|/)(?:path|to|foo|bar|example|your[\w-]*|some[\w-]*)(?:[/.]|$)|[()\[\]]", re.IGNORECASE)
_ROOT_FILES = re.compile(
    r"(?:package|package-lock|tsconfig|composer|turbo|nx|lerna|vercel|renovate)\.json|(?:pnpm-lock|docker-compose|compose)\.ya?ml"
    r"|(?:yarn|poetry|uv|Cargo|Gemfile|composer|flake)\.lock|(?:Cargo|pyproject|fly|netlify|wrangler|mise)\.toml|go\.(?:mod|sum)"
    r"|requirements\.txt|setup\.(?:py|cfg)|\.env(?:\.\w+)?|Dockerfile|Makefile|Justfile|Gemfile|Rakefile|Procfile|Vagrantfile"
    r"|(?:CHANGELOG|CLAUDE|AGENTS|GEMINI|CONTRIBUTING)\.md"
)
"""Names that mean the file at the root, also where no call has touched it."""
_TOOLS = (
    "ansible|ansible-playbook|adb|alembic|artisan|biome|bundle|bun|bunx|cargo|composer|conda|cypress|docker|docker-compose"
    "|dotnet|drizzle-kit|eslint|fastlane|firebase|flake8|flutter|flyctl|flyway|gem|gh|glab|go|gradle|gradlew|helm|heroku"
    "|jest|kubectl|mix|mocha|mvn|mypy|nox|npm|npx|nx|phpunit|pip|pip3|pipx|playwright|pnpm|pod|podman|poetry|prettier"
    "|prisma|pylint|pyright|pytest|rails|rake|rspec|ruff|rustup|supabase|terraform|tofu|tox|tsc|turbo|uv|uvx|vercel|vite"
    "|vitest|wrangler|xcodebuild|yarn"
)
_COMMON = "bash|cmake|curl|deno|git|java|just|make|ninja|node|perl|php|python|python3|ruby|sh|ssh|sudo|zsh"
_PROSE = frozenset(("bundle", "conda", "gem", "go", "just", "make", "mix", "pod", "turbo"))
"""Words of prose, too: without a subcommand they name no command."""
_DISTINCT = frozenset(_TOOLS.split("|")) - _PROSE
_READERS = frozenset(("awk", "cat", "echo", "find", "grep", "head", "jq", "ls", "rg", "sed", "sort", "tail", "wc"))
_PROGRAMS = frozenset(f"{_TOOLS}|{_COMMON}".split("|"))
_SUBCOMMANDS = (
    "add|amend|apply|build|check|checkout|clippy|commit|compose|deploy|destroy|dev|down|downgrade|exec|fmt|format|generate"
    "|install|lint|merge|migrate|plan|publish|pull|push|rebase|remove|reset|run|start|stash|sync|tag|test|up|upgrade|worktree"
)
_STATED = re.compile(rf"(?<![\w./@-])((?:{_TOOLS}|git|make))((?: (?:{_SUBCOMMANDS}))*)(?![\w/-]|\.\w)")
_SEPARATOR = re.compile(r"\s*(?:&&|\|\||[;|\n])\s*")
_ASSIGNMENT = re.compile(r"(?:\w+=\S*|sudo|time|env|exec|command)$")
_TEST = re.compile(r"(?:^|[/_.-])(?:tests?|specs?|mocks?|fixtures?)(?:[/_.-]|$)", re.IGNORECASE)
"""Tests hold the names of what they test."""
_VARIABLE = re.compile(r"[<>{}$…]|\.\.\.")
_CODE_NAME = re.compile(r"(?=\w*(?:[a-z][A-Z]|\w_\w))\w{5,60}")
_THIS_FILE = re.compile(
    r"\bthis file\b|\bdiese[rn]? datei\b|\bce fichier\b|\beste (?:archivo|fichero|arquivo)\b"
    r"|\bquesto file\b|\b(?:этот|этом|этого) файл|(?:这个|此|该)文件|このファイル|이 파일",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Calls:
    """The calls of a session, as far as its statements ask for them."""

    root: str
    subfolder: str
    wanted_names: frozenset[str]
    wanted_turns: frozenset[str]
    files: set[str] = field(default_factory=set)
    programs: set[str] = field(default_factory=set)
    edits_by_name: dict[str, set[str]] = field(default_factory=dict)
    edited_before: dict[str, set[str]] = field(default_factory=dict)
    failed_before: dict[str, tuple[str, str]] = field(default_factory=dict)
    _edited: set[str] = field(default_factory=set)
    _running: dict[int, str] = field(default_factory=dict)
    _failed: tuple[str, str] = ("", "")

    def add(self, turn: Turn) -> None:
        """Take in one turn."""
        if turn.id in self.wanted_turns:
            self.edited_before.setdefault(turn.id, set(self._edited))
            self.failed_before.setdefault(turn.id, self._failed)
        if turn.role == ASSISTANT and turn.name and turn.input:
            self._add_call(turn)
        elif turn.role == TOOL:
            command = self._running.pop(turn.call, "")
            self._failed = (command, turn.text) if command and turn.error else ("", "")
        elif turn.role == USER:
            self._edited, self._failed = set(), ("", "")

    def _add_call(self, turn: Turn) -> None:
        name = get_tool_name(turn)
        if name in RUNS:
            self._running[turn.number] = turn.input
            self.programs |= {words[0] for words in _split_commands(turn.input)}
            self.files |= {path for token in _find_paths(turn.input) if "/" in token and (path := self.relate(token))}
        elif name in EDITS or name in READS:
            related = set(filter(None, map(self.relate, list_call_files(turn))))
            self.files |= related
            if name in EDITS:
                self._edited |= related
                whole = "\n".join(f"{part.text}\n{part.old or ''}" for part in turn.parts) if self.wanted_names else ""
                for word in self.wanted_names:
                    if word in whole:
                        self.edits_by_name.setdefault(word, set()).update(related)

    def relate(self, path: str) -> str:
        """Return a path below the root of the repository, "" for one outside of it."""
        return relate_path(path, self.root, self.subfolder)

    def resolve(self, token: str) -> str:
        """Return the file that a path or a name in a statement means, "" for none or several."""
        token = token.replace("\\", "/")
        exact = self.relate(token)
        if exact in self.files or is_absolute(token) or token.startswith("~"):
            return exact
        name = token.removeprefix("./")
        found = {path for path in self.files if path.endswith(f"/{name}") or path == name}
        if len(found) == 1:
            return found.pop()
        if found or self.subfolder or token.startswith("../") or _PLACEHOLDER.search(name):
            return ""
        # People leave out the first folders of a path: one that no call goes into is no folder at the root.
        folder, is_below, _ = name.partition("/")
        is_root = any(path.startswith(f"{folder}/") for path in self.files) if is_below else _ROOT_FILES.fullmatch(name)
        return name if is_root else ""


def bind_candidates(
    candidates: Sequence[Candidate], turns: Iterable[Turn], project: str | None, subfolder: str = ""
) -> list[Candidate]:
    """Return the candidates with what each is about. `project` is the root of the repository that the turns ran in."""
    quotes = [_URL.sub(" ", one.quote or one.text) for one in candidates]
    names = frozenset(name for quote in quotes for name in _find_code_names(quote))
    calls = _Calls(project or "", subfolder, names, frozenset(one.turn_id for one in candidates))
    for turn in turns if candidates else ():
        calls.add(turn)
    bound = (dict.fromkeys(filter(None, _find_subjects(*pair, calls))) for pair in zip(candidates, quotes, strict=True))
    return [replace(one, about=tuple(about)) for one, about in zip(candidates, bound, strict=True)]


def _find_subjects(candidate: Candidate, quote: str, calls: _Calls) -> Iterator[str]:
    files = list(dict.fromkeys(filter(None, map(calls.resolve, _find_paths(quote)))))
    commands = list(dict.fromkeys(_find_commands(quote, calls.programs)))
    errors = [match[0] for match in ERROR_NAME.finditer(quote)]
    failed = _find_failed(candidate, quote, [] if files or commands else errors, calls)
    commands = [*failed, *(one for one in commands if not any(f"{head} ".startswith(f"{one} ") for head in failed))]
    files = files if files or commands else _find_edited(candidate, quote, calls)
    if len(files) <= _MAX_FILES:
        yield from (build_subject(FILE, path) for path in files)
    yield from (build_subject(COMMAND, command) for command in commands[:_MAX_FILES])
    yield from (build_subject(ERROR, name) for name in errors[:_MAX_FILES])


def _find_edited(candidate: Candidate, quote: str, calls: _Calls) -> list[str]:
    """Return the one file whose edits hold the names in a statement, or that a person calls "this file"."""
    found = [calls.edits_by_name.get(name, set()) for name in _find_code_names(quote)]
    shared = {path for path in set[str]().union(*found) if not _TEST.search(path)}
    if not shared and candidate.role == USER and _THIS_FILE.search(quote):
        shared = calls.edited_before.get(candidate.turn_id, set())
    return list(shared) if len(shared) == 1 else []


def _find_failed(candidate: Candidate, quote: str, errors: Sequence[str], calls: _Calls) -> list[str]:
    """Return the command that failed just before a lesson, if the lesson names its program or its error."""
    command, output = calls.failed_before.get(candidate.turn_id, ("", ""))
    if candidate.kind != LESSON or not command:
        return []
    heads = [_shorten(words) for words in _split_commands(command)]
    named = [head for head in heads if re.search(rf"(?<!\w){re.escape(head.split()[0])}(?!\w)", quote)]
    own = [head for head in heads if head.split()[0] in _DISTINCT]
    return named[:1] or (own[:1] if any(error in output for error in errors) else [])


def _find_paths(text: str) -> Iterator[str]:
    return (
        match[0] for match in _PATH.finditer(text) if not _REFERENCE.search(text, match.start() - 16, match.start())
    )


def _find_code_names(text: str) -> Iterator[str]:
    return (name for span in _SPAN.findall(text) for name in _CODE_NAME.findall(span) if not _PATH.search(span))


def _find_commands(text: str, programs: set[str]) -> Iterator[str]:
    """Yield the commands in quotation marks of code, and those whose program can't be another word."""
    for span in _SPAN.findall(text):
        for words in _split_commands(span) if not _VARIABLE.search(span) else ():
            if words[0] in _DISTINCT or (len(words) > 1 and words[0] in (_PROGRAMS | programs) - _READERS):
                yield " ".join(words[:_MAX_COMMAND_WORDS])
    for match in _STATED.finditer(_SPAN.sub(" ", text)):
        if match[2] or match[1] in _DISTINCT:
            yield match[0]


def _split_commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each command in a line of the shell, without assignments."""
    for part in _SEPARATOR.split(text.removeprefix("$ ")):
        words = part.split()
        while words and _ASSIGNMENT.match(words[0]):
            words = words[1:]
        if words and words[0] != "cd":
            yield words


def _shorten(words: Sequence[str]) -> str:
    """Return a command's program and subcommands, without options and files."""
    head = [words[0]]
    for word in words[1:3]:
        if not re.fullmatch(r"[a-z][\w:-]*", word):
            break
        head.append(word)
    return " ".join(head)
