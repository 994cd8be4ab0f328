"""Skims in parts: those that go on after a kill, and those whose inputs others read."""

import errno
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot._skimming.outputs import Outputs
from arrowroot._skimming.parts import Parts
from arrowroot._skimming.spool import Spool
from tests.command import run_here

from .test_skim import events, names_in, put, read

CUT = "nMuon >= 2"
#: Kills of skims at drawn times.
N_KILLS = 100 if os.environ.get("ARROWROOT_SOAK") else 3
#: A skim that is killed before it does something for the n-th time: before it puts a part into its place or writes
#: entries, before the outputs are published or the parts are removed.
KILLED = """
import os, signal, sys
import arrowroot as ar
from arrowroot._skimming import outputs, parts

left = int(sys.argv[1])

def deadly(function):
    def called(*given):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*given)
    return called

parts.put = deadly(parts.put)
parts.Parts.remove = deadly(parts.Parts.remove)
outputs.Outputs.add = deadly(outputs.Outputs.add)
outputs.Outputs.publish = deadly(outputs.Outputs.publish)
ar.skim(sys.argv[3:], sys.argv[2], "Events", cuts={"two": "nMuon >= 2"}, resume=True, reproducible=True)
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return the paths of four inputs, one of them without entries."""
    directory = tmp_path_factory.mktemp("inputs")
    paths = []
    for number, n_entries in enumerate((400, 0, 300, 200)):
        paths.append(str(directory / f"{number}.root"))
        put(paths[-1], events(n_entries, 1000 * number))
    return paths


@pytest.fixture(scope="module")
def expected(files, tmp_path_factory):
    """Return the bytes of a skim in one go, and its report."""
    path = tmp_path_factory.mktemp("expected") / "out.root"
    made = ar.skim(files, path, "Events", cuts={"two": CUT}, reproducible=True)
    return path.read_bytes(), made


@pytest.fixture
def made(monkeypatch):
    """Return the names of the inputs whose parts were made."""
    names, make = [], Parts.make

    def noted(parts, reading):
        names.append(Path(reading.given.url).name)
        make(parts, reading)

    monkeypatch.setattr(Parts, "make", noted)
    return names


def skim(files, out, **more):
    return ar.skim(
        files, out, "Events", **{"cuts": {"two": CUT}, "reproducible": True, "resume": True, **more}
    )


def fail_once(monkeypatch, n_batches):
    """Have writing fail after some batches, until the test says otherwise."""
    add, left = Outputs.add, [n_batches]

    def failing(outputs, portion, batch):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        add(outputs, portion, batch)

    monkeypatch.setattr(Outputs, "add", failing)


@pytest.mark.parametrize("seed", range(2))
def test_a_skim_that_was_killed_anywhere_goes_on_to_the_same_bytes(tmp_path, files, expected, seed):
    out = tmp_path / "out.root"
    out.write_bytes(b"older")
    rng = random.Random(seed)
    places = [rng.randrange(4), 4 + rng.randrange(9), 1000]
    for place in places:
        ran = subprocess.run([sys.executable, "-c", KILLED, str(place), str(out), *files], check=False)
        if ran.returncode == 0:
            break
        assert ran.returncode == -signal.SIGKILL
        assert out.read_bytes() in (b"older", expected[0])
    assert ran.returncode == 0
    assert out.read_bytes() == expected[0]
    assert "out.root.parts" not in names_in(tmp_path)


#: A skim to several outputs that says when it begins.
TIMED = """
import sys
import arrowroot as ar
import arrowroot._skimming.skim, arrowroot._writing.table, pyarrow.ipc
n_threads, *files = sys.argv[1:]
print("begins", flush=True)
outputs = {"many.root": "nMuon > 2", "few.root:Few": "nMuon < 2", "all.root": None}
ar.skim(files, tree="Events", outputs=outputs, resume=True, reproducible=True, n_threads=int(n_threads))
"""


@contextmanager
def a_skim_to_several(directory, files):
    """A skim that has begun; it is waited for."""
    command = [sys.executable, "-c", TIMED, "2", *files]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=directory) as process:
        assert process.stdout.readline() == "begins\n"
        yield process


def test_several_outputs_of_a_skim_killed_at_any_time_are_those_of_one_go(tmp_path, files):
    """Each output is the older one or the new one, and the skim that goes on has no part lost or doubled."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    begin = time.perf_counter()
    with a_skim_to_several(whole, files) as process:
        assert process.wait() == 0
    longest = time.perf_counter() - begin
    expected = {path.name: path.read_bytes() for path in whole.iterdir()}
    assert sorted(expected) == ["all.root", "few.root", "many.root"]
    draw = random.Random(1)
    for number in range(N_KILLS):
        # Killed again and again, until one comes to its end.
        for name in expected:
            (killed / name).write_bytes(b"older")
        for _ in range(draw.randrange(1, 4)):
            with a_skim_to_several(killed, files) as process:
                time.sleep(draw.uniform(0, longest))
                process.kill()
            found = {name: (killed / name).read_bytes() for name in expected}
            assert all(one in (b"older", expected[name]) for name, one in found.items()), number
        with a_skim_to_several(killed, files) as process:
            assert process.wait() == 0, number
        assert {name: (killed / name).read_bytes() for name in expected} == expected, number
        left = {name for name in names_in(killed) if not name.endswith(".part")}
        assert left == {*expected}, number


def test_only_what_is_missing_is_read_again(tmp_path, files, expected, made, monkeypatch):
    out = tmp_path / "out.root"
    with monkeypatch.context() as patch:
        fail_once(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            skim(files, out)
    assert made == ["0.root", "1.root", "2.root"][: len(made)]
    assert not out.exists()
    first = len(made)
    report = skim(files, out)
    assert made == ["0.root", "1.root", "2.root", "3.root"]
    assert 0 < first < 4
    assert out.read_bytes() == expected[0]
    assert report == expected[1]._replace(
        outputs=[one._replace(path=str(out)) for one in report.outputs],
        inputs=[
            one._replace(of_outputs=[cut._replace(name=str(out)) for cut in one.of_outputs])
            for one in expected[1].inputs
        ],
    )
    assert names_in(tmp_path) == ["out.root"]


def interrupted(files, out, monkeypatch, **more):
    """Make the parts of all inputs and then fail."""
    with monkeypatch.context() as patch:
        patch.setattr(Outputs, "publish", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            skim(files, out, **more)


def test_parts_are_of_an_input_as_it_was_and_of_what_was_asked_for(tmp_path, files, made, monkeypatch):
    out = tmp_path / "out.root"
    own = str(tmp_path / "own.root")
    put(own, events(100, 9000))
    interrupted([*files, own], out, monkeypatch)
    del made[:]
    # Another codec asks for the same entries, an older time of a change tells of another input.
    interrupted([*files, own], out, monkeypatch, compression="zstd:5")
    assert made == []
    os.utime(own, ns=(0, 0))
    interrupted([*files, own], out, monkeypatch)
    assert made == ["own.root"]
    del made[:]
    for more in (
        {"cuts": {"two": "nMuon >= 1"}},
        {"columns": ["event"]},
        {"lumi_mask": {"1": [[1, 2]]}},
        {"lumi_mask": {"1": [[1, 3]]}},
        {"pick": ar.EventList([(1, 1, 3)], missing="ignore")},
        {"pick": ar.EventList([(1, 1, 4)], missing="ignore")},
        {"weight": "w"},
        {"carry": False},
    ):
        interrupted(files[:1], out, monkeypatch, **more)
    assert made == ["0.root"] * 8


def test_a_part_that_was_cut_short_is_made_again(tmp_path, files, expected, made, monkeypatch):
    out = tmp_path / "out.root"
    interrupted(files, out, monkeypatch)
    part = max((tmp_path / "out.root.parts").glob("*.part"), key=lambda path: path.stat().st_size)
    os.truncate(part, part.stat().st_size - 3)
    del made[:]
    skim(files, out)
    assert made == ["0.root"]
    assert out.read_bytes() == expected[0]


def test_picked_events_and_several_outputs_come_from_parts(tmp_path, files, monkeypatch, made):
    wanted = [(1, 1, 3), (1, 1, 4), (1, 5, 2201), (5, 5, 5)]
    outputs = {str(tmp_path / "odd.root"): "event % 2 == 1", str(tmp_path / "all.root"): None}
    asked = {"cuts": None, "pick": ar.EventList(wanted, missing="ignore"), "outputs": outputs}
    interrupted(files, None, monkeypatch, **asked)
    del made[:]
    report = skim(files, None, **asked)
    assert made == []
    assert report.missing_events == [(5, 5, 5)]
    assert [read(path)["event"].to_pylist() for path in outputs] == [[3, 2201], [3, 4, 2201]]


class Sent(Executor):
    """Does work as another process would: with a copy of what it gets."""

    def __init__(self):
        self.n_calls = 0

    def submit(self, work, *given):
        self.n_calls += 1
        work, given = pickle.loads(pickle.dumps((work, given)))  # noqa: S301 - our own bytes
        future = Future()
        future.set_result(work(*given))
        return future


@pytest.mark.parametrize("kind", ["sent", "threads", "dask"])
def test_an_executor_reads_the_inputs_and_the_bytes_are_the_same(tmp_path, files, expected, made, kind):
    out = tmp_path / "out.root"
    if kind == "sent":
        executor = Sent()
        skim(files, out, executor=executor, resume=False)
        assert executor.n_calls == 4
    elif kind == "threads":
        with ThreadPoolExecutor(2) as executor:
            skim(files, out, executor=executor)
    else:
        distributed = pytest.importorskip("distributed")
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            skim(files, out, executor=client.get_executor())
    assert out.read_bytes() == expected[0]
    assert sorted(made) == ["0.root", "1.root", "2.root", "3.root"]
    assert names_in(tmp_path) == ["out.root"]


@pytest.mark.filterwarnings("ignore::arrowroot.CutShortWarning")
def test_bad_inputs_of_an_executor_are_those_of_a_skim(tmp_path, files):
    spoilt = tmp_path / "spoilt.root"
    spoilt.write_bytes(Path(files[0]).read_bytes()[:-500])
    inputs = [files[0], str(spoilt), files[2]]
    made = skim(inputs, tmp_path / "out.root", executor=Sent(), on_bad_input="skip")
    alone = skim(inputs, tmp_path / "alone.root", resume=False, on_bad_input="skip")
    assert made.bad_inputs == alone.bad_inputs
    assert len(made.bad_inputs) == 1
    assert made.cuts == alone.cuts
    with pytest.raises(ar.CorruptFileError):
        skim(inputs, tmp_path / "never.root", executor=Sent())
    assert not (tmp_path / "never.root").exists()


def test_a_part_without_a_column_that_the_first_input_asks_for_is_made_again(tmp_path, made):
    counted, alone = (str(tmp_path / f"{name}.root") for name in ("counted", "alone"))
    table = events(50, 1)
    put(counted, table)
    with ar.create(alone) as file:
        layout = ar.Layout(lists={"Muon_pt": "vector", "*": "counted"})
        plain = {"Muon_pt": table["Muon_pt"], "nMuon": pa.array(np.asarray(table["nMuon"]))}
        file.tree("Events", layout=layout).append(pa.table(plain))
    asked = {"columns": ["Muon_pt"], "cuts": None, "carry": False}
    outs = [tmp_path / name / "out.root" for name in "ab"]
    for out, executor in zip(outs, (None, Sent()), strict=True):
        out.parent.mkdir()
        del made[:]
        skim([counted, alone], out, executor=executor, **asked)
    assert made == ["counted.root", "alone.root", "alone.root"]
    assert outs[0].read_bytes() == outs[1].read_bytes()
    assert read(outs[1]).column_names == ["nMuon", "Muon_pt"]


def test_a_disk_that_is_full_is_told_with_what_to_do_and_the_skim_goes_on(tmp_path, files, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    out = tmp_path / "out.root"
    with monkeypatch.context() as patched:
        patched.setattr("arrowroot._skimming.parts.put", full)
        with pytest.raises(ar.StorageError, match=r"\.parts: a part .*: the disk is full; make room"):
            ar.skim(files, out, "Events", filter=CUT, resume=True)
    assert not list(tmp_path.glob("out.root.parts/*.new"))
    ar.skim(files, out, "Events", filter=CUT, resume=True)
    with monkeypatch.context() as patched:
        patched.setattr("arrowroot._skimming.spool.TemporaryFile", lambda **_: full())
        patched.setattr(Spool.__init__, "__defaults__", (0,))
        with pytest.raises(
            ar.StorageError, match=r"the entries of an input, which wait there .*: No space left"
        ):
            ar.skim(files, tmp_path / "other.root", "Events", filter=CUT, on_bad_input="skip")


def test_the_command_resumes(tmp_path, files, monkeypatch, made):
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out.root"
    interrupted(files, "out.root", monkeypatch, reproducible=False)
    del made[:]
    ran = run_here("skim", *files, "out.root", "--tree", "Events", "--cut", f"two={CUT}", "--resume")
    assert ran.returncode == 0
    assert made == []
    assert out.exists()
