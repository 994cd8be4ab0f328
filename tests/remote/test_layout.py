"""The layout of a remote tree comes with its opening: it is that of the local file, and reads nothing more."""

from __future__ import annotations

import arrowroot
from arrowroot._report.layout import layout_of

from . import data
from .conftest import EVENTS


def test_the_layout_of_a_remote_tree_needs_no_read(place, served):
    with arrowroot.open(served / EVENTS) as file:
        local = layout_of(file[data.TREE])
    with arrowroot.open(place.url(EVENTS), **place.options) as file:
        tree = file[data.TREE]
        before = [account._asdict() for account in file.accounts]
        remote = layout_of(tree)
        assert [account._asdict() for account in file.accounts] == before
    assert remote.data() == local.data()
    assert remote.n_pieces > 100
