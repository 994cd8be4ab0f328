"""The processes of a test: each puts results into the same store at the same time."""

from __future__ import annotations

from arrowroot_lab.store import Filter, Store
from tests.lab.made import Made


def put_all(place, places):
    """Open the store, which may not be there yet; put some results, and read between. Returns how many are new."""
    made, n_new = Made().results(), 0
    with Store.open(place) as store:
        for n, at in enumerate(places):
            n_new += store.put(made[at])
            if n % 10 == 0:
                assert store.count(Filter(newest=True)) > 0
    return n_new
