"""Trees that are saved on the way: a killed writer leaves what can be read up to there; older records become gaps."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from tests.judge import root

from . import go_on_with_root
from .invariants import assert_sound
from .invariants.container import Container
from .invariants.reading import Findings
from .test_root_goes_on import assert_holds, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).resolve().parents[2]
#: Two trees in turns, of which one has objects; both are saved, the first more often. Then the process is killed.
WRITER = """
import os, signal, sys, arrowroot as ar
from tests.writing.test_autosave import objects_of
from tests.writing.test_root_goes_on import table_of
with ar.create(sys.argv[1], n_threads=2) as file:
    events = file.tree("deep/Events", table_of(5).schema, layout=ar.Layout(autosave="60 kB"), flush=500)
    objects = file.tree("Objects", objects_of().schema, layout=ar.Layout(split=99, autosave="20 kB"), flush=100)
    for k in range(60):
        events.append(table_of(5 + k))
        objects.append(objects_of())
    os.kill(os.getpid(), signal.SIGKILL)
"""


def objects_of() -> pa.Table:
    kind = pa.struct(
        [pa.field("pt", pa.float64(), nullable=False), pa.field("n", pa.int32(), nullable=False)]
    )
    values = [[{"pt": k / 7, "n": j} for j in range(k % 4)] for k in range(250)]
    of = pa.list_(pa.field("item", kind, nullable=False))
    return pa.table([pa.array(values, of)], schema=pa.schema([pa.field("o", of, nullable=False)]))


def batches(n: int) -> Iterator[pa.Table]:
    return (table_of(5 + k) for k in range(n))


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The part that a killed writer left."""
    path = tmp_path_factory.mktemp("killed") / "out.root"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WRITER, str(path)], cwd=REPOSITORY, check=False, timeout=300
    )
    assert done.returncode == -signal.SIGKILL
    assert not path.exists()
    return path.with_name("out.root.part")


def test_what_a_killed_writer_leaves_is_read_up_to_where_it_was_saved(left):
    with ar.open(left) as file:
        events, objects = file["deep/Events"], file["Objects"]
        n_events, n_objects = events.num_entries, objects.num_entries
        assert (n_events % 500, n_objects % 100) == (0, 0)
        # Clusters that wait to be compressed are not in it.
        assert n_events >= 5_000
        assert n_objects >= 5_000
        assert events.to_arrow().equals(pa.concat_tables(batches(60)).slice(0, n_events))
        whole = pa.concat_tables([objects_of()] * 60)
        assert objects.to_arrow().equals(whole.slice(0, n_objects))


def test_uproot_reads_what_a_killed_writer_leaves(left):
    with ar.open(left) as file:
        n_entries = file["deep/Events"].num_entries
        met = file["deep/Events"].to_arrow(["met"]).column("met").to_pylist()
    with uproot.open(left) as file:
        assert file["deep/Events"].num_entries == n_entries
        assert file["deep/Events"]["met"].array().to_list() == met
        assert file["Objects"]["o.pt"].array().to_list()[3] == [3 / 7] * 3


def test_root_goes_on_with_what_a_killed_writer_leaves(left, tmp_path):
    root.run(go_on_with_root.update, tmp_path, tmp_path / "updated.root", left)
    with ar.open(left) as file:
        told = {name: file[name].to_arrow() for name in ("deep/Events", "Objects")}
    with ar.open(tmp_path / "updated.root") as file:
        assert {name: file[name].to_arrow() for name in told} == told
        assert file["second"].title == "other"


def test_a_file_that_was_saved_on_the_way_is_sound_and_the_same_from_any_number_of_threads(tmp_path):
    files = []
    for n_threads in (1, 4):
        path = tmp_path / f"{n_threads}.root"
        with ar.create(path, reproducible=True, n_threads=n_threads) as file:
            layout = ar.Layout(autosave="100 kB", flush=500)
            events = file.tree("Events", layout=layout)
            other = file.tree("deep/Other", layout=ar.Layout(autosave="50 kB", flush=300))
            for table in batches(20):
                events.append(table)
                other.append(table)
        assert_sound(path)
        files.append(path.read_bytes().replace(path.name.encode(), b"x"))
    assert files[0] == files[1]
    gaps = Container(path, Findings()).gaps
    assert len(gaps) >= 3
    assert sum(end - start for start, end in gaps) < 0.1 * len(files[0])
    assert_holds(path, pa.concat_tables(batches(20)))
    root.run(go_on_with_root.update, tmp_path, tmp_path / "updated.root", path)
    assert_holds(tmp_path / "updated.root", pa.concat_tables(batches(20)))


@pytest.mark.parametrize(
    "layout", [{"autosave": None}, {"autosave": "1 kB", "flush": None}, {"autosave": "1 GB"}]
)
def test_a_tree_that_is_not_saved_leaves_no_gaps(tmp_path, layout):
    path = tmp_path / "out.root"
    with ar.create(path) as file:
        events = file.tree("Events", layout=ar.Layout(**{"flush": 300, **layout}))
        for table in batches(10):
            events.append(table)
    assert_sound(path)
    assert Container(path, Findings()).gaps == []


def test_a_tree_that_several_threads_fill_is_saved_beside_other_tables_and_root_goes_on(tmp_path):
    path = tmp_path / "out.root"
    schema = table_of(5).schema
    with ar.create(path, n_threads=3) as file:
        layout = ar.Layout(autosave="50 kB", flush=500)
        events = file.tree("Events", schema, layout=layout, producers={"buffers": 3})
        pages = file.tree("Pages", schema, layout="rntuple")
        other = file.tree("deep/Other", schema, layout=layout)

        def produce(part: list[pa.Table]) -> None:
            with events.context() as context:
                for table in part:
                    context.fill(table.combine_chunks().to_batches()[0])

        def append(writer: ar.TableWriter) -> None:
            for table in batches(10):
                writer.append(table)
            writer.close()

        tables = list(batches(20))
        with ThreadPoolExecutor(6) as pool:
            jobs = [pool.submit(produce, tables[k::4]) for k in range(4)]
            jobs += [pool.submit(append, writer) for writer in (pages, other)]
            for job in jobs:
                job.result()
    assert_sound(path)
    assert Container(path, Findings()).gaps
    root.run(go_on_with_root.update, tmp_path, tmp_path / "updated.root", path)
    for name in (path, tmp_path / "updated.root"):
        with ar.open(name) as read:
            found = sorted(map(str, read["Events"].to_arrow().to_pylist()))
            assert found == sorted(map(str, pa.concat_tables(tables).to_pylist()))
            for written in ("Pages", "deep/Other"):
                assert read[written].to_arrow().equals(pa.concat_tables(batches(10)))
