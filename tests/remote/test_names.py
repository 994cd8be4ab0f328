"""The name of a server is looked up for each connection to it, not for each request."""

from __future__ import annotations

import os
import subprocess
import sys

from arrowroot_servers import Nginx
from arrowroot_servers.xrootd import preloaded
from tests.servers.fixtures import installed

from . import data
from .conftest import EVENTS

READ = """
import sys, arrowroot
with arrowroot.open(sys.argv[1], connections=2, max_gap=0) as file:
    file[sys.argv[2]].to_arrow()
"""


def test_a_name_is_looked_up_once_for_each_connection(start, served, tmp_path):
    library = installed(lambda: preloaded("lookups"))
    server = start(lambda: Nginx(served, max_ranges=1))
    log = tmp_path / "lookups"
    environment = os.environ | {"LD_PRELOAD": str(library), "LOOKUPS": str(log)}
    url = server.url(EVENTS).replace("127.0.0.1", "localhost")
    subprocess.run([sys.executable, "-c", READ, url, data.TREE], env=environment, check=True, timeout=300)
    requests = server.requests()
    n_connections = len({request.connection for request in requests})
    assert n_connections <= 4 < len(requests)
    assert log.read_text().split().count("localhost") == n_connections
