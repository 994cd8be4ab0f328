"""Skims of inputs that differ, by ``missing`` and ``promote`` as scans take them."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot._skimming.outputs import Outputs
from arrowroot._skimming.parts import Parts
from tests.command import run_here

FIRST = {
    "run": np.full(5, 1, np.int32),
    "x": np.arange(5, dtype=np.int32),
    "nMu": np.array([2, 0, 1, 0, 0], np.int32),
    "Mu_pt": pa.array([[1.5, 2.5], [], [3.5], [], []], pa.list_(pa.field("item", pa.float32(), False))),
    "first": np.arange(5.0),
}
SECOND = {
    "run": np.full(3, 2, np.int32),
    "x": np.arange(2**40, 2**40 + 3),
    "nEl": np.array([1, 0, 2], np.int32),
    "El_pt": pa.array([[0.5], [], [1.5, 2.5]], pa.list_(pa.field("item", pa.float32(), False))),
    "word": pa.array(["a", "", "c"]),
}


def put(path, columns, layout):
    table = pa.table(columns)
    schema = pa.schema([field.with_nullable(False) for field in table.schema])
    ar.write(f"{path}:T", table.cast(schema), layout=layout)


@pytest.fixture(params=["ttree", "rntuple"])
def files(tmp_path, request):
    put(tmp_path / "a.root", FIRST, request.param)
    put(tmp_path / "b.root", SECOND, request.param)
    return tmp_path


def values(path):
    return ar.open(path)["T"].to_arrow()


def stored(table, names):
    """Return columns as a file has them: a tree has 0, or nothing, for null, and says so in another column."""
    found = {name: table[name].to_pylist() for name in names}
    for name in names:
        if f"{name}_isvalid" in table.column_names:
            valid = table[f"{name}_isvalid"].to_pylist()
            found[name] = [value if there else None for value, there in zip(found[name], valid, strict=True)]
    return found


@pytest.mark.parametrize("threads", [1, 3])
def test_columns_that_some_inputs_lack_are_null_there(files, threads):
    out, inputs = files / "o.root", [files / "a.root", files / "b.root"]
    ar.skim(inputs, out, "T", missing="null", promote=True, n_threads=threads)
    expected = ar.scan(inputs, "T", missing="null", promote=True).to_arrow()
    found = values(out)
    assert stored(found, expected.column_names) == expected.to_pydict()
    assert found.schema.field("x").type == pa.int64()
    ar.skim(inputs[::-1], out, "T", missing="null", promote=True, n_threads=threads)
    turned = ar.scan(inputs[::-1], "T", missing="null", promote=True).to_arrow()
    assert stored(values(out), turned.column_names) == turned.to_pydict()


def test_common_columns_are_those_of_all_inputs(files):
    inputs = [files / "a.root", files / "b.root"]
    ar.skim(inputs, files / "o.root", "T", missing="common", promote=True)
    found = values(files / "o.root")
    assert found.to_pydict() == {"run": [1] * 5 + [2] * 3, "x": [*range(5), *range(2**40, 2**40 + 3)]}
    with pytest.raises(ar.SchemaMismatchError, match="promote=True"):
        ar.skim(inputs, files / "p.root", "T", missing="common")
    with pytest.raises(ar.SchemaMismatchError, match="missing='null'"):
        ar.skim(inputs, files / "p.root", "T", ["run", "first"], promote=True)
    assert not (files / "p.root").exists()


def test_conditions_and_definitions_take_what_is_lacking_for_null(files):
    inputs, options = [files / "a.root", files / "b.root"], {"missing": "null", "promote": True}
    columns, define = ["x", "Mu_*", "twice"], {"twice": "2 * x", "unused": "sum(El_pt)"}
    made = ar.skim(
        inputs, files / "o.root", "T", columns, define=define, cuts={"some": "first > 1"}, **options
    )
    expected = ar.scan(inputs, "T", columns, define=define, filter="first > 1", **options).to_arrow()
    found = values(files / "o.root")
    assert expected.num_rows == 3
    assert stored(found, expected.column_names) == expected.to_pydict()
    # Counters come along with the lists that they count; only trees have them.
    assert ("nMu" in found.column_names) == (ar.open(files / "a.root")["T"].class_name == "TTree")
    assert [(one.url, [cut.num_entries for cut in one.cuts]) for one in made.inputs] == [
        (str(inputs[0]), [5, 3]),
        (str(inputs[1]), [3, 0]),
    ]
    mask = {"2": [[0, 9]]}
    with pytest.raises(ar.NoSuchColumnError, match="lumi_mask"):
        ar.skim(inputs, files / "o.root", "T", lumi_mask=mask, **options)


def test_parts_and_executors_make_the_same(files):
    inputs, options = [files / "a.root", files / "b.root"], {"missing": "null", "promote": True}
    out = files / "o.root"
    ar.skim(inputs, out, "T", filter="run > 0", reproducible=True, **options)
    alone = out.read_bytes()
    out.unlink()
    with ThreadPoolExecutor(2) as executor:
        ar.skim(inputs, out, "T", filter="run > 0", reproducible=True, executor=executor, **options)
    assert out.read_bytes() == alone


def test_a_part_is_of_the_columns_of_all_inputs(files, monkeypatch):
    """With one more input the same column has another type, and its parts are made anew."""
    inputs, options = [files / "a.root", files / "b.root"], {"promote": True, "resume": True}

    def fail(_outputs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Outputs, "publish", fail)
        with pytest.raises(KeyboardInterrupt):
            ar.skim(inputs[:1], files / "o.root", "T", ["x"], **options)
    assert len(list((files / "o.root.parts").glob("*.part"))) == 1
    made, make = [], Parts.make

    def noted(parts, reading):
        made.append(reading.given.url)
        make(parts, reading)

    monkeypatch.setattr(Parts, "make", noted)
    ar.skim(inputs, files / "o.root", "T", ["x"], **options)
    assert made == [str(path) for path in inputs]
    assert values(files / "o.root")["x"].to_pylist() == [*range(5), *range(2**40, 2**40 + 3)]


@pytest.mark.parametrize(("form", "packed"), [("ttree", "Float16"), ("rntuple", "Real32Trunc:16")])
def test_wider_numbers_are_not_packed_as_the_narrower_ones_were(tmp_path, form, packed):
    numbers, inputs = np.array([0.1, 1 / 3, 1e-9]), [tmp_path / "a.root", tmp_path / "b.root"]
    layout = ar.Layout(form, precision={"y": packed})
    ar.write(f"{inputs[0]}:T", {"y": numbers.astype(np.float32)}, layout=layout)
    ar.write(f"{inputs[1]}:T", {"y": numbers}, layout=form)
    ar.skim(inputs, tmp_path / "o.root", "T", promote=True)
    expected = ar.scan(inputs, "T", promote=True).to_arrow()
    assert expected["y"].to_pylist()[3:] == numbers.tolist()
    assert values(tmp_path / "o.root").to_pydict() == expected.to_pydict()


def test_a_bad_input_says_nothing_of_columns(files):
    (files / "bad.root").write_bytes(b"no ROOT file")
    inputs = [files / "bad.root", files / "a.root", files / "b.root"]
    made = ar.skim(inputs, files / "o.root", "T", ["x"], missing="null", promote=True, on_bad_input="skip")
    assert [url for url, _ in made.bad_inputs] == [str(inputs[0])]
    assert values(files / "o.root")["x"].to_pylist() == [*range(5), *range(2**40, 2**40 + 3)]


def test_other_words_are_refused(files):
    for wrong in ({"missing": "none"}, {"promote": 1}):
        with pytest.raises(ar.InvalidRequestError, match=next(iter(wrong))):
            ar.skim(files / "a.root", files / "o.root", "T", **wrong)


def test_the_command_takes_both(files):
    done = run_here(
        "skim", "a.root:T", "b.root:T", "o.root", "--missing", "common", "--promote", "--json", cwd=files
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outputs"][0]["num_entries"] == 8
    assert values(files / "o.root").column_names == ["run", "x"]
