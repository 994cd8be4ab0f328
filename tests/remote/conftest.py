"""One server of each kind for all tests, of one directory of files."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from tests.servers.fixtures import Started, installed

from . import data, places

EVENTS = "events.root"


def pytest_collection_modifyitems(items):
    """One of the kinds of servers answers no ranges: that this is warned of is a test of its own."""
    ignored = pytest.mark.filterwarnings("ignore:.*answers no ranges:arrowroot.WholeCopyWarning")
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(ignored)


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    pytest.importorskip("uproot", reason="NO UPROOT FOUND: pip install uproot")
    directory = tmp_path_factory.mktemp("remote")
    data.write(directory / EVENTS)
    return directory


@pytest.fixture(scope="session")
def started_places(served):
    """Start each kind when it is first asked for."""
    started = {}
    with contextlib.ExitStack() as stack:

        def start(kind):
            if kind not in started:
                context = places.place(kind, served)
                # In a lambda of its own: what is not installed ends the test, not the session.
                started[kind] = installed(lambda: stack.enter_context(context))
                started[kind].publish(EVENTS)
            return started[kind]

        yield start


@pytest.fixture(params=places.KINDS)
def place(request, started_places):
    """Return each kind of server in turn, with a clean line."""
    found = started_places(request.param)
    found.relay.cut()
    found.relay.faults([])
    found.relay.link(0)
    found.relay.counts()
    return found


@pytest.fixture
def start():
    with Started() as started:
        yield started


@pytest.fixture(scope="session")
def local_tables(served):
    """Return what the reads of ``data.reads`` give locally."""
    import arrowroot

    with arrowroot.open(served / EVENTS) as file:
        return {name: file[data.TREE].to_arrow(**read) for name, read in data.reads().items()}
