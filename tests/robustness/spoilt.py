"""Arrow data that are not what they say: drawn, written in every way, and judged by pyarrow's own validation.

``python -m tests.robustness.spoilt 0 200`` tells what is wrong, a line each, and at last what it has seen; ``scribble``
instead of seeds writes arrays while a thread writes over them.
"""

from __future__ import annotations

import contextlib
import ctypes
import decimal
import io
import itertools
import random
import re
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import arrowroot as ar
from arrowroot import cli

if TYPE_CHECKING:
    from collections.abc import Callable

_N = 24
_DAY_MS = 86_400_000


def _maybe(draw: random.Random, values: list[Any], share: float = 0.3) -> list[Any]:
    is_missing = draw.random() < 0.5
    return [None if is_missing and draw.random() < share else value for value in values]


def _text(draw: random.Random) -> str:
    return "".join(draw.choice("abcäöü€") for _ in range(draw.choice((0, 3, 9, 12, 13, 30))))


def _texts(kind: pa.DataType) -> Callable[[random.Random], pa.Array]:
    return lambda draw: pa.array(_maybe(draw, [_text(draw) for _ in range(_N)]), pa.string()).cast(kind)


def _numbers(kind: pa.DataType, most: int, factor: int = 1) -> Callable[[random.Random], pa.Array]:
    def make(draw: random.Random) -> pa.Array:
        values = [draw.randrange(most) * factor for _ in range(_N)]
        storage = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array(_maybe(draw, values), storage).cast(kind)

    return make


def _decimals(kind: pa.DataType) -> Callable[[random.Random], pa.Array]:
    def make(draw: random.Random) -> pa.Array:
        values = [decimal.Decimal(draw.randrange(-999, 999)).scaleb(-kind.scale) for _ in range(_N)]
        return pa.array(_maybe(draw, values), kind)

    return make


def _dictionary(index: pa.DataType, values: pa.Array) -> Callable[[random.Random], pa.Array]:
    def make(draw: random.Random) -> pa.Array:
        indices = pa.array(_maybe(draw, [draw.randrange(len(values)) for _ in range(_N)]), index)
        return pa.DictionaryArray.from_arrays(indices, pa.array(values.to_pylist(), values.type))

    return make


def _runs(draw: random.Random) -> pa.Array:
    ends = [*sorted(draw.sample(range(1, _N), 5)), _N]
    values = pa.array(_maybe(draw, [draw.randrange(100) for _ in ends]), pa.int32())
    return pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), values)


#: By name: a new array, each time in memory of its own.
LEAVES: dict[str, Callable[[random.Random], pa.Array]] = {
    "int32": _numbers(pa.int32(), 1000),
    "bool": lambda draw: pa.array(_maybe(draw, [draw.random() < 0.5 for _ in range(_N)]), pa.bool_()),
    "date64": _numbers(pa.date64(), 1000, _DAY_MS),
    "time32[s]": _numbers(pa.time32("s"), 86_400),
    "time64[us]": _numbers(pa.time64("us"), 86_400_000_000),
    "decimal128": _decimals(pa.decimal128(5, 2)),
    "decimal256": _decimals(pa.decimal256(40, 3)),
    "binary[4]": lambda draw: pa.array(_maybe(draw, [draw.randbytes(4) for _ in range(_N)]), pa.binary(4)),
    "string": _texts(pa.string()),
    "large_string": _texts(pa.large_string()),
    "binary": _texts(pa.binary()),
    "large_binary": _texts(pa.large_binary()),
    "string_view": _texts(pa.string_view()),
    "binary_view": _texts(pa.binary_view()),
    "dictionary<int8, string>": _dictionary(pa.int8(), pa.array(["a", "bä", "", "a longer text than that"])),
    "dictionary<int32, int64>": _dictionary(pa.int32(), pa.array([5, 6, 7], pa.int64())),
    "runs": _runs,
}


def _lists(kind: Callable[[pa.DataType], pa.DataType]) -> Callable[[random.Random, pa.Array], pa.Array]:
    def make(draw: random.Random, items: pa.Array) -> pa.Array:
        ends = [0, *sorted(draw.randrange(len(items) + 1) for _ in range(7)), len(items)]
        wanted = kind(items.type)
        is_large = pa.types.is_large_list(wanted) or pa.types.is_large_list_view(wanted)
        number = pa.int64() if is_large else pa.int32()
        buffers = [None, pa.array(ends, number).buffers()[1]]
        if pa.types.is_list_view(wanted) or pa.types.is_large_list_view(wanted):
            sizes = [end - start for start, end in itertools.pairwise(ends)]
            buffers.append(pa.array(sizes, number).buffers()[1])
        return pa.Array.from_buffers(wanted, len(ends) - 1, buffers, children=[items])

    return make


def _fixed(draw: random.Random, items: pa.Array) -> pa.Array:
    size = draw.choice((1, 2, 3))
    return pa.FixedSizeListArray.from_arrays(items.slice(0, len(items) // size * size), size)


def _sliced(draw: random.Random, items: pa.Array) -> pa.Array:
    made = _struct(draw, items)
    return made.slice(2, len(made) - 3)


def _struct(draw: random.Random, items: pa.Array) -> pa.Array:
    other = pa.array(range(len(items)), pa.int64())
    mask = pa.array([draw.random() < 0.2 for _ in range(len(items))]) if draw.random() < 0.5 else None
    return pa.StructArray.from_arrays([other, items], ["n", "of"], mask=mask)


def _map(draw: random.Random, items: pa.Array) -> pa.Array:
    ends = [0, *sorted(draw.randrange(len(items) + 1) for _ in range(5)), len(items)]
    keys = pa.array([_text(draw) for _ in range(len(items))])
    return pa.MapArray.from_arrays(pa.array(ends, pa.int32()), keys, items)


NESTS: dict[str, Callable[[random.Random, pa.Array], pa.Array]] = {
    "list": _lists(pa.list_),
    "large_list": _lists(pa.large_list),
    "list_view": _lists(pa.list_view),
    "large_list_view": _lists(pa.large_list_view),
    "fixed": _fixed,
    "struct": _struct,
    "slice": _sliced,
    "map": _map,
}

_NUMBERS = (0, 1, 2, 3, 7, 100, 1 << 20, (1 << 30) + 1, (1 << 31) - 1, -1, -2, -(1 << 31))
_WAYS = ("write", "stream", "append", "fill", "convert")


def drawn(draw: random.Random) -> tuple[str, pa.Array]:
    """Draw an array of any type."""
    name = draw.choice(list(LEAVES))
    array = LEAVES[name](draw)
    for _ in range(draw.choice((0, 0, 1, 1, 2))):
        if len(array) < 4:
            break
        nest = draw.choice(list(NESTS))
        name, array = f"{nest}<{name}>", NESTS[nest](draw, array)
    return name, array


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


def spoil(draw: random.Random, address: int, n_bytes: int) -> None:
    """Write a number that may mean anything somewhere into memory."""
    width = draw.choice([width for width in (1, 2, 4, 4, 4, 8) if width <= n_bytes])
    number = draw.choice((*_NUMBERS, draw.getrandbits(31))).to_bytes(16, "little", signed=True)[:width]
    ctypes.memmove(address + draw.randrange(n_bytes // width) * width, number, width)


def is_whole(array: pa.Array) -> bool:
    """Return whether pyarrow finds nothing wrong."""
    try:
        array.validate(full=True)
    except pa.ArrowException:
        return False
    return True


def as_values(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return the values as Python has them, times and days as numbers."""
    if pa.types.is_run_end_encoded(array.type):
        import pyarrow.compute as pc

        array = pc.run_end_decode(array)
    return list(array.to_pylist())


class _Stream:
    """Not pyarrow's own."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


def put(way: str, table: pa.Table, path: str, layout: str) -> None:
    """Write a table in one of the ways."""
    target = f"{path}:t"
    if way == "write":
        ar.write(target, {"n": table["n"], "x": table["x"].chunk(0)}, layout=layout)
    elif way == "stream":
        ar.write(target, _Stream(table), layout=layout)
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
    draw = random.Random(seed)
    name, array = drawn(draw)
    way, layout, path = draw.choice(_WAYS), draw.choice(("ttree", "rntuple")), directory / "x.root"
    case = f"{seed}: {name}, {way} as {layout}"
    table = pa.table({"n": pa.array(range(len(array)), pa.int64()), "x": array})
    if way == "convert":
        return _judged_conversion(draw, case, table, layout, directory)
    if draw.random() < 0.9:
        buffer = draw.choice(buffers_of(array))
        spoil(draw, buffer.address, buffer.size)
    is_fine = is_whole(array)
    expected = as_values(array) if is_fine else None
    try:
        put(way, table, str(path), layout)
    except ar.UnsupportedError:
        return "unsupported"
    except ar.InvalidRequestError as error:
        left = [one.name for one in directory.iterdir()]
        is_fine &= "a zero in it" not in str(error)  # no text of a tree has one
        if is_fine or left or not re.search(r"column ['\"]?x.*entr(y|ies from) \d", str(error)):
            return f"{case}: {'is fine, ' if is_fine else ''}leaves {left}, says: {error}"
        return "refused"
    return _read(case, expected, path)


def _judged_conversion(draw: random.Random, case: str, table: pa.Table, layout: str, directory: Path) -> str:
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
    is_fine = is_whole(column)
    expected = as_values(column) if is_fine else None
    del column, buffer
    source.write_bytes(content)
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = cli.main(["convert", str(source), f"{path}:t", "--layout", layout])
    source.unlink()
    if code != 0:
        is_fine &= "a zero in it" not in said.getvalue()  # no text of a tree has one
        left = [one.name for one in directory.iterdir()]
        return f"{case}: {'is fine, ' if is_fine else ''}leaves {left}" if is_fine or left else "refused"
    return _read(case, expected, path)


def _read(case: str, expected: list[Any] | None, path: Path) -> str:
    """Compare with what is read; None: pyarrow finds something wrong, which is perhaps beside what a slice takes.

    Lists of a fixed size are of a slice of their items, too.
    """
    column = ar.open(path)["t"].to_arrow()["x"]
    path.unlink()
    if expected is None:
        column.validate(full=True)
        return "beside" if "slice<" in case or "fixed<" in case else f"{case}: written"
    found = as_values(column)
    return "written" if found == expected else f"{case}: {found} where {expected}"


def scribbled_over(name: str, layout: str, way: str, directory: Path) -> str:
    """Write an array while another thread writes over all that others are found by; what is written can be read."""
    draw = random.Random(name)
    array = (LEAVES | {f"{nest}<string>": _nested(nest) for nest in NESTS})[name](draw)
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


def _nested(nest: str) -> Callable[[random.Random], pa.Array]:
    return lambda draw: NESTS[nest](draw, LEAVES["string"](draw))


def scribble_over_all() -> None:
    """Scribble over each type in each layout."""
    global _N  # noqa: PLW0603 - writing takes a while
    _N = 2000
    sys.setswitchinterval(1e-5)
    seen: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as name:
        for kind in [*LEAVES, *(f"{nest}<string>" for nest in NESTS)]:
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
