"""A bucket whose server, network or owner fails.

What each guard rests on:
- a lost answer: `_written`, the write's own id; without it a retried create meets its own object and says "taken".
- somebody else's write in between: the comparison of that id.
- transient errors: `_is_transient`; giving up: `patience`.
- mutexes: `Records.is_abandoned` by the watcher's clock, the beat, the holder's own name.
"""

import json
import pickle
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage.errors import InvalidInput, WorkspaceError
from lineage.store import BusyError, ConflictError, ExistsError, MissingError, StoreUnavailable, commit, update
from lineage.store.conformance import check_conformance, find_sequential_violation
from lineage.store.objects import BucketStore
from tests.support import engines
from tests.support.proxies import BUSY, COLLIDED, CUT, GONE, LOST, FaultyProxy, run_proxy

pytestmark = pytest.mark.slow

KEY = "memory/a.md"
KINDS = ("seaweedfs", "azurite", "google")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def proxy(kind: str) -> Iterator[FaultyProxy]:
    with run_proxy(engines.start_object_store(kind).port) as proxy:
        yield proxy


@pytest.fixture
def plain(kind: str) -> BucketStore:
    """The store, reached without the proxy."""
    return engines.create_bucket(kind)


@pytest.fixture
def store(kind: str, plain: BucketStore, proxy: FaultyProxy) -> BucketStore:
    return BucketStore(plain.url, engines.start_object_store(kind).settings(proxy.port))


def impatient(store: BucketStore) -> BucketStore:
    return BucketStore(store.url, store.settings, patience=0.3)


# answers that are lost, connections that are cut, servers that are busy


@pytest.mark.parametrize("fault", [LOST, BUSY, CUT])
@pytest.mark.parametrize("times", [1, 3])
def test_a_create_happens_once_even_if_its_answer_is_lost(
    store: BucketStore, plain: BucketStore, proxy: FaultyProxy, fault: str, times: int
) -> None:
    proxy.fail_next(fault, "PUT", times)
    version = store.create(KEY, b"one")
    blob = plain.read(KEY)
    assert (blob.data, blob.version) == (b"one", version)
    with pytest.raises(ExistsError):
        store.create(KEY, b"one")
    assert store.replace(KEY, b"two", version)


@pytest.mark.parametrize("fault", [LOST, BUSY, CUT])
def test_a_replace_happens_once_even_if_its_answer_is_lost(
    store: BucketStore, plain: BucketStore, proxy: FaultyProxy, fault: str
) -> None:
    first = store.create(KEY, b"one")
    proxy.fail_next(fault, "PUT", 2)
    second = store.replace(KEY, b"two", first)
    blob = plain.read(KEY)
    assert (blob.data, blob.version) == (b"two", second)
    with pytest.raises(ConflictError):
        store.replace(KEY, b"two", first)


@pytest.mark.parametrize("fault", [LOST, BUSY, CUT])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_reads_listings_and_deletes_are_retried(
    store: BucketStore, proxy: FaultyProxy, fault: str, method: str
) -> None:
    store.create(KEY, b"one")
    proxy.fail_next(fault, method)
    assert store.read(KEY).data == b"one"
    proxy.fail_next(fault, method)
    assert [entry.key for entry in store.list("memory/")] == [KEY]
    proxy.fail_next(fault, method)
    store.delete(KEY)
    proxy.fail_next(fault, method)
    store.delete(KEY)
    with pytest.raises(MissingError):
        store.read(KEY)


def test_a_create_overtaken_by_the_same_bytes_still_fails(
    store: BucketStore, plain: BucketStore, proxy: FaultyProxy
) -> None:
    """The request is cut off, somebody else writes the very same: exactly one of the two has created it."""

    def overtaken(method: str, path: str) -> str:
        if method == "PUT" and not plain.exists():
            plain.create(KEY, b"same")
            return CUT
        return "pass"

    proxy.faults = overtaken
    with pytest.raises(ExistsError):
        store.create(KEY, b"same")
    assert commit(store, KEY, b"same") is False


def test_a_replace_that_was_overtaken_is_a_conflict(store: BucketStore, plain: BucketStore, proxy: FaultyProxy) -> None:
    """Done, the answer lost, and changed by somebody else before it is asked again: nobody can tell; `update` looks."""
    first = store.create(KEY, b"1")
    seen = []

    def overtaken(method: str, path: str) -> str:
        if method != "PUT" or seen:
            if method == "PUT" and len(seen) == 1:
                seen.append("overtaken")
                plain.replace(KEY, b"3", plain.read(KEY).version)
            return "pass"
        seen.append("lost")
        return LOST

    proxy.faults = overtaken
    with pytest.raises(ConflictError):
        store.replace(KEY, b"2", first)
    assert plain.read(KEY).data == b"3"


@pytest.mark.parametrize("kind", ["seaweedfs"], indirect=True)
def test_colliding_writers_retry(store: BucketStore, proxy: FaultyProxy) -> None:
    """Amazon S3 refuses one of two conditional writes at the same time, whatever the conditions say."""
    proxy.fail_next(COLLIDED, "PUT", 2)
    version = store.create(KEY, b"1")
    proxy.fail_next(COLLIDED, "PUT", 2)
    assert store.replace(KEY, b"2", version)


@pytest.mark.parametrize("kind", ["seaweedfs"], indirect=True)
def test_a_replace_of_a_missing_key_is_a_conflict(store: BucketStore, proxy: FaultyProxy) -> None:
    version = store.create(KEY, b"1")
    proxy.fail_next(GONE, "PUT")
    with pytest.raises(ConflictError):
        store.replace(KEY, b"2", version)


def test_an_update_whose_answers_are_lost_changes_once(
    store: BucketStore, plain: BucketStore, proxy: FaultyProxy
) -> None:
    for number in range(5):
        proxy.fail_next(LOST, "PUT")
        update(store, KEY, lambda data, number=number: (data or b"") + str(number).encode())  # type: ignore[misc]
    assert plain.read(KEY).data == b"01234"


# servers that are away, and what asking again does not mend


def test_a_server_without_answers_is_reported(store: BucketStore, proxy: FaultyProxy) -> None:
    proxy.fail_always(CUT)
    for action in (
        lambda: impatient(store).read(KEY),
        lambda: impatient(store).create(KEY, b""),
        lambda: list(impatient(store).list("memory/")),
        lambda: impatient(store).delete(KEY),
        lambda: impatient(store).exists(),
    ):
        with pytest.raises(StoreUnavailable, match="does not answer"):
            action()
    assert len(proxy.requests) > 5, "it was not asked again"


def test_a_closed_port_is_an_unavailable_server(kind: str, plain: BucketStore) -> None:
    with pytest.raises(StoreUnavailable):
        BucketStore(plain.url, engines.start_object_store(kind).settings(1), patience=0.2).read(KEY)


@pytest.mark.parametrize("kind", ["seaweedfs", "azurite"], indirect=True)
def test_wrong_credentials_are_refused_at_once_and_named(kind: str, plain: BucketStore) -> None:
    secret = "secret_access_key" if kind == "seaweedfs" else "account_key"
    store = BucketStore(plain.url, {**plain.settings, secret: "bm9wZQ=="}, patience=60.0)
    for action in (lambda: store.read(KEY), lambda: store.create(KEY, b""), lambda: list(store.list("memory/"))):
        with pytest.raises(StoreUnavailable, match="refuses access: 403") as caught:
            action()
        assert "config.toml" in caught.value.hint
        assert "bm9wZQ==" not in str(caught.value)


def test_a_missing_bucket_is_no_missing_key(kind: str, plain: BucketStore) -> None:
    url = plain.url.replace("//lineage/", "//nowhere-at-all/")
    store = BucketStore(url, plain.settings, patience=60.0)
    for action in (lambda: store.read(KEY), lambda: list(store.list("memory/")), store.exists):
        with pytest.raises(WorkspaceError, match="no bucket") as caught:
            action()
        assert not isinstance(caught.value, MissingError)


def test_an_unknown_setting_is_named(plain: BucketStore) -> None:
    with pytest.raises(InvalidInput, match=r"can't be opened.*bogus"):
        BucketStore(plain.url, {**plain.settings, "bogus": "1"}).read(KEY)


@pytest.mark.parametrize(
    "endpoint", ["localhost:8333", "127.0.0.1", "ftp://host", "http://", "https://a b", "http://h:x"]
)
@pytest.mark.parametrize(
    ("url", "setting", "variable"),
    [
        ("s3://b", "endpoint", "AWS_ENDPOINT_URL"),
        ("gs://b", "base_url", "GOOGLE_BASE_URL"),
        ("az://b", "endpoint", "AZURE_STORAGE_ENDPOINT"),
    ],
)
def test_an_endpoint_that_is_no_address_is_refused(
    url: str, setting: str, variable: str, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing looks at it the library aborts, or asks nobody for ten seconds."""
    with pytest.raises(InvalidInput, match="not an address"):
        BucketStore(url, {setting: endpoint}).read(KEY)
    monkeypatch.setenv(variable, endpoint)
    with pytest.raises(InvalidInput, match="not an address"):
        BucketStore(url).read(KEY)


@pytest.mark.parametrize("kind", ["seaweedfs"], indirect=True)
def test_the_environment_names_a_server_without_tls_too(plain: BucketStore, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = dict(plain.settings)
    monkeypatch.setenv("AWS_ENDPOINT_URL", settings.pop("endpoint"))
    assert BucketStore(plain.url, settings, patience=0).create(KEY, b"1")


def test_a_key_that_is_too_long_for_a_bucket_is_refused(plain: BucketStore) -> None:
    with pytest.raises(WorkspaceError, match="not a usable path"):
        plain.create("/".join(["x" * 200] * 5), b"")


def test_a_bucket_can_be_pickled_for_another_process(plain: BucketStore) -> None:
    plain.create(KEY, b"one")
    assert pickle.loads(pickle.dumps(plain)).read(KEY).data == b"one"


def test_secrets_are_not_shown(plain: BucketStore) -> None:
    assert "key" not in repr(plain)


# a store without conditional writes


@pytest.mark.parametrize("kind", ["seaweedfs"], indirect=True)
@pytest.mark.parametrize(
    ("header", "promise"), [("if-none-match", "a key is created once"), ("if-match", "a key is replaced by version")]
)
def test_a_store_without_conditional_writes_is_detected(
    plain: BucketStore, proxy: FaultyProxy, header: str, promise: str
) -> None:
    settings = engines.start_object_store().settings(proxy.port)
    unsigned = {"region": settings["region"], "endpoint": settings["endpoint"], "skip_signature": "true"}
    store = BucketStore(plain.url, unsigned)
    assert find_sequential_violation(store) == ""
    proxy.without = frozenset({header})
    assert promise in find_sequential_violation(store)
    broken = {found.name for found in check_conformance(store, 4) if found.violation}
    assert promise in broken
    assert list(plain.list(".lineage/")) == []


# mutexes between machines


def machine_of(plain: BucketStore, folder: Path) -> BucketStore:
    return BucketStore(plain.url, plain.settings, folder)


@pytest.mark.parametrize("kind", ["seaweedfs"], indirect=True)
def test_a_lock_excludes_other_machines(plain: BucketStore, tmp_path: Path) -> None:
    here, there = machine_of(plain, tmp_path / "here"), machine_of(plain, tmp_path / "there")
    with here.lock("m"):
        for other in (there, machine_of(plain, tmp_path / "here")):
            with pytest.raises(BusyError), other.lock("m", wait=False):
                pass
    with there.lock("m", wait=False):
        pass


@pytest.mark.parametrize("kind", ["seaweedfs"], indirect=True)
def test_a_dead_process_of_this_machine_is_overtaken_at_once(plain: BucketStore, tmp_path: Path) -> None:
    died = machine_of(plain, tmp_path)
    records = died._record_locks
    held = records.lock("m", wait=True)
    held.__enter__()
    with machine_of(plain, tmp_path).lock("m", wait=False):
        pass
    held.__exit__(None, None, None)


@pytest.mark.parametrize("kind", ["seaweedfs"], indirect=True)
def test_a_lock_is_released_even_if_the_server_is_unavailable(
    plain: BucketStore, store: BucketStore, proxy: FaultyProxy, tmp_path: Path
) -> None:
    held = BucketStore(store.url, store.settings, tmp_path, patience=0.2)
    with held.lock("m"):
        proxy.fail_always(CUT)
    with machine_of(plain, tmp_path).lock("m", wait=False):
        pass


def test_clocks_are_not_compared(plain: BucketStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour of skew: a record says no time, so that no clock can make it look old."""
    with plain.lock("m"):
        blob = plain.read(".lineage/locks/m.mutex")
        assert set(json.loads(blob.data)) == {"fence", "beat", "holder"}
        ahead = time.time() + 3600
        monkeypatch.setattr(time, "time", lambda: ahead)
        with pytest.raises(BusyError), BucketStore(plain.url, plain.settings).lock("m", wait=False):
            pass
