"""The servers serve what they should, refuse what they should, and log it."""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import socket
import ssl
import subprocess
import sys

import pytest

from arrowroot_servers import S3, Certificates, Nginx, XRootD, process, xrootd
from arrowroot_servers.s3 import signed

from .conftest import CONTENT
from .fixtures import installed

NAME, TOKEN = "numbers.bin", "right"


def get(port, path=f"/{NAME}", *, context=None, **headers):
    """Return status and body."""
    if context:
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=context)
    else:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.closing(connection):
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_nginx_answers_ranges_and_logs_them(start, directory):
    server = start(lambda: Nginx(directory))
    assert get(server.port, Range="bytes=256-266") == (206, CONTENT[:11])
    status, body = get(server.port, Range="bytes=0-9,512-520")
    assert status == 206
    assert body.count(b"Content-Range") == 2
    first, second = server.requests()
    assert (first.method, first.path, first.range, first.n_bytes) == ("GET", f"/{NAME}", "256-266", 11)
    assert (second.range, second.n_ranges, second.n_bytes) == ("0-9,512-520", 2, len(body))
    assert first.connection != second.connection


@pytest.mark.parametrize(("max_ranges", "one"), [(1, 206), (0, 200)])
def test_nginx_with_few_ranges_sends_the_whole_file(start, directory, max_ranges, one):
    server = start(lambda: Nginx(directory, max_ranges=max_ranges))
    assert get(server.port, Range="bytes=0-9")[0] == one
    assert get(server.port, Range="bytes=0-9,20-29") == (200, CONTENT)


def test_nginx_wants_its_token(start, directory):
    server = start(lambda: Nginx(directory, token=TOKEN))
    assert get(server.port)[0] == 401
    assert get(server.port, Authorization="Bearer wrong")[0] == 401
    assert get(server.port, Authorization=f"Bearer {TOKEN}") == (200, CONTENT)


def test_nginx_wants_a_certificate_of_its_authority(start, directory, tmp_path):
    certificates = installed(lambda: Certificates(tmp_path))
    server = start(lambda: Nginx(directory, certificates=certificates))

    def status(certificate=None, key=None):
        context = ssl.create_default_context(cafile=str(certificates.authority))
        if certificate:
            context.load_cert_chain(certificate, key)
        return get(server.port, context=context)[0]

    assert status(certificates.client, certificates.client_key) == 200
    assert status() == 400
    assert status(certificates.stranger, certificates.stranger_key) == 400
    with pytest.raises(ssl.SSLCertVerificationError):
        get(server.port, context=ssl.create_default_context())


def test_s3_wants_signatures_and_logs_ranges(start, directory):
    server = start(S3)
    server.put("a/put.bin", CONTENT)
    server.link("linked.bin", directory / NAME)
    for path in ("/bucket/a/put.bin", "/bucket/linked.bin"):
        host = f"127.0.0.1:{server.port}"
        headers = signed(
            "GET", path, b"", host=host, access_key=server.access_key, secret_key=server.secret_key
        )
        assert get(server.port, path, Range="bytes=256-266", **headers) == (206, CONTENT[:11])
        assert get(server.port, path)[0] == 403
        headers = signed("GET", path, b"", host=host, access_key=server.access_key, secret_key=TOKEN)
        assert get(server.port, path, **headers)[0] == 403
    good = [request for request in server.requests() if request.status == 206]
    assert [(request.path, request.range, request.n_bytes) for request in good] == [
        ("/bucket/a/put.bin", "256-266", 11),
        ("/bucket/linked.bin", "256-266", 11),
    ]


def test_xrootd_starts_again_where_the_port_of_its_http_was_taken(start, directory, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        ports = iter([taken])
        monkeypatch.setattr(xrootd, "free_port", lambda: next(ports, None) or process.free_port())
        server = start(lambda: XRootD(directory, http=True))
        assert server.http_port != taken
    assert get(server.http_port, Range="bytes=256-266") == (206, CONTENT[:11])


def test_a_port_that_another_process_holds_is_not_given():
    port = process.free_port()
    code = f"from arrowroot_servers import process; print(process.take({port}), process.take({port}))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "False False\n"


def test_xrootd_over_http_bridges_to_its_own_requests(start, directory):
    server = start(lambda: XRootD(directory, http=True))
    assert get(server.http_port, Range="bytes=256-266") == (206, CONTENT[:11])
    ranged = [request for request in server.requests() if request.range]
    assert [(request.range, request.n_bytes) for request in ranged] == [("256-266", 11)]


@pytest.mark.skipif(shutil.which("xrdcp") is None, reason="NO XRDCP FOUND: apt install xrootd-client")
def test_xrootd_serves_its_own_client_also_by_redirection_and_tls(start, directory, tmp_path):
    certificates = installed(lambda: Certificates(tmp_path))
    server = start(lambda: XRootD(directory, security="unix"))
    manager = start(lambda: XRootD(directory, redirect_to=server.port))
    encrypted = start(lambda: XRootD(directory, certificates=certificates))
    environment = os.environ | {"X509_CERT_DIR": str(certificates.hashed()), "XRD_CONNECTIONRETRY": "1"}
    for k, url in enumerate([server.url(NAME), manager.url(NAME), encrypted.url(NAME)]):
        copy = tmp_path / f"copy{k}"
        subprocess.run(["xrdcp", "-s", url, str(copy)], check=True, env=environment, timeout=60)
        assert copy.read_bytes() == CONTENT, url
    methods = [request.method for request in server.requests()]
    assert methods.count("open") == 2
    assert "auth" in methods
    assert any(request.path == f"/{NAME}" for request in manager.requests())
    assert {"open", "read"} <= {request.method for request in encrypted.requests()}


def test_the_log_of_xrootd_gives_each_request_its_ranges():
    lines = [f"261122 00:47:05 13606 {line}" for line in (
        "root.1:24@127.0.0.1 Xrootd_Protocol: 0100 req=open dlen=7",
        "root.1:24@127.0.0.1 Xrootd_Protocol: 0100 open rt /a.root",
        "root.1:24@127.0.0.1 Xrootd_Protocol: 0200 req=readv dlen=32",
        "root.2:25@127.0.0.1 Xrootd_Protocol: 0200 req=read dlen=0",
        "root.1:24@127.0.0.1 Xrootd_Protocol: 0200 fh=0 readV 100@0",
        "root.2:25@127.0.0.1 Xrootd_Protocol: 0200 0 fh=0 read 7@50",
        "root.1:24@127.0.0.1 Xrootd_Protocol: 0200 fh=0 readV 10@200",
    )]  # fmt: skip
    assert [(r.method, r.path, r.range, r.n_bytes, r.connection) for r in xrootd.parse_log(lines)] == [
        ("open", "/a.root", None, 0, 24),
        ("readv", None, "0-99,200-209", 110, 24),
        ("read", None, "50-56", 7, 25),
    ]
