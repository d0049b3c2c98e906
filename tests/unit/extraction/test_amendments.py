"""What a newer statement amends: 42 chains in seven languages, and 200 pairs that have nothing to do with each other.

`OlderStatements` finds what `amends` says, without comparing all of them; `_find` what the patterns alone find.

The guards: `asserted` and `of_old` in `_replaces` and `amends`, both sides of `alike`, `denied`, `_IN_THE`, `_NUMBER`.
"""

from itertools import pairwise

import pytest

from lineage.extraction.amendments import OlderStatements, amends
from tests.support.amendments import Chain, read_chains, read_unrelated

CHAINS = read_chains()


def test_there_are_chains_and_pairs_enough() -> None:
    assert (len(CHAINS), len({chain.language for chain in CHAINS}), len(list(read_unrelated()))) == (42, 7, 200)
    assert all(len(chain.statements) in (2, 3, 4) for chain in CHAINS)


@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: chain.question)
def test_each_statement_amends_the_one_before(chain: Chain) -> None:
    for (_, older), (_, newer) in pairwise(chain.statements):
        assert amends(newer, older), (newer, older)
        assert not amends(newer, newer)


def test_nothing_amends_what_it_has_nothing_to_do_with() -> None:
    assert [pair for pair in read_unrelated() if amends(pair[1], pair[0]) or amends(pair[0], pair[1])] == []
    for chain in CHAINS:
        others = (text for other in CHAINS if other is not chain for _, text in other.statements)
        assert [(text, other) for other in others for _, text in chain.statements if amends(text, other)] == []


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        # what both leave behind, or the newer one only denies
        ("Use pnpm rather than npm for the web app, please.", "The web app uses pnpm, no longer npm."),
        (
            "The importer doesn't read empty rows in Excel files.",
            "Count the rows of the importer before you read Excel.",
        ),
        # another subject in the same words, or another number of it
        ("Use prettier for formatting TypeScript.", "Use black for formatting Python."),
        ("Commit subjects may be 72 characters long.", "Lines of code may be 80 characters long."),
        ("Os backups ficam no S3.", "As imagens ficam no S3."),
        # another thing of the same name: a number behind it is none of a contradiction
        ("Never edit migration 0043, it ran in production.", "Never edit migration 0042, it ran in production."),
        ("Run migration 43 before the deploy of the shop.", "Run migration 42 before the deploy of the shop."),
        ("Fix issue #18 before the release of the importer.", "Fix issue #17 before the release of the importer."),
        ("Never reboot node 4 without asking me first.", "Never reboot node 3 without asking me first."),
        ("Phase 2 of the rewrite covers the billing pages.", "Phase 1 of the rewrite covers the billing pages."),
        ("Server 2 runs the nightly backups of the database.", "Server 1 runs the nightly backups of the database."),
        ("Starte Knoten 4 nie ohne meine Freigabe neu.", "Starte Knoten 3 nie ohne meine Freigabe neu."),
        ("Fix #18 before the release of the importer.", "Fix #17 before the release of the importer."),
        ("PR number 18 of the shop waits for review.", "PR number 17 of the shop waits for review."),
        (
            "La migration n° 43 doit tourner avant le déploiement.",
            "La migration n° 42 doit tourner avant le déploiement.",
        ),
        ("Migration (0043) ran in production on Monday.", "Migration (0042) ran in production on Monday."),
        ("Fix issue #18 before the release.", "Fix issue #17 before the release."),
        ("Never reboot node 4 without asking me first.", "Never reboot node 3 without asking me first."),
        ("The feature flag service no longer counts sessions, never push to main metrics.", "Never push to main."),
        ("步骤4要在部署之前运行完成。", "步骤3要在部署之前运行完成。"),
        ("第4章の用語集を直してください。", "第3章の用語集を直してください。"),
        ("Week 2 of the sprint is for the importer.", "Week 1 of the sprint is for the importer."),
        ("Ne modifie jamais l'étape 4 du déploiement.", "Ne modifie jamais l'étape 3 du déploiement."),
        # the same once more, with and without a negation
        ("Never push to main.", "Never push to main!"),
        ("We no longer cache responses in the browser.", "The browser tests cache node_modules between runs."),
        # a word of another long statement, in passing
        (
            "Should the script also regenerate what is stale rather than missing? Yes, compare the times of src.",
            "When the artifacts are missing and no binary is on PATH, what then? Build it, if PATH has nothing.",
        ),
        (
            "The fix is a removal from `src/routes/orders.ts:613`, which drops the repository from `submitJob`.",
            "The commit failed because old clones, leftover repositories of earlier runs, are picked up by the tests.",
        ),
        ("", "Use tabs."),
        ("Use tabs.", ""),
    ],
)
def test_what_only_looks_like_an_amendment_is_none(newer: str, older: str) -> None:
    assert not amends(newer, older)


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("Use ruff for formatting Python.", "Use black for formatting Python."),
        ("Don't sort the imports of generated files.", "Sort the imports of generated files."),
        ("The importer reads 500 rows at once.", "The importer reads 100 rows at once."),
        ("Use Node 20 for the build of the shop.", "Use Node 18 for the build of the shop."),
        ("The server of the shop listens on port 9090.", "The server of the shop listens on port 8080."),
        ("Never wait for more than 5 retries.", "Never wait for more than 3 retries."),
        ("Never deploy the shop after 17 o'clock.", "Never deploy the shop after 16 o'clock."),
        ("You can push to main from now on, that rule no longer holds.", "Never push to main."),
        ("Indent 4 spaces, no tabs, in the shop.", "Indent 2 spaces, no tabs, in the shop."),
        ("Use Node 20, not yarn, for the build of the shop.", "Use Node 18, not yarn, for the build of the shop."),
        (
            "The gateway runs on port 9090, never on a public host.",
            "The gateway runs on port 8080, never on a public host.",
        ),
        (
            "The cache lives for TTL 90 and is not shared by tenants.",
            "The cache lives for TTL 60 and is not shared by tenants.",
        ),
        ("Never use port 9090 for the gateway.", "Never use port 8080 for the gateway."),
        ("Do not upgrade Postgres 16 in staging.", "Do not upgrade Postgres 15 in staging."),
        ("The upload must not exceed 20 MB in the importer.", "The upload must not exceed 10 MB in the importer."),
        ("Do not allow more than limit 200 in the search API.", "Do not allow more than limit 100 in the search API."),
        (
            "Retry every request 5 times before failing the import.",
            "Retry every request 3 times before failing the import.",
        ),
        (
            "Give a customer 14 days to return goods in the shop.",
            "Give a customer 30 days to return goods in the shop.",
        ),
        ("Give every worker 8 GB of memory in the farm.", "Give every worker 4 GB of memory in the farm."),
        ("Show the customer 20 results in the shop list.", "Show the customer 10 results in the shop list."),
        ("Starte jeden Schritt 5 mal im Build der Pipeline.", "Starte jeden Schritt 3 mal im Build der Pipeline."),
        ("Nightly backups start at 04 UTC on the NAS.", "Nightly backups start at 02 UTC on the NAS."),
        ("The salary run is on day 10 of the month.", "The salary run is on day 05 of the month."),
        ("Never deploy the shop before 10 in the morning.", "Never deploy the shop before 09 in the morning."),
        ("You may edit migration 0042 of the shop again.", "Never edit migration 0042 of the shop."),
    ],
)
def test_a_contradiction_on_the_same_subject_is_one_without_a_word_of_it(newer: str, older: str) -> None:
    assert amends(newer, older)


def test_older_statements_are_found_as_if_each_was_compared() -> None:
    texts = [text for chain in CHAINS for _, text in chain.statements]
    texts += [text for pair in read_unrelated() for text in pair]
    # what shares little else with what it replaces: an object, or a choice
    texts += [
        "Use npm for audits of any kind of dependency, with mails, charts, trends, owners, fixes, dates and deadlines.",
        "Goodbye npm audits, dependencies deserve better.",
    ]
    texts += ["When the nightly import of the warehouse fails, use curl for uploads.", "Use rsync for uploads."]
    older = OlderStatements()
    for text in texts:
        older.add(text)
    found = {(new, texts[number]) for new in texts for number in older.find_amended(new)}
    assert found == {(new, old) for new in texts for old in texts if amends(new, old)}
    assert {texts[-3], texts[-1]} <= {new for new, _ in found}
