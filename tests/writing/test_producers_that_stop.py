"""Producers that stop half way: exceptions, cancelled tasks, Ctrl-C, forked children. Nobody waits for ever."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar

from .producers_worker import SCHEMA, MishapError, batch_of

if TYPE_CHECKING:
    from pathlib import Path


def test_an_exception_in_a_context_leaves_no_file(tmp_path):
    def produce(table: ar.TableWriter) -> None:
        with table.context() as context:
            context.fill(batch_of(np.arange(3)))
            raise ValueError("of the producer")

    file = ar.create(tmp_path / "a.root")
    with pytest.raises(ValueError, match="of the producer"):
        produce(file.tree("T", SCHEMA))
    with pytest.raises(
        ar.ArrowrootError, match=r"a\.root: an exception left 'T' unfinished \(ValueError: of the producer\)"
    ):
        file.close()
    assert not list(tmp_path.iterdir())


def test_an_exception_in_a_context_ends_all_who_fill_the_file_and_says_why(tmp_path):
    told: list[str] = []
    all_fill = threading.Barrier(5)

    def produce(table: ar.TableWriter) -> None:
        try:
            with table.context() as context:
                context.fill({"x": np.arange(7)})
                all_fill.wait(60)
                while True:
                    context.fill({"x": np.arange(7)})
        except ar.InvalidRequestError as error:
            told.append(str(error))

    def fail(table: ar.TableWriter) -> None:
        with suppress(MishapError), table.context() as context:
            context.fill({"x": np.arange(7)})
            all_fill.wait(60)
            raise MishapError("of one")

    file = ar.create(tmp_path / "a.root", n_threads=2)
    tables = [file.tree("T", flush=100), file.tree("U", layout="rntuple", flush=100)]
    work = [(fail, tables[0]), *[(produce, table) for table in 2 * tables]]
    threads = [threading.Thread(target=what, args=(table,), daemon=True) for what, table in work]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert len(told) == 4, "some fill on"
    why = "an exception left 'T' unfinished (MishapError: of one): the file is given up"
    assert all(why in error for error in told), told
    # That was the first one: the others are told of it.
    with pytest.raises(
        ar.ArrowrootError, match=r"an exception left 'T', 'U' unfinished \(MishapError: of one\):"
    ):
        file.close()
    assert not list(tmp_path.iterdir())


def leave(error: BaseException) -> Any:
    def stop(_: ar.WritableFile) -> None:
        raise error

    return stop


@pytest.mark.parametrize(
    ("stop", "why"),
    [
        (
            leave(KeyboardInterrupt()),
            "Ctrl-C left the block that writes it: the file is given up, and nothing",
        ),
        (leave(MishapError("mine")), "MishapError left the block that writes it: the file is given up, and"),
        (
            ar.WritableFile.abort,
            "abort() was called: the file is given up, and nothing that was filled is kept",
        ),
        (
            ar.WritableFile.close,
            "table 'T' is closed while 2 of its contexts are still open, whose entries would",
        ),
    ],
    ids=["interrupt", "exception", "abort", "close"],
)
def test_who_fills_a_file_is_told_why_it_ended_and_what_is_left(tmp_path, stop, why):
    told: list[str] = []
    all_fill = threading.Barrier(3)

    def produce(table: ar.TableWriter) -> None:
        try:
            with table.context() as context:
                context.fill({"x": np.arange(7)})
                all_fill.wait(60)
                while True:
                    context.fill({"x": np.arange(7)})
        except ar.InvalidRequestError as error:
            told.append(str(error).replace('"', "'"))

    file = ar.create(tmp_path / "a.root", n_threads=2)
    table = file.tree("T", SCHEMA.empty_table().select(["x"]).schema, flush=100)
    threads = [threading.Thread(target=produce, args=(table,), daemon=True) for _ in range(2)]
    [thread.start() for thread in threads]
    with suppress(KeyboardInterrupt, MishapError, ar.InvalidRequestError), file:
        all_fill.wait(60)
        stop(file)
    [thread.join(60) for thread in threads]
    assert len(told) == 2, "some fill on"
    assert all(why in error for error in told), told
    with pytest.raises(
        ar.InvalidRequestError, match=r"the file is given up, and nothing that was filled is kept$"
    ):
        file.tree("U", SCHEMA)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_disk_that_is_full_under_contexts_is_told_by_who_closes_the_file(tmp_path, n_threads):
    """The tree is saved on its way all the time: the disk is full in the middle of that, too."""
    values = np.random.default_rng(1).integers(0, 1 << 60, 400)

    def produce(table: ar.TableWriter) -> None:
        # Nobody looks what a thread of a pool has raised.
        with suppress(ar.StorageError), table.context() as context:
            for _ in range(50):
                context.fill({f"x{number}": values for number in range(8)})

    def write(path: Path) -> None:
        with ar.create(path, n_threads=n_threads) as file:
            layout = ar.Layout(autosave="50 kB", flush=100, compression=None)
            tables = [file.tree("T", layout=layout), file.tree("U", layout=layout)]
            threads = [threading.Thread(target=produce, args=(table,)) for table in 2 * tables]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]

    write(tmp_path / "a.root")
    before = (tmp_path / "a.root").read_bytes()
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        for size in range(1_000, len(before) - 400_000, 400_009):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
            with pytest.raises(ar.ArrowrootError, match=r"a\.root\.part: file too large"):
                write(tmp_path / "a.root")
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            assert [path.name for path in tmp_path.iterdir()] == ["a.root"]
            assert (tmp_path / "a.root").read_bytes() == before
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


def test_the_fill_of_a_cancelled_task_goes_on_and_the_table_waits_for_it(tmp_path):
    data = {"x": np.random.default_rng(1).normal(size=100_000)}

    async def produce(table: ar.TableWriter, has_filled: asyncio.Event) -> None:
        context = table.context()
        try:
            while True:
                await asyncio.to_thread(context.fill, data)
                has_filled.set()
        finally:
            context.close()

    async def produce_for_a_while(path: Path) -> None:
        with ar.create(path, n_threads=1) as file:
            table = file.tree("T", compression="lzma:5", flush=50_000, producers={"policy": "single"})
            has_filled = asyncio.Event()
            tasks = [asyncio.create_task(produce(table, has_filled)) for _ in range(4)]
            await has_filled.wait()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(produce_for_a_while(tmp_path / "a.root"))
    with ar.open(tmp_path / "a.root") as read:
        values = read["T"].to_arrow()["x"].to_numpy().reshape(-1, 100_000)
    # Other fills may be between the clusters of one.
    assert len(values) > 1
    assert np.array_equal(np.sort(values, axis=None), np.sort(np.tile(data["x"], len(values))))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_leaves_the_blocks_of_its_parent_at_once(tmp_path):
    data = pa.table({"x": np.random.default_rng(1).normal(size=500_000)})
    is_over = threading.Event()

    def produce(table: ar.TableWriter) -> None:
        with table.context() as context:
            while not is_over.is_set():
                context.fill(data)

    with ar.create(tmp_path / "a.root", n_threads=2) as file:
        # One that is written as fast as the disk takes it has its locks nearly always.
        table = file.tree("T", data.schema, compression=None, flush=50_000)
        threads = [threading.Thread(target=produce, args=(table,)) for _ in range(2)]
        [thread.start() for thread in threads]
        try:
            for _ in range(20):
                child = os.fork()
                if child == 0:
                    try:
                        file.__exit__(SystemExit, SystemExit(0), None)
                    finally:
                        os._exit(0)
                assert status_of(child) == 0, "a child waits for a thread that it does not have"
        finally:
            is_over.set()
            [thread.join() for thread in threads]
    with ar.open(tmp_path / "a.root") as read:
        assert read["T"].num_entries % 500_000 == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_writes_nothing_and_says_so(tmp_path):
    data = {"x": np.arange(3)}
    with ar.create(tmp_path / "a.root", n_threads=2) as file:
        table, filled = file.tree("T"), file.tree("U")
        table.append(data)
        with filled.context() as context:
            context.fill(data)
            for work in (
                lambda: context.fill(data), lambda: table.append(data), lambda: file.tree("V").append(data),
                lambda: file.directory("d"), lambda: file.__setitem__("o", "text"), table.close, filled.close,
                file.complete, file.close,
            ):  # fmt: skip
                child = os.fork()
                if child == 0:
                    status = 1
                    try:
                        work()
                    except ar.InvalidRequestError as error:
                        status = 0 if "only the process that created a file" in str(error) else 2
                    finally:
                        os._exit(status)
                assert status_of(child) == 0
    with ar.open(tmp_path / "a.root") as read:
        keys = read.key_list()
        assert [key.path for key in keys] == ["T", "U"]
        assert [read[name].to_arrow()["x"].to_pylist() for name in "TU"] == [[0, 1, 2]] * 2


def status_of(child: int) -> int | None:
    """The exit status of a child; None if it has not ended within a minute."""
    deadline = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.001)
    return os.waitstatus_to_exitcode(ended[1])


@pytest.mark.parametrize(("size", "n_threads"), [(200_000, 1), (300_000, 1), (300_000, 2), (None, 1)])
def test_an_interrupted_fill_has_taken_nothing_or_the_file_is_given_up(tmp_path, size, n_threads):
    """The one buffer takes 200,000 entries: of 300,000 some are left when it is full. None: those of append.

    The fill compresses, or waits for its buffer where another thread does.
    """
    data = {"x": np.random.default_rng(1).normal(size=size or 200_000)}
    file = ar.create(tmp_path / "a.root", n_threads=n_threads)
    producers: Any = {"policy": "single", "help": False}
    table = file.tree("T", compression="lzma:9", flush=200_000, producers=producers)

    def interrupt() -> None:
        while file.queue().n_waiting_clusters == 0:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    context, thread = table.context() if size else None, threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        table.append(data) if context is None else context.fill(data)
    thread.join()
    if context is not None:
        context.close()
    # The work of the fill may still be under way.
    with pytest.raises(ar.InvalidRequestError, match="given up half way"):
        file.close()
    assert not list(tmp_path.iterdir())
