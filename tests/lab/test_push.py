"""Datasets pushed onto real storages, proved there, and gone on with after whatever ended a push."""

import json
import os
import signal
import ssl
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

import arrowroot
from arrowroot_lab.campaign.model import Storage
from arrowroot_lab.campaign.read import read
from arrowroot_lab.documents import Outcome
from arrowroot_lab.location import Location
from arrowroot_lab.pushing import names_of, push
from arrowroot_lab.pushing.digests import digests_of, digests_of_pieces
from arrowroot_lab.pushing.local import LocalTarget
from arrowroot_lab.pushing.push import _proof, target_of
from arrowroot_lab.pushing.target import PushError
from arrowroot_lab.running import checking
from arrowroot_lab.running.events import Progress
from arrowroot_lab.running.session import Session
from arrowroot_lab.store import Store
from arrowroot_servers import S3, Nginx, Relay, XRootD
from arrowroot_servers.certificates import Certificates
from arrowroot_servers.process import find_program, free_port
from tests.command import done_here, run_here
from tests.lab.running import PATIENCE_S, wait_until
from tests.servers.fixtures import installed

CAMPAIGN = """
repeats = 1
[dataset.numbers]
files = "numbers.root"
table = "T"
[storage.there]
{storage}
[engine.arrowroot]
[workload.all]
"""


@dataclass
class Served:
    """A storage that can be written."""

    url: str
    #: Where its files are on this machine; None: in its own form.
    directory: Path | None
    proof: str
    port: int | None = None

    def storage(self, url=None):
        told = url or self.url
        if "://" not in told:
            return Storage("there", "local", push=Location(told))
        return Storage("there", "url", url=Location(told), push=Location(told))


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ARROWROOT_LAB_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def numbers(tmp_path):
    path = tmp_path / "numbers.root"
    values = np.random.default_rng(1).integers(0, 1 << 32, 200_000, dtype=np.uint32)
    arrowroot.write(f"{path}:T", {"x": values}, compression="none")
    return path


def start(kind, root, stack):
    """A storage of a kind, with nothing in it."""
    root.mkdir()
    root.chmod(0o777)
    if kind == "directory":
        return Served(f"{root}/below/{{file}}", root / "below", "read back")
    if kind == "S3":
        server = stack.enter_context(installed(S3))
        for name, value in server.environment.items():
            stack.enter_context(pytest.MonkeyPatch.context()).setenv(name, value)
        return Served("s3://bucket/{file}", None, "md5 of the storage", server.port)
    if kind.startswith("nginx"):
        methods = "PUT DELETE MOVE" if kind == "nginx" else "PUT DELETE"
        server = stack.enter_context(installed(lambda: Nginx(root, writing=methods)))
        return Served(server.url("{file}"), root, "read back", server.port)
    options = {"writable": True, "trace": False, "http": kind == "xrootd, HTTP"}
    options["checksums"] = kind != "xrootd, no checksums"
    server = stack.enter_context(installed(lambda: XRootD(root, **options)))
    if kind == "xrootd, HTTP":
        return Served(server.http_url("{file}"), root, "adler32 of the storage", server.http_port)
    proof = "adler32 of the storage" if options["checksums"] else "read back"
    return Served(server.url("{file}"), root, proof, server.port)


KINDS = (
    "directory",
    "xrootd",
    "xrootd, no checksums",
    "xrootd, HTTP",
    "nginx",
    "nginx that moves nothing",
    "S3",
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_put_once_proved_and_read_from_there(kind, tmp_path, numbers):
    with ExitStack() as stack:
        served = start(kind, tmp_path / "store", stack)
        storage = served.storage()
        (first,) = push(storage, [numbers])
        assert (first.is_known, first.proof, first.n_bytes) == (False, served.proof, numbers.stat().st_size)
        (name,) = names_of([numbers])
        assert name == f"{digests_of(numbers).sha256[:16]}-numbers.root"
        with arrowroot.open(served.url.replace("{file}", name)) as there, arrowroot.open(numbers) as here:
            assert there["T"].to_arrow().equals(here["T"].to_arrow())
        (second,) = push(storage, [numbers])
        assert second.is_known
        assert second.proof == ("read back before" if served.proof == "read back" else served.proof)
        if served.directory is None:
            return
        assert [path.name for path in served.directory.iterdir()] == [name]
        # A file that is not identical any more is found, and put anew.
        path = served.directory / name
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        os.utime(path, ns=(1, 1))
        (third,) = push(storage, [numbers])
        assert not third.is_known
        assert path.read_bytes() == numbers.read_bytes()


@pytest.mark.parametrize("is_beginning", [True, False])
def test_what_was_begun_in_a_directory_is_gone_on_with_if_it_is_a_beginning(is_beginning, tmp_path, numbers):
    directory = tmp_path / "store"
    directory.mkdir()
    (name,) = names_of([numbers])
    content = numbers.read_bytes()[:300_000]
    (directory / f"{name}.part").write_bytes(content if is_beginning else bytes(len(content)))
    seen = []
    (one,) = push(
        Storage("there", "local", push=Location(f"{directory}/{{file}}")),
        [numbers],
        show=lambda *told: seen.append(told),
    )
    assert not one.is_known
    assert (directory / name).read_bytes() == numbers.read_bytes()
    assert [path.name for path in directory.iterdir()] == [name]
    # A part that was no beginning is copied once more, from the first byte.
    assert len(seen) == (1 if is_beginning else 2)


def test_a_push_that_is_killed_leaves_nothing_under_the_name_and_the_next_one_ends_it(tmp_path, numbers):
    with ExitStack() as stack:
        served = start("xrootd", tmp_path / "store", stack)
        relay = stack.enter_context(installed(lambda: Relay(served.port)))
        relay.link(1, 0.3)
        path = tmp_path / "c.toml"
        slow = served.url.replace(f":{served.port}/", f":{relay.port}/")
        path.write_text(CAMPAIGN.format(storage=f'kind = "url"\nurl = "{slow}"\npush = true'))
        command = [sys.executable, "-m", "arrowroot", "lab", "push", str(path), "--json"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        (name,) = names_of([numbers])
        part = served.directory / f"{name}.part"
        wait_until(lambda: part.exists() and part.stat().st_size, process)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 130
        assert [one.name for one in served.directory.iterdir()] == [part.name]
        relay.link(0, 0)
        (told,) = json.loads(done_here("lab", "push", path, "--json"))["files"]
        assert (told["dataset"], told["storage"], told["is_known"]) == ("numbers", "there", False)
        assert (served.directory / name).read_bytes() == numbers.read_bytes()


def test_a_run_pushes_before_it_measures_and_reads_what_is_there(tmp_path, numbers, monkeypatch):
    monkeypatch.setattr(checking, "references", lambda _: [])  # ROOT takes seconds to start
    with ExitStack() as stack:
        served = start("xrootd", tmp_path / "store", stack)
        path = tmp_path / "c.toml"
        path.write_text(CAMPAIGN.format(storage=f'kind = "url"\nurl = "{served.url}"\npush = true'))
        with Store.open(tmp_path / "lab.db") as store:
            summary = Session(read(path), store, "site", Progress(lambda *_: None)).run()
        assert [one.name for one in served.directory.iterdir()] == names_of([numbers])
    (result,) = summary.results
    assert result.outcome is Outcome.OK
    assert result.samples[0].counters["store"]["n_bytes"] > 0


def test_a_server_that_is_away_is_told(numbers, monkeypatch):
    installed(lambda: find_program("xrdfs", "xrootd-client"))
    url = f"root://127.0.0.1:{free_port()}//{{file}}"
    monkeypatch.setenv("XRD_CONNECTIONWINDOW", "1")  # of its own it waits half a minute
    with pytest.raises(PushError, match=r"numbers.root: xrdfs: .*Connection error"):
        push(Storage("there", "url", push=Location(url)), [numbers])


def test_a_storage_that_takes_nothing_is_told(tmp_path, numbers):
    root = tmp_path / "store"
    root.mkdir()
    with installed(lambda: XRootD(root, trace=False)) as server, pytest.raises(PushError) as info:
        push(Storage("there", "url", push=Location(server.url("{file}"))), [numbers])
    assert "numbers.root" in str(info.value)
    assert "xrdcp" in str(info.value)
    with (
        installed(lambda: Nginx(root)) as server,
        pytest.raises(PushError, match="it is not taken: status 405"),
    ):
        push(Storage("there", "url", push=Location(server.url("{file}"))), [numbers])
    path = tmp_path / "c.toml"
    path.write_text(CAMPAIGN.format(storage='kind = "local"'))
    done = run_here("lab", "push", path)
    assert done.returncode == 2
    assert "no storage may be written: tell push in [storage.NAME]" in done.stderr


def test_nothing_secret_of_an_address_is_told_and_names_need_no_escaping(tmp_path):
    for url in (
        "root://me:secret@host.example:1094//store/a.root?authz=secret",
        "davs://me:secret@host.example:1094/store/a.root?authz=secret",
    ):
        for target in (target_of(Location(url), {}), target_of(Location(url), {}).part()):
            assert "secret" not in target.url
            assert target.url.whole().endswith("?authz=secret")
            assert "/store/a.root" in target.url
    path = tmp_path / "a file's #1 & co.root"
    path.write_bytes(b"x")
    assert names_of([path]) == ["2d711642b726b044-a_file_s__1___co.root"]


@pytest.fixture
def servers(tmp_path, monkeypatch):
    """Two servers: what the first is asked it sends on to the second by HTTP, which notes it."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self):
            asked.append(self.server)
            is_first = self.server is servers[0]
            self.send_response(307 if is_first else 404)
            if is_first:
                self.send_header("Location", f"http://127.0.0.1:{servers[1].server_port}/elsewhere")
            self.end_headers()

        def log_message(self, *_):
            pass

    certificates = installed(lambda: Certificates(tmp_path))
    monkeypatch.setenv("CURL_CA_BUNDLE", str(certificates.authority))
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(2)]
    for server in servers:
        Thread(target=server.serve_forever, daemon=True).start()
    yield servers, certificates, asked
    for server in servers:
        server.shutdown()
        server.server_close()


def test_the_token_of_s3_goes_to_no_other_server(servers):
    (first, _), _, asked = servers
    environment = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{first.server_port}",
        **dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"), "word"),
    }
    with pytest.raises(PushError, match=r"sends on to another .status 307.*set AWS_REGION"):
        target_of(Location("s3://bucket/x.root"), environment).stored()
    assert asked == [first]


def test_no_redirect_leads_from_https_to_http(servers):
    (first, second), certificates, asked = servers
    plain = f"http://127.0.0.1:{first.server_port}/x.root"
    assert target_of(Location(plain), {}).stored() is None  # the second has none
    assert asked == [first, second]
    asked.clear()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server, certificates.server_key)
    first.socket = context.wrap_socket(first.socket, server_side=True)
    with pytest.raises(PushError, match=r"[Pp]rotocol"):
        target_of(Location(plain.replace("http:", "https:")), {}).stored()
    assert asked == [first]


def test_checksums_are_those_that_storages_tell():
    told = digests_of_pieces([b"Wiki", b"pedia"])
    assert told.adler32 == "11e60398"
    assert told.md5 == "9c677286866aad38f8e9b660f5411814"
    assert told.n_bytes == 9


def test_no_more_is_read_back_than_a_file_has(tmp_path, monkeypatch):
    monkeypatch.setenv("ARROWROOT_LAB_CACHE", str(tmp_path / "cache"))

    class Endless(LocalTarget):
        n_pieces = 0

        def pieces(self):
            while self.n_pieces < 1000:
                self.n_pieces += 1
                yield b"x"

    path = tmp_path / "there"
    path.write_bytes(b"xxx")
    target = Endless(path)
    assert _proof(target, digests_of(path)) is None
    assert target.n_pieces == 4
