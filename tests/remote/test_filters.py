"""A filter asks a server for its columns, and of the others for what has selected entries; no more."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot._passes import source

from .places import place as place_of

RUNS = "runs.root"
#: Clusters of 1.2 MB: as many as no store reads whole rather than asking twice.
N_CLUSTERS, N_PER_CLUSTER, N_BRANCHES = 20, 5000, 30
CONTENT = ("GET", "read", "readv", "pgread")


@pytest.fixture(scope="module")
def runs(served):
    """Write a tree whose clusters are runs, with numbers that do not compress."""
    import uproot

    rng = np.random.default_rng(4)
    names = {f"x{i:02}": "float64" for i in range(N_BRANCHES)}
    ids = {"run": "int32", "luminosityBlock": "int32", "event": "int64"}
    with uproot.recreate(served / RUNS, compression=uproot.ZSTD(1)) as file:
        tree = file.mktree("Events", {**ids, **names})
        for run in range(N_CLUSTERS):
            events = np.arange(N_PER_CLUSTER)
            parts = {
                "run": np.full(N_PER_CLUSTER, run, np.int32),
                "luminosityBlock": events.astype(np.int32) // 500,
            }
            tree.extend({**parts, "event": events, **{name: rng.random(N_PER_CLUSTER) for name in names}})
    return served / RUNS


def bytes_of(place, read):
    """Return the result of a read, and the content that the server sent for it."""
    n_before = len(place.requests())
    result = read()
    requests = place.requests()[n_before:]
    return result, sum(request.n_bytes for request in requests if request.method in CONTENT)


def test_what_is_not_selected_stays_where_it_is(place, runs):
    place.publish(RUNS)
    local = ar.open(runs)["Events"]
    with ar.open(place.url(RUNS), **place.options) as file:
        tree = file["Events"]
        whole, n_all = bytes_of(place, tree.scan().drain)
        scan = tree.scan(filter="run == 7 && x00 < 0.5")
        table, n_sent = bytes_of(place, scan.read_all)
    assert table == local.to_arrow(filter="run == 7 && x00 < 0.5")
    assert 2000 < table.num_rows < 3000
    stats = scan.stats
    # run and x00 of all clusters, and one basket of each other column.
    assert stats.n_baskets == 2 * N_CLUSTERS + N_BRANCHES + 1
    assert stats.payload_bytes == scan.plan.payload_bytes
    assert stats.payload_bytes < 0.15 * whole.payload_bytes
    if place.kind in ("http", "root"):
        # As the server's log has it: with what lies between ranges that are read as one, and the heads of their parts.
        assert stats.read_bytes <= n_sent < 0.1 * n_all


def test_events_of_an_index_are_read_without_their_ids(place, runs, tmp_path):
    place.publish(RUNS)
    made = ar.index(place.url(RUNS), tmp_path / "index.parquet", **place.options)
    again = ar.index(place.url(RUNS), tmp_path / "index.parquet", **place.options)
    assert (made.n_read, again.n_read, again.n_reused) == (1, 0, 1)
    ids = [(3, 0, 444), (19, 9, 4999), (3, 0, 443)]
    # The index names the server: that it is to see credentials is for a person to say.
    options = {**place.options, "credentials_for": place.url(RUNS).split("/")[2]}
    table = ar.pick(tmp_path / "index.parquet", ids, ["x00", "x29"], **options)
    assert table == ar.open(runs)["Events"].to_arrow(["x00", "x29"], entries=[15_444, 99_999, 15_443])


N_SMALL, N_PER_SMALL = 80, 500
#: Fixed windows, so that the requests do not depend on how fast the machine is.
WINDOWS = {"cache_size": "256 KiB", "prefetch": "4", "max_gap": "0"}


def numbers():
    """Return entries of numbers that do not compress, of which a quarter has u < 0.25, all with event >= 35,000."""
    rng = np.random.default_rng(5)
    n_entries = N_SMALL * N_PER_SMALL
    events = np.arange(n_entries)
    u = np.where(events < 35_000, rng.random(n_entries), rng.random(n_entries) / 4)
    lists = pa.ListArray.from_arrays(
        pa.array(np.arange(0, 2 * n_entries + 1, 2, dtype=np.int32)), pa.array(rng.random(2 * n_entries))
    )
    columns = {f"x{i:02}": pa.array(rng.random(n_entries)) for i in range(20)}
    middle = {"u": pa.array(u), "event": pa.array(events), "lists": lists}
    names = [*list(columns)[:10], *middle, *list(columns)[10:]]
    return pa.table({name: {**columns, **middle}[name] for name in names})


@pytest.fixture(scope="module", params=["ttree", "rntuple"])
def small_clusters(served, request):
    """Write many small clusters; the filter's columns are in the middle of each."""
    name = f"small-{request.param}.root"
    ar.write(
        f"{served / name}:Events", numbers(), layout=request.param, compression="zstd:1", flush=N_PER_SMALL
    )
    return served / name


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("u < 0.25", None),
        ("u < 0.25 && x03 < 2 && x15 < 2", None),
        ("u < 0.01", None),
        ("u < 0.25", ["lists", "x01", "x02"]),
        # Much of the first cluster, then nothing.
        ("event < 400", None),
    ],
)
def test_a_filter_costs_no_more_than_none(place, small_clusters, text, columns):
    name = small_clusters.name
    place.publish(name)
    local = ar.open(small_clusters)["Events"].to_arrow(columns, filter=text)
    with ar.open(place.url(name), **WINDOWS, **place.options) as file:
        tree = file["Events"]
        filtered_by = set(tree.column_names) if columns is None else {"u", *columns}
        n_before = len(place.requests())
        none = tree.scan([name for name in tree.column_names if name in filtered_by]).drain()
        n_between = len(place.requests())
        scan = tree.scan(columns, filter=text)
        table = scan.read_all()
        n_after = len(place.requests())
    assert table == local
    assert scan.stats.payload_bytes <= none.payload_bytes
    assert scan.stats.n_looked_at == scan.stats.n_passed == N_SMALL * N_PER_SMALL
    # A pass of its own for the filter's columns, and the windows at a beginning, which are smaller, are some more.
    assert n_after - n_between <= 1.1 * (n_between - n_before) + 8


N_FILES, N_PER_FILE = 12, 3000
OF_MANY = ["u", "event", "lists", "x00", "x11"]


@pytest.fixture(scope="module", params=["ttree", "rntuple"])
def many(served, request):
    """Write small files of two clusters each, with all values of u, whose data do not come with their openings."""
    names = []
    for number in range(N_FILES):
        part = numbers().slice(number * N_PER_FILE, N_PER_FILE)
        names.append(f"many-{request.param}-{number}.root")
        ar.write(f"{served / names[-1]}:Events", part, layout=request.param, compression="zstd:1", flush=1500)
    return [served / name for name in names]


#: By filter: its column, requests besides two for each file, and entries of which all columns are read.
COSTS_OF_MANY = {
    None: (None, 0, slice(None)),
    "event >= 0": ("event", 1, slice(None)),
    "u < 0.25": ("u", 1, slice(None)),
    # Nothing is selected, or a cluster: as if there were no stretches.
    "event < 0": ("event", 0, slice(0)),
    "event >= 19500 && event < 21000": ("event", 0, slice(19_500, 21_000)),
    # All of the first file, and nothing behind: then eight are read with all columns.
    "event < 3000": ("event", 1, slice(27_000)),
    # Nothing of the first four files, and all behind: those of the stretch that they are in are asked twice.
    "event >= 12000": ("event", 5, slice(12_000, None)),
}


@pytest.mark.parametrize("kind", ["http", "root"])
def test_in_many_small_files_a_filter_costs_a_request_more_than_none(served, many, kind):
    def payload_bytes(columns, entries=None):
        return ar.scan(many, "Events", columns, entries=entries).drain().payload_bytes

    with place_of(kind, served) as place:
        for text, (column, n_more, whole) in COSTS_OF_MANY.items():
            n_before = len(place.requests())
            scan = ar.scan(
                [place.url(path.name) for path in many], "Events", OF_MANY, filter=text, **place.options
            )
            table = scan.read_all()
            requests = [one for one in place.requests()[n_before:] if one.method in CONTENT]
            assert table.equals(ar.scan(many, "Events", OF_MANY, filter=text).read_all())
            assert len(requests) == 2 * N_FILES + n_more, text
            n_bytes = payload_bytes(OF_MANY, whole)
            if column:
                n_bytes += payload_bytes([column]) - payload_bytes([column], whole)
            assert scan.stats.payload_bytes == scan.plan.payload_bytes == n_bytes, text


@pytest.mark.parametrize(
    ("text", "n_reads"),
    # A read for each file, and two more of the first one.
    [(None, 12), ("event >= 0", 14), ("event < 0", 24)],
)
def test_in_many_small_files_on_a_disk_a_dense_filter_reads_once(many, text, n_reads):
    scan = ar.scan(many, "Events", filter=text)
    table = pa.Table.from_batches(scan, scan.schema)
    assert scan.stats.read_calls == n_reads
    numbers = np.arange(N_FILES * N_PER_FILE)
    assert table["event"].to_pylist() == ([] if text == "event < 0" else numbers.tolist())


@pytest.mark.parametrize(
    ("layout", "text", "n_requests"),
    [
        ("ttree", "u < 0.25", [105, 109]),
        ("rntuple", "u < 0.25", [100, 102]),
        ("rntuple", "u < 0.25 && x03 < 2 && x15 < 2", [100, 104]),
        ("rntuple", "u < 0.01", [100, 102]),
        # Much of the first cluster, then nothing.
        ("rntuple", "event < 400", [100, 82]),
        # Nothing of the first clusters: what follows is read apart, too.
        ("rntuple", "event > 20000 && u < 0.25", [100, 162]),
    ],
)
def test_requests_of_a_store_that_takes_one_range_in_each(served, monkeypatch, layout, text, n_requests):
    # Requests cost nothing but their bytes, however fast the machine is.
    monkeypatch.setattr(source.TreeSource, "line_bytes", property(lambda self: self.native.read_bytes))
    asked_ahead = []

    def note(asked):
        asked_ahead.append(asked)

    monkeypatch.setattr(source.TreeSource, "begin_fetching", note)
    assert requests_of_one_range(served, layout, text) == n_requests
    # What follows a stretch of which most was needed is asked for before its turn.
    assert bool(asked_ahead) == text.startswith("u < 0.")


def test_all_is_read_at_once_where_requests_take_as_long(served, monkeypatch):
    monkeypatch.setattr(source.TreeSource, "line_bytes", property(lambda self: self.native.max_ranges))
    none, filtered = requests_of_one_range(served, "ttree", "event > 20000 && u < 0.25")
    assert filtered == none


def requests_of_one_range(served, layout, text):
    """Return how many requests an S3 server gets without a filter and with one."""
    name = f"{layout}-of-one.root"
    ar.write(f"{served / name}:Events", numbers(), layout=layout, compression="zstd:1", flush=N_PER_SMALL)
    with place_of("s3", served) as place:
        place.publish(name)
        with ar.open(place.url(name), **WINDOWS, **place.options) as file:
            tree = file["Events"]
            scans = [tree.scan(filter=condition, trace=True) for condition in (None, text)]
            for scan in scans:
                scan.drain()
    # Each range is a request.
    return [len(scan.physical_reads()) for scan in scans]
