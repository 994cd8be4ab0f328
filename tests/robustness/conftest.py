"""A file that is large beside the memory a scan may use."""

from __future__ import annotations

import numpy as np
import pytest

N_ENTRIES, N_PER_EXTEND = 6_000_000, 200_000


@pytest.fixture(scope="session")
def large_file(tmp_path_factory):
    """Half a GB of values: eight flat columns and one of lists, the first compressible."""
    uproot = pytest.importorskip("uproot", reason="NO UPROOT FOUND: pip install uproot")
    import awkward as ak

    path = tmp_path_factory.mktemp("large") / "large.root"
    rng = np.random.default_rng(5)
    names = [f"x{k}" for k in range(8)]
    values = {name: rng.random(N_PER_EXTEND) for name in names} | {"x0": np.arange(N_PER_EXTEND, dtype="f8")}
    counts = np.arange(N_PER_EXTEND) % 5
    lists = ak.unflatten(rng.random(int(counts.sum()), dtype=np.float32), counts)
    with uproot.recreate(path, compression=uproot.LZ4(1)) as file:
        tree = file.mktree("T", dict.fromkeys(names, "f8") | {"lists": lists.type.content})
        for _ in range(N_ENTRIES // N_PER_EXTEND):
            tree.extend({**values, "lists": lists})
    return path


@pytest.fixture(scope="session", params=["ttree", "rntuple"])
def file_of_long_baskets(request, tmp_path_factory):
    """Fifty columns whose baskets, or pages, of 4 MB are all needed by many small batches."""
    uproot = pytest.importorskip("uproot", reason="NO UPROOT FOUND: pip install uproot")

    path = tmp_path_factory.mktemp("long") / f"{request.param}.root"
    names = [f"x{k}" for k in range(50)]
    with uproot.recreate(path, compression=uproot.LZ4(1)) as file:
        make = file.mktree if request.param == "ttree" else file.mkrntuple
        tree = make("T", dict.fromkeys(names, np.dtype("f8")))
        for start in (0, 500_000):
            values = np.arange(start, start + 500_000, dtype="f8")
            tree.extend({name: values + k for k, name in enumerate(names)})
    return path
