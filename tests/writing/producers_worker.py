"""Tables that several threads fill, drawn from seeds, with mishaps: ``producers_worker.py DIRECTORY FIRST END``.

Prints a line of JSON for each seed: what was drawn, and what came of it. Whoever starts it watches how long that takes.
"""

from __future__ import annotations

import faulthandler
import gc
import itertools
import json
import os
import random
import resource
import signal
import sys
import threading
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import arrowroot as ar
from tests.tables import draw as draw_table

SCHEMA = pa.schema(
    [
        pa.field("x", pa.int64(), nullable=False),
        pa.field("v", pa.list_(pa.field("item", pa.int64(), nullable=False)), nullable=False),
    ]
)
MISHAPS = ("none", "none", "none", "exception", "refused", "dropped", "disk", "interrupt", "fork")


class MishapError(Exception):
    """The mishap of a producer."""


def batch_of(numbers: np.ndarray) -> pa.RecordBatch:
    lengths = numbers % 4
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    lists = pa.ListArray.from_arrays(
        pa.array(ends), pa.array(np.repeat(numbers, lengths)), type=SCHEMA.field("v").type
    )
    return pa.record_batch([pa.array(numbers), lists], schema=SCHEMA)


@cache
def drawn(seed: int) -> pa.Table:
    """Columns beside those of ``SCHEMA``, of one entry at least."""
    for number in itertools.count(seed, 1000):
        table = draw_table(number)
        names = [name for name in table.column_names if name not in SCHEMA.names][:2]
        if names and table.num_rows:
            return table.select(names)
    raise AssertionError


def entries_of(seed: int, first: int, n_entries: int) -> pa.Table:
    """Entries of a case: those of its drawn table come again and again."""
    table, numbers = drawn(seed), batch_of(np.arange(first, first + n_entries))
    first %= table.num_rows
    again = pa.concat_tables([table] * (1 + (first + n_entries) // table.num_rows)).slice(first, n_entries)
    schema = pa.schema([*SCHEMA, *table.schema])
    return pa.table([*numbers.columns, *again.columns], schema=schema)


def draw(seed: int) -> dict[str, Any]:
    """Return a case."""
    rng = random.Random(seed)
    n_tables = rng.choice([1, 1, 2, 3])
    n_producers = rng.choice([1, 2, 3, 5, 8])
    order = rng.choice(["free", "free", "filled", "numbered"])
    # For each fill of a table: who does it, and of how many entries it is, in the order of the entries' numbers.
    fills = [
        [
            (rng.randrange(n_producers), rng.choice([1, 1, 2, 7, 30, rng.randrange(1, 400)]))
            for _ in range(rng.randrange(5, 60))
        ]
        for _ in range(n_tables)
    ]
    return {
        "seed": seed,
        "layout": rng.choice(["ttree", "rntuple"]),
        "order": order,
        "policy": rng.choice(["fullest", "fifo", "single"]),
        "n_buffers": rng.randrange(1, 6),
        "help": rng.random() < 0.5,
        "flush": rng.choice([1, 20, 100, "1 kB", "10 kB", "auto"]),
        "compression": rng.choice(["zstd:1", "lz4", "zlib:1", None]),
        "n_threads": rng.randrange(1, 4),
        "buffers": rng.choice([1_000, 20_000, 1_000_000, 64_000_000]),
        "n_producers": n_producers,
        "fills": fills,
        "mishap": rng.choice(MISHAPS),
        "bad_fill": rng.randrange(10),
        "index": rng.random() < 0.3,
    }


def has_index(case: dict[str, Any]) -> bool:
    return case["index"] and case["layout"] == "ttree"


def is_by_chance(case: dict[str, Any], table: int) -> bool:
    """The order of the entries depends on threads, or on buffers that are filled in turns."""
    n_producers = len({producer for producer, _ in case["fills"][table]})
    is_in_turns = case["policy"] == "fifo" and case["n_buffers"] > 1
    return case["order"] == "free" and (n_producers > 1 or is_in_turns)


def write(case: dict[str, Any], path: Path) -> None:
    """Write a file as the case says; raises what went wrong."""
    mishap = case["mishap"]
    producers = {
        "policy": case["policy"], "buffers": case["n_buffers"], "order": case["order"], "help": case["help"],
        "full": "refuse" if mishap == "refused" else "block", "on_growth": lambda _: None,
    }  # fmt: skip
    options: dict[str, Any] = {
        "layout": case["layout"],
        "flush": case["flush"],
        "compression": case["compression"],
    }
    if has_index(case):
        options["index"] = "x"
    with ar.create(
        path, reproducible=True, n_threads=case["n_threads"], buffers=case["buffers"], trace_stalls=True
    ) as file:
        tables = [
            file.tree(f"T{number}", entries_of(case["seed"], 0, 0).schema, producers=producers, **options)
            for number in range(len(case["fills"]))
        ]
        failures: list[BaseException] = []
        contexts = [[table.context() for table in tables] for _ in range(case["n_producers"])]
        others = [
            threading.Thread(target=produce, args=(case, number, contexts[number], failures))
            for number in range(1, case["n_producers"])
        ]
        for thread in others:
            thread.start()
        if mishap == "fork":
            fork(contexts[0][0])
        try:
            if mishap == "interrupt":
                threading.Timer(0.001 * case["bad_fill"], os.kill, (os.getpid(), signal.SIGINT)).start()
            produce(case, 0, contexts[0], failures)
            if mishap == "interrupt":
                time.sleep(1)
        except KeyboardInterrupt:
            file.abort()
            raise
        finally:
            for thread in others:
                thread.join()
        contexts.clear()
        gc.collect()
        if failures:
            raise failures[0]
    check_stalls(file, case)


def produce(
    case: dict[str, Any], number: int, contexts: list[ar.FillContext], failures: list[BaseException]
) -> None:
    """Do the fills of one producer, of all tables in turns."""
    try:
        # Not a block of with for those that are dropped.
        work = [
            (place, table, first, n_entries)
            for table, fills in enumerate(case["fills"])
            for place, (first, producer, n_entries) in enumerate(numbered(fills))
            if producer == number
        ]
        work.sort()
        for place, table, first, n_entries in work:
            check_luck(case, place)
            fill(case, contexts[table], first, n_entries)
        if case["mishap"] != "dropped":
            for context in contexts:
                context.close()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is told
        failures.append(error)
        for context in contexts:
            context.__exit__(type(error), error, None)


def check_luck(case: dict[str, Any], place: int) -> None:
    if case["mishap"] == "exception" and place == case["bad_fill"]:
        raise MishapError("of a producer")


def numbered(fills: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    first, found = 0, []
    for producer, n_entries in fills:
        found.append((first, producer, n_entries))
        first += n_entries
    return found


def fill(case: dict[str, Any], context: ar.FillContext, first: int, n_entries: int) -> None:
    batch = entries_of(case["seed"], first, n_entries)
    while True:
        try:
            context.fill(batch, first if case["order"] == "numbered" else None)
        except ar.QueueFullError:
            time.sleep(0.001)
        else:
            return


def fork(context: ar.FillContext) -> None:
    """A child cannot fill, says so, and ends."""
    # Arrow's memory may be locked in the child.
    batch = batch_of(np.arange(3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads are what this is about
        child = os.fork()
    if child == 0:
        status = 1
        try:
            context.fill(batch, 0)
        except ar.InvalidRequestError as error:
            status = 0 if "only the process that created a file" in str(error) else 2
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the child ended with {status}"


def check_stalls(file: ar.WritableFile, case: dict[str, Any]) -> None:
    """The accounts agree with what was filled."""
    n_entries = [sum(n for _, n in fills) for fills in case["fills"]]
    stalls = file.stalls()
    assert sum(stream.n_entries for stream in stalls.streams) == sum(n_entries), stalls.streams
    for stream in stalls.streams:
        assert sum(stream.times_ns.values()) == stream.end_ns - stream.start_ns
    cost = file.cost()
    assert cost.n_entries == sum(n_entries)
    assert cost.accounts[-1].layer == "store"
    assert file.queue().bytes == 0


def main() -> None:
    # A panic is no error that is expected anywhere.
    ar.InternalError.__bases__ = (BaseException,)
    directory, first, end = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    faulthandler.enable(all_threads=True)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for seed in range(first, end):
        case = draw(seed)
        path = directory / f"{seed}.root"
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        if case["mishap"] == "disk":
            # A file may have so many bytes, and not one more.
            resource.setrlimit(resource.RLIMIT_FSIZE, (300 + 1000 * case["bad_fill"], limits[1]))
        error = None
        try:
            write(case, path)
        except (MishapError, KeyboardInterrupt, ar.ArrowrootError, MemoryError) as found:
            error = f"{type(found).__name__}: {found}"
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        told = {
            "seed": seed,
            "error": error,
            "is_there": path.exists(),
            "left": [p.name for p in directory.glob(f"{seed}.*")],
        }
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
