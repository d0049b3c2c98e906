"""`lineage sanitize`."""

import codecs
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click

from lineage.app.redaction import load_workspace_rules
from lineage.cli import options
from lineage.cli.output import print_json, print_text
from lineage.core.base.plural import pluralize
from lineage.core.sanitizer import Sanitizer

_CHUNK = 1 << 20


@options.command("sanitize")
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--report", is_flag=True, help="Print what would be redacted, as rule and place; never the secret.")
def command(root: Path, file: BinaryIO, report: bool, as_json: bool) -> int:
    """Print a text without its secrets: FILE, or what comes on stdin.

    The workspace's rules are used where there is one, else those that lineage comes with. Files of any size go through
    in bounded memory. With --json the findings are printed as one object, as with --report.

    \b
    Example:
      lineage sanitize FILE
      lineage sanitize --report FILE
    """
    sanitizer = Sanitizer(load_workspace_rules(root).ruleset)
    if not (report or as_json):
        # bytes: stdout's encoding must not change the text
        for part in sanitizer.sanitize_stream(_read_chunks(file)):
            sys.stdout.buffer.write(part.encode())
        return 0
    findings = [
        {"rule": f.rule, "line": f.line, "column": f.column}
        for f in sanitizer.find_secrets_in_stream(_read_chunks(file))
    ]
    if as_json:
        print_json({"sanitizer_version": sanitizer.ruleset.version, "findings": findings})
        return 0
    for finding in findings:
        print_text(f"{file.name}:{finding['line']}:{finding['column']}: {finding['rule']}")
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
