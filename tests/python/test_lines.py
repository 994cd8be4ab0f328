"""CSV and JSON lines: each value as it was, for pandas, pyarrow, Polars and DuckDB, and for people's pipes."""

import base64
import csv
import io
import json
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
import pytest

import arrowroot as ar
from arrowroot._converting import lines
from tests.command import done_here, run_here
from tests.tables.drawn import KINDS, Chance, draw_array


def plain(scalar: pa.Scalar) -> object:
    """Return one value as JSON has it: what the lines say of whole columns, one by one."""
    if not scalar.is_valid:
        return None
    if isinstance(scalar, pa.MapScalar):
        return [[plain(pair[0]), plain(pair[1])] for pair in scalar.values]  # noqa: PD011 - not pandas
    if isinstance(scalar, pa.ListScalar):
        return [plain(item) for item in scalar]
    if isinstance(scalar, pa.StructScalar):
        return {field.name: plain(scalar[i]) for i, field in enumerate(scalar.type)}
    if isinstance(scalar, pa.UnionScalar | pa.DictionaryScalar):
        return plain(scalar.value)
    if isinstance(scalar, pa.DurationScalar):
        return scalar.value
    if isinstance(scalar, pa.MonthDayNanoIntervalScalar):
        return list(scalar.as_py())
    if isinstance(scalar, pa.TimestampScalar):
        scalar = scalar.cast(pa.timestamp(scalar.type.unit, scalar.type.tz and "UTC"))
        return scalar.cast(pa.string()).as_py().replace(" ", "T")
    if pa.types.is_date(scalar.type) or pa.types.is_time(scalar.type) or pa.types.is_decimal(scalar.type):
        return scalar.cast(pa.string()).as_py()
    value = scalar.as_py()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value


def is_same(found: object, expected: object) -> bool:
    if isinstance(expected, list) and isinstance(found, list):
        return len(found) == len(expected) and all(map(is_same, found, expected))
    if isinstance(expected, dict) and isinstance(found, dict):
        return list(found) == list(expected) and all(map(is_same, found.values(), expected.values()))
    if isinstance(expected, float):
        return isinstance(found, float) and (found == expected or np.float32(found) == np.float32(expected))
    return type(found) is type(expected) and found == expected


def every_kind(n: int) -> pa.Table:
    """Return columns of every kind, and of unions, which trees cannot have and RNTuples can."""
    chance = Chance(1)
    # The oldest pyarrow takes no floats for half ones.
    fields = [pa.field(str(kind), kind) for kind in KINDS if kind != pa.float16()]
    table = pa.table([draw_array(chance, field, n) for field in fields], schema=pa.schema(fields))
    table = table.append_column("half", pa.array(np.arange(n, dtype=np.float16) / 8))
    table = table.append_column("largest", pa.array([2**64 - 1] * n, pa.uint64()))
    codes = pa.array([i % 2 for i in range(n)], pa.int8())
    children = [pa.array(range(n)), pa.array([f"text {i}" for i in range(n)])]
    dense = pa.UnionArray.from_dense(codes, pa.array([i // 2 for i in range(n)], pa.int32()), children)
    sparse = pa.UnionArray.from_sparse(codes, children)
    return table.append_column("dense", dense).append_column("sparse", sparse)


@pytest.mark.parametrize("part", [slice(0, 40), slice(7, 30), slice(3, 3)])
def test_every_type_has_its_text(part: slice) -> None:
    table = every_kind(40)
    (batch,) = table.combine_chunks().to_batches()
    batch = batch.slice(part.start, part.stop - part.start)
    names, n_rows = batch.schema.names, batch.num_rows
    found = [json.loads(line) for line in b"".join(lines.json_lines(batch)).splitlines()]
    cells = list(csv.reader(io.StringIO(b"".join(lines.csv_lines(batch)).decode(), newline="")))
    assert len(found) == len(cells) == n_rows
    for i, name in enumerate(names):
        for row in range(n_rows):
            expected, cell = plain(batch.column(i)[row]), cells[row][i]
            assert is_same(found[row][name], expected), name
            if expected is None and cell not in ("NaN", "inf", "-inf"):
                assert cell == "", name
            elif isinstance(expected, list | dict):
                assert is_same(json.loads(cell), expected), name
            elif isinstance(expected, float):
                assert is_same(float(cell), expected), name
            elif expected is not None:
                text = str(expected).lower() if isinstance(expected, bool) else str(expected)
                assert cell in (text, json.dumps(expected, ensure_ascii=False)), name


def test_no_line_of_csv_is_empty() -> None:
    batch = pa.record_batch({"x": pa.array([1, None, 3])})
    text = lines.csv_header(["x"]) + b"".join(lines.csv_lines(batch))
    assert pd.read_csv(io.BytesIO(text))["x"].isna().tolist() == [False, True, False]
    assert pa.csv.read_csv(io.BytesIO(text)).num_rows == 3


def test_much_is_written_piece_by_piece() -> None:
    batch = pa.record_batch({"x": np.arange(2_000_000.0), "n": np.zeros(2_000_000, np.int8)})
    pieces = [len(piece) for piece in lines.csv_lines(batch)]
    assert len(pieces) >= 4
    assert max(pieces) < 2 * lines._PIECE_BYTES
    assert sum(pieces) == len(b"".join(lines.csv_lines(batch)))


TEXTS = ['a,"b"\n', "é😀", " x", "null"]
COLUMNS = {
    "small": pa.array([0.1, 1.5, 3.0, 1e-7], pa.float32()),
    "float": pa.array([0.1, 1e300, float("nan"), -float("inf")]),
    "whole": pa.array([1.0, 2.0, 3.0, -4.0]),
    "long": pa.array([2**63 - 1, -(2**63), 0, 2**53 + 1]),
    "flag": pa.array([True, False, True, False]),
    "text": pa.array(TEXTS),
    "missing": pa.array([1, None, 3, 4]),
    "list": pa.array([[1.5, 2.0], [], [3.0], [4.0]], pa.list_(pa.float32())),
    "at": pa.array([0, 1_700_000_000_000, 1, 2], pa.timestamp("ms")),
}
READERS = {
    "csv": {
        "pandas": lambda path: pd.read_csv(path, keep_default_na=False, na_values=["", "NaN"]).to_dict(
            "list"
        ),
        "pyarrow": lambda path: pa.csv.read_csv(
            path, parse_options=pa.csv.ParseOptions(newlines_in_values=True)
        ).to_pydict(),
        "Polars": lambda path: pl.read_csv(path).to_dict(as_series=False),
        "DuckDB": lambda path: duckdb.read_csv(str(path)).to_arrow_table().to_pydict(),
    },
    "jsonl": {
        "pandas": lambda path: pd.read_json(path, lines=True, precise_float=True).to_dict("list"),
        "pyarrow": lambda path: pa.json.read_json(path).to_pydict(),
        "Polars": lambda path: pl.read_ndjson(path).to_dict(as_series=False),
        "DuckDB": lambda path: duckdb.read_json(str(path)).to_arrow_table().to_pydict(),
    },
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory):
    """The files of :data:`COLUMNS`, by their suffixes."""
    folder = tmp_path_factory.mktemp("lines")
    pa.parquet.write_table(pa.table(COLUMNS), folder / "in.parquet")
    for suffix in READERS:
        done_here("convert", folder / "in.parquet", folder / f"out.{suffix}")
    return folder


@pytest.mark.parametrize(
    ("suffix", "reader"), [(suffix, name) for suffix in READERS for name in READERS[suffix]]
)
def test_others_read_what_was_written(written, suffix: str, reader: str) -> None:
    found = READERS[suffix][reader](written / f"out.{suffix}")
    expected = {name: array.to_pylist() for name, array in COLUMNS.items()}
    assert list(found) == list(expected)
    assert [np.float32(x) for x in found["small"]] == [np.float32(x) for x in expected["small"]]
    assert [*found["float"][:2], *found["whole"]] == [*expected["float"][:2], *expected["whole"]]
    assert all(isinstance(x, float) for x in found["whole"]) or reader == "pandas"
    assert found["float"][2] is None or np.isnan(found["float"][2])
    if suffix == "csv":
        assert found["float"][3] == -float("inf")
    assert (found["long"], found["flag"], found["text"]) == (expected["long"], expected["flag"], TEXTS)
    assert [None if pd.isna(x) else int(x) for x in found["missing"]] == expected["missing"]
    lists = [json.loads(x) for x in found["list"]] if suffix == "csv" else found["list"]
    assert [list(x) for x in lists] == expected["list"]
    assert pd.Timestamp(found["at"][1]) == pd.Timestamp("2023-11-14T22:13:20")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("tree") / "run7.root"
    with ar.create(path) as file:
        file["Events"] = {"run": np.arange(200_000), "x": np.arange(200_000) / 8}
        file["h"] = (np.ones(3), np.arange(4.0))
    return path


def test_columns_and_entries_are_chosen_as_of_other_formats(tree, tmp_path) -> None:
    chosen = ("-c", "x,run", "--filter", "run % 50000 == 1")
    done_here("convert", f"{tree}:Events", tmp_path / "out.csv", *chosen)
    assert (
        tmp_path / "out.csv"
    ).read_text() == "x,run\n0.125,1\n6250.125,50001\n12500.125,100001\n18750.125,150001\n"
    done_here("convert", f"{tree}:Events", tmp_path / "out.ndjson", "--entries", "0:2")
    assert (tmp_path / "out.ndjson").read_text() == '{"run":0,"x":0.0}\n{"run":1,"x":0.125}\n'
    listed = run_here("convert", f"{tree}:Events", "-", "--format", "jsonl", "--entries", "1:2")
    assert (listed.returncode, listed.stdout) == (0, '{"run":1,"x":0.125}\n')
    assert ": 1 entry, 20 B" in listed.stderr


def test_a_pipe_gets_lines_while_they_are_made(tree) -> None:
    command = [sys.executable, "-m", "arrowroot", "convert", f"{tree}:Events", "-", "--format", "csv"]
    done = subprocess.run(
        ["bash", "-c", '"$@" --batch-size 64kB | head -n 2; echo ${PIPESTATUS[0]}', "bash", *command],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("run,x\n0,0.0\n0\n", "")


def test_nothing_half_written_takes_a_name(tree, tmp_path, monkeypatch) -> None:
    whole = lines.csv_lines

    def failing(batch):
        yield from whole(batch.slice(0, 10))
        raise OSError("the disk is gone")

    monkeypatch.setattr(lines, "csv_lines", failing)
    output = tmp_path / "out.csv"
    output.write_text("before")
    assert run_here("convert", f"{tree}:Events", output).returncode == 1
    assert output.read_text() == "before"
    assert list(tmp_path.iterdir()) == [output]


@pytest.mark.parametrize(
    ("words", "code", "answer"),
    [
        ("TREE out.csv --verify", 2, "CSV record no types, and cannot be read back as they were"),
        ("TREE out.csv --compression zstd", 2, "- --format csv | zstd > out.csv.zst"),
        ("TREE out.jsonl --layout rntuple", 2, "--layout: out.jsonl is JSON lines; a ROOT file has that"),
        ("TREE out.json", 2, "out.json: which format; did you mean .jsonl?"),
        ("TREE out.txt", 2, "which format? the name of the output ends in one of .root, .parquet"),
        ("TREE -", 2, "write --format csv or jsonl"),
        ("in.csv out.root", 2, "import pyarrow.csv; ar.write('out.root:Events', pyarrow.csv."),
        ("in.jsonl out.root", 2, "import pyarrow.json; ar.write('out.root:Events', pyarrow.json."),
        ("FILE out.csv", 3, "h was left out: not a table"),
    ],
)
def test_what_cannot_be_is_answered(tree, tmp_path, words: str, code: int, answer: str) -> None:
    typed = [word.replace("TREE", f"{tree}:Events").replace("FILE", str(tree)) for word in words.split()]
    done = run_here("convert", *typed, cwd=tmp_path)
    assert done.returncode == code
    assert answer in done.stderr
