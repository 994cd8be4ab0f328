"""Tables that several threads fill: each entry once and in the promised order, or a clear error and no file.

``make test`` takes the first 50 seeds, ``make soak-producers`` 1,000. To run one of them again:
``python -m tests.writing.producers_worker DIRECTORY SEED SEED+1``.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from tests.judge import root
from tests.recorded import session

from . import producers_with_root
from .expected import shown
from .invariants import assert_sound
from .producers_worker import SCHEMA, MishapError, batch_of, draw, drawn, has_index, is_by_chance, numbered

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
N_SEEDS = 1000 if os.environ.get("ARROWROOT_SOAK") else 50
#: No run takes so long: somebody waits for somebody.
DEADLOCK_S = 180


def run(directory: Path, first: int, end: int) -> dict[int, dict[str, Any]]:
    """Run seeds in a process of their own, under a watchdog. Returns what it told of each."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.writing.producers_worker", str(directory), str(first), str(end)],
        cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    told: dict[int, dict[str, Any]] = {}
    try:
        for seed in range(first, end):
            watchdog = threading.Timer(DEADLOCK_S, process.send_signal, (signal.SIGABRT,))
            watchdog.start()
            line = process.stdout.readline()
            watchdog.cancel()
            if not line:
                _, stacks = process.communicate()
                pytest.fail(f"seed {seed}, {draw(seed)}: it ended, or hung:\n{stacks}")
            told[seed] = json.loads(line)
        assert process.wait(DEADLOCK_S) == 0
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
    return told


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    directory = tmp_path_factory.mktemp("producers")
    return directory, run(directory, 0, N_SEEDS)


def test_a_run_leaves_a_whole_file_or_says_what_went_wrong_and_leaves_none(told):
    directory, runs = told
    errors = []
    for seed, found in runs.items():
        case = draw(seed)
        path = directory / f"{seed}.root"
        if found["error"] is None:
            assert found["left"] == [path.name], found
            assert_sound(path)
            continue
        assert found["left"] == [], found
        expected = {
            "exception": "MishapError: of a producer", "disk": "StorageError: ", "interrupt": "KeyboardInterrupt",
        }.get(case["mishap"])  # fmt: skip
        assert expected is not None, (found, case)
        assert expected in found["error"] or is_of_another(found["error"]), (found, case)
        errors.append(case["mishap"])
    assert {"exception", "disk", "interrupt"} <= set(errors), errors


def is_of_another(error: str) -> bool:
    """A thread may be told first that another one has stopped the file."""
    return "unfinished" in error or "is given up" in error


def test_each_entry_is_there_once_and_in_the_promised_order(told):
    directory, runs = told
    for seed, found in runs.items():
        if found["error"] is None:
            with ar.open(str(directory / f"{seed}.root")) as file:
                for table in range(len(draw(seed)["fills"])):
                    read = file[f"T{table}"].to_arrow()
                    numbers = read["x"].to_numpy()
                    own = read.select(SCHEMA.names)
                    assert own.equals(pa.Table.from_batches([batch_of(numbers)])), seed
                    for name, column in zip(drawn(seed).column_names, drawn(seed).columns, strict=True):
                        values = shown(column)
                        wanted = [values[number % len(values)] for number in numbers]
                        assert shown(read[name]) == wanted, (draw(seed), name)
                    check_order(draw(seed), table, read["x"].to_numpy())
                    if draw(seed)["layout"] == "ttree":
                        check_notes(draw(seed), table, file[f"T{table}"])


def test_root_reads_the_same(told):
    directory, runs = told
    jobs = [
        (str(directory / f"{seed}.root"), f"T{table}", draw(seed)["layout"])
        for seed, found in runs.items()
        if found["error"] is None
        for table in range(len(draw(seed)["fills"]))
    ]
    read = root.run(producers_with_root.read_all, directory, jobs)
    for (path, table, _), numbers in zip(jobs, read, strict=True):
        check_order(draw(int(Path(path).stem)), int(table[1:]), np.array(numbers))


def check_notes(case: dict[str, Any], table: int, tree: ar.Tree) -> None:
    """The tree has its index, and says whether the numbers of its entries mean anything."""
    assert tree.recorded_index == (("x",) if has_index(case) else None), case
    assert tree.entries_reshuffled is is_by_chance(case, table), case


def check_order(case: dict[str, Any], table: int, numbers: np.ndarray) -> None:
    """Entries are those of the fills, once, and as the order promises."""
    fills = numbered(case["fills"][table])
    n_entries = sum(n for _, _, n in fills)
    assert np.array_equal(np.sort(numbers), np.arange(n_entries)), case
    if case["order"] == "numbered":
        assert np.array_equal(numbers, np.arange(n_entries)), case
    if case["order"] == "filled":
        # A fill is in one piece, and the fills of a producer are in its order.
        places = np.argsort(numbers)
        for first, _, n in fills:
            assert np.array_equal(places[first : first + n], places[first] + np.arange(n)), case
        for producer in range(case["n_producers"]):
            own = [places[first] for first, of, _ in fills if of == producer]
            assert own == sorted(own), case


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
def test_numbered_entries_make_the_same_bytes_whatever_the_threads(tmp_path, layout):
    def write(path: Path, n_producers: int, n_threads: int) -> bytes:
        producers = {"order": "numbered", "help": n_threads > 1}
        with ar.create(path, reproducible=True, n_threads=n_threads, buffers="100 kB") as file:
            table = file.tree("T", SCHEMA, layout=layout, flush="2 kB", producers=producers)

            def produce(number: int) -> None:
                with table.context() as context:
                    for fill in range(number, 120, n_producers):
                        context.fill(batch_of(np.arange(fill * 17, fill * 17 + 17)), fill * 17)

            threads = [threading.Thread(target=produce, args=(number,)) for number in range(n_producers)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
        return path.read_bytes()

    written = [write(tmp_path / f"{n}" / "a.root", n, t) for n, t in make_directories(tmp_path)]
    with ar.create(tmp_path / "a.root", reproducible=True) as file:
        table = file.tree("T", SCHEMA, layout=layout, flush="2 kB")
        table.append(batch_of(np.arange(120 * 17)))
    assert all(each == (tmp_path / "a.root").read_bytes() for each in written)


def make_directories(path: Path) -> list[tuple[int, int]]:
    cases = [(1, 1), (2, 2), (5, 3)]
    for n, _ in cases:
        (path / f"{n}").mkdir()
    return cases


def test_tasks_of_asyncio_fill_through_threads(tmp_path):
    async def produce(table: ar.TableWriter, number: int) -> None:
        with table.context(f"task {number}") as context:
            for fill in range(10):
                await asyncio.to_thread(context.fill, {"x": np.arange(5) + 5 * (10 * number + fill)})

    async def produce_all(table: ar.TableWriter) -> None:
        await asyncio.gather(*(produce(table, number) for number in range(4)))

    path = tmp_path / "a.root"
    with ar.create(path) as file:
        table = file.tree("T", producers={"buffers": 2}, flush=20)
        asyncio.run(produce_all(table))
        assert table.num_entries == 200
    with ar.open(path) as read:
        assert sorted(read["T"].to_arrow()["x"].to_pylist()) == list(range(200))


def test_entries_filled_in_no_order_are_joined_by_the_index_that_was_filled_with_them(tmp_path):
    def produce(table: ar.TableWriter, number: int) -> None:
        with table.context() as context:
            for first in range(100 * number, 100 * number + 100, 5):
                context.fill({"x": np.arange(first, first + 5), "y": -np.arange(first, first + 5)})

    def write(path: Path, **options: Any) -> None:
        with ar.create(path) as file:
            schema = {"x": "int64", "y": "int64"}
            table = file.tree("T", schema, flush=30, producers={"policy": "fifo"}, **options)
            threads = [threading.Thread(target=produce, args=(table, number)) for number in range(4)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]

    write(tmp_path / "with.root", index="x")
    write(tmp_path / "without.root")
    ar.write(f"{tmp_path}/main.root:T", {"x": np.arange(400)})
    tree = ar.open(tmp_path / "main.root")["T"]
    tree.add_friend(ar.open(tmp_path / "with.root")["T"], "f")
    assert tree.to_arrow(["f.y"])["f.y"].to_pylist() == [-x for x in range(400)]
    other = ar.open(tmp_path / "main.root")["T"]
    with pytest.raises(ar.InvalidRequestError, match=r"without\.root:.*kEntriesReshuffled.*index="):
        other.add_friend(ar.open(tmp_path / "without.root")["T"], "f")


def test_a_thread_with_two_contexts_of_a_numbered_table_goes_on(tmp_path):
    with ar.create(tmp_path / "a.root", buffers="1 kB") as file:
        table = file.tree("T", SCHEMA, producers={"order": "numbered"})
        with table.context() as low, table.context() as high:
            for first in range(100, 1000, 100):
                high.fill(batch_of(np.arange(first, first + 100)), first)
            low.fill(batch_of(np.arange(100)), 0)
    with ar.open(tmp_path / "a.root") as read:
        assert read["T"].to_arrow()["x"].to_pylist() == list(range(1000))


def test_what_makes_no_sense_is_refused(tmp_path):
    with ar.create(tmp_path / "a.root") as file:
        session("producers", tmp_path, {**globals(), "file": file})
        file.abort()


def test_a_table_is_not_closed_under_its_contexts(tmp_path):
    file = ar.create(tmp_path / "a.root")
    context = file.tree("T", SCHEMA).context()
    context.fill(batch_of(np.arange(3)))
    with pytest.raises(ar.InvalidRequestError, match="1 of its contexts are still open"):
        file.close()
    assert not list(tmp_path.iterdir())


def test_growth_is_told_once_with_a_remedy_and_to_who_asked(tmp_path):
    def write(producers: dict[str, Any]) -> ar.QueueState:
        with ar.create(tmp_path / "a.root", n_threads=2, buffers="1 MB", growth_threshold=0) as file:
            table = file.tree("T", layout="rntuple", compression="lzma:3", flush=2000, producers=producers)
            with table.context() as context:
                rng = np.random.default_rng(1)
                for _ in range(30):
                    context.fill({name: rng.normal(size=2000) for name in "abcdefgh"})
            return file.queue()

    with pytest.warns(ar.QueueGrowthWarning, match="a faster codec") as warned:
        state = write({"help": False})
    assert len(warned) == 1
    assert state.n_growths >= 1
    assert state.growth_ns > 0
    # One cluster may come to what is there already, and what becomes of it; an array has some bytes of its own.
    assert state.peak_bytes <= 1_000_000 + 2 * 8 * (2000 * 8 + 128)
    seen: list[ar.QueueState] = []
    write({"help": False, "on_growth": seen.append})
    assert seen[0].n_waiting_clusters >= 0


def test_the_bound_holds_after_a_file_of_large_baskets(tmp_path):
    # Its pieces leave their memory to the process.
    columns = {name: np.random.default_rng(1).normal(size=100_000) for name in "abcdefgh"}
    ar.write(f"{tmp_path}/large.root:T", columns, layout="rntuple", compression="none")
    with ar.create(tmp_path / "small.root", n_threads=2, buffers="1 MB") as file:
        table = file.tree("T", layout="rntuple", compression="none", flush=2000, producers={})
        with table.context() as context:
            for start in range(0, 100_000, 2000):
                context.fill({name: values[start : start + 2000] for name, values in columns.items()})
        state = file.queue()
    assert 0 < state.peak_bytes <= 1_000_000 + 2 * 8 * (2000 * 8 + 128)


@pytest.mark.parametrize("policy", ["fifo", "fullest"])
def test_the_bound_holds_while_nothing_but_open_buffers_is_in_memory(tmp_path, policy):
    """Sixteen buffers with a cluster each would be six times the bound: it ends the fullest one first."""
    n_entries, values = 50_000, np.random.default_rng(1).normal(size=5_000)
    with ar.create(tmp_path / "a.root", n_threads=2, buffers="1 MB") as file:
        table = file.tree("T", flush=n_entries, producers={"policy": policy, "buffers": 16})
        with table.context() as first, table.context() as second:
            for _ in range(100):
                first.fill({"x": values})
                second.fill({"x": values})
    # A fill may come to what is there, the buffer is filled up, and becomes a cluster and its baskets.
    assert file.queue().peak_bytes <= 1_000_000 + 8 * (values.size + 2 * n_entries) + 20_000


def test_who_is_told_of_growth_may_raise_and_nothing_is_taken(tmp_path):
    def refuse(state: ar.QueueState) -> None:
        raise MishapError(state.n_growths)

    rng = np.random.default_rng(1)
    with ar.create(tmp_path / "a.root", n_threads=2, buffers="1 MB", growth_threshold=0) as file:
        table = file.tree(
            "T", compression="lzma:3", flush=2000, producers={"help": False, "on_growth": refuse}
        )
        n_filled, n_raised = 0, 0
        context = table.context()
        while n_filled < 20 or not n_raised:
            try:
                context.fill({"x": rng.normal(size=2000), "number": np.full(2000, n_filled)})
            except MishapError:
                n_raised += 1
            else:
                n_filled += 1
        try:
            context.close()
        except MishapError:
            n_raised += 1
    with ar.open(tmp_path / "a.root") as read:
        numbers = read["T"].to_arrow(["number"])["number"].to_numpy()
    assert np.array_equal(np.sort(numbers), np.repeat(np.arange(n_filled), 2000))


def test_the_tables_of_a_file_warn_of_growth_once(tmp_path):
    def write() -> None:
        rng, producers, has_grown = np.random.default_rng(1), {"help": False}, False
        with ar.create(tmp_path / "a.root", n_threads=2, buffers="1 MB", growth_threshold=0) as file:
            tables = [
                file.tree(name, compression="lzma:3", flush=2000, producers=producers) for name in ("T", "U")
            ]
            contexts = [table.context() for table in tables]
            for _ in range(2000):  # enough for a machine that leaves the one who fills no time
                [context.fill({"x": rng.normal(size=2000)}) for context in contexts]
                if has_grown:
                    break
                has_grown = file.queue().n_growths > 0  # told by the next fill of each
            [context.close() for context in contexts]

    with pytest.warns(ar.QueueGrowthWarning) as warned:
        write()
    assert len(warned) == 1


def test_a_table_ends_and_others_begin_while_one_is_filled_all_the_time(tmp_path):
    is_over, rng = threading.Event(), np.random.default_rng(1)
    data = {"x": rng.normal(size=5_000)}

    def produce(table: ar.TableWriter) -> None:
        with table.context() as context:
            while not is_over.is_set():
                context.fill(data)

    with ar.create(tmp_path / "a.root", n_threads=2, buffers="1 MB") as file:
        # There always is a cluster that waits.
        busy, short = file.tree("busy", compression="lzma:2", flush=5_000), file.tree("short")
        short.append({"x": [1, 2, 3]})
        producers = [threading.Thread(target=produce, args=(busy,)) for _ in range(4)]
        [thread.start() for thread in producers]

        def end_and_begin() -> None:
            short.close()
            file.directory("somewhere")
            file.tree("somewhere/else").append({"x": [4]})

        worker = threading.Thread(target=end_and_begin)
        worker.start()
        worker.join(60)
        is_waiting = worker.is_alive()
        is_over.set()
        [thread.join() for thread in (worker, *producers)]
        assert not is_waiting, "it waits for what others fill all the time"
    with ar.open(tmp_path / "a.root") as read:
        assert read["short"].to_arrow()["x"].to_pylist() == [1, 2, 3]
        assert read["somewhere/else"].to_arrow()["x"].to_pylist() == [4]


@pytest.mark.long
def test_records_have_nothing_of_others_in_them_that_come_meanwhile(tmp_path):
    is_over, rng = threading.Event(), np.random.default_rng(1)
    data = {f"x{number}": rng.normal(size=20_000) for number in range(4)}

    def produce(table: ar.TableWriter) -> None:
        with table.context() as context:
            while not is_over.is_set():
                context.fill(data)

    path = tmp_path / "a.root"
    with ar.create(path, n_threads=2, buffers="8 MB") as file:
        # The pages of a cluster are one record, which is written task by task.
        busy = file.tree("busy", layout="rntuple", flush=20_000)
        producers = [threading.Thread(target=produce, args=(busy,)) for _ in range(3)]
        [thread.start() for thread in producers]
        try:
            for number in range(40):
                file[f"directory{number}/text"] = "something"
                file.tree(f"t{number}", layout=("ttree", "rntuple")[number % 2]).append({"x": [number]})
                file.tables[-1].close()
        finally:
            is_over.set()
            [thread.join() for thread in producers]
    assert_sound(path)
    with ar.open(path) as read:
        assert [read[f"t{number}"].to_arrow()["x"].to_pylist() for number in range(40)] == [
            [n] for n in range(40)
        ]


@pytest.mark.parametrize("order", ["filled", "numbered"])
def test_a_promised_order_refuses_without_room_as_a_free_one(tmp_path, order):
    with ar.create(tmp_path / "a.root", n_threads=2, buffers="100 kB") as file:
        producers: Any = {"order": order, "full": "refuse"}
        table = file.tree("T", compression="lzma:5", flush=20_000, producers=producers)
        n_filled, n_refused = 0, 0
        with table.context() as context:
            while n_filled < 5 or (n_filled < 200 and not n_refused):
                first = 20_000 * n_filled if order == "numbered" else None
                try:
                    context.fill({"x": np.random.default_rng(n_filled).normal(size=20_000)}, first)
                except ar.QueueFullError:
                    n_refused += 1
                    time.sleep(0.01)
                else:
                    n_filled += 1
    assert n_refused
    with ar.open(tmp_path / "a.root") as read:
        assert read["T"].num_entries == 20_000 * n_filled


def test_without_room_a_fill_refuses(tmp_path):
    messages = set()
    with ar.create(tmp_path / "a.root", n_threads=2) as file:
        producers: Any = {"policy": "single", "full": "refuse"}
        table = file.tree("T", compression="lzma:5", flush=20_000, producers=producers)
        n_filled = 0
        with table.context() as context:
            while n_filled < 5 or not messages:
                try:
                    context.fill({"x": np.random.default_rng(n_filled).normal(size=20_000)})
                except ar.QueueFullError as error:
                    messages.add(str(error))
                    time.sleep(0.01)
                else:
                    n_filled += 1
    with ar.open(tmp_path / "a.root") as read:
        assert read["T"].num_entries == 20_000 * n_filled
    assert all("all buffers are in use" in message for message in messages)
