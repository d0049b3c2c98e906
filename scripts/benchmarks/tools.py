"""Other tools that keep notes and find them by their words, and lineage itself: the commands that a user types.

They are installed by `pip install basic-memory` under Python 3.12, `bun add @tobilu/qmd` (what bun installed runs under
bun) and `npm install memvid-cli`, each in a folder of its own whose programs are then put on PATH.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks import commands
from benchmarks.commands import Command
from lineage.app.locations import STATE_FOLDER

_FOUND = "10"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool: how it takes in a folder of markdown and how it is asked. Everything may name `{notes}` and `{home}`, a
    search `{question}` and `{words}`, the same with bars between, too. `mode` is what of it is asked, `named` the
    pattern of a file's name in what a search prints, `kept` that of its index's files."""

    name: str
    mode: str = ""
    program: str
    index: Sequence[Command] = ()
    search: Command
    named: str
    kept: str = "{home}/*"
    variables: Mapping[str, str] = field(default_factory=dict)


LINEAGE = Tool(
    name="lineage",
    program=commands.LINEAGE[1],
    index=[[*commands.LINEAGE, "-w", "{notes}", "reindex"]],
    search=[*commands.LINEAGE, "-w", "{notes}", "search", "{question}", "--limit", _FOUND, "--json"],
    named=r'"path": "([^"]+)"',
    kept=f"{{notes}}/{STATE_FOLDER}/index.db*",
)

_BASIC_MEMORY = Tool(
    name="basic-memory",
    program="basic-memory",
    index=[
        ["basic-memory", "project", "add", "bench", "{notes}", "--default"],
        ["basic-memory", "reindex", "--full", "--search", "-p", "bench"],
    ],
    search=[
        *("basic-memory", "tool", "search-notes", "{question}"),
        *("--project", "bench", "--local", "--page-size", _FOUND),
    ],
    named=r'"file_path": "([^"]+)"',
    kept="{home}/basic-memory/memory.db*",
    variables={
        "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false",
        "BASIC_MEMORY_AUTO_UPDATE": "false",
        "BASIC_MEMORY_HOME": "{home}/notes",
        "BASIC_MEMORY_CONFIG_DIR": "{home}/basic-memory",
    },
)

_QMD = Tool(
    name="qmd",
    mode=", BM25",
    program="qmd",
    index=[["qmd", "collection", "add", "{notes}", "--name", "bench"]],
    search=["qmd", "search", "{question}", "-n", _FOUND, "--json"],
    named=r'"file": "([^"]+)"',
    kept="{home}/cache/qmd/index.sqlite*",
    variables={"XDG_CACHE_HOME": "{home}/cache", "XDG_CONFIG_HOME": "{home}/config"},
)

_MEMVID = Tool(
    name="memvid",
    program="memvid",
    index=[
        ["memvid", "create", "{home}/notes.mv2", "--no-vector"],
        [
            *("memvid", "put", "{home}/notes.mv2", "--input", "{notes}", "--no-embedding", "--no-enrich"),
            *("--no-auto-tag", "--no-extract-dates", "--no-extract-triplets"),
        ],
    ],
    search=[
        *("memvid", "find", "{home}/notes.mv2", "--query", "{question}"),
        *("--mode", "lex", "--top-k", _FOUND, "--json"),
    ],
    named=r'"uri": "([^"]+)"',
)

_GREP = Tool(
    name="grep",
    mode=", any word, not ranked",
    program="grep",
    search=["grep", "-rliwE", "{words}", "{notes}"],
    named=r"(.+)\n",
)

TOOLS = (LINEAGE, _BASIC_MEMORY, _QMD, _MEMVID, _GREP)
