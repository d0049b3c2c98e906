"""`lineage admin sanitize`."""

import codecs
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import click

from lineage.app.redaction import load_workspace_rules
from lineage.cli import options
from lineage.cli.output import print_json, print_text
from lineage.core.base.plural import pluralize
from lineage.core.sanitizer import Sanitizer

_CHUNK = 1 << 20


@options.command("sanitize")
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--explain", "--report", "explain", is_flag=True, help="Print what would be redacted, where and why.")
def command(root: Path, file: BinaryIO, explain: bool, as_json: bool) -> int:
    """Print a text without its secrets: FILE, or stdin (-).

    It uses the workspace's rules, without a workspace lineage's own. Files of any size go through in bounded memory.
    --explain shows of a value its length and at most two characters; --json explains as one object.

    \b
    Example:
      lineage admin sanitize FILE
      lineage admin sanitize --explain FILE
    """
    sanitizer = Sanitizer(load_workspace_rules(root).ruleset)
    if not (explain or as_json):
        # bytes: stdout's encoding must not change the text
        for part in sanitizer.sanitize_stream(_read_chunks(file)):
            sys.stdout.buffer.write(part.encode())
        return 0
    findings: list[dict[str, Any]] = [
        {"rule": f.rule, "line": f.line, "column": f.column, "why": f.why, "length": f.end - f.start, "head": f.head}
        for f in sanitizer.find_secrets_in_stream(_read_chunks(file))
    ]
    if as_json:
        print_json({"sanitizer_version": sanitizer.ruleset.version, "findings": findings})
        return 0
    for finding in findings:
        head = f", {finding['head']}…" if finding["head"] else ""
        print_text(f"{file.name}:{finding['line']}:{finding['column']}: {finding['rule']}: {finding['why']}")
        print_text(f"  {pluralize(finding['length'], 'character')}{head}")
    print_text(f"{pluralize(len(findings), 'finding')} ({sanitizer.ruleset.version})")
    return 0


def _read_chunks(file: BinaryIO) -> Iterator[str]:
    """Yield the text in chunks, decoded as UTF-8, or as UTF-16 after a byte order mark."""
    data = file.read(_CHUNK)
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    decoder = codecs.getincrementaldecoder("utf-16" if wide else "utf-8-sig")(errors="replace")
    while data:
        yield decoder.decode(data)
        data = file.read(_CHUNK)
    yield decoder.decode(b"", final=True)
