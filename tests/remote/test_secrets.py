"""Credentials are used, and appear nowhere."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import traceback
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote

import pytest

import arrowroot
from arrowroot.cli import main
from arrowroot_servers import S3, Certificates, Nginx
from arrowroot_servers.process import free_port
from tests.command import run_here
from tests.servers.fixtures import installed

from . import data
from .conftest import EVENTS

MARK = "Hush7Fg2LantErn"
#: As an encoder would show it.
FORMS = (MARK, base64.b64encode(MARK.encode()).decode().rstrip("="), MARK.encode().hex())


def assert_hidden(text):
    for form in FORMS:
        assert form not in text, text


def run(*arguments, **environment):
    """The command with all its output."""
    done = run_here(*arguments, env=os.environ | environment)
    return done.returncode, done.stdout + done.stderr


def run_apart(*arguments, **environment):
    """The command in a process that says all that it may."""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "ignore", "-m", "arrowroot", *arguments],
        capture_output=True, text=True, check=False, timeout=300, env=os.environ | environment,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(autouse=True)
def logged(caplog):
    """Hold to no test alone: what is logged at any level shows none of it either."""
    caplog.set_level("DEBUG", "arrowroot")
    yield
    assert_hidden(caplog.text)


@pytest.fixture
def guarded(start, served):
    return start(lambda: Nginx(served, token=MARK))


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    return installed(lambda: Certificates(tmp_path_factory.mktemp("certificates")))


#: How a token is given: what stands in the URL, the arguments of ``open``, the environment.
WAYS = {
    "argument": ("", {"token": MARK}, {}),
    "URL": (f"?arrowroot.token={MARK}", {}, {}),
    "environment": ("", {}, {"ARROWROOT_TOKEN": MARK}),
    "found": ("", {}, {"BEARER_TOKEN": MARK}),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_token_opens_the_door_and_is_not_shown(start, served, certificates, monkeypatch, way):
    guarded = start(lambda: Nginx(served, certificates=certificates, token=MARK))
    monkeypatch.setenv("ARROWROOT_AUTHORITIES", str(certificates.authority))
    query, options, environment = WAYS[way]
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with arrowroot.open(guarded.url(EVENTS) + query, **options) as file:
        tree = file[data.TREE]
        assert tree.num_entries == data.N_ENTRIES
        scan = tree.scan(["x001"], trace=True)
        shown = [file, file.url, tree, scan, scan.plan, scan.stats, *scan]
        assert_hidden("".join(f"{x!r}{x}" for x in shown))
    with pytest.raises(arrowroot.StorageError) as caught:
        arrowroot.open(guarded.url("nothing.root") + query, **options)
    assert_hidden(f"{caught.value!r}{caught.value}{caught.value.__cause__!r}{caught.value.__context__!r}")


class Repeating(BaseHTTPRequestHandler):
    """Refuses everything, and says with what it was asked."""

    def do_GET(self) -> None:
        given = unquote(self.path.partition("=")[2])
        who = self.headers["Authorization"]
        body = f"the key {given} of {who} opens nothing at {self.path}".encode()
        self.send_response(403)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.mark.parametrize(
    ("user", "query", "options"),
    [("", f"?key={MARK}%21", {}), ("", "", {"token": MARK}), (f"me:{MARK}@", "", {})],
)
def test_what_a_server_repeats_of_a_url_or_of_credentials_is_not_shown(user, query, options):
    server = ThreadingHTTPServer(("127.0.0.1", free_port()), Repeating)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        with pytest.raises(PermissionError, match="opens nothing") as caught:
            arrowroot.open(f"http://{user}127.0.0.1:{server.server_port}/f.root{query}", **options)
    finally:
        server.shutdown()
        server.server_close()
    shown = f"{caught.value!r}{caught.value}{caught.value.__cause__!r}{caught.value.__context__!r}"
    assert_hidden(shown)
    assert base64.b64encode(f"me:{MARK}".encode()).decode().rstrip("=") not in shown


#: Headers in which a server repeats what it was asked with, and the status of its answers.
ECHOES = {
    "tag": (206, {"ETag": '"{said}{n}"'}),
    "same tag": (206, {"ETag": '"{said}"'}),
    "date": (206, {"Last-Modified": "{said}{n}"}),
    "range": (206, {"Content-Range": "bytes {said}/12"}),
    "coding": (206, {"Content-Encoding": "{said}"}),
    "boundary": (206, {"Content-Type": 'multipart/byteranges; boundary="{said}"'}),
    "place": (302, {"Location": "http://127.0.0.1:9/{said}"}),
    "host": (302, {"Location": f"http://{MARK}.invalid/f"}),
    "protocol": (302, {"Location": "ftp://h/{said}"}),
    "way in": (401, {"WWW-Authenticate": "{said}"}),
    "pause": (503, {"Retry-After": "{said}"}),
    "region": (403, {"x-amz-bucket-region": "{said}"}),
}


class Echoing(BaseHTTPRequestHandler):
    """Repeats in headers what it was asked with."""

    content, echo, n_asked = b"", "", 0

    def do_GET(self) -> None:
        type(self).n_asked += 1
        said = f"{self.headers['Authorization'] or ''}{self.path}".replace(" ", "%20")
        status, headers = ECHOES[self.echo]
        first, _, last = self.headers["Range"].removeprefix("bytes=").partition(",")[0].partition("-")
        start = int(first) if first else max(0, len(self.content) - int(last))
        stop = min(len(self.content), int(last) + 1) if first and last else len(self.content)
        body = self.content[start:stop] if status == 206 else b""
        usual = {"Content-Length": str(len(body))}
        if status == 206:
            usual["Content-Range"] = f"bytes {start}-{stop - 1}/{len(self.content)}"
        self.send_response(status)
        for name, value in (usual | headers).items():
            self.send_header(name, value.replace("{said}", said).replace("{n}", str(self.n_asked)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.mark.parametrize(
    "given",
    [("", f"?authz={MARK}", {}), ("", "", {"token": MARK}), (f"me:{MARK}@", "", {})],
    ids=["query", "token", "password"],
)
@pytest.mark.parametrize("echo", ECHOES)
def test_what_a_server_echoes_in_a_header_is_not_shown_nor_kept(served, tmp_path, echo, given):
    user, query, options = given
    kind = type("Handler", (Echoing,), {"echo": echo, "content": (served / EVENTS).read_bytes()})
    server = ThreadingHTTPServer(("127.0.0.1", free_port()), kind)
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    url = f"http://{user}127.0.0.1:{server.server_port}/f.root{query}"
    try:
        tree = arrowroot.open(url, retries=0, block_cache=tmp_path, **options)[data.TREE]
        scan = tree.scan(["x001"], trace=True)
        shown = "".join(map(repr, [*scan, tree, scan.accounts, scan.trace()]))
    except arrowroot.StorageError as error:
        shown = "".join(traceback.format_exception(error))
    finally:
        server.shutdown()
        server.server_close()
    assert kind.n_asked
    assert_hidden(shown)
    assert MARK.lower() not in shown
    assert base64.b64encode(f"me:{MARK}".encode()).decode().rstrip("=") not in shown
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert bool(kept) == (echo == "same tag")
    assert not any(MARK.encode() in content for content in kept)


def test_a_token_that_was_only_found_does_not_travel_in_the_clear(guarded, monkeypatch):
    monkeypatch.setenv("BEARER_TOKEN", MARK)
    with pytest.raises(PermissionError) as caught:
        arrowroot.open(guarded.url(EVENTS))
    assert_hidden(f"{caught.value!r}{caught.value}")


def test_a_wrong_token_is_refused_and_not_shown(guarded):
    wrong = MARK[::-1]
    with pytest.raises(arrowroot.StorageError) as caught:
        arrowroot.open(guarded.url(EVENTS), token=wrong)
    assert isinstance(caught.value, PermissionError)
    assert wrong not in f"{caught.value!r}{caught.value}"


def test_the_commands_show_no_token(guarded, tmp_path):
    url = guarded.url(EVENTS)
    trace, fjr = (str(tmp_path / name) for name in ("trace.parquet", "fjr.xml"))
    commands = [
        ["ls", url],
        ["perf", f"{url}:{data.TREE}", "--trace", trace, "--fjr", fjr],
        ["perf", f"{url}:{data.TREE}", "--json"],
        ["config"],
        ["ls", f"{guarded.url('nothing.root')}"],
        ["perf", f"{url}?arrowroot.token={MARK}"],
    ]
    for command in commands:
        status, output = run_apart(*command, ARROWROOT_TOKEN=MARK, RUST_LOG="trace", RUST_BACKTRACE="1")
        assert output, command
        assert_hidden(output)
        if "nothing" not in command[-1]:
            assert status == 0, output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fjr.xml", "trace.parquet"]
    for path in tmp_path.iterdir():
        content = path.read_bytes()
        assert not any(form.encode() in content for form in FORMS), path


def test_a_password_in_a_url_is_not_shown(guarded):
    url = guarded.url(EVENTS).replace("http://", f"http://user:{MARK}@")
    with pytest.raises(arrowroot.ArrowrootError) as caught:
        arrowroot.open(url)
    assert_hidden(f"{caught.value!r}{caught.value}")
    assert_hidden(run("ls", url)[1])


#: Where nobody listens: what is said of these is what cannot be reached.
NOWHERE = "127.0.0.1:9"
EVENTS_FILE = Path(__file__).parents[1] / "fixtures" / "events.root"
HIDING = [
    f"zip://in.root::https://me:{MARK}@{NOWHERE}/a.zip?sig={MARK}",
    f"simplecache::http://{MARK}@{NOWHERE}/f.root?{MARK}",
    f"root://{NOWHERE}//root://me:{MARK}@{NOWHERE}//f.root",
    f"root://{NOWHERE}//f.root?{MARK}",
    f"https://{NOWHERE}/f.root?{MARK}",
    f"https://{NOWHERE}/f.root?{MARK}==",
    f"https://{NOWHERE}/f.root#token={MARK}",
    f"https://{NOWHERE}/f.root#{MARK}",
    f"https://{NOWHERE}/f.root?arrowroot.tokens={MARK}",
    f"https://{NOWHERE}/f.root?arrowroot.retries=0&arrowroot.s3_endpoint=https://me:{MARK}@h",
    f"https://me:{MARK}/1@{NOWHERE}/f.root",
    f"s3://bucket/f.root?versionId={MARK}",
    f"gopher://me:{MARK}@{NOWHERE}/f.root?sig={MARK}",
    f"{NOWHERE}/f.root?sig={MARK}&next=https://h",
    f"http:/me:{MARK}@{NOWHERE}/f.root",
    f"http;//me:{MARK}@{NOWHERE}/f.root",
    f"htp//me:{MARK}@{NOWHERE}/f.root",
    f"http://{NOWHERE}/f.root&token={MARK}",
    f"root://{NOWHERE}//f.root%3Fauthz={MARK}",
    f"me:{MARK}@{NOWHERE}/f.root?authz={MARK}",
    f"me:{MARK}@{NOWHERE}/f?next={MARK}",
    f"{NOWHERE}/f.root?authz={MARK}",
]


@pytest.mark.parametrize("url", HIDING)
def test_no_form_of_url_shows_what_gives_access(url):
    with pytest.raises((arrowroot.ArrowrootError, ImportError)) as caught:
        arrowroot.open(url, retries=0)
    assert_hidden("".join(traceback.format_exception(caught.value)))
    with pytest.raises((arrowroot.ArrowrootError, ImportError)) as caught:
        arrowroot.open(url, replicas=[url], retries=0)
    assert_hidden("".join(traceback.format_exception(caught.value)))
    assert_hidden(run("ls", url, ARROWROOT_RETRIES="0")[1])


@pytest.mark.parametrize("url", HIDING)
def test_what_takes_no_url_does_not_repeat_what_gives_access(url, tmp_path):
    with pytest.raises(arrowroot.ArrowrootError) as caught:
        arrowroot.scan([[url, url]])
    assert_hidden("".join(traceback.format_exception(caught.value)))
    for command in (
        ["fjr", url],
        ["model", url, "--latency", "5ms", "--bandwidth", "12MB/s"],
        ["replay", url, "--latency", "5ms", "--bandwidth", "12MB/s"],
        ["ls", tmp_path / "none.root", f"--url={url}"],
        ["perf", tmp_path / "none.root", "--trace", url],
    ):
        status, output = run(*map(str, command), ARROWROOT_RETRIES="0")
        assert status != 0
        assert_hidden(output)


MISTYPED = [
    f"http;//me:{MARK}@h/f.root:T",
    f"htp//me:{MARK}@h/f.root:T",
    f"h;//me:{MARK}@h",
    rf"https:\\me:{MARK}@h\x.root",
    f"https://me:{MARK}%40h/x.root",
    f"https://me:{MARK}\uff20h/x.root",
    f"https://me:p {MARK}@h/x.root",
    f'https://me:p"{MARK}@h/x.root',
    f"host=h user=me password={MARK} dbname=x",
]


@pytest.mark.parametrize("url", MISTYPED)
def test_no_command_shows_a_mistyped_url(url, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARROWROOT_RETRIES", "0")
    small = {"cli.stress.N_ROUNDS": 1, "_stress.parts.N_ENTRIES": 300, "_stress.parts.N_OBJECTS": 50}
    for name, number in small.items():
        monkeypatch.setattr(f"arrowroot.{name}", number)
    line, events = ["--latency", "5ms", "--bandwidth", "12MB/s"], str(EVENTS_FILE)
    for command in (
        ["ls", url], ["head", url], ["show", url], ["layout", url], ["perf", url], ["tune", url], ["fjr", url],
        ["model", url, *line], ["replay", url, *line], ["stalls", url], ["index", "-o", url, events],
        ["index", "-o", "i.parquet", url], ["convert", url, "o.root"], ["convert", url, "o.csv"],
        ["convert", events, url], ["skim", url, "o.root"],
        ["sample", "nanoaod", url, "--entries", "10"],
        ["perf", events, "--trace", url], ["perf", events, "--plot", url], ["perf", "--from", url],
        ["stress", "--reference", url], ["stress", "--save-reference", url], ["head", events, "--filter", url],
        ["head", events, "-c", url], ["head", events, "-O", url], ["head", events, "-O", f"token={url}"],
    ):  # fmt: skip
        with suppress(SystemExit):
            main(command)
        assert_hidden("".join(capsys.readouterr()))
    for more in ([], ["--json"]):
        main(["config", url, *more])
        assert_hidden("".join(capsys.readouterr()))


@pytest.mark.parametrize("url", [HIDING[0], HIDING[12], *HIDING[-3:-1]])
def test_a_traceback_shows_none_of_it(url, tmp_path):
    line = ["--latency", "5ms", "--bandwidth", "12MB/s"]
    for command in (
        ["ls", url],
        ["tune", url],
        ["index", "-o", tmp_path / "index.parquet", url],
        ["fjr", url],
        ["model", url, *line],
        ["replay", url, *line],
        ["replay", f"{url}.parquet", *line],
        ["perf", tmp_path / "none.root", "--trace", url],
    ):
        status, output = run(*map(str, command), ARROWROOT_RETRIES="0", ARROWROOT_DEBUG="1")
        assert status != 0
        assert "Traceback" in output
        assert_hidden(output)
    assert_hidden(run("config", url)[1])


def test_a_key_of_s3_is_not_shown(start, served):
    server = start(lambda: S3(secret_key=MARK))
    server.put(EVENTS, (served / EVENTS).read_bytes())
    environment = server.environment
    assert run("ls", server.url(EVENTS), **environment)[0] == 0
    assert_hidden(run("perf", f"{server.url(EVENTS)}:{data.TREE}", **environment)[1])
    status, output = run("ls", server.url(EVENTS), **{**environment, "AWS_SECRET_ACCESS_KEY": f"{MARK}x"})
    assert status != 0
    assert_hidden(output)


def test_a_client_certificate_opens_the_door(start, served, certificates, tmp_path):
    server = start(lambda: Nginx(served, certificates=certificates))
    url, authorities = server.url(EVENTS), str(certificates.authority)
    options = {
        "authorities": authorities,
        "certificate": str(certificates.client),
        "key": str(certificates.client_key),
    }
    with arrowroot.open(url, **options) as file:
        assert file[data.TREE].num_entries == data.N_ENTRIES
    proxy = tmp_path / "proxy.pem"
    proxy.write_bytes(certificates.client.read_bytes() + certificates.client_key.read_bytes())
    with arrowroot.open(url, authorities=authorities, certificate=str(proxy)) as file:
        assert file[data.TREE].num_entries == data.N_ENTRIES
    with pytest.raises(arrowroot.StorageError):
        arrowroot.open(
            url,
            **{**options, "certificate": str(certificates.stranger), "key": str(certificates.stranger_key)},
        )
    with pytest.raises(arrowroot.StorageError, match="certificate"):
        arrowroot.open(url, certificate=str(proxy))
