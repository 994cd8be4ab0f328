"""Files in a row over a network: the next one's data are on their way while the last of one are read."""

import time

import numpy as np
import pytest
import uproot

import arrowroot
from arrowroot_servers import Nginx
from tests.servers.fixtures import installed

from . import data
from .conftest import EVENTS

PATIENCE_S = 60
#: So many files may be opened at a time, those behind one that differs, too.
N_AT_A_TIME = 24


@pytest.mark.parametrize("place", ["http", "root", "s3"], indirect=True)
def test_the_next_file_is_fetched_while_one_is_read(place, local_tables):
    urls = [f"{place.url(EVENTS)}"] * 3
    scan = arrowroot.scan(urls, data.TREE, ["x007"], **place.options)
    batches = iter(scan)
    first = next(batches)
    deadline = time.monotonic() + PATIENCE_S
    while scan.stats.read_bytes < scan.plan.read_bytes:
        assert time.monotonic() < deadline, f"{scan.stats.read_bytes} bytes came"
        time.sleep(0.01)
    values = [first["x007"], *(batch["x007"] for batch in batches)]
    expected = local_tables["all"]["x007"].combine_chunks().to_pylist()
    assert [value for chunk in values for value in chunk.to_pylist()] == 3 * expected


@pytest.mark.parametrize("columns", [None, "x*", ["x1"]], ids=str)
def test_no_file_is_opened_any_more_once_one_differs(tmp_path, columns):
    for name, branches in (("usual", ["x0", "x1"]), ("other", ["x0"])):
        with uproot.recreate(tmp_path / f"{name}.root") as file:
            file["Events"] = {branch: np.arange(10) for branch in branches}
    n_files = 200
    for number in range(n_files):
        kind = "other" if number == 2 else "usual"
        (tmp_path / f"f{number:03}.root").hardlink_to(tmp_path / f"{kind}.root")
    with installed(lambda: Nginx(tmp_path)) as server:
        urls = [server.url(f"f{number:03}.root") for number in range(n_files)]
        with pytest.raises(arrowroot.SchemaMismatchError, match=r"f002\.root: column 'x1' is missing"):
            arrowroot.scan(urls, "Events", columns)
        opened = {request.path for request in server.requests()}
    assert 3 <= len(opened) <= 3 + N_AT_A_TIME, sorted(opened)
