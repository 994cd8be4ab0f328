"""Arrow data that are not what they say: drawn, written in every way, and judged by pyarrow's own validation.

``python -m tests.robustness.spoilt 0 200`` tells what is wrong, a line each, and at last what it has seen; ``scribble``
instead of seeds writes arrays while a thread writes over them.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import re
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa

import arrowroot as ar
from arrowroot import cli
from tests.tables import KINDS, NUMBERS, TIMES, Chance, Stream, draw_array, draw_type
from tests.writing.expected import shown

_NUMBERS = (0, 1, 2, 3, 7, 100, 1 << 20, (1 << 30) + 1, (1 << 31) - 1, -1, -2, -(1 << 31))
#: pyarrow says nothing of texts of a tree with a zero, of nulls where a field has none, and of equal keys of a map.
WRONG_TO_US = re.compile("a zero in it|calls that field non-nullable|has two equal keys")
_WAYS = ("write", "stream", "append", "fill", "convert")


def drawn(chance: Chance) -> tuple[str, pa.Array]:
    """Draw an array of any type, rarely of numbers: whatever is written into these is one."""
    kind = draw_type(chance, 0)
    if kind == pa.null() or (kind in NUMBERS and chance.random() < 0.9):
        return drawn(chance)
    array = draw_array(chance, pa.field("x", kind, nullable=chance.random() < 0.5), chance.choice((8, 24)))
    if not buffers_of(array):
        return drawn(chance)
    return (f"slice of {kind}", array.slice(2, 5)) if chance.random() < 0.15 else (str(kind), array)


def buffers_of(array: pa.Array) -> list[pa.Buffer]:
    """Return all that an array has in memory, with its dictionaries."""
    kind = array.type
    inside: list[pa.Array] = []
    if pa.types.is_dictionary(kind):
        inside = [array.dictionary]
    elif pa.types.is_map(kind):
        inside = [array.keys, array.items]
    elif pa.types.is_struct(kind):
        inside = [array.field(place) for place in range(kind.num_fields)]
    elif hasattr(array, "values") and not pa.types.is_run_end_encoded(kind):
        inside = [array.values]
    found = {buffer.address: buffer for buffer in array.buffers() if buffer is not None and buffer.size}
    for one in inside:
        found |= {buffer.address: buffer for buffer in buffers_of(one)}
    return list(found.values())


def spoil(draw: Chance, address: int, n_bytes: int) -> None:
    """Write a number that may mean anything somewhere into memory."""
    width = draw.choice([width for width in (1, 2, 4, 4, 4, 8) if width <= n_bytes])
    number = draw.choice((*_NUMBERS, draw.getrandbits(31))).to_bytes(16, "little", signed=True)[:width]
    ctypes.memmove(address + draw.randrange(n_bytes // width) * width, number, width)


def fault_of(array: pa.Array) -> str:
    """Return what pyarrow finds wrong, "" for nothing."""
    try:
        array.validate(full=True)
    except pa.ArrowException as error:
        return str(error)
    return ""


def put(way: str, table: pa.Table, path: str, layout: str) -> None:
    """Write a table in one of the ways."""
    target = f"{path}:t"
    if way == "write":
        ar.write(target, {"n": table["n"], "x": table["x"].chunk(0)}, layout=layout)
    elif way == "stream":
        ar.write(target, Stream(table), layout=layout)
    elif way == "append":
        with ar.create(path) as file:
            file.tree("t", layout=layout).append(table)
    else:
        with ar.create(path) as file:
            events = file.tree("t", layout=layout)
            with events.context() as context:
                context.fill(table)


def judged(seed: int, directory: Path) -> str:
    """Write one drawn case and say what became of it: "refused", "written", "unsupported", or what is wrong."""
    draw = Chance(seed)
    name, array = drawn(draw)
    way, layout, path = draw.choice(_WAYS), draw.choice(("ttree", "rntuple")), directory / "x.root"
    case = f"{seed}: {name}, {way} as {layout}"
    table = pa.table({"n": pa.array(range(len(array)), pa.int64()), "x": array})
    if way == "convert":
        return _judged_conversion(draw, case, table, layout, directory)
    if draw.random() < 0.9:
        buffer = draw.choice(buffers_of(array))
        spoil(draw, buffer.address, buffer.size)
    fault = fault_of(array)
    if way == "stream" and "out of bounds" in fault and "ffset" in fault:
        return "beside"  # the C interface does not tell how much memory texts have
    is_fine = not fault
    expected = shown(array) if is_fine else None
    try:
        put(way, table, str(path), layout)
    except ar.UnsupportedError:
        return "unsupported"
    except ar.InvalidRequestError as error:
        left = [one.name for one in directory.iterdir()]
        is_fine &= not WRONG_TO_US.search(str(error))
        if is_fine or left or not re.search(r"column ['\"]?x.*entr(y|ies from) \d", str(error)):
            return f"{case}: {'is fine, ' if is_fine else ''}leaves {left}, says: {error}"
        return "refused"
    return _read(case, expected, path)


def _judged_conversion(draw: Chance, case: str, table: pa.Table, layout: str, directory: Path) -> str:
    source, path = directory / "x.arrow", directory / "x.root"
    with pa.ipc.new_file(source, table.schema) as file:
        file.write_table(table)
    content = bytearray(source.read_bytes())
    memory = (ctypes.c_char * len(content)).from_buffer(content)
    first = ctypes.addressof(memory)
    column = pa.ipc.open_file(pa.py_buffer(content)).read_all()["x"].chunk(0)
    buffer = draw.choice(buffers_of(column))
    assert first <= buffer.address < first + len(content)
    spoil(draw, buffer.address, buffer.size)
    is_fine = not fault_of(column)
    expected = shown(column) if is_fine else None
    del column, buffer
    source.write_bytes(content)
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = cli.main(["convert", str(source), f"{path}:t", "--layout", layout])
    source.unlink()
    if code != 0:
        is_fine &= not WRONG_TO_US.search(said.getvalue())
        left = [one.name for one in directory.iterdir()]
        if is_fine or left:
            return f"{case}: {'is fine, ' if is_fine else ''}leaves {left}, says: {said.getvalue()}"
        return "refused"
    return _read(case, expected, path)


def _read(case: str, expected: list[Any] | None, path: Path) -> str:
    """Compare with what is read; None: pyarrow finds something wrong, which is perhaps beside what a slice takes.

    Lists of a fixed size are of a slice of their items, too.
    """
    column = ar.open(path)["t"].to_arrow()["x"]
    path.unlink()
    if expected is None:
        column.validate(full=True)
        return "beside" if "slice of" in case or "fixed_size_list" in case else f"{case}: written"
    found = shown(column)
    return "written" if found == expected else f"{case}: {found} where {expected}"


def scribbled_over(kind: pa.DataType, layout: str, way: str, directory: Path) -> str:
    """Write an array while another thread writes over all that others are found by; what is written can be read."""
    name, draw = str(kind), Chance(str(kind))
    array = draw_array(draw, pa.field("x", kind), 2000)
    table = pa.table({"n": pa.array(range(len(array)), pa.int64()), "x": array})
    places = [(buffer.address, buffer.size) for buffer in buffers_of(array)]
    is_over = threading.Event()

    def scribble() -> None:
        while not is_over.is_set():
            address, n_bytes = draw.choice(places)
            width = min(8, n_bytes)
            place = address + draw.randrange(n_bytes // width) * width
            good = ctypes.string_at(place, width)
            for _ in range(20):
                spoil(draw, place, width)
                ctypes.memmove(place, good, width)

    scribbler = threading.Thread(target=scribble)
    scribbler.start()
    path = directory / "x.root"
    refused = False
    try:
        put(way, table, str(path), layout)
    except ar.InvalidRequestError:
        refused = True
    finally:
        is_over.set()
        scribbler.join()
    if refused:
        left = list(directory.iterdir())
        return f"{name}: leaves {left}" if left else "refused"
    found = ar.open(path)["t"].to_arrow()
    found.validate(full=True)
    path.unlink()
    return "written" if found.num_rows == len(array) else f"{name}: {found.num_rows} entries"


def scribble_over_all() -> None:
    """Scribble over each type in each layout."""
    sys.setswitchinterval(1e-5)
    seen: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as name:
        for kind in [kind for kind in KINDS if kind not in (*NUMBERS, *TIMES)]:
            for layout, way in (
                ("ttree", "write"),
                ("rntuple", "fill"),
                ("rntuple", "stream"),
                ("ttree", "append"),
            ):
                what = scribbled_over(kind, layout, way, Path(name))
                if " " in what:
                    print(what, flush=True)
                    what = "wrong"
                seen[what] = seen.get(what, 0) + 1
    print("seen", dict(sorted(seen.items())))


def main(first: int, end: int) -> None:
    """Judge so many cases."""
    seen: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as name:
        for seed in range(first, end):
            try:
                what = judged(seed, Path(name))
            except Exception as error:  # noqa: BLE001 - any other than ours is a finding
                what = f"{seed}: {type(error).__name__}: {error}"
            if " " in what:
                print(what, flush=True)
                what = "wrong"
                for left in Path(name).iterdir():
                    left.unlink()
            seen[what] = seen.get(what, 0) + 1
    print("seen", dict(sorted(seen.items())))


if __name__ == "__main__":
    if sys.argv[1:] == ["scribble"]:
        scribble_over_all()
    else:
        main(*map(int, sys.argv[1:3]))
