"""Replays: deterministic, exact in counts and bytes, and the sweep is what was asked for."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arrowroot import InvalidRequestError, _native
from arrowroot._cost.plan import LogicalRead
from arrowroot._pictures import curve
from arrowroot._report import trace
from arrowroot._report.replay import Disk, Line, parse_sweep, replay, strategies
from arrowroot.cli import main
from tests.recorded import session

LINE = Line(0.005, 12e6)
#: 40 baskets of 100 kB side by side, each with 1 ms of work.
SIDE_BY_SIDE = [LogicalRead(1000 + i * 100_000, 100_000, 10 * i, "pt", i, 1_000_000) for i in range(40)]
FILE_BYTES = 5_000_000
METADATA = {"file_bytes": FILE_BYTES, "n_threads": 1, "protocol": {"name": "plain", "max_parallel": 1}}


def outcome(strategy, reads=SIDE_BY_SIDE, line=LINE, n_threads=1, **options):
    return replay(
        trace.logical_of(reads), FILE_BYTES, line, {"strategy": strategy, **options}, n_threads=n_threads
    )


def test_direct_is_a_request_for_each_basket():
    direct = outcome("direct")
    assert (direct.n_requests, direct.read_bytes, direct.payload_bytes) == (40, 4_000_000, 4_000_000)
    # Nothing overlaps: latency, transfer and work of each.
    assert direct.wall_ns == pytest.approx(40 * (5e6 + 100_000 / 12e6 * 1e9 + 1e6), rel=1e-6)
    assert direct.think_ns == 40_000_000
    assert direct.over_read == 0


def test_threads_share_the_work_and_it_can_be_left_out():
    assert outcome("direct", n_threads=4).think_ns == 10_000_000
    assert outcome("direct", n_threads=0).think_ns == 0
    assert outcome("direct", n_threads=0).cpu_efficiency == 0


def test_a_tree_cache_needs_fewer_requests_and_less_time():
    direct, cached = outcome("direct"), outcome("treecache", learn_entries="0")
    assert cached.n_requests < direct.n_requests / 10
    assert cached.wall_ns < direct.wall_ns
    assert cached.read_bytes == cached.payload_bytes


def test_a_buffer_of_the_whole_file_reads_it_once():
    buffered = outcome("readahead", cache_size="16M")
    assert buffered.n_requests == 1
    assert buffered.read_bytes <= FILE_BYTES


@pytest.mark.parametrize(
    ("protocol", "n_requests"),
    [
        (LINE.protocol, 1),
        (_native.Protocol("http", max_ranges=200, max_parallel=8), 1),
        (_native.Protocol("http", max_ranges=7, max_parallel=8), 3),
        (_native.Protocol("http", max_ranges=1, max_parallel=16), 20),
        (_native.Protocol("xrootd", max_range_bytes=200_000, max_ranges=8, max_bytes=10**6), 3),
        (_native.Protocol("xrootd", max_range_bytes=200_000, max_ranges=8, max_bytes=300_000), 7),
    ],
    ids=repr,
)
def test_a_vector_read_is_as_many_requests_as_the_store_makes_of_it(protocol, n_requests):
    apart = SIDE_BY_SIDE[::2]
    cached = outcome("treecache", apart, LINE._replace(protocol=protocol), learn_entries="0")
    assert (cached.n_requests, cached.n_ranges, cached.read_bytes) == (n_requests, 20, 2_000_000)
    assert protocol.count([(read.offset, read.n_bytes) for read in apart]) == n_requests


def test_a_protocol_is_what_its_data_say():
    http = _native.Protocol("http", max_ranges=1, max_parallel=16)
    assert (http.max_ranges, http.max_parallel) == (1, 16)
    assert http.data() == {"name": "http", "max_ranges": 1, "max_parallel": 16}
    assert repr(http) == 'Protocol("http", max_ranges=1, max_parallel=16)'
    assert (LINE.protocol.data(), LINE.protocol.max_parallel) == ({"name": "plain", "max_parallel": 1}, 1)
    with pytest.raises(InvalidRequestError, match="protocol: there is no"):
        _native.Protocol("ftp")


def test_opening_costs_round_trips():
    opened = outcome("direct", line=LINE._replace(n_open_requests=3))
    assert opened.n_requests == 43
    assert opened.wall_ns - outcome("direct").wall_ns == pytest.approx(15e6, rel=1e-6)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 4_000_000), st.integers(1, 900_000)), min_size=1, max_size=30),
    st.sampled_from(_native.strategies()),
    st.sampled_from([None, "4k", "1M", "64M"]),
)
def test_every_strategy_brings_every_byte_in_no_less_time_than_the_line_needs(places, strategy, size):
    reads = [LogicalRead(o, min(n, FILE_BYTES - o), i, "x", i, 0) for i, (o, n) in enumerate(places)]
    options = {} if size is None else {"cache_size": size}
    first, second = (outcome(strategy, reads, **options) for _ in range(2))
    assert first == second
    distinct = set()
    for read in reads:
        distinct.update(range(read.offset // 1000, (read.offset + read.n_bytes - 1) // 1000 + 1))
    needed = 0
    end = 0
    for read in sorted(reads):
        needed += max(0, read.offset + read.n_bytes - max(end, read.offset))
        end = max(end, read.offset + read.n_bytes)
    assert first.read_bytes >= needed
    assert first.wall_ns >= (needed / LINE.bytes_per_s + LINE.latency_s) * 1e9 * (1 - 1e-6)
    assert first.n_ranges >= first.n_requests >= 1


@pytest.fixture
def recorded(tmp_path):
    path = tmp_path / "t.parquet"
    trace.write(path, trace.table(SIDE_BY_SIDE, [], METADATA))
    return path


def test_the_command_puts_strategies_side_by_side(recorded, arrowroot_command):
    out = arrowroot_command("replay", recorded, "--strategy", "direct", "--strategy", "treecache").stdout
    rows = [line.split() for line in out.splitlines() if line.startswith(("direct", "treecache"))]
    assert [row[0] for row in rows] == ["direct", "treecache"]
    options = ["--strategy", "all", "--latency", "50ms", "--bandwidth", "100MB/s", "--json"]
    document = json.loads(arrowroot_command("replay", recorded, *options).stdout)
    assert [case["options"]["strategy"] for case in document["outcomes"]] == _native.strategies()
    direct = next(case for case in document["outcomes"] if case["options"]["strategy"] == "direct")
    assert direct["n_requests"] == 40
    assert direct["wall_ns"] == pytest.approx(40 * (50e6 + 1e6 + 1e6), rel=1e-6)


def test_the_trace_of_a_local_file_is_replayed_as_at_other_stores(tmp_path, arrowroot_command):
    path = tmp_path / "apart.parquet"
    trace.write(path, trace.table(SIDE_BY_SIDE[::2], [], METADATA))
    command = ["replay", path, "--strategy", "treecache", "-O", "learn_entries=0"]

    def replayed(*options):
        document = json.loads(arrowroot_command(*command, *options, "--json").stdout)
        line, (outcome,) = document["line"], document["outcomes"]
        return line["protocol"]["name"], line["n_streams"], outcome["n_requests"]

    assert replayed() == ("plain", 1, 1)
    assert replayed("--store", "http") == ("http", 8, 1)
    assert replayed("--store", "xrootd") == ("xrootd", 8, 1)
    assert replayed("--store", "s3", "--streams", "5") == ("http", 5, 20)
    assert replayed("--store", "s3", "--latency", "20ms")[1] > replayed("--store", "s3")[1] > 8
    assert "1 stream\n" in arrowroot_command(*command).stdout
    assert (
        "5 streams; HTTP, 1 range a request\n"
        in arrowroot_command(*command, "--store", "s3", "--streams", "5").stdout
    )


def test_a_trace_of_a_filter_is_replayed_with_a_note(recorded, tmp_path, arrowroot_command):
    assert "note" not in arrowroot_command("replay", recorded).stderr
    filtered = tmp_path / "filtered.parquet"
    metadata = {**METADATA, "filter": "x > 1"}
    trace.write(filtered, trace.table(SIDE_BY_SIDE, [], metadata))
    assert "its two passes are replayed as one" in arrowroot_command("replay", filtered).stderr


def test_the_strategy_may_be_given_as_any_option(recorded, arrowroot_command):
    document = json.loads(arrowroot_command("replay", recorded, "-O", "strategy=direct", "--json").stdout)
    assert [case["options"]["strategy"] for case in document["outcomes"]] == ["direct"]


def test_the_command_sweeps_and_draws(recorded, tmp_path, arrowroot_command):
    options = ["--sweep", "readahead=64k..1M", "--strategy", "direct"]
    out = arrowroot_command("replay", recorded, *options).stdout
    sizes = ["64 KiB", "128 KiB", "256 KiB", "512 KiB", "1 MiB"]
    assert [line[: len(size)] for line, size in zip(out.splitlines()[6:], sizes, strict=False)] == sizes
    for form, magic in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
        picture = tmp_path / f"p.{form}"
        arrowroot_command("replay", recorded, *options, "--plot", picture)
        assert picture.read_bytes().startswith(magic)
    document = json.loads(arrowroot_command("replay", recorded, *options, "--json").stdout)
    assert [case["options"].get("cache_size") for case in document["outcomes"]] == [
        *(str(65536 << i) for i in range(5)),
        None,
    ]


def test_wrong_requests_are_one_line(recorded):
    session("replay", recorded.parent, {"parse_sweep": parse_sweep, "strategies": strategies})


def test_names_of_lines_that_are_near_stand_together():
    figure = pytest.importorskip("matplotlib.figure").Figure(figsize=(8.5, 3.0))
    axes = figure.subplots()
    axes.plot([1, 2], [0.0, 100.0])
    curve._draw_across(axes, [("far", 50.0), ("one", 10.0), ("other", 10.1)])
    assert {text.get_text(): text.xy[1] for text in axes.texts} == {"one, other": 10.1, "far": 50.0}
    assert axes.get_ylim()[0] == 0


DISK = Line(0.01, 100e6, disk=Disk(0))


def test_a_disk_seeks_where_the_offset_jumps_and_a_network_never_does():
    direct = outcome("direct", SIDE_BY_SIDE[::2], DISK)
    assert (direct.n_requests, direct.n_seeks) == (20, 20)
    assert outcome("direct", SIDE_BY_SIDE, DISK).n_seeks == 1
    assert (outcome("direct").n_seeks, outcome("direct").device_bytes) == (0, 0)


def test_a_page_cache_that_has_the_file_costs_no_time():
    for strategy in strategies(["all"]):
        warm = outcome(strategy, line=DISK._replace(disk=Disk(is_cached=True)))
        assert (warm.wait_ns, warm.device_bytes) == (0, 0)


@given(st.integers(0, 1 << 24), st.sampled_from(strategies(["all"])))
@settings(max_examples=40)
def test_no_byte_leaves_a_disk_twice_and_all_that_are_needed_do(read_ahead, strategy):
    line = DISK._replace(disk=Disk(read_ahead))
    found = outcome(strategy, line=line)
    assert found.payload_bytes <= found.device_bytes <= FILE_BYTES
    assert found == outcome(strategy, line=line)


def test_the_command_replays_on_a_disk(recorded, capsys):
    disk = ["replay", str(recorded), "--store", "disk", "--latency", "10ms", "--bandwidth", "100MB/s"]
    assert main([*disk, "--strategy", "direct", "--kernel-read-ahead", "0", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["line"]["disk"] == {"read_ahead_bytes": 0, "is_cached": False}
    [found] = document["outcomes"]
    # Some of the 1,000 bytes before the first basket, and behind the last one, are on the pages of these.
    assert (found["n_seeks"], found["device_bytes"]) == (1, 4_001_792)
    assert main([*disk, "--warm"]) == 0
    said = capsys.readouterr().out
    assert (
        "disk: 10.0 ms a seek, 100 MB/s, the kernel reads 128 KiB ahead; the page cache has the file" in said
    )
