"""What calls committed and opened: what was never done, or is worked out by the shell, has no subject."""

import pytest

from lineage.extraction.changes import find_commit_id, find_pull_request, find_subject, find_title

DOCUMENT = '"$(cat <<\'EOF\'\nKeep the "last" row\n\nIt was lost.\nEOF\n)"'


@pytest.mark.parametrize(
    ("command", "subject"),
    [
        ("git commit -am 'Keep it'", "Keep it"),
        ('cd x && git -C y commit -q -m "Keep it"', "Keep it"),
        (f"git add -A\ngit commit -m {DOCUMENT}", 'Keep the "last" row'),
        ('git commit -m "Keep it\\n\\n- all"', "Keep it"),
        ("grep -rn 'git commit -m \"Never done\"' .", ""),
        ("echo git commit -m 'Never done'", ""),
        ('git commit -m "$MSG"', ""),
        ('git commit -m "$(cat msg)"', ""),
        ("git commit -m '🎉'", ""),
        ("git commit --amend --no-edit", ""),
    ],
)
def test_a_subject_is_that_of_a_commit_alone(command: str, subject: str) -> None:
    assert find_subject(command) == subject


@pytest.mark.parametrize(
    ("command", "title"),
    [
        ("gh pr create --title 'Keep it' --body ''", "Keep it"),
        ('gh pr create --body \'use -t "Forged"\' --title="Keep it"', "Keep it"),
        (f"gh pr create --base main --title {DOCUMENT} --body x", 'Keep the "last" row'),
        ("git push && gh pr create \\\n  -t 'Keep it'", "Keep it"),
        ("gh pr list; echo gh pr create --title 'Forged'", ""),
        ("gh pr create --body 'use -t \"Forged\"' --fill", ""),
        ("gh pr create --fill; echo --title 'Forged'", ""),
        ("gh pr create --fill\necho --title 'Forged'", ""),
        ("gh pr create --title 'Keep it' --dry-run", ""),
        ('gh pr create --title "$TITLE"', ""),
        ('gh pr create --title "$(git log -1 --format=%s)"', ""),
        ("gh pr create --title 'never closed", ""),
        ("gh pr create --title", ""),
        ("gh pr create --title ''", ""),
    ],
)
def test_a_title_is_that_of_a_pull_request_alone(command: str, title: str) -> None:
    assert find_title(command) == title


def test_an_id_is_what_the_tool_printed() -> None:
    assert find_commit_id("[main (root-commit) 7be65cb] x") == "7be65cb"
    assert find_commit_id("commit 7be65cb") == ""
    url = "https://forge.example/ada/demo/pull/31"
    assert find_pull_request(f"Creating…\n\n{url}\n") == "31"
    assert find_pull_request(f"a pull request for branch x already exists:\n{url}\n") == ""
    assert find_pull_request(f"see {url}") == ""


@pytest.mark.parametrize(
    "piece", ["gh pr create ", "gh pr create \\\n", "\ngh pr create --title ", "\ngit commit -m ", 'git commit -m "']
)
def test_a_huge_command_is_read(piece: str) -> None:
    """A pattern that tries each start anew would take minutes."""
    command = piece * (1_000_000 // len(piece))
    assert len(find_subject(command) + find_title(command)) <= 100_000
