"""`lineage verify`."""

from pathlib import Path

import click

from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import print_json, print_text
from lineage.errors import FindingsReported
from lineage.pipeline.maintenance.verify import verify


@click.command("verify")
@options.common
def command(root: Path, as_json: bool) -> int:
    """Check every promise of the format: checksums, frontmatter, identity, links, rows, MEMORY.md.

    MUST findings mean lost or leaked data, SHOULD findings a rebuild. Exit code 4 where there are any.

    \b
    Example:
      lineage verify --json
    """
    findings = run_in_workspace(root, verify)
    if as_json:
        print_json({"findings": findings})
    else:
        for finding in findings:
            print_text(f"{finding.level:6} {finding.path}\n       {finding.what}\n       → {finding.mend}")
        print_text(f"{len(findings)} findings" if findings else "every promise holds")
    return FindingsReported.exit_code if findings else 0
