"""What a statement is bound to: the files, commands and errors that its own words name, or the calls around it.

The guards: `_REFERENCE`, `_PLACEHOLDER`, `_TEST`, `_VARIABLE`, `_READERS`, `_PROSE`, `_MAX_FILES`, each case of
`_Calls.resolve`, the role in `_find_edited`, the kind in `_find_failed`.
"""

import pytest

from lineage.core.format.turns import ASSISTANT, TOOL, USER, InputPart, Turn
from lineage.extraction.about import bind_candidates
from lineage.extraction.candidates import Candidate
from lineage.extraction.sentence_kinds import DECISION, LESSON, PREFERENCE

ROOT = "/home/ada/shop"
LAST = "t-0000000099"


def call(number: int, name: str, given: str, *texts: str) -> Turn:
    parts = tuple(InputPart(text, old="") for text in texts)
    return Turn(ASSISTANT, "", name=name, input=given, number=number, parts=parts)


CALLS = (
    Turn(USER, "Mend the cart.", number=1),
    call(2, "Read", f"{ROOT}/src/cart/total.ts"),
    call(3, "Edit", f"{ROOT}/src/cart/total.ts", "export function sumRows(rows) {}"),
    call(4, "Edit", f"{ROOT}/src/cart/total.test.ts", "checkRows(sumRows([]))"),
    call(5, "Edit", f"{ROOT}/.claude/worktrees/mend/src/tax/index.ts", "applyTax(rate)"),
    call(6, "Edit", f"{ROOT}/src/cart/index.ts", "applyVat(rate)"),
    call(7, "Read", "/etc/hosts.conf"),
    call(8, "Bash", "cd web && LOG=1 alembic upgrade head; ./scripts/seed --all"),
)
FAILED = Turn(TOOL, "KeyError: 'DATABASE_URL'\n", name="Bash", call=8, error=True, number=9)


def bind(
    text: str, kind: str = LESSON, role: str = ASSISTANT, turns: tuple[Turn, ...] = CALLS, subfolder: str = ""
) -> list[str]:
    """What a statement in a last turn is about."""
    spoken = Turn(role, text, id=LAST, number=99)
    (one,) = bind_candidates([Candidate(kind, text, role, LAST, quote=text)], [*turns, spoken], ROOT, subfolder)
    return list(one.about)


@pytest.mark.parametrize(
    ("text", "about"),
    [
        # a file that a call names, by its whole path, by its end, in a worktree
        ("Rounding belongs into `src/cart/total.ts`.", ["file:src/cart/total.ts"]),
        (f"Rounding belongs into {ROOT}/src/cart/total.ts:12.", ["file:src/cart/total.ts"]),
        ("In total.ts the rows are rounded twice.", ["file:src/cart/total.ts"]),
        ("The rate comes from `tax/index.ts`.", ["file:src/tax/index.ts"]),
        # several files, or none: nothing
        ("The barrel `index.ts` exports both.", []),
        ("Look at `cart/format.ts` for the rest.", []),
        ("It lies in ~/notes/plan.md and in /etc/hosts.conf.", []),
        ("Written with Next.js and Vue.js, see https://shop.test/a/total.ts.", []),
        ("Call it `src/foo.ts` or `path/to/it.ts`.", []),
        ("It rounds like `total.ts` does.", []),
        # below a folder that calls go into, and what can only lie at the root
        ("New carts go into `src/cart/empty.ts`.", ["file:src/cart/empty.ts"]),
        ("Never edit `package-lock.json` by hand.", ["file:package-lock.json"]),
        ("a.py b.py c.py src/d.ts src/e.ts src/f.ts src/g.ts src/h.ts were renamed.", []),
        # the file whose edits hold the name, no test of it
        ("`sumRows` skips empty rows since the importer pads them.", ["file:src/cart/total.ts"]),
        ("`checkRows` is slow.", []),
        ("`applyTax` and `applyVat` differ.", []),
        # commands
        ("Use pnpm, never npm.", ["command:pnpm", "command:npm"]),
        ("Run `alembic upgrade head` before the tests.", ["command:alembic upgrade head"]),
        ("Never `git push --force` to main.", ["command:git push --force"]),
        ("Always run make lint before git commit.", ["command:make lint", "command:git commit"]),
        ("Just go on, make it mix, and turbo it.", []),
        ("Seed with `./scripts/seed --all`.", ["command:./scripts/seed --all"]),
        ("Look at `grep -r row`, `npm run ${TASK}` and `git`.", []),
        # errors
        ("A `KeyError` means that DATABASE_URL is missing.", ["error:KeyError"]),
        ("ECONNREFUSED: the database isn't up. An Error, handleError.", ["error:ECONNREFUSED"]),
        ("Nothing to be bound to, e.g. here.", []),
    ],
)
def test_a_statement_is_bound_to_what_it_names(text: str, about: list[str]) -> None:
    assert bind(text) == about


def test_without_the_session_s_root_a_path_in_a_subfolder_is_none() -> None:
    assert bind("New carts go into `src/cart/empty.ts`.", subfolder="web") == []
    assert bind("It is in `main.ts`.", turns=(call(1, "Read", "src/main.ts"),), subfolder="web") == [
        "file:web/src/main.ts"
    ]


def test_a_lesson_is_bound_to_the_command_that_failed_just_before() -> None:
    failed = (*CALLS, FAILED)
    assert bind("The cause: alembic reads no .env there.", turns=failed) == [
        "file:.env",
        "command:alembic upgrade head",
    ]
    assert bind("The cause: alembic reads the url of another database.", turns=failed) == [
        "command:alembic upgrade head"
    ]
    assert bind("`KeyError` here means that the url is missing.", turns=failed) == [
        "command:alembic upgrade head", "error:KeyError",
    ]  # fmt: skip
    assert bind("The cause was the padding of rows.", turns=failed) == []
    for turns in (CALLS, (*failed, Turn(USER, "Go on.", number=10)), (*CALLS, FAILED._replace(error=False))):
        assert bind("`KeyError` means that the url is missing.", turns=turns) == ["error:KeyError"]


def test_this_file_is_the_one_edited_since_the_last_prompt() -> None:
    edited = (*CALLS, Turn(USER, "Go on.", number=10), call(11, "Edit", f"{ROOT}/src/cart/total.ts", "x"))
    words = "No, never put rounding into this file."
    assert bind(words, PREFERENCE, USER, edited) == ["file:src/cart/total.ts"]
    assert bind(words, DECISION, ASSISTANT, edited) == []
    assert bind(words, PREFERENCE, USER) == []
    assert bind("No, never round.", PREFERENCE, USER, edited) == []
