"""The monitor samples what happens meanwhile, and its arithmetic is right."""

import json
import mmap
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrowroot._report import monitor
from arrowroot._report.monitor import GAUGES, Series

by_key = {gauge.key: gauge for gauge in GAUGES}


def series(**raw):
    return Series(1.0, [0, 1_000_000_000, 3_000_000_000], {key: list(values) for key, values in raw.items()})


def test_rates_are_of_the_time_between_samples():
    sampled = series(process_cpu=[10, 11, 12], process_memory_bytes=[100, 300, 200])
    assert sampled.values(by_key["process_cpu"]) == [(1, 1), (3, 0.5)]
    assert sampled.mean(by_key["process_cpu"]) == pytest.approx(2 / 3)
    assert sampled.peak(by_key["process_cpu"]) == 1
    assert sampled.values(by_key["process_memory_bytes"]) == [(0, 100), (1, 300), (3, 200)]
    assert sampled.mean(by_key["process_memory_bytes"]) == 200
    assert sampled.peak(by_key["process_memory_bytes"]) == 300


def test_what_was_not_sampled_is_not_shown():
    sampled = series(process_cpu=[1, 2, 3])
    assert sampled.mean(by_key["process_connections"]) is None
    assert sampled.peak(by_key["process_connections"]) is None
    assert set(sampled.data()["gauges"]) == {"process_cpu"}
    assert [row[0] for row in monitor.rows(sampled)] == ["", "process cpu"]


def test_work_is_seen():
    pytest.importorskip("psutil")
    with monitor.Monitor(0.01) as watching:
        end = time.process_time() + 0.3
        held = mmap.mmap(-1, 64_000_000)  # malloc may have that much of what ran before
        held[::4096] = b"x" * len(held[::4096])
        while time.process_time() < end:
            pass
        time.sleep(0.05)
    sampled = watching.series
    n_samples = len(sampled.times_ns)
    assert n_samples > 3
    assert sampled.times_ns == sorted(sampled.times_ns)
    assert all(len(values) == n_samples for values in sampled.raw.values())
    cpu = sampled.raw["process_cpu"]
    assert 0.25 <= cpu[-1] - cpu[0] < 5
    memory = sampled.raw["process_memory_bytes"]
    assert max(memory) - memory[0] >= 25_000_000
    held.close()


def test_many_samples_are_thinned(monkeypatch):
    pytest.importorskip("psutil")
    monkeypatch.setattr(monitor, "_MAX_SAMPLES", 8)
    with monitor.Monitor(0.002) as watching:
        time.sleep(0.3)
    assert 2 <= len(watching.series.times_ns) <= 10
    assert {len(values) for values in watching.series.raw.values()} == {len(watching.series.times_ns)}


def test_perf_reports_and_draws_what_was_sampled(sample, tmp_path, arrowroot_command):
    pytest.importorskip("psutil")
    picture = tmp_path / "p.png"
    options = ["--monitor", "--monitor-interval", "5ms", "--plot", picture]
    document = json.loads(arrowroot_command("perf", sample[0], "--json", *options).stdout)
    gauges = document["monitor"]["gauges"]
    assert gauges["process_memory_bytes"]["peak"] > 10_000_000
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "process memory" in arrowroot_command("perf", sample[0], *options).stdout
    assert json.loads(arrowroot_command("perf", sample[0], "--json").stdout)["monitor"] is None


def test_a_missing_library_is_named(sample):
    code = (
        "import sys; sys.modules['psutil'] = None; from arrowroot.cli import main;"
        "sys.exit(main(['perf', sys.argv[1], '--monitor']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(sample[0])], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "pip install psutil" in done.stderr


@given(
    st.lists(
        st.tuples(st.integers(0, 300_000_000), st.floats(0, 0.5, allow_subnormal=False)),
        min_size=1,
        max_size=30,
    ),
    st.sampled_from([gauge for gauge in GAUGES if gauge.is_rate]),
)
def test_no_rate_is_impossible(steps, gauge):
    """Samples at any distance, of counters that go on by ticks: no more cores than there are, no rate of no time."""
    times, raw = [0], [0.0]
    for step_ns, more in steps:
        times.append(times[-1] + step_ns)
        raw.append(raw[-1] + more)
    sampled = Series(0.1, times, {gauge.key: raw}, n_cores=2)
    found = sampled.values(gauge)
    for (before, _), (after, rate) in zip([(0.0, 0.0), *found], found, strict=False):
        assert after - before >= gauge.shortest_s - 1e-9
        assert (
            0 <= rate <= (2 if gauge.unit == "cores" else sum(more for _, more in steps) / gauge.shortest_s)
        )
    mean = sampled.mean(gauge)
    assert (mean is None) == (times[-1] / 1e9 < gauge.shortest_s)
    assert mean is None or gauge.unit != "cores" or mean <= 2
    assert monitor.rows(sampled)[1][1] == "-" or mean is not None


def test_short_intervals_show_no_more_cores_than_there_are():
    psutil = pytest.importorskip("psutil")
    with monitor.Monitor(0.001) as watching:
        end = time.process_time() + 0.5
        while time.process_time() < end:
            pass
    for key in ("process_cpu", "machine_cpu"):
        values = [value for _, value in watching.series.values(by_key[key])]
        assert values
        assert max(values) <= psutil.cpu_count()
