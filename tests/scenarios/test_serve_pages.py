"""The page for people, read and used without a script: links are followed, forms are sent as they stand."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from lineage.app.workspace import run_in_workspace
from lineage.core.base.naming import derive_session_token
from lineage.pipeline.memory.remember import Memo, remember
from lineage.workspace.workspace import Workspace
from tests.support.sample_workspace import write_sample_workspace
from tests.support.web_client import WebClient, read_form_field, serve_workspace
from tests.support.workspace import end_session, make_turns

pytestmark = pytest.mark.slow


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_sample_workspace(tmp_path / "vault", length=120)


@pytest.fixture
def client(root: Path) -> Any:
    with serve_workspace(root) as made:
        yield made


def page(client: WebClient, path: str) -> str:
    answer = client.get(path)
    assert answer.status == 200, answer.text
    return answer.text


def entry(client: WebClient, kind: str, scope: str = "global", shelf: str = "") -> Any:
    return client.get("/api/entries", scope=scope, kind=kind, shelf=shelf).json["entries"][0]


def pressed(client: WebClient, text: str, action: str, /, **fields: str) -> str:
    """Sends the form of a page whose action that is, with its own hidden fields; the page that follows."""
    form = next(one for one in re.findall(r"<form.*?</form>", text, re.DOTALL) if f'action="{action}"' in one)
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))
    answer = client.post_form(action, **{**hidden, **fields})
    assert answer.status == 303, answer.text
    return page(client, answer.headers["location"].partition("#")[0])


def test_every_link_leads_to_a_page(client: WebClient) -> None:
    seen, waiting = set[str](), ["/"]
    while waiting:
        path = waiting.pop()
        seen.add(path)
        if path.startswith(("/static/", "/api/")):
            assert client.get(path).status == 200
            continue
        text = page(client, path)
        found = {link.replace("&amp;", "&").partition("#")[0] for link in re.findall(r'(?:href|src)="([^"]*)"', text)}
        assert not [link for link in found if "://" in link], "nothing comes from elsewhere"
        waiting += sorted(found - seen - set(waiting) - {""})
    assert len(seen) > 15


def test_sessions_stand_by_day_with_their_sentences(client: WebClient) -> None:
    text = page(client, "/")
    assert "Friday, 20 November 2026" in text
    assert text.count('class="row"') == 3
    assert "checkout.py" in text
    assert "private" in text
    assert page(client, "/?project=shop").count('class="row"') == 2
    assert page(client, "/?path=/home/ada/reader").count('class="row"') == 1
    assert page(client, "/?path=export").count('class="row"') == 0
    assert page(client, "/?text=CHECKOUT").count('class="row"') == 1
    assert page(client, "/?text=checkout+absent").count('class="row"') == 0
    assert page(client, "/?page=201").count('class="row"') == 0  # of ten thousand and one session
    assert page(client, "/?harness=generic").count('class="row"') == 3
    assert page(client, "/?harness=codex").count('class="row"') == 0
    bars = re.findall(r'href="(/\?since=2026-[^"]*)"', text)
    assert bars
    assert page(client, bars[0].replace("&amp;", "&")).count('class="row"') == 3
    assert page(client, "/?until=2020-01-01").count('class="row"') == 0
    assert client.get("/?since=yesterday").status == 400
    assert "30 days" in text


def test_a_long_session_is_paged(client: WebClient) -> None:
    path = re.search(r"/sessions/[a-z2-7]{16}", page(client, "/?project=reader"))
    assert path
    first = page(client, path[0])
    assert first.count('<article class="turn ') == 50
    assert "<p>turn 50 about" in first
    assert "<p>turn 51 about" not in first
    last = page(client, f"{path[0]}?first=101")
    assert last.count('<article class="turn ') == 20
    assert "turn 120 about" in last
    turn = client.get("/api/sessions/long/turns", first=77, count=1).json["turns"][0]
    around = page(client, f"{path[0]}?turn={turn['id']}")
    assert f'id="{turn["id"]}"' in around
    assert "51 to 100 of 120" in around
    assert client.get(f"{path[0]}?turn=t-0000000000").status == 404


def test_its_lineage_is_drawn(client: WebClient) -> None:
    text = page(client, "/sessions/long")
    drawn = re.search(r'<svg viewBox="0 0 \d+ \d+" width.*?</svg>', text, re.DOTALL)
    assert drawn
    assert [drawn[0].count(f'class="node {kind}"') for kind in ("manifest", "capture", "compaction")] == [1, 2, 1]
    assert drawn[0].count('class="tie"') == 3
    assert "turns 1–118" in drawn[0]
    assert 'aria-label="A manifest with 2 captures and 1 compaction"' in drawn[0]


def test_what_waits_is_confirmed_after_its_words_were_shown(client: WebClient) -> None:
    waiting = entry(client, "preference", shelf="pending")
    asked = page(client, f"/entries/{waiting['id']}/confirm")
    assert "Prefers short commit messages in English." in asked
    assert "an agent asked for it" in asked
    done = pressed(client, asked, f"/entries/{waiting['id']}/confirm")
    assert "it is in force" in done
    assert "Waits for you" not in done
    assert client.get(f"/entries/{waiting['id']}/confirm").status == 400


def test_buttons_do_what_they_say_and_lead_back(client: WebClient) -> None:
    tabs = entry(client, "preference")
    path = f"/entries/{tabs['id']}"
    pinned = pressed(client, page(client, "/memory"), f"{path}/pin")
    assert "Pinned: it never rolls over." in pinned
    assert entry(client, "preference")["state"] == "pinned"
    pressed(client, pinned, f"{path}/unpin")
    pressed(client, page(client, path), f"{path}/edit", text="Prefers tabs in Makefiles,\r\nspaces elsewhere.")
    assert entry(client, "preference")["text"] == "Prefers tabs in Makefiles,\nspaces elsewhere."
    pressed(client, page(client, path), f"{path}/demote", scope="project/reader")
    moved = entry(client, "preference", "project/reader")
    pressed(client, page(client, f"/entries/{moved['id']}"), f"/entries/{moved['id']}/forget")
    assert "Prefers tabs" not in page(client, "/memory")
    task = entry(client, "task", "project/reader")
    assert "Done." in pressed(client, page(client, "/memory"), f"/entries/{task['id']}/done")
    assert "Open again" in page(client, "/memory")
    pressed(client, page(client, "/memory"), f"/entries/{task['id']}/reopen")


def test_a_button_leads_nowhere_else(client: WebClient) -> None:
    tabs = entry(client, "preference")
    for back in ("https://evil.example/", "//evil.example", "/memory?x=1\r\nX: y", "javascript:alert(1)"):
        answer = client.post_form(f"/entries/{tabs['id']}/pin", back=back)
        assert answer.headers["location"].startswith("/memory?did=pinned#e-")


def test_what_is_said_here_counts_as_the_user_s(client: WebClient) -> None:
    text = page(client, "/memory")
    said = pressed(client, text, "/entries", text="Deploys happen on Mondays.", kind="fact", scope="")
    assert "Remembered." in said
    found = [one for one in said.split("<li ") if "Deploys happen on Mondays." in one]
    assert len(found) == 1
    assert "user-stated" in found[0]
    assert client.post_form("/entries", text=" ", kind="note").status == 400
    assert client.post_form("/entries", text="Some words.", kind="note", more="1").status == 400


def test_a_chain_of_decisions_leads_both_ways(client: WebClient) -> None:
    texts = ("Deploys run on Fly.", "Deploys run on Render.", "Deploys run on our own machine.")
    ids = list[str]()
    for text in texts:
        said = {"text": text, "kind": "decision", "supersedes": ids[-1:]}
        ids.append(client.send_json("/api/entries", said).json["id"])
    middle = page(client, f"/entries/{ids[1]}")
    assert "superseded" in middle
    older, newer = middle.partition("It took the place of")[2].split("Its place took")
    assert (texts[0] in older, texts[2] in newer) == (True, True)
    assert page(client, f"/entries/{ids[0]}").count('class="plain chain"') == 1


def test_many_are_forgotten_at_once(client: WebClient) -> None:
    for number in range(60):
        client.post_form("/entries", text=f"Fact {number} about harbours.", kind="fact", scope="")
    overview = page(client, "/memory")
    assert overview.count('class="entry ') < 40
    assert "/memory?group=global" in overview
    group = page(client, "/memory?filter=harbours&group=global")
    assert group.count('type="checkbox"') == 40
    assert page(client, "/memory?filter=harbours&group=global&page=2").count('type="checkbox"') == 20
    chosen = re.findall(r'name="ids" value="(\w+)"', group)[:3]
    answer = client.request(
        "POST", "/memory/forget",
        urlencode([("csrf", read_form_field(group, "csrf")), *(("ids", one) for one in chosen)]).encode(),
        Content_Type="application/x-www-form-urlencoded", Origin=client.url,
    )  # fmt: skip
    assert answer.status == 303
    assert [client.get(f"/entries/{one}").status for one in chosen] == [404, 404, 404]
    assert client.post_form("/memory/forget").status == 400


def test_a_session_shows_what_it_learned_and_was_given(client: WebClient, root: Path) -> None:
    def teach(ws: Workspace) -> None:
        said = make_turns("Always use pathlib for the importer's paths.", "I will.")
        end_session(ws, "taught", project="/home/ada/reader", transcript=said)

    run_in_workspace(root, teach, writes=True)
    learned = entry(client, "preference", "project/reader")
    log = root / ".lineage" / "recall" / f"{derive_session_token('default', 'taught')}.jsonl"
    log.parent.mkdir(exist_ok=True)
    given = {
        "id": learned["id"],
        "at": "2026-11-20T12:00:00.000Z",
        "kind": "prompt",
        "tokens": 9,
        "marks": [],
        "is_used": True,
    }
    log.write_text(json.dumps(given) + "\n")
    text = page(client, "/sessions/taught")
    assert "Always use pathlib" in text.partition("Learned here <")[2].partition("Conversation <")[0]
    told = text.partition("Given to it <")[2].partition("</section>")[0]
    assert f"/entries/{learned['id']}" in told
    assert "used" in told
    for use, count in (("used", 1), ("told, not used", 0)):
        assert page(client, f"/memory?{urlencode({'use': use})}").count("Always use pathlib") == count
    assert "given to 1, used by 1" in page(client, "/memory?filter=pathlib")
    assert "Prefers tabs" in page(client, "/memory?use=never+told")
    assert "lineage resume" not in text  # of a harness without a program


def test_a_conversation_is_narrowed_and_searched(client: WebClient) -> None:
    path = "/sessions/long"
    assert "120 of these" in page(client, f"{path}?only=said&find=about")
    found = page(client, f"{path}?find=turn+77")
    assert found.count('<article class="turn ') == 1
    assert "1 of these" in found
    assert page(client, f"{path}?only=edits").count('<article class="turn ') == 0
    assert page(client, f"{path}?find=nowhere").count("Nothing of this is in the session.") == 1
    assert client.get(f"{path}?only=nope").status == 400
    assert page(client, f"{path}/turns/77").count("turn 77 about parser.py") == 1
    assert client.get(f"{path}/turns/999").status == 404
    assert "1 of 1" not in page(client, f"{path}/files/transcript")
    assert page(client, f"{path}/files/transcript?part=2").count('class="file"') == 1


def test_the_filter_narrows(client: WebClient) -> None:
    assert "Prefers tabs" in page(client, "/memory?filter=tabs")
    assert "release notes" not in page(client, "/memory?filter=tabs")
    derived = page(client, "/memory?trust=%5Bderived%5D")
    assert "Prefers short commit" in derived
    assert "Prefers tabs" not in derived
    assert client.get("/memory?trust=nope").status == 400


def test_a_removal_shows_what_goes_asks_and_gives_the_receipt(client: WebClient, root: Path) -> None:
    path = f"/sessions/{client.get('/api/sessions/short').json['session']['session_token']}"
    asked = page(client, f"{path}/remove")
    assert "Would go" in asked
    csrf = read_form_field(asked, "csrf")
    assert client.post_form(f"{path}/remove", csrf=csrf, reason="x").status == 400
    assert client.get(path).status == 200
    gone = client.post_form(f"{path}/remove", csrf=csrf, reason="a customer asked", sure="yes")
    assert gone.status == 200
    # Files of other sessions that name the same project are listed too, as what stays.
    removed, _, rest = gone.text.partition("<dt>Stays</dt>")
    listed = re.findall(r"<code>(memory/[^<]*)</code>", removed)
    assert len(listed) > 3
    assert not [path for path in listed if (root / path).exists()]
    staying = re.findall(r"<code>(memory/[^<]*)</code>", rest)
    assert any("--transcript.md" in path for path in staying)
    assert [path for path in staying if not (root / path).exists()] == []
    assert "git history" in gone.text
    assert client.get(path).status == 404
    assert "checkout.py" not in page(client, "/")


def test_the_status_says_what_is_kept_and_what_waits(client: WebClient) -> None:
    text = page(client, "/status")
    assert "1 entry waits" in text
    assert re.search(r"<dt>sessions</dt><dd>3</dd>.*<dt>on disk</dt><dd>[\d.]+ [kM]", text, re.DOTALL)
    assert "/memory?group=pending" in text


def test_the_handbook_is_shown_page_by_page(client: WebClient) -> None:
    start = page(client, "/help")
    assert "<h1>Start here</h1>" in start
    links = re.findall(r'href="(/help\?topic=[^"]+)"', start)
    assert len(links) > 11
    for link in links:
        text = page(client, link)
        assert "[[" not in re.sub(r"<code>.*?</code>", "", text, flags=re.DOTALL)
        assert 'class="plain-text"' not in text, "too long for its markdown to be shown"
    assert "Semantic search" in page(client, "/help?topic=semantic+search")
    assert client.get("/help?topic=nothing").status == 404


def test_search_works_without_a_script(client: WebClient) -> None:
    text = page(client, "/search?q=checkout")
    assert "<mark>checkout" in text
    assert "found" in text
    assert page(client, "/search?q=").count('class="hit"') == 0
    assert "Nothing found" in page(client, "/search?q=zebra")


def test_a_search_is_narrowed_and_its_address_says_how(tmp_path: Path) -> None:
    """Fails where a filter isn't sent on, where one that is typed doesn't win, and where a quote ends a project."""

    def fill(ws: Workspace) -> None:
        for number, (project, agent) in enumerate((("/home/ada/reader", "default"), ("/srv/shop", "reviewer"))):
            at = f"2026-11-1{number}T"
            turns = make_turns(f"Mend the importer, part {number}.", start=f"{at}10:00")
            end_session(ws, f"s-{number}", transcript=turns, project=project, agent_id=agent, ended_at=f"{at}11:00:00Z")
        remember(
            ws, Memo(text="The importer uses calamine, not openpyxl.", kind="decision", project="/home/ada/reader")
        )
        remember(ws, Memo(text="The importer is slow.", kind="fact", project="/home/ada/reader"))

    def find(query: str) -> list[str]:
        titles = re.findall(r'<li class="hit">\s*<h2><a [^>]*>(.*?)</a>', page(client, f"/search?{query}"))
        return sorted(re.sub("<.*?>", "", title) for title in titles)

    decision, fact = "The importer uses calamine, not openpyxl.", "The importer is slow."
    sessions = [f"Mend the importer, part {number}." for number in (0, 1)]
    run_in_workspace(tmp_path, fill, create=True, writes=True)
    with serve_workspace(tmp_path) as client:
        assert find("q=importer") == [*sessions, fact, decision]
        assert find("q=importer&what=decision") == [decision]
        assert find("what=entry") == [fact, decision]
        assert find("q=importer&what=session&project=shop") == sessions[1:]
        assert find("q=importer&what=session&agent=reviewer") == sessions[1:]
        assert find("q=importer&what=session&until=2026-11-10") == sessions[:1]
        assert find("q=importer&what=session&since=2026-11-11&until=2026-11-12") == sessions[1:]
        assert find("q=importer+since:2026-11-11&what=session&since=2026-11-01") == sessions[1:]
        text = page(client, "/search?q=importer&what=decision&since=2026-11-01")
        assert re.search(r'<option value="decision" selected>decisions</option>', text)
        assert 'name="since" type="date" value="2026-11-01"' in text
        assert '<a href="/search?q=importer">everything</a>' in text
        for wrong in ("what=nothing", "since=yesterday", "project=a%22b"):
            assert client.get(f"/search?q=importer&{wrong}").status == 400


def test_every_agent_and_harness_can_be_chosen_at_home(tmp_path: Path) -> None:
    def fill(ws: Workspace) -> None:
        for agent, harness in (("default", "codex"), ("reviewer", "generic")):
            end_session(ws, f"of-{agent}", transcript=make_turns(f"Mend {agent}."), agent_id=agent, harness=harness)

    run_in_workspace(tmp_path, fill, create=True, writes=True)
    with serve_workspace(tmp_path) as client:
        text = page(client, "/?agent=reviewer")
        assert "<option selected>reviewer</option>" in text
        assert ("Mend reviewer." in text, "Mend default." in text) == (True, False)
        assert ("Mend reviewer." in page(client, "/?harness=codex"), "Mend default." in text) == (False, False)
        both = page(client, "/?agent=all")
        assert ("Mend reviewer." in both, "Mend default." in both) == (True, True)


def test_scopes_are_called_by_the_names_of_their_projects(tmp_path: Path) -> None:
    def fill(ws: Workspace) -> None:
        for number, project in enumerate(("/home/ada/old/cli", "/srv/new/cli")):
            said = make_turns(f"Decision: part {number} uses calamine instead of openpyxl, which is slow.", "Done.")
            end_session(ws, f"s-{number}", transcript=said, project=project)

    run_in_workspace(tmp_path, fill, create=True, writes=True)
    with serve_workspace(tmp_path) as client:
        text = page(client, "/memory?kind=decision")
        assert re.findall(r'<span class="scope"[^>]*>([^<]*)</span>', text) == ["project/new/cli", "project/cli"]
        assert re.search(r'title="project/cli-[0-9a-f]{8}"', text)


def test_what_is_not_there_says_so_in_words(client: WebClient) -> None:
    for path in ("/sessions/nobody", "/nope", "/entries/0000/confirm", "/sessions/long/files/nope"):
        answer = client.get(path)
        assert answer.status in (400, 404)
        assert answer.headers["content-type"].startswith("text/html")
        assert "<h1>" in answer.text
    assert client.request("PUT", "/memory").status in (403, 405)


def test_old_sessions_have_their_activity_and_projects(tmp_path: Path) -> None:
    def fill(ws: Workspace) -> None:
        for number, project in enumerate(("/home/ada/reader", "/home/ada/shop", "/home/ada/shop")):
            turns = make_turns(f"Mend part {number}.", start=f"2026-02-1{number}T10:00")
            end_session(ws, f"s-{number}", transcript=turns, project=project, ended_at=f"2026-02-1{number}T11:00:00Z")

    run_in_workspace(tmp_path, fill, create=True, writes=True)
    with serve_workspace(tmp_path) as client:
        text = page(client, "/")
        assert "3 sessions in the 30 days to 12 February 2026" in text
        assert len(re.findall(r'href="/\?since=2026-02-1\d&amp;until=2026-02-1\d" aria-label', text)) == 3
        assert '>shop</a> <span class="count">2</span>' in text
        assert "2026-02-10" in page(client, "/?until=2026-02-10")


def test_what_a_form_can_not_read_leads_back(client: WebClient) -> None:
    answer = client.get("/?since=yesterday")
    assert (answer.status, "pattern" in answer.text, 'href="/"' in answer.text) == (400, False, True)


def test_an_empty_workspace_says_how_sessions_come(tmp_path: Path) -> None:
    from lineage.app.init_workspace import init_workspace

    init_workspace(tmp_path / "new")
    with serve_workspace(tmp_path / "new") as client:
        assert "lineage hooks install" in page(client, "/")
        assert "Everywhere" in page(client, "/memory")
        assert "Nothing." in page(client, "/status")
        assert "Three commands" in page(client, "/")
        assert "Three commands" not in page(client, "/?text=words")
