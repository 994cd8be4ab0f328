import math
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import arrowroot as ar
from arrowroot import Plan, ScanStats
from arrowroot._cost.metrics import METRICS, Measurement, by_key, document, shown, summary, values
from arrowroot._report import perfstat
from arrowroot._writing.objects import record_of

STATS = ScanStats(
    read_calls=4,
    read_bytes=1_100_000,
    payload_bytes=1_000_000,
    overhead_bytes=100_000,
    read_ns=10_000_000,
    decoder_read_ns=10_000_000,
    unzip_bytes=3_000_000,
    stored_bytes=1_000_000,
    memory_bytes=3_100_000,
    decompress_ns=60_000_000,
    decode_ns=20_000_000,
    wait_ns=10_000_000,
    n_baskets=40,
    n_entries=500,
    n_batches=2,
    values_bytes=2_900_000,
    n_threads=2,
    wall_ns=50_000_000,
    cpu_ns=80_000_000,
    peak_buffer_bytes=1_200_000,
)
MEASUREMENT = Measurement(STATS, 10, 947, 256_000_000, 262_144, 50_000_000, 80_000_000, 90_000_000, 0.25)


def test_the_measures_of_ttreeperfstats_have_its_names_order_and_definitions():
    named = [(m.alias, shown(m, m.value(MEASUREMENT))) for m in METRICS if m.alias]
    assert named == [
        ("TreeCache", "256 MB"),
        ("N leaves", "947"),
        ("ReadTotal", "1.10 MB"),
        ("ReadUnZip", "3.00 MB"),
        ("ReadCalls", "4"),
        ("ReadSize", "275 kB"),
        ("Readahead", "262 kB"),
        ("Readextra", "9.09 %"),
        ("Real Time", "50.0 ms"),
        ("CPU Time", "80.0 ms"),
        ("Disk Time", "10.0 ms"),
        ("Disk IO", "110 MB/s"),
        ("ReadUZRT", "60.0 MB/s"),
        ("ReadUZCP", "37.5 MB/s"),
        ("ReadRT", "22.0 MB/s"),
        ("ReadCP", "13.8 MB/s"),
    ]


def test_the_shares_of_time_add_up():
    measured = values(MEASUREMENT)
    assert [measured[f"{kind}_percent"] for kind in ("read", "decompress", "decode", "wait")] == [
        10,
        60,
        20,
        10,
    ]
    assert measured["cpu_efficiency_percent"] == 160
    assert measured["thread_utilisation_percent"] == 80


def test_nothing_read_leaves_ratios_undefined_and_divides_by_nothing():
    nothing = Measurement(ScanStats(), 0, 0, 1, None, 0, 0, 0, None)
    measured = values(nothing)
    assert measured["read_size_bytes"] is None
    assert shown(by_key()["read_size_bytes"], None) == "-"
    assert all(value is None or math.isfinite(value) for value in measured.values())


@given(
    st.tuples(*[st.one_of(st.integers(0, 3), st.integers(0, 10**15)) for _ in fields(ScanStats)]),
    st.integers(0, 10**13),
    st.integers(0, 10**13),
)
def test_no_measure_is_impossible(counters, real_ns, cpu_ns):
    """Whatever was counted: no share above 100, nothing below 0, no rate of a time that no clock can tell."""
    stats = ScanStats(*counters)
    stats = replace(stats, overhead_bytes=min(stats.overhead_bytes, stats.read_bytes))
    measured = values(Measurement(stats, 1, 1, None, None, real_ns, cpu_ns, 1, 1.0))
    for metric in METRICS:
        value = measured[metric.key]
        if value is None:
            continue
        assert math.isfinite(value), metric.key
        assert value >= 0, metric.key
        if metric.unit == "%" and metric.key != "cpu_efficiency_percent":
            assert value <= 100 + 1e-9, metric.key
        if metric.unit.endswith("/s"):
            most = max(stats.read_bytes, stats.unzip_bytes, stats.n_entries)
            assert value <= most * 1e6, metric.key
        assert shown(metric, value)


def test_every_metric_is_described_once_and_its_key_says_its_unit():
    keys = [metric.key for metric in METRICS]
    assert len(set(keys)) == len(keys)
    suffixes = {
        "B": "_bytes",
        "ns": "_ns",
        "%": "_percent",
        "B/s": "_bytes_per_s",
        "entries/s": "entries_per_s",
    }
    for metric in METRICS:
        assert metric.key.endswith(suffixes.get(metric.unit, "")), metric.key
        assert metric.description
        assert f"`{metric.key}`" in document()


def test_repeats_are_summarised_by_min_median_and_max():
    later = summary([{**values(MEASUREMENT), "real_time_ns": ns} for ns in (10, 40, 20)])
    assert later["real_time_ns"] == {"min": 10, "median": 20, "max": 40, "spread": 1.5}
    assert later["readahead_bytes"]["spread"] == 0


def test_counters_of_scans_in_a_row_add_but_for_marks_and_settings():
    both = ScanStats.joined([STATS, STATS])
    assert (both.read_bytes, both.overhead_bytes) == (2_200_000, 200_000)
    assert both.n_entries == 1000
    assert (both.n_threads, both.peak_buffer_bytes) == (2, 1_200_000)
    beside = ScanStats.joined([STATS, STATS], side_by_side=True)
    assert (beside.n_entries, beside.peak_buffer_bytes) == (500, 2_400_000)
    assert ScanStats.joined([]) == ScanStats()


def test_ratios_of_a_pass_are_derived():
    assert STATS.compression_ratio == 3.1
    units = ("_bytes", "_ns", "_calls")
    assert all(f.name.startswith("n_") or f.name.endswith(units) for f in fields(ScanStats))


def test_a_plan_is_plain_data():
    native = {
        "columns": ["pt"],
        "n_entries": 10,
        "n_baskets": 3,
        "n_repeated": 1,
        "n_reads": 2,
        "payload_bytes": 300,
        "read_bytes": 330,
        "max_gap_bytes": 32768,
        "windows": [{"first_entry": 0, "n_entries": 10, "n_baskets": 3, "ranges": [(100, 230), (400, 100)]}],
    }
    plan = Plan.of_native(native, "f.root")
    assert plan.overhead_bytes == 30
    assert plan.largest_read_bytes == 230
    assert plan.largest_window_bytes == 330
    assert '"first_entry": 0' in plan.to_json()
    assert plan.to_dict()["windows"][0]["file"] == "f.root"
    assert "2 reads of 330 B, Readextra 9.09 %" in repr(plan)
    assert "1 time a basket is decompressed again" in repr(plan)


@pytest.fixture
def saved():
    """The members of a TTreePerfStats."""
    reads = [(100, 50, 0, 0, 1000, 2000), (300, 70, 40, 0, 2000, 4000)]
    return dict(perfstat.record(MEASUREMENT, reads, "tree.root/Events", "1.0").items())


def found_with(members, folder):
    with ar.create(folder / "perfstat.root") as file:
        file[perfstat.NAME] = record_of(perfstat.CLASS_NAME, members)
    return perfstat.find(ar.open(folder / "perfstat.root"), None)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300])
@pytest.mark.parametrize("member", ["fRealTime", "fCpuTime", "fDiskTime", "fUnzipTime", "fX", "fY", "fEY"])
def test_a_perfstat_with_numbers_that_are_none_is_damaged(saved, tmp_path, member, value):
    if member.endswith("Time"):
        damaged = {member: value}
    else:
        graph = dict(saved["fGraphIO"].items())
        points = np.full(len(graph["fX"]), value)
        damaged = {"fGraphIO": record_of("TGraphErrors", {**graph, member: points}, ("TGraph", "TNamed"))}
    with pytest.raises(ar.CorruptFileError, match=rf"perfstat\.root: ioperf: {member} "):
        found_with(saved | damaged, tmp_path)


def test_a_perfstat_of_no_baskets_has_no_compression(saved, tmp_path):
    exact = found_with(saved, tmp_path)
    by_factor = found_with(saved | {"fUnzipObjSize": 0}, tmp_path)
    assert exact.values == by_factor.values
    unknown = found_with(saved | {"fUnzipObjSize": 0, "fCompress": math.nan}, tmp_path)
    assert unknown.values["read_unzip_bytes"] is unknown.values["read_unzip_real_bytes_per_s"] is None
    assert unknown.values["read_total_bytes"] == exact.values["read_total_bytes"] > 0
