"""A server that demands X.509: XRootD's own client, an optional extra, reads in the place of ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from arrowroot_servers import Certificates, XRootD
from tests.servers.fixtures import installed

from .conftest import EVENTS

REPOSITORY = Path(__file__).resolve().parents[2]

#: That client looks at the environment once in a process, and keeps connections that it was let in by.
READER = """
import json, os, sys
import arrowroot
from tests.remote import data

url, missing, proxy, authorities = sys.argv[1:]

def read(urls, **options):
    try:
        with arrowroot.open(urls[0], replicas=urls[1:], **options) as file:
            return file[data.TREE].to_arrow(["x007"])["x007"].to_pylist()
    except arrowroot.ArrowrootError as error:
        return [type(error).__name__, str(error)]

print(json.dumps({
    "without": read([url], authorities=authorities),
    "with": read([url], certificate=proxy),
    "replicas": read([missing, url], certificate=proxy),
    "missing": read([missing], certificate=proxy),
    "left in the environment": os.environ.get("X509_CERT_DIR"),
}))
"""


@pytest.fixture(scope="module")
def found(served, tmp_path_factory):
    """Return what a process read, by what it tried."""
    pytest.importorskip("XRootD.client", reason="NO XROOTD CLIENT FOUND: pip install xrootd")
    certificates = installed(lambda: Certificates(tmp_path_factory.mktemp("grid"), is_rsa=True))
    server = installed(lambda: XRootD(served, grid=certificates))
    with server:
        # The address in the certificate is not as the client writes it.
        environment = os.environ | {"XrdSecGSISRVNAMES": "*", "XRD_CONNECTIONRETRY": "1"}
        urls = [server.url(EVENTS), server.url("missing.root")]
        arguments = [*urls, str(certificates.proxy()), str(certificates.hashed())]
        done = subprocess.run(
            [sys.executable, "-c", READER, *arguments],
            cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "auth" in [request.method for request in server.requests()]
        return json.loads(done.stdout)


def test_a_proxy_lets_in(found, local_tables):
    assert found["with"] == local_tables["columns"]["x007"].to_pylist()


def test_authorities_of_one_file_are_not_left_for_others(found):
    assert found["left in the environment"] is None


def test_replicas_that_all_want_a_proxy_are_read(found):
    assert found["replicas"] == found["with"]


def test_who_has_none_is_told_what_is_needed(found):
    kind, text = found["without"]
    assert kind == "AccessDeniedError"
    assert "X509_USER_PROXY" in text
    assert "Auth failed" in text


def test_a_file_that_is_not_there_is_said_to_be_missing(found):
    kind, text = found["missing"]
    assert kind == "NoSuchFileError"
    assert "missing.root" in text
