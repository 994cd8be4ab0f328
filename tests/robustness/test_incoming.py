"""Arrow data that contradict themselves are refused, whatever they are and however they come."""

from __future__ import annotations

import ctypes
import itertools
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from tests.recorded import session

REPOSITORY = Path(__file__).parents[2]
N_SEEDS = 5000 if os.environ.get("ARROWROOT_SOAK") else 200
LAYOUTS = ["ttree", "rntuple"]


def spoilt(*arguments: object) -> dict[str, int]:
    """What a process of its own has seen; it may crash."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.robustness.spoilt", *map(str, arguments)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    *wrong, seen = done.stdout.splitlines() or [""]
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-2000:])
    assert wrong == []
    return {name: int(n) for name, n in re.findall(r"'(\w+)': (\d+)", seen)}


def test_drawn_damage_is_refused_and_the_rest_is_what_it_was() -> None:
    seen = spoilt(0, N_SEEDS)
    assert seen["refused"] > N_SEEDS / 4, seen
    assert seen["written"] > N_SEEDS / 4, seen


RUNS = pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), pa.array([7, None], pa.int32()))
VIEWS = pa.array([b"a", None, None], pa.binary_view())
FIXED = pa.array([["a"], None, None], pa.list_(pa.field("item", pa.string_view(), nullable=False), 1))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("inside", [RUNS, VIEWS, FIXED], ids=["runs", "views", "lists of views"])
def test_members_of_missing_structs_that_pyarrow_cannot_pick(
    tmp_path: Path, inside: pa.Array, layout: str
) -> None:
    structs = pa.StructArray.from_arrays([inside], ["a"], mask=pa.array([False, False, True]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ar.FewReadersWarning)
        ar.write(f"{tmp_path}/x.root:t", pa.table({"x": structs}), layout=layout)
    found = ar.open(tmp_path / "x.root")["t"].to_arrow()["x"].to_pylist()
    assert found == [{"a": inside[0].as_py()}, {"a": None}, None]


@pytest.mark.long
def test_what_is_written_while_it_changes_can_be_read() -> None:
    # How many are refused is by chance.
    seen = spoilt("scribble")
    assert set(seen) <= {"refused", "written"}, seen
    assert sum(seen.values()) > 50, seen


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_entry_is_that_of_all_the_data_and_the_older_file_stays(tmp_path: Path, layout: str) -> None:
    path = tmp_path / "x.root"
    ar.write(f"{path}:t", {"x": ["older"]}, layout=layout)
    before = path.read_bytes()
    offsets = pa.array([0, 1, 2, 3, 2, 5], pa.int32()).buffers()[1]
    bad = pa.Array.from_buffers(pa.string(), 5, [None, offsets, pa.py_buffer(b"abcde")])
    table = pa.table({"x": pa.chunked_array([pa.array(["a", "b"]), bad])})
    with pytest.raises(
        ar.InvalidRequestError, match=r"x\.root:t: column \"x\": entry 5 of the data is spoilt"
    ):
        ar.write(f"{path}:t", table, layout=layout)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


ZONES = {"UTC": True, "Europe/Zurich": True, "+05:30": True, "+0530": True, "": True}
NO_ZONES = {"Not/AZone": False, "+25:00": False, "../etc/passwd": False, "a\nb": False}


@pytest.mark.parametrize("kind", ["plain", "list", "dictionary", "schema"])
@pytest.mark.parametrize(("zone", "is_there"), (ZONES | NO_ZONES).items())
def test_times_are_in_zones_that_there_are(tmp_path: Path, kind: str, zone: str, is_there: bool) -> None:
    times = pa.array([0, 1], pa.timestamp("us", tz=zone or None))
    column: Any = {
        "plain": times,
        "list": pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), times),
        "dictionary": times.dictionary_encode(),
        "schema": pa.array([0, 1], pa.timestamp("us", tz="UTC" if zone else None)),
    }[kind]
    options: Any = {"schema": pa.schema({"x": times.type})} if kind == "schema" else {}
    path = tmp_path / "x.root"
    if is_there:
        ar.write(f"{path}:t", {"x": column}, **options)
    else:
        with pytest.raises(ar.InvalidRequestError, match="column 'x': times in the zone"):
            ar.write(f"{path}:t", {"x": column}, **options)
        assert not path.exists()


NUMBERS = ctypes.POINTER(ctypes.c_int64)
capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype, capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class ByHand:
    """An array of the C interface with some of its numbers changed: they are 64 bits each."""

    def __init__(self, array: pa.Array, **changed: int) -> None:
        self._array = pa.StructArray.from_arrays([array], ["x"])
        self._changed = changed

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]:
        of_schema, of_array = self._array.__arrow_c_array__()
        outer = ctypes.cast(capsule_pointer(of_array, b"arrow_array"), NUMBERS)
        # length, null_count, offset, n_buffers, n_children, buffers, children
        child = ctypes.cast(ctypes.cast(outer[6], NUMBERS)[0], NUMBERS)
        fields = (
            "length",
            "null_count",
            "offset",
            "n_buffers",
            "n_children",
            "buffers",
            "children",
            "dictionary",
        )
        for name, number in self._changed.items():
            if name == "format":
                ctypes.cast(capsule_pointer(of_schema, b"arrow_schema"), NUMBERS)[0] = number
            elif name == "view_bytes":
                ctypes.cast(ctypes.cast(child[5], NUMBERS)[3], NUMBERS)[0] = number
            elif name in fields:
                child[fields.index(name)] = number
            else:
                ctypes.cast(child[5], NUMBERS)[int(name.removeprefix("buffer"))] = number
        return of_schema, of_array


TEXTS = pa.array(["a", None, "b", "some more than in a view"])


def test_arrays_of_others_that_lack_something_are_refused(tmp_path: Path) -> None:
    def refused(array: pa.Array, **changed: int) -> str:
        said = []
        by_hand = ByHand(array, **changed)
        for layout, data in itertools.product(LAYOUTS, (by_hand, {"x": by_hand})):
            with pytest.raises(ar.InvalidRequestError) as caught:
                ar.write("x.root:t", data, layout=layout)
            said.append(str(caught.value))
        return "\n".join(dict.fromkeys(said))

    session("spoilt-arrays", tmp_path, {"refused": refused, "TEXTS": TEXTS, "pa": pa})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("way", ["append", "fill"])
def test_an_entry_that_no_memory_holds_is_refused_by_its_number(tmp_path: Path, way: str) -> None:
    much = pa.array(np.arange(1 << 16))
    for n_lists in (1 << 16, 1 << 16, 1 << 16, 1):
        starts, sizes = pa.array(np.zeros(n_lists, np.int64)), pa.array(np.full(n_lists, len(much)))
        much = pa.LargeListViewArray.from_arrays(starts, sizes, much)
    with ar.create(tmp_path / "x.root") as file, file.tree("t") as table:
        context = table.context() if way == "fill" else None
        put = table.append if context is None else context.fill
        put({"x": much.slice(0, 0)})
        with pytest.raises(
            ar.InvalidRequestError, match=r"x.root:t: column x, entry 0: it becomes \d+ bytes"
        ):
            put({"x": much})
        if context is not None:
            context.close()
    assert ar.open(tmp_path / "x.root")["t"].num_entries == 0


@pytest.mark.parametrize("level", ["frame", "series"])
@pytest.mark.parametrize("way", ["write", "append", "fill"])
def test_damaged_views_of_polars_are_refused(tmp_path: Path, way: str, level: str) -> None:
    """Polars follows them to whatever is there."""
    pl = pytest.importorskip("polars")
    series = pl.Series("x", ["some more than in a view", "b"] * 2)
    views = series.to_arrow(compat_level=pl.CompatLevel.newest()).buffers()[1]
    ctypes.memmove(views.address + 12, (1 << 30).to_bytes(4, "little"), 4)
    data = pl.DataFrame({"x": series}) if level == "frame" else {"x": series}
    with ar.create(tmp_path / "x.root") as file:
        table = file.tree("t")
        put = table.context().fill if way == "fill" else table.add_all if way == "write" else table.append
        with pytest.raises(
            ar.InvalidRequestError, match=r"x.root:t: column ['\"]x['\"]: entry 0 .*a view of 24 bytes"
        ):
            put(data)
        file.abort()


def test_memory_that_numpy_changes_later_is_not_what_was_appended(tmp_path: Path) -> None:
    offsets, text = np.array([0, 1, 3, 6], np.int32), np.frombuffer(b"abbccc", np.uint8).copy()
    array = pa.Array.from_buffers(pa.string(), 3, [None, pa.py_buffer(offsets), pa.py_buffer(text)])
    with ar.create(tmp_path / "x.root") as file, file.tree("t") as events:
        events.append({"x": array})
        offsets[:] = 1 << 30
        text[:] = 0xFF
    assert ar.open(tmp_path / "x.root")["t"].to_arrow()["x"].to_pylist() == ["a", "bb", "ccc"]


@pytest.mark.parametrize("place", ["under the lock", "without it"])
def test_a_panic_is_an_exception_of_ours(tmp_path: Path, place: str) -> None:
    """The engine's own entrance is not that of users: pyarrow lets no missing pointers through."""
    file = ar.create(tmp_path / "x.root")
    table = file.tree("t", schema={"x": "int64"})
    native = table._begin([])
    batch = ByHand(pa.array([1]), **({"format": 0} if place == "under the lock" else {"buffers": 0}))
    with pytest.raises(ar.InternalError, match="assertion failed") as caught:
        native.append(batch, [])
    assert isinstance(caught.value, Exception)
    assert isinstance(caught.value, ar.ArrowrootError)
    file.abort()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("way", ["append", "fill"])
def test_spoilt_entries_among_others_are_refused_and_the_others_stay(
    tmp_path: Path, layout: str, way: str
) -> None:
    good = {"x": pa.array(["a", "b"]), "c": pa.array(["u", "v"]).dictionary_encode()}
    index = pa.DictionaryArray.from_arrays(pa.array([0, 9], pa.int32()), pa.array(["u", "v"]), safe=False)
    invalid = pa.array(["a", "b\u00e9"])
    ctypes.memset(invalid.buffers()[2].address + 1, 0xFF, 1)
    with ar.create(tmp_path / "x.root") as file:
        events = file.tree("t", layout=layout)
        context = events.context() if way == "fill" else None
        put = events.append if context is None else context.fill
        put(good)
        for name, bad in (("x", invalid), ("c", index)):
            with pytest.raises(
                ar.InvalidRequestError,
                match=rf't: column "{name}": entry [13] (of the data is spoilt|has a text that is not UTF-8)',
            ):
                put(good | {name: bad})
        put(good)
        if context is not None:
            context.close()
    read = ar.open(tmp_path / "x.root")["t"].to_arrow()
    assert read["x"].to_pylist() == ["a", "b", "a", "b"]
    assert read["c"].to_pylist() == ["u", "v", "u", "v"]


def strict(kind: str, *, is_masked: bool = False) -> pa.Table:
    """Three entries, the second with a null where the schema has none; ``is_masked``: of what is missing itself."""
    numbers, no_null = pa.array([1, None, 3], pa.int32()), pa.field("m", pa.int32(), nullable=False)
    offsets = pa.array([0, 1, 2, 3], pa.int32())
    mask = pa.array([False, is_masked, False])
    bits = pa.array([True, not is_masked, True]).buffers()[1]

    def made(of: pa.DataType, buffers: list[Any], *inside: pa.Array) -> pa.Array:
        return pa.Array.from_buffers(of, 3, [bits, *buffers], children=list(inside))

    member = pa.StructArray.from_arrays([numbers], fields=[no_null], mask=mask)
    inner = pa.StructArray.from_arrays([numbers], fields=[no_null])
    pairs = pa.StructArray.from_arrays([pa.array(["a", "b", "c"]), numbers], ["key", "value"])
    ends, sizes = offsets.buffers()[1], pa.array([1, 1, 1], pa.int32()).buffers()[1]
    array = {
        "plain": lambda: numbers,
        "dictionary": numbers.dictionary_encode,
        "struct": lambda: member,
        "struct in struct": lambda: pa.StructArray.from_arrays([inner], ["s"], mask=mask),
        "list": lambda: made(pa.list_(no_null), [ends], numbers),
        "struct in list": lambda: made(pa.list_(pa.field("item", inner.type)), [ends], inner),
        "view": lambda: made(pa.list_view(no_null), [ends, sizes], numbers),
        "fixed list": lambda: made(pa.list_(no_null, 1), [], numbers),
        "map": lambda: made(pa.map_(pa.string(), no_null.with_name("value")), [ends], pairs),
    }[kind]()
    return pa.table(
        [array], pa.schema([pa.field("x", array.type, nullable=kind not in {"plain", "dictionary"})])
    )


INSIDE = ["struct", "struct in struct", "list", "struct in list", "view", "fixed list", "map"]
WAYS: dict[str, Any] = {
    "table": lambda path, table, layout: ar.write(f"{path}:t", table, layout=layout),
    "reader": lambda path, table, layout: ar.write(f"{path}:t", table.to_reader(), layout=layout),
    "generator": lambda path, table, layout: ar.write(f"{path}:t", iter(table.to_batches()), layout=layout),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("way", ["table", "reader", "generator"])
@pytest.mark.parametrize("kind", ["plain", "dictionary", *INSIDE])
def test_nulls_where_the_data_say_that_there_are_none_are_refused(
    tmp_path: Path, kind: str, way: str, layout: str
) -> None:
    with pytest.raises(ar.InvalidRequestError, match=r"t: column 'x': entry 1 of the data is null, or has"):
        WAYS[way](tmp_path / "x.root", strict(kind), layout)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["plain", *(kind for kind in INSIDE if kind != "view")])
@pytest.mark.parametrize("has_room", [False, True])
def test_appended_nulls_where_the_data_say_that_there_are_none_are_refused(
    tmp_path: Path, has_room: bool, kind: str, layout: str
) -> None:
    """Also where the table has room for them: data are judged by their own schema."""
    table = strict(kind)
    good, column = table.slice(0, 1), table["x"].chunk(0)
    # Values in a dictionary of Python say nothing of nulls.
    first: Any = {"x": column} if has_room else good
    with ar.create(tmp_path / "x.root") as file:
        events = file.tree("t", layout=layout)
        events.append(first)
        with pytest.raises(
            ar.InvalidRequestError, match=r"t: column ['\"]x.*: entry [12] (of the data )?is null"
        ):
            events.append(table)
        events.append(good)
    read = ar.open(tmp_path / "x.root")["t"].to_arrow()["x"].to_pylist()
    assert read == (column.to_pylist() if has_room else good["x"].to_pylist()) + good["x"].to_pylist()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("way", ["table", "reader", "append"])
@pytest.mark.parametrize("kind", INSIDE)
def test_what_is_missing_in_what_is_missing_is_no_null(
    tmp_path: Path, kind: str, way: str, layout: str
) -> None:
    table = strict(kind, is_masked=True)
    path = tmp_path / "x.root"
    if way == "append":
        with ar.create(path) as file:
            events = file.tree("t", layout=layout)
            events.append(table)
            events.append(table)
    else:
        WAYS[way](path, table, layout)
    read = ar.open(path)["t"].to_arrow()
    assert read["x"].to_pylist() == table["x"].to_pylist() * (2 if way == "append" else 1)
    assert not [name for name in read.column_names if "isvalid" in name and name != "x_isvalid"]


class Said:
    """An array of the C interface whose schema, or that of what is first inside of it, says something else."""

    def __init__(self, array: pa.Array, depth: int = 0, **said: bytes) -> None:
        self._array, self._depth = array, depth
        self._said = {name: ctypes.create_string_buffer(text) for name, text in said.items()}

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]:
        of_schema, of_array = self._array.__arrow_c_array__()
        self._say(capsule_pointer(of_schema, b"arrow_schema"))
        return of_schema, of_array

    def _say(self, of_schema: int) -> None:
        schema = ctypes.cast(of_schema, NUMBERS)
        for _ in range(self._depth):
            schema = ctypes.cast(ctypes.cast(schema[5], NUMBERS)[0], NUMBERS)
        for name, text in self._said.items():
            schema[("format", "name").index(name)] = ctypes.addressof(text)


class SaidStream(Said):
    """The stream of an array whose schema says something else."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        array = self._array
        is_batch = pa.types.is_struct(array.type)
        data = pa.RecordBatch.from_struct_array(array) if is_batch else pa.chunked_array([array])
        stream = data.__arrow_c_stream__()
        functions = ctypes.cast(
            capsule_pointer(stream, b"arrow_array_stream"), ctypes.POINTER(ctypes.c_void_p)
        )
        of_stream = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        get_schema = of_stream(functions[0])

        def get_said(stream: int, schema: int) -> int:
            status = get_schema(stream, schema)
            self._say(schema)
            return int(status)

        self._kept = of_stream(get_said)
        functions[0] = ctypes.cast(self._kept, ctypes.c_void_p).value
        return stream


@pytest.mark.parametrize("is_batch", [False, True])
@pytest.mark.parametrize("made", [Said, SaidStream])
@pytest.mark.parametrize("missing", ["key", "pair"])
@pytest.mark.parametrize("is_in_list", [False, True])
def test_maps_of_others_without_a_key_are_refused(
    tmp_path: Path, is_in_list: bool, missing: str, made: type[Said], is_batch: bool
) -> None:
    """pyarrow ends the process when it makes an array of them."""
    keys = pa.array(["a", None if missing == "key" else "b"])
    pairs = pa.StructArray.from_arrays(
        [keys, pa.array([1, 2])],
        fields=[pa.field("key", pa.string(), nullable=False), pa.field("value", pa.int64())],
        mask=pa.array([False, missing == "pair"]),
    )
    kind = pa.list_(pa.field("entries", pairs.type, nullable=False))
    ends = pa.array([0, 2], pa.int32()).buffers()[1]
    array = pa.Array.from_buffers(kind, 1, [None, ends], children=[pairs])
    if is_in_list:
        array = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), array)
    if is_batch:
        array = pa.StructArray.from_arrays([array], ["x"])
    data: Any = made(array, depth=is_in_list + is_batch, format=b"+m")
    with pytest.raises(ar.InvalidRequestError, match=r"t: column 'x': .*no nulls"):
        ar.write(f"{tmp_path}/x.root:t", data if is_batch else {"x": data})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("is_batch", [False, True])
@pytest.mark.parametrize("made", [Said, SaidStream])
def test_arrays_of_others_are_columns(tmp_path: Path, made: type[Said], is_batch: bool) -> None:
    array = pa.array([[("a", 1)], None, [("b", 2), ("c", None)]], pa.map_(pa.string(), pa.int64()))[1:]
    data: Any = made(pa.StructArray.from_arrays([array], ["x"]) if is_batch else array)
    ar.write(f"{tmp_path}/x.root:t", data if is_batch else {"x": data})
    assert ar.open(tmp_path / "x.root")["t"].to_arrow()["x"].to_pylist() == array.to_pylist()


NAMED = pa.StructArray.from_arrays([pa.array([1])], ["x"])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (Said(NAMED, 1, format=b"tsu:\xff"), "column 'x': .*UTF-8"),
        ({"x": Said(pa.array([1]), format=b"tsu:\xff")}, "column 'x': .*UTF-8"),
        (Said(NAMED, 1, name=b"x\xff"), "name .*UTF-8"),
        (Said(pa.StructArray.from_arrays([NAMED], ["y"]), 2, name=b"x\xff"), "name .*UTF-8"),
        ({"y": Said(NAMED, 1, name=b"x\xff")}, "name .*UTF-8"),
    ],
    ids=["zone", "zone of a column", "name", "name in a column of a batch", "name in a column"],
)
@pytest.mark.parametrize("way", ["write", "append", "fill"])
def test_texts_of_schemas_that_are_not_utf8_are_refused(
    tmp_path: Path, way: str, data: Any, message: str
) -> None:
    with ar.create(tmp_path / "x.root") as file:
        events = file.tree("t", schema=None if way == "write" else {"x": "int64"})
        put = events.context().fill if way == "fill" else events.append
        if way == "append":
            put({"x": [1]})
        with pytest.raises(ar.InvalidRequestError, match=f"t: .*{message}"):
            put(data)
        file.abort()


def test_spoilt_arrays_of_others_are_told_by_their_column(tmp_path: Path) -> None:
    with pytest.raises(ar.InvalidRequestError, match=r"t: column 'x': .*length"):
        ar.write(f"{tmp_path}/x.root:t", ByHand(TEXTS, length=3))
