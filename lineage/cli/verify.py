"""`lineage verify`."""

from dataclasses import asdict
from pathlib import Path

import click

from lineage.cli import options
from lineage.cli.output import say, say_json
from lineage.errors import Problems


@click.command("verify")
@options.as_json
@options.workspace
def command(root: Path, as_json: bool) -> int:
    """Check every promise of the format: checksums, frontmatter, identity, links, rows, MEMORY.md.

    MUST findings mean lost or leaked data, SHOULD findings a rebuild. Exit code 4 where there are any.

    \b
    Example:
      lineage verify --json
    """
    from lineage.app import with_house
    from lineage.pipeline.upkeep.verification import verify

    findings = with_house(root, verify)
    if as_json:
        say_json({"findings": [asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            say(f"{finding.level:6} {finding.path}\n       {finding.what}\n       → {finding.mend}")
        say(f"{len(findings)} findings" if findings else "every promise holds")
    return Problems.exit_code if findings else 0
