"""Stalls as they are read, told and drawn: our own, and those of CMSSW's StallMonitor and Tracer."""

from __future__ import annotations

import json
import random
import re
import threading
from pathlib import Path

import numpy as np
import pytest

import arrowroot as ar
from arrowroot._cost.stalls import intervals_of
from arrowroot._report import fjr
from arrowroot._report import stalls as report
from arrowroot.cli import main
from tests.command import run_here
from tests.recorded import session

#: As StallMonitor writes it, with the header that says ms and means µs: stream 1 waits 0.25 s for the output module.
STALL_MONITOR = """\
# Transition       Symbol
#----------------- ------
# globalBeginRun  4
# Event           0
# Step                       Symbol Entries
# -------------------------- ------ ------------------------------------------
# preSourceEvent                S   <Stream ID> <Time since beginJob (ms)>
# postModuleTransition          m   <Stream ID> <Module ID> <Transition type> <Time since beginJob (ms)>

#  Module ID  Module label
#  -----------------------
#M 2          tracks
#M 13         RAWoutput

M 2 2 4 10
m 2 2 4 20
S 0 1000
s 0 2000
E 0 1 1 7 2000
S 1 2000
s 1 3000
E 1 1 1 8 3000
p 0 2 2000
M 0 2 0 2000
p 1 2 3000
A 1 2 3000
a 1 2 4000
M 1 2 0 4000
m 0 2 0 102000
p 0 13 102000
M 0 13 0 102000
m 1 2 0 103000
p 1 13 103000
R 0 13 110000
r 0 13 120000
m 0 13 0 353000
e 0 1 1 7 353000
M 1 13 0 353000
m 1 13 0 400000
e 1 1 1 8 400000
"""

TRACER = """\
%MSG-i ThreadStreamSetup:  (NoModuleName) 25-Nov-2026 23:59:59 UTC pre-events
++++ 23:59:59.50 starting: processing event : stream = 0 run = 1 lumi = 1 event = 1 time = 5
++++++ 23:59:59.50 finished: prefetching before processing event for module: stream = 0 label = 'tracks' id = 2
++++++ 23:59:59.50 starting: processing event for module: stream = 0 label = 'tracks' id = 2
++++++ 23:59:59.80 finished: processing event for module: stream = 0 label = 'tracks' id = 2
++++++ 23:59:59.80 starting: prefetching before processing event for module: stream = 0 label = 'out' id = 3
++++++ 23:59:59.80 finished: prefetching before processing event for module: stream = 0 label = 'out' id = 3
++++++ 00:00:00.30 starting: processing event for module: stream = 0 label = 'out' id = 3
++++++ 00:00:00.40 finished: processing event for module: stream = 0 label = 'out' id = 3
++++ 00:00:00.40 finished: processing event : stream = 0 run = 1 lumi = 1 event = 1 time = 5
++++ 00:00:00.50 starting: processing event : stream = 0 run = 1 lumi = 1 event = 2 time = 5
"""


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def rows_of(stalls: ar.Stalls) -> list[tuple[int, str, int, int]]:
    """Intervals in ms."""
    states = [report.STATES[state] for state in stalls.intervals.state]
    times = ((stalls.intervals.start_ns // 10**6).tolist(), (stalls.intervals.end_ns // 10**6).tolist())
    return list(zip(stalls.intervals.stream.tolist(), states, *times, strict=True))


def test_a_file_of_stall_monitor_is_taken_in_microseconds(tmp_path):
    stalls = report.read(write(tmp_path / "s.log", STALL_MONITOR))
    assert [module.label for module in stalls.modules if module.n_stalls] == ["RAWoutput"]
    assert stalls.modules[0]._asdict() == {
        "label": "RAWoutput", "n_stalls": 1, "total_ns": 250_000_000, "longest_ns": 250_000_000, "n_calls": 2,
    }  # fmt: skip
    assert [stream.name for stream in stalls.streams] == ["stream 0", "stream 1"]
    assert rows_of(stalls) == [
        (0, "waiting for data", 1, 2), (1, "waiting for data", 2, 3), (1, "running", 3, 103), (0, "running", 2, 102),
        (0, "writing", 102, 353), (1, "stalled", 103, 353), (1, "writing", 353, 400),
    ]  # fmt: skip
    assert stalls.streams[1].efficiency == pytest.approx(1 - 250 / 398)


#: What StallMonitor adds since CMSSW 12: steps of the event setup, and of the framework if they are asked for.
EVENT_SETUP = """\
#N 0  GeometryESProducer
#N 13 MagneticField

q 2 13 5 5
N 2 0 5 10
n 2 0 5 20
F 2 1 1 4 20
f 2 1 1 4 30
F 0 1 1 3 30
"""


def test_steps_of_event_setup_and_framework_are_passed_over(tmp_path):
    before, steps = STALL_MONITOR.split("M 2 2 4 10\n")
    newer = write(tmp_path / "newer.log", before + EVENT_SETUP + "M 2 2 4 10\n" + steps)
    older = report.read(write(tmp_path / "older.log", STALL_MONITOR))
    assert report.read(newer).modules == older.modules
    assert report.read(newer).streams == older.streams


#: The header of StallMonitor before February 2018, when modules had no transition, and times were the ms that it says.
OLD_HEADER = """\
# Step                       Symbol Entries
# -------------------------- ------ ------------------------------------------
# preSourceEvent                S   <Stream ID> <Time since beginJob (ms)>
# preModuleEvent                M   <Stream ID> <Module ID> <Time since beginJob (ms)>
# postModuleEvent               m   <Stream ID> <Module ID> <Time since beginJob (ms)>

#M 2          tracks
#M 13         RAWoutput

"""


def test_a_file_of_the_first_stall_monitor_has_no_transitions_and_is_in_milliseconds(tmp_path):
    _, steps = STALL_MONITOR.split("M 2 2 4 10\nm 2 2 4 20\n")
    newer = write(tmp_path / "newer.log", "# Transition\n#M 2 tracks\n#M 13 RAWoutput\n" + steps)
    in_ms = re.sub(r"(?m)(\d+)000$", r"\1", re.sub(r"(?m)^([Mm] \d+ \d+) 0 ", r"\1 ", steps))
    older = write(tmp_path / "older.log", OLD_HEADER + in_ms)
    assert rows_of(report.read(older)) == rows_of(report.read(newer))
    assert report.read(older).modules == report.read(newer).modules
    late = write(tmp_path / "late.log", OLD_HEADER + f"S 0 {2**53 // 1000 + 1}\n")
    with pytest.raises(ar.CorruptFileError, match="is no number of a stream or time"):
        report.read(late)


def test_the_last_line_of_a_killed_job_is_left_out(tmp_path):
    whole = report.read(write(tmp_path / "whole.log", STALL_MONITOR))
    for rest in ("M 0 2 0 40", "M 0", "e"):
        cut = report.read(write(tmp_path / "cut.log", STALL_MONITOR + rest))
        assert (cut.streams, cut.modules) == (whole.streams, whole.modules)


def test_helping_counts_against_the_efficiency_of_a_stream_and_of_all():
    times = {"running": 300, "stalled": 100, "helping": 200}
    streams = [report.Stream(name, "T", 0, 600, times, 1, 1, 0, 0, 0, 0) for name in "ab"]
    stalls = ar.Stalls(100, [], streams, intervals_of([]))
    assert stalls.streams[0].efficiency == stalls.efficiency == 0.5


def test_intervals_that_were_not_kept_are_said(tmp_path, capsys):
    found = report.read(write(tmp_path / "s.log", STALL_MONITOR))
    path = tmp_path / "s.json"
    found._replace(n_lost=12_345).save(path)
    assert main(["stalls", str(path), "--plot", str(tmp_path / "s.svg")]) == 0
    assert "the last 12,345 intervals were too many to be kept" in capsys.readouterr().out
    assert "without the last 12,345 intervals" in (tmp_path / "s.svg").read_text()


def test_the_table_is_that_of_stall_monitor(tmp_path, capsys):
    assert main(["stalls", write(tmp_path / "s.log", STALL_MONITOR)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[:3] == [
        "StallMonitor>  Module label  # of stalls  Total stalled time  Max stalled time",
        "StallMonitor>  ------------  -----------  ------------------  ----------------",
        "StallMonitor>  RAWoutput               1              0.25 s            0.25 s",
    ]


def test_a_log_of_the_tracer_goes_on_after_midnight(tmp_path):
    stalls = report.read(write(tmp_path / "t.log", TRACER))
    assert rows_of(stalls) == [
        (0, "running", 0, 300), (0, "stalled", 300, 800), (0, "writing", 800, 900), (0, "waiting for data", 900, 1000),
    ]  # fmt: skip
    assert [(module.label, module.n_stalls) for module in stalls.modules] == [("out", 1), ("tracks", 0)]
    assert report.read(tmp_path / "t.log", threshold_ns=600_000_000).modules[0].n_stalls == 0


def read(text):
    """Read what is no file of stalls, with the command, too, which says the same in one line."""
    write(Path("s.log"), text)
    said = run_here("stalls", "s.log")
    with pytest.raises(ar.CorruptFileError) as caught:
        report.read("s.log")
    assert (said.returncode, said.stderr) == (1, f"arrowroot: {caught.value}\n")
    raise caught.value


def test_what_is_no_file_of_stalls_is_said(tmp_path):
    session("stalls", tmp_path, globals())


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A file that three threads filled, and its stalls."""
    path = tmp_path_factory.mktemp("stalls") / "a.root"
    with ar.create(path, n_threads=2, stall_threshold=0, trace_stalls=True) as file:
        table = file.tree("Events", flush=100, producers={"policy": "fifo", "buffers": 2})

        def produce(number: int) -> None:
            with table.context(f"stream {number}") as context:
                for fill in range(20):
                    with context.waiting_for_data():
                        data = {"x": np.arange(30) + fill}
                    context.fill(data)

        threads = [threading.Thread(target=produce, args=(number,)) for number in range(3)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert sum(table.n_fills()) >= 60
    return file


def test_stalls_of_a_file_come_back_from_json(written, tmp_path, capsys):
    stalls = written.stalls()
    assert [(module.label, module.n_calls) for module in stalls.modules] == [("Events", 60)]
    assert sorted(stream.name for stream in stalls.streams) == [f"stream {number}" for number in range(3)]
    assert all(stream.n_entries == 600 and stream.n_stalls == stream.n_waits for stream in stalls.streams)
    assert {report.STATES[state] for state in stalls.intervals.state} >= {
        "running",
        "writing",
        "waiting for data",
    }
    path = tmp_path / "stalls.json"
    stalls.save(path)
    read = report.read(path)
    assert read.streams == stalls.streams
    assert read.modules == stalls.modules
    assert len(read.intervals.state) == len(stalls.intervals.state)
    assert np.all(np.abs(read.intervals.end_ns - stalls.intervals.end_ns) <= 2000)
    assert main(["stalls", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["form"] == "arrowroot.stalls/1"
    assert "intervals_us" not in told
    assert main(["stalls", str(path)]) == 0
    assert "stream 2" in capsys.readouterr().out


def test_the_cost_of_writing_is_told_by_layer_and_as_a_job_report(written, tmp_path, capsys):
    cost = written.cost()
    accounts = {(account.layer, account.operation): account for account in cost.accounts}
    assert accounts["tables", "fill"].n_successful == 60
    assert accounts["compress", "compress"].n_attempted == cost.n_tasks >= cost.n_clusters >= 18
    assert accounts["store", "publish"].n_successful == 1
    assert accounts["store", "write"].bytes >= cost.stored_bytes > 0
    assert (cost.n_entries, cost.memory_bytes) == (1800, 1800 * 8)
    source, target, job = (str(tmp_path / name) for name in ("a.parquet", "b.root", "job.xml"))
    assert main(["convert", written.path, source]) == 0
    assert main(["convert", source, target, "--cost", "--fjr", job]) == 0
    printed = capsys.readouterr().out
    assert "what passed each layer" in printed
    assert "compression, all threads" in printed
    (found,) = fjr.read(job)
    assert {counter.path for counter in found.counters} >= {"file/write", "file/publish", "compress/compress"}
    assert not fjr.is_protocol("compress")
    assert main(["convert", source, str(tmp_path / "c.parquet"), "--cost"]) == 2
    assert main(["convert", source, target, "--cost", "--json", "-f"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["cost"]["n_entries"] == 1800


def many(n_streams: int, n_intervals: int) -> ar.Stalls:
    """Streams that run and write, and stall for 0.2 s a hundred times in all."""
    rng = random.Random(1)
    rows, streams = [], []
    stalled = set(rng.sample(range(n_intervals), 100))
    for stream in range(n_streams):
        now = 0
        for number in range(stream, n_intervals, n_streams):
            for state, length in ((0, rng.randrange(5, 30)), (1, 1), (2, 200 if number in stalled else 0)):
                rows.append((stream, state, now * 10**6, (now + length) * 10**6))
                now += length
        times = dict.fromkeys(report.STATES, 0)
        streams.append(report.Stream(f"stream {stream}", "T", 0, now * 10**6, times, 1, 1, 0, 0, 0, 0))
    return ar.Stalls(100_000_000, [], streams, intervals_of(rows))


def test_no_stall_is_hidden_in_a_picture_of_64_streams_and_100_000_events():
    stalls = many(64, 100_000)
    rows, bin_ns = report.binned(stalls, 1600)
    assert len(rows) == 64
    n_found = 0
    for stream, state, start, end in zip(*(column.tolist() for column in stalls.intervals), strict=True):
        if state == 2 and end > start:
            n_found += 1
            place = [row.name for row in rows].index(stalls.streams[stream].name)
            assert 2 in rows[place].bins[int(start / bin_ns) : int(end / bin_ns) + 1]
    assert n_found == 100
    assert [row.name for row in rows] == sorted(
        (row.name for row in rows), key=lambda name: int(name.split()[-1])
    )
    # A stream that is not stalled runs: that is most of the time.
    assert sum(row.bins.count(0) for row in rows) > 0.9 * 64 * 1600 - 100 * 12


def test_how_many_streams_do_what_adds_up_however_short_it_is():
    stalls = many(64, 10_000)
    _, bin_ns = report.binned(stalls, 700)
    found = (report.n_doing(stalls, 700).sum(axis=1) * bin_ns).tolist()
    lengths = stalls.intervals.end_ns - stalls.intervals.start_ns
    assert found == pytest.approx([lengths[stalls.intervals.state == state].sum() for state in range(5)])
    assert found[1] > 0


def test_what_a_stream_does_most_of_a_bin_is_shown():
    rows = [(0, 0, 0, 60), (0, 1, 60, 100), (0, 4, 100, 130), (0, 0, 130, 171), (0, 1, 171, 400)]
    stream = report.Stream("s", "T", 0, 400, {}, 1, 1, 0, 0, 0, 0)
    ((_, bins),), bin_ns = report.binned(ar.Stalls(100, [], [stream], intervals_of(rows)), 4)
    assert (bins, bin_ns) == ([0, 0, 1, 1], 100)
    # A stall that begins at the end of a bin is not in it as well.
    rows = [(0, 0, 0, 90), (0, 2, 90, 190), (0, 0, 190, 400)]
    ((_, bins),), _ = report.binned(ar.Stalls(100, [], [stream], intervals_of(rows)), 4)
    assert bins == [0, 2, 0, 0]


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_picture_is_drawn(tmp_path, suffix):
    path = tmp_path / f"stalls.{suffix}"
    source = write(tmp_path / "a<b>.log", STALL_MONITOR)
    assert main(["stalls", source, "--plot", str(path)]) == 0
    content = path.read_bytes()
    assert content.startswith({"png": b"\x89PNG", "svg": b"<?xml"}[suffix])


def test_a_picture_of_a_file_that_nobody_filled_by_contexts_is_empty(tmp_path, capsys):
    with ar.create(tmp_path / "a.root", trace_stalls=True) as file:
        file.tree("T").append({"x": [1]})
    file.stalls().save(tmp_path / "s.json")
    path = tmp_path / "s.png"
    assert main(["stalls", str(tmp_path / "s.json"), "--plot", str(path)]) == 0
    assert path.stat().st_size > 0
    assert not capsys.readouterr().err


def test_a_picture_takes_the_place_of_nothing_else(tmp_path, capsys):
    source = tmp_path / "stalls.svg"
    write(source, STALL_MONITOR)
    before = source.read_bytes()
    assert main(["stalls", str(source), "--plot", str(source)]) == 2
    assert "would be overwritten" in capsys.readouterr().err
    assert source.read_bytes() == before
    found = report.read(str(source), threshold_ns=1, writers=report.WRITERS)
    with pytest.raises(ar.StorageError, match="/dev/full"):
        found.save("/dev/full")


def test_a_picture_that_cannot_be_drawn_is_refused_before(tmp_path, capsys):
    assert main(["stalls", str(tmp_path / "none.log"), "--plot", "stalls.gif"]) == 2
    assert "must end in" in capsys.readouterr().err
