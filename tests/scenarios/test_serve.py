"""`lineage serve`, its door and its API, over a real socket."""

import contextlib
import http.client
import json
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lineage.app import listener
from lineage.errors import InvalidInput, format_extra_hint
from lineage.harness.detect_caller import Caller
from lineage.web.api import PREFIX, ROUTES
from lineage.web.guard import SECURITY_HEADERS
from lineage.web.pages import PAGES
from lineage.web.routes import Route
from tests.support.commands import LineageCommand
from tests.support.sample_workspace import write_sample_workspace
from tests.support.web_client import FORM, JSON, WebClient, check_answer, serve_workspace
from tests.support.workspace import make_turns

pytestmark = pytest.mark.slow

TOKEN = "a-token-that-nobody-guesses"
BY_NAME = {route.name: route for route in ROUTES}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_sample_workspace(tmp_path / "vault")


@pytest.fixture
def client(root: Path) -> Any:
    with serve_workspace(root) as made:
        yield made


def checked(route: Route, value: Any) -> Any:
    """The value, where it is what the OpenAPI document says."""
    check_answer(route.name, value)
    return value


def waiting(client: WebClient) -> Any:
    (entry,) = checked(BY_NAME["listPending"], client.get("/api/pending").json)["entries"]
    return entry


def preference(client: WebClient) -> Any:
    shelf = client.get("/api/entries", scope="global", kind="preference").json
    return next(entry for entry in checked(BY_NAME["listEntries"], shelf)["entries"])


def test_every_get_answers_as_the_document_says(client: WebClient) -> None:
    values = {"session": "long", "kind": "summary", "id": preference(client)["id"]}
    queries = {"search": "?q=parser", "listEntries": "?kind=preference"}
    for route in ROUTES:
        if route.method != "GET":
            continue
        named = {**values, "id": waiting(client)["id"]} if route.name == "getEvidence" else values
        named = {**named, "kind": "preference"} if route.name == "listEntries" else named
        path = PREFIX + re.sub(r"{(\w+)}", lambda m, named=named: named[m[1]], route.path)  # type: ignore[misc]
        answer = client.get(path + queries.get(route.name, ""))
        assert answer.status == 200, (route.name, answer.text)
        checked(route, answer.json)


def test_the_document_is_that_of_the_routes_that_are_served(client: WebClient) -> None:
    document = client.get("/api/openapi.json").json
    assert document["openapi"].startswith("3.1")
    shown = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert shown == {(route.method, route.path) for route in ROUTES}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            named = {one["name"] for one in operation["parameters"] if one["in"] == "path"} if "{" in path else set()
            assert named == set(re.findall(r"{(\w+)}", path)), (method, path)
    names = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(set(names)) == len(names)


def test_sessions_are_listed_and_shown_with_their_lineage(client: WebClient) -> None:
    rows = client.get("/api/sessions").json["sessions"]
    assert {row["session_id"] for row in rows} == {"long", "short", "hidden"}
    assert [row["session_id"] for row in client.get("/api/sessions", project="reader").json["sessions"]] == ["long"]
    view = checked(BY_NAME["getSession"], client.get("/api/sessions/long").json)
    assert [part["turns"] for part in view["captures"]] == [[1, 4], [5, 6]]
    assert (len(view["compactions"]), view["turns"]) == (1, 6)
    page = client.get("/api/sessions/long/turns", first=4, count=2).json
    assert [(turn["number"], turn["text"]) for turn in page["turns"]] == [
        (4, "turn 4 about parser.py"),
        (5, "turn 5 about parser.py"),
    ]
    assert page["total"] == 6
    assert client.get("/api/sessions/nobody").status == 404


def test_search_finds_and_shows_what_matched_and_nothing_private(client: WebClient) -> None:
    found = checked(BY_NAME["search"], client.get("/api/search", q="parser tabs").json)
    assert {hit["kind"] for hit in found["results"]} >= {"entry"}
    assert "long" in {hit["session_id"] for hit in found["results"]}
    marked = {part["text"].lower() for hit in found["results"] for part in hit["parts"] if part["matched"]}
    assert marked & {"parser", "tabs", "parser.py"}
    assert client.get("/api/search", q="salary").json["results"] == []


@pytest.mark.parametrize("query", ['"', "NEAR(", "*", "\0", "a" * 4000, "…", "-x:y", "(" * 500])
def test_any_text_is_a_query(client: WebClient, query: str) -> None:
    assert client.get("/api/search", q=query).status == 200


def test_a_session_comes_in_and_goes_for_good(client: WebClient, root: Path) -> None:
    payload = {
        "harness": "generic",
        "session_id": "new",
        "project": "/home/ada/shop",
        "transcript": make_turns("Hello there."),
    }
    ended = client.send_json("/api/session-end", payload)
    assert (ended.status, checked(BY_NAME["endSession"], ended.json)["status"]) == (200, "captured")
    assert client.send_json("/api/session-end", payload).json["status"] == "unchanged"
    kept = client.send_json("/api/compaction", {**payload, "summary": "Goal: greet. Done."})
    assert checked(BY_NAME["keepCompaction"], kept.json)["compaction_path"]
    before = client.get("/api/sessions/new/removal")
    receipt = checked(
        BY_NAME["removeSession"], client.send_json("/api/sessions/new/removal", {"reason": "asked for"}).json
    )
    assert set(receipt["removed_paths"]) == set(before.json["removed_paths"])
    assert not any((root / path).exists() for path in receipt["removed_paths"])
    assert client.send_json("/api/session-end", payload).status in (409, 410)
    assert client.get("/api/sessions/new").status == 404


def test_books_change_as_commands_change_them(client: WebClient, root: Path) -> None:
    added = client.send_json("/api/entries", {"text": "Deploys happen on Mondays.", "kind": "fact", "tags": ["ops"]})
    assert (added.status, checked(BY_NAME["addEntry"], added.json)["trust"]) == (201, "[user-stated]")
    path = f"/api/entries/{added.json['id']}"
    assert (
        client.send_json(path, {"text": "Deploys happen on Tuesdays."}, "PATCH")
        .json["entry"]["text"]
        .endswith("Tuesdays.")
    )
    assert client.send_json(f"{path}/pin", {}).json["entry"]["state"] == "pinned"
    assert client.send_json(f"{path}/pin", {"pinned": False}).json["entry"]["state"] == "standing"
    assert client.send_json(f"{path}/done", {}).status == 400
    moved = client.send_json(f"{path}/demote", {"scope": "project/reader"}).json["entry"]
    assert moved["scope"] == "project/reader"
    assert client.send_json(f"/api/entries/{moved['id']}/forget", {}).status == 200
    assert client.get(f"/api/entries/{moved['id']}").status == 404
    assert client.send_json("/api/entries", {"text": "  "}).status == 400
    task = client.get("/api/entries", scope="project/reader", kind="task").json["entries"][0]
    done = client.send_json(f"/api/entries/{task['id']}/done", {"done": True})
    assert checked(BY_NAME["tickTask"], done.json)["entry"]["state"] == "done"
    assert "- [x] Write the release notes" in (root / task["path"]).read_text()


def test_what_waits_is_confirmed_as_it_was_shown_or_not_at_all(client: WebClient) -> None:
    path = f"/api/entries/{waiting(client)['id']}"
    seen = checked(BY_NAME["getEvidence"], client.get(f"{path}/evidence").json)
    assert seen["quote"] == "Prefers short commit messages in English."
    assert client.send_json(f"{path}/confirm", {}).status == 400
    assert client.send_json(f"{path}/confirm", {"seen": "0" * 64}).status == 400
    assert client.get("/api/pending").json["entries"]
    confirmed = client.send_json(f"{path}/confirm", {"seen": seen["seen"]})
    assert confirmed.json["entry"]["state"] == "standing"
    assert client.get("/api/pending").json["entries"] == []


def test_a_server_that_an_agent_started_does_what_is_the_user_s_for_nobody(root: Path) -> None:
    with serve_workspace(root, caller=Caller("codex")) as client:
        path = f"/api/entries/{waiting(client)['id']}"
        seen = client.get(f"{path}/evidence").json["seen"]
        assert client.send_json(f"{path}/confirm", {"seen": seen}).status == 409
        assert client.send_json(f"/api/entries/{preference(client)['id']}/pin", {}).status == 409
        assert client.send_json(f"/api/entries/{preference(client)['id']}/forget", {}).status == 409
        said = client.send_json("/api/entries", {"text": "Prefers blue over green.", "kind": "preference"})
        assert said.json["status"] == "pending"


def test_a_checkpoint_is_kept_and_told(client: WebClient) -> None:
    assert client.get("/api/checkpoint").json == {"checkpoint": None}
    secret = "ghp_" + "Aa1" * 12
    messages = [{"role": "user", "text": f"Use {secret} for it"}, {"role": "assistant", "text": "I won't."}]
    body = {"session_id": "open", "harness": "codex", "messages": messages}
    saved = client.send_json("/api/checkpoint", body)
    assert saved.status == 200, saved.text
    found = checked(BY_NAME["getCheckpoint"], client.get("/api/checkpoint").json)["checkpoint"]
    assert [message["role"] for message in found["messages"]] == ["user", "assistant"]
    assert secret not in client.get("/api/checkpoint").text
    assert "I won't." in client.get("/api/context").json["text"]
    assert client.send_json("/api/checkpoint", {**body, "session_id": "hidden"}).status == 400
    assert client.send_json("/api/checkpoint", {**body, "messages": []}).status == 400
    assert client.send_json("/api/checkpoint", {**body, "messages": [{**messages[0], "at": "noon"}]}).status == 400
    client.send_json("/api/sessions/short/removal", {"reason": ""})
    assert client.send_json("/api/checkpoint", {**body, "session_id": "short"}).status == 410


CHANGES = [(route.method, PREFIX + route.path.replace("{session}", "long")) for route in ROUTES if route.is_change]
CHANGES += [(page.method, page.path.replace("{session}", "long")) for page in PAGES if page.is_change]
FOREIGN = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Sec_Fetch_Site": "cross-site"},
    {"Sec_Fetch_Site": "same-site"},
]


@pytest.mark.parametrize(("method", "path"), CHANGES)
def test_no_change_comes_from_another_site_nor_without_what_our_pages_know(
    client: WebClient, root: Path, method: str, path: str
) -> None:
    before = files(root)
    path = path.replace("{id}", preference(client)["id"])
    is_api = path.startswith(PREFIX)
    kind, body = (JSON, b"{}") if is_api else (FORM, b"sure=yes")
    for headers in FOREIGN:
        known = {"X_CSRF_Token": client.read_csrf}
        assert client.request(method, path, body, Content_Type=kind, **known, **headers).status == 403, headers
    assert client.request(method, path, body, Content_Type=kind).status == 403
    assert client.request(method, path, body, Content_Type=kind, X_CSRF_Token="0" * 64).status == 403
    plain = client.request(method, path, body, Content_Type="text/plain", X_CSRF_Token=client.read_csrf)
    assert plain.status == 415
    assert files(root) == before


def files(root: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".lineage" not in path.parts
    }


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "[::1", "a b"]
)
def test_a_name_that_was_rebound_to_this_address_is_refused(client: WebClient, host: str) -> None:
    assert client.request("GET", "/api/sessions", Host=host).status in (400, 421)
    assert client.request("GET", "/", Host=host).status in (400, 421)


def test_its_own_names_are_taken(root: Path) -> None:
    with serve_workspace(root, host_names=("memory.lan",)) as client:
        for host in ("localhost:9", "127.0.0.1", "[::1]:80", "memory.lan:8443", "Memory.LAN"):
            assert client.request("GET", "/api/sessions", Host=host).status == 200, host


def test_every_answer_has_the_headers(client: WebClient) -> None:
    paths = ["/", "/memory", "/nope", "/api/nope", "/api/sessions", "/static/style.css", "/static/lineage.js", "/login"]
    for answer in [*(client.get(path) for path in paths), client.request("GET", "/", Host="evil.example")]:
        assert {name: answer.headers.get(name.lower()) for name in SECURITY_HEADERS} == SECURITY_HEADERS
        assert "server" not in answer.headers
        assert "access-control-allow-origin" not in answer.headers
    for part in ("default-src 'none'", "frame-ancestors 'none'", "script-src 'self'", "style-src 'self'"):
        assert part in SECURITY_HEADERS["Content-Security-Policy"]
    assert "unsafe" not in SECURITY_HEADERS["Content-Security-Policy"]


def test_with_a_token_nobody_comes_in_without_it(root: Path) -> None:
    with serve_workspace(root, token=TOKEN, is_local=False) as client:
        stranger = WebClient(client.host, client.port)
        for path in ("/api/sessions", "/api/openapi.json", "/api/nope"):
            assert stranger.get(path).status == 401
        for path in ("/", "/memory", "/nope"):
            answer = stranger.get(path)
            assert (answer.status, answer.headers["location"]) == (303, "/login")
        assert str(root) not in stranger.get("/login").text
        for guess in ("", "x", TOKEN[:-1], TOKEN + "x", TOKEN.upper()):
            assert stranger.request("GET", "/api/sessions", Authorization=f"Bearer {guess}").status == 401
            assert stranger.request("GET", f"/api/sessions?token={guess}").status == 401
        assert client.get("/api/sessions").status == 200
        assert client.request("POST", "/api/entries", b'{"text": "By a program."}', Content_Type=JSON).status == 201


def test_the_token_is_changed_for_a_cookie_that_scripts_and_other_sites_have_no_use_for(root: Path) -> None:
    with serve_workspace(root, token=TOKEN) as client:
        stranger = WebClient(client.host, client.port)
        csrf = re.search(r'name="csrf" value="(\w+)"', stranger.get("/login").text)
        assert csrf
        wrong = stranger.request("POST", "/login", f"csrf={csrf[1]}&token=no".encode(), Content_Type=FORM)
        assert (wrong.status, "set-cookie" in wrong.headers) == (401, False)
        forged = stranger.request("POST", "/login", f"csrf=0&token={TOKEN}".encode(), Content_Type=FORM)
        assert forged.status == 403
        inside = stranger.request("POST", "/login", f"csrf={csrf[1]}&token={TOKEN}".encode(), Content_Type=FORM)
        cookie = inside.headers["set-cookie"]
        assert (inside.status, inside.headers["location"]) == (303, "/")
        assert {"HttpOnly", "SameSite=strict"} <= {part.strip() for part in cookie.split(";")}
        assert TOKEN not in cookie
        known = WebClient(client.host, client.port, Cookie=cookie.partition(";")[0])
        assert known.get("/").status == 200
        assert known.send_json("/api/entries", {"text": "By a browser."}).status == 201
        bent = WebClient(client.host, client.port, Cookie=cookie.partition(";")[0].replace("=", "=9", 1))
        assert bent.get("/api/sessions").status == 401


def test_a_session_of_a_browser_ends(root: Path) -> None:
    from lineage.web.service import SESSION_SECONDS, Service

    times = [0.0]
    service = Service(root=root, run_in_workspace=lambda *_: None, clock=lambda: times[0], access_key=TOKEN)
    cookie = service.create_session_cookie()
    assert service.is_session_cookie(cookie)
    times[0] = SESSION_SECONDS + 1
    assert not service.is_session_cookie(cookie)
    assert not any(service.is_session_cookie(other) for other in ("", ".", "1", "99999999999.", "x.y", "99999999999.é"))


def test_what_is_too_much_is_refused(client: WebClient) -> None:
    assert client.send_json("/api/entries", {"text": "x" * (2 << 20)}).status == 413
    assert client.get("/search?q=" + "x" * 9000).status in (400, 414)
    with contextlib.suppress(ConnectionError):  # it hangs up while the rest still comes
        assert client.request("GET", "/", X_Long="x" * 200_000).status in (400, 431)
    deep = b"[" * 200_000
    assert client.request("POST", "/api/entries", deep, Content_Type=JSON, X_CSRF_Token=client.read_csrf).status == 400
    assert client.get("/api/sessions", limit=100_000).status == 400
    assert client.get("/api/sessions/long/turns", count=10**9).status == 400


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b'{"text": 1}',
        b'{"text": "x", "nope": 1}',
        b"\xff",
        b'{"text": NaN}',
        b'{"scope": "global"}',
    ],
)
def test_a_body_that_is_none_is_told_what_is_wrong(client: WebClient, body: bytes) -> None:
    answer = client.request("POST", "/api/entries", body, Content_Type=JSON, X_CSRF_Token=client.read_csrf)
    assert answer.status == 400
    assert set(answer.json["error"]) == {"message", "hint"}


@pytest.mark.parametrize("text", ["\\ud800 lone", "\\u0000 nul", "\\u202e bidi"])
def test_any_text_is_answered(client: WebClient, text: str) -> None:
    body = f'{{"text": "Some words {text} here.", "kind": "{text}"}}'.encode()
    answer = client.request("POST", "/api/entries", body, Content_Type=JSON, X_CSRF_Token=client.read_csrf)
    assert answer.status in (201, 400, 409)
    assert json.loads(answer.body)


def test_a_file_of_this_machine_is_read_for_nobody_else(root: Path, tmp_path: Path) -> None:
    transcript = tmp_path / "t.json"
    transcript.write_text(json.dumps(make_turns("Hello from a file.")))
    body = {"harness": "generic", "session_id": "file", "project": "/home/ada/x", "transcript_path": str(transcript)}
    with serve_workspace(root, token=TOKEN, is_local=False) as client:
        assert client.send_json("/api/session-end", body).status == 400
    with serve_workspace(root) as client:
        assert client.send_json("/api/session-end", body).json["status"] == "captured"


def test_many_at_once_are_answered_each_with_a_workspace_of_its_own(client: WebClient) -> None:
    from concurrent.futures import ThreadPoolExecutor

    csrf = client.read_csrf
    with ThreadPoolExecutor(12) as pool:
        asked = [pool.submit(client.get, "/api/sessions/long") for _ in range(12)]
        said = [pool.submit(client.send_json, "/api/entries", {"text": f"Fact number {n} of many."}) for n in range(12)]
        assert {one.result().status for one in asked} == {200}
        assert {one.result().status for one in said} == {201}
    assert csrf
    notes = client.get("/api/entries", scope="global", kind="note").json["entries"]
    assert len([entry for entry in notes if entry["text"].startswith("Fact number")]) == 12


def test_a_damaged_index_heals(client: WebClient, root: Path) -> None:
    for path in (root / ".lineage").glob("index.db*"):
        path.unlink()
    (root / ".lineage" / "index.db").write_bytes(b"this is no database, and never was one" * 100)
    assert len(client.get("/api/sessions").json["sessions"]) == 3


def test_the_command_says_where_and_ends(lineage: LineageCommand) -> None:
    lineage("init")
    done = lineage("serve", "--port", "0", "--check", "--json")
    assert done.code == 0
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", done.json["url"])
    assert done.json["token"] is False


def test_it_serves_no_workspace_that_is_not_there(lineage: LineageCommand) -> None:
    done = lineage("serve", "--port", "0", "--check")
    assert (done.code, "lineage init" in done.err) == (1, True)


def test_other_machines_need_a_token(lineage: LineageCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    lineage("init")
    monkeypatch.delenv(listener.ACCESS_KEY_VARIABLE, raising=False)
    refused = lineage("serve", "--host", "0.0.0.0", "--port", "0", "--check")
    assert (refused.code, listener.ACCESS_KEY_VARIABLE in refused.err) == (2, True)
    assert lineage("serve", "--allow-host", "memory.lan", "--port", "0", "--check").code == 2
    monkeypatch.setenv(listener.ACCESS_KEY_VARIABLE, "short")
    assert lineage("serve", "--host", "0.0.0.0", "--port", "0", "--check").code == 2
    monkeypatch.setenv(listener.ACCESS_KEY_VARIABLE, TOKEN)
    taken = lineage("serve", "--host", "0.0.0.0", "--port", "0", "--check")
    assert (taken.code, TOKEN in taken.out + taken.err) == (0, False)


def test_the_token_may_stand_in_the_machine_s_configuration(lineage: LineageCommand, home: Path) -> None:
    lineage("init")
    file = home / ".config" / "lineage" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f'[web]\ntoken = "{TOKEN}"\n')
    done = lineage("serve", "--port", "0", "--check", "--json")
    assert (done.code, done.json["token"], TOKEN in done.out) == (0, True, False)
    file.write_text('[web]\ntokn = "x"\n')
    assert "web.token" in lineage("serve", "--port", "0", "--check").err
    file.unlink()


def test_a_token_is_taken_out_of_the_environment() -> None:
    environment = {listener.ACCESS_KEY_VARIABLE: TOKEN}
    assert listener.take_access_key(environment, is_local=True) == TOKEN
    assert environment == {}
    with pytest.raises(InvalidInput):
        listener.take_access_key({}, is_local=False)


def test_a_port_that_is_taken_is_told(lineage: LineageCommand) -> None:
    lineage("init")
    with socket.create_server(("127.0.0.1", 0)) as other:
        done = lineage("serve", "--port", str(other.getsockname()[1]), "--check")
    assert (done.code, "--port" in done.err) == (1, True)


def test_without_the_extra_it_says_which(lineage: LineageCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    lineage("init")
    monkeypatch.setattr("lineage.app.locations.find_spec", lambda name: None if name == "starlette" else name)
    done = lineage("serve", "--check")
    assert (done.code, "starlette is not installed" in done.err) == (1, True)
    assert format_extra_hint("web") in done.err


def test_other_commands_load_none_of_it(root: Path) -> None:
    told = "import sys; from lineage.cli.main import run; run(sys.argv[1:]); print(*sys.modules)"
    command = [sys.executable, "-c", told, "-w", str(root), "sessions"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "click" in loaded
    assert not loaded & {"starlette", "uvicorn", "jinja2", "lineage.web"}


def test_the_process_serves_until_it_is_interrupted_and_logs_nothing(root: Path, home: Path) -> None:
    import os
    import signal

    command = [sys.executable, "-m", "lineage", "-w", str(root), "serve", "--port", "0", "--json"]
    environment = {**os.environ, listener.ACCESS_KEY_VARIABLE: TOKEN}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
    ) as process:
        assert process.stdout
        printed = "".join(iter(process.stdout.readline, "}\n")) + "}"
        port = int(json.loads(printed)["url"].rpartition(":")[2].strip("/"))
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", "/api/search?q=parser", headers={"Authorization": f"Bearer {TOKEN}"})
        assert connection.getresponse().status == 200
        connection.close()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, "", "")
