"""Merging as a whole: inputs that are at fault, outputs that are whole or not there, the command."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from tests.command import done_here, run_here


@pytest.fixture
def inputs(tmp_path):
    paths = [tmp_path / f"in{k}.root" for k in range(3)]
    for k, path in enumerate(paths):
        ar.write(f"{path}:t", {"a": np.arange(100 * k, 100 * k + 100)})
    return paths


def values(path):
    return ar.open(path)["t"].to_numpy()["a"].tolist()


def test_two_files_become_one(inputs, tmp_path):
    report = ar.merge(tmp_path / "out.root", inputs[:2])
    assert (report.n_inputs, report.left_out) == (2, ())
    assert report.objects[0][:5] == ("t", "TTree", "concatenate", 2, 200)
    assert values(tmp_path / "out.root") == list(range(200))


MERGE = """
import sys
from arrowroot.cli import main
main(["merge", *sys.argv[1:]])
assert "pyarrow" not in sys.modules and "numpy" not in sys.modules
"""


def test_merging_imports_neither_pyarrow_nor_numpy(inputs, tmp_path):
    subprocess.run(
        [sys.executable, "-c", MERGE, tmp_path / "out.root", *inputs],
        check=True,
        timeout=300,
        stderr=subprocess.DEVNULL,
    )
    assert values(tmp_path / "out.root") == list(range(300))


def damaged(path):
    """Return a file cut short, one that is none, one that is not there, and one whose first basket is damaged."""
    whole = path.read_bytes()
    cut, text, basket = (path.with_name(name) for name in ("cut.root", "text.root", "basket.root"))
    cut.write_bytes(whole[:-200])
    text.write_text("no file of ROOT")
    at = whole.index(b"TBasket") + 40
    basket.write_bytes(whole[:at] + bytes(len(b"TBasket")) + whole[at + 7 :])
    return [cut, text, path.with_name("none.root")]


def test_a_bad_input_fails_and_leaves_nothing(inputs, tmp_path):
    (tmp_path / "out.root").write_text("older")
    for bad in damaged(inputs[1]):
        with pytest.raises((ar.CorruptFileError, ar.StorageError), match=bad.name):
            ar.merge(tmp_path / "out.root", [inputs[0], bad, inputs[2]])
        assert (tmp_path / "out.root").read_text() == "older"
    assert not list(tmp_path.glob("*.part"))


def test_bad_inputs_are_left_out_if_that_is_asked_for(inputs, tmp_path):
    bad = damaged(inputs[1])
    report = ar.merge(tmp_path / "out.root", [bad[0], inputs[0], *bad[1:], inputs[2]], on_bad_input="skip")
    assert [one.path for one in report.left_out] == [str(bad[0]), *map(str, bad[1:])]
    assert values(tmp_path / "out.root") == [*range(100), *range(200, 300)]


def test_if_all_inputs_are_bad_merge_and_skim_say_why_of_each_and_end_alike(inputs, tmp_path):
    bad = damaged(inputs[1])
    for make, what in ((ar.merge, "merged"), (ar.skim, "skimmed")):
        given = (tmp_path / "nothing.root", bad) if make is ar.merge else (bad, tmp_path / "nothing.root")
        with pytest.raises(ar.CorruptFileError, match=f"no input can be {what}: ") as one:
            make(*given, on_bad_input="skip")
        assert all(path.name in str(one.value) for path in bad)
    others = [tmp_path / f"{number}.root" for number in range(8)]
    lines = [["merge", tmp_path / "nothing.root", *others], ["skim", *others, tmp_path / "nothing.root"]]
    for line in lines:
        ended = run_here(*line, "--on-bad-input", "skip")
        assert ended.returncode == 1
        assert "4.root: cannot be opened" in ended.stderr
        assert ended.stderr.endswith("; and 3 more\n")
    assert not (tmp_path / "nothing.root").exists()


def test_an_input_is_left_out_whole_if_its_baskets_are_damaged(inputs, tmp_path):
    whole = bytearray(inputs[1].read_bytes())
    # The number of entries, in the head of the basket.
    place = whole.index(b"\x07TBasket") + 8 + 2 + 2 + 2 + 4 + 4
    assert int.from_bytes(whole[place : place + 4], "big") == 100
    whole[place + 3] = 99
    inputs[1].write_bytes(whole)
    report = ar.merge(tmp_path / "out.root", inputs, on_bad_input="skip")
    assert "a basket of" in str(report.left_out[0].error)
    assert values(tmp_path / "out.root") == [*range(100), *range(200, 300)]


def test_an_output_that_is_an_input_is_refused(inputs, tmp_path):
    link = tmp_path / "link.root"
    link.symlink_to(inputs[1])
    for output in (inputs[1], link):
        with pytest.raises(ar.InvalidRequestError, match="is an input, too"):
            ar.merge(output, inputs)
    assert values(inputs[1]) == list(range(100, 200))


def test_outputs_of_a_size_follow_each_other(inputs, tmp_path):
    report = ar.merge(tmp_path / "out.root", inputs, max_size=400)
    assert [output.n_inputs for output in report.outputs] == [1, 1, 1]
    names = ["out.root", "out_1.root", "out_2.root"]
    assert [values(tmp_path / name) for name in names] == [values(path) for path in inputs]


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
def test_outputs_of_a_size_have_the_same_columns_unless_union_is_asked_for(tmp_path, layout):
    x = np.arange(5, dtype=np.float32)
    tables = [{"x": x}, {"x": x, "more": x}, {"x": x.astype(np.float64)}]
    for number, table in enumerate(tables):
        ar.write(f"{tmp_path}/in{number}.root:t", table, layout=layout)
    first, more, wide = (tmp_path / f"in{number}.root" for number in range(3))
    out = tmp_path / "out.root"
    for columns in ("strict", "first"):
        with pytest.raises(
            ar.SchemaMismatchError, match=r"column more is float, and in .*out.root not there"
        ):
            ar.merge(out, [first, more], columns=columns, max_size=100)
        with pytest.raises(
            ar.SchemaMismatchError, match=r"out_2.root: t: column x is double, and in .*out.root float"
        ):
            ar.merge(out, [first, first, wide], columns=columns, max_size=100)
    assert not list(tmp_path.glob("out*"))
    ar.merge(out, [first, more], columns="union", max_size=100)
    assert ar.open(tmp_path / "out_1.root")["t"].to_arrow().column_names == ["x", "more"]


def test_outputs_of_a_longer_merge_before_are_named(inputs, tmp_path):
    for _ in range(2):
        ended = run_here("merge", "-f", "out.root", "in?.root", "--max-size", "400B", cwd=tmp_path)
        assert ended.returncode == 0
        assert "stays" not in ended.stderr
    ended = run_here("merge", "-f", "out.root", "in0.root", "--max-size", "400B", cwd=tmp_path)
    assert re.findall("arrowroot: (.*) was there before and stays", ended.stderr) == [
        "out_1.root",
        "out_2.root",
    ]
    assert "stays" not in run_here("merge", "-f", "out.root", "in0.root", cwd=tmp_path).stderr
    assert len(inputs) == 3


def test_a_glob_without_an_output_before_it_replaces_nothing(inputs, tmp_path):
    first = tmp_path / "in0.root"
    before = first.read_bytes()
    ended = run_here("merge", "in0.root", "in1.root", cwd=tmp_path)
    assert ended.returncode == 2
    assert "arrowroot: in0.root is there" in ended.stderr
    assert "arrowroot merge OUT in0.root ..." in ended.stderr
    assert first.read_bytes() == before
    assert run_here("merge", "--force", "in0.root", "in1.root", cwd=tmp_path).returncode == 0
    assert len(inputs) == 3


def test_an_object_whose_path_is_a_directory_elsewhere_names_the_input(tmp_path):
    """ROOT has one key of a name for both."""
    for name, path in (("a", "o"), ("b", "o/deep/t")):
        with ar.create(tmp_path / f"{name}.root") as file:
            file[path] = "text"
    paths = [tmp_path / "a.root", tmp_path / "b.root"]
    for inputs in (paths, paths[::-1]):
        with pytest.raises(
            ar.SchemaMismatchError, match=rf"{inputs[1]}: o: an object .* a directory .* rule drop"
        ):
            ar.merge(tmp_path / "out.root", inputs)
    report = ar.merge(tmp_path / "out.root", [*paths, paths[0]], rules={"o": "drop"})
    assert [one.path for one in report.objects] == ["o/deep/t"]
    report = ar.merge(tmp_path / "out.root", [paths[0], paths[1]], on_bad_input="skip")
    assert [one.path for one in report.left_out] == [str(paths[1])]
    assert list(ar.open(tmp_path / "out.root").keys()) == ["o"]


def test_a_directory_has_the_title_of_the_first_input(tmp_path):
    for number, title in enumerate(("of run 1", "of run 2")):
        with ar.create(tmp_path / f"in{number}.root") as new:
            new.directory("plots", title).directory("deep")
            new["plots/deep/t"] = {"x": [1]}
    ar.merge(tmp_path / "all.root", f"{tmp_path}/in?.root")
    ar.skim(f"{tmp_path}/in?.root", tmp_path / "skim.root", "plots/deep/t")
    for name in ("all.root", "skim.root"):
        titles = {key.path: key.title for key in ar.open(tmp_path / name).key_list() if key.is_directory}
        assert titles == {"plots": "of run 1", "plots/deep": "deep"}


def test_the_same_inputs_make_the_same_bytes(inputs, tmp_path):
    (tmp_path / "again").mkdir()
    outputs = [tmp_path / "out.root", tmp_path / "again/out.root"]
    for output in outputs:
        ar.merge(output, inputs, reproducible=True)
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


@pytest.mark.usefixtures("inputs")
def test_the_command_merges_lists_and_says_it(tmp_path):
    (tmp_path / "files.txt").write_text("# mine\nin0.root\n\nin1.root\n")
    said = done_here("merge", "-f", "out.root", "@files.txt", "in2.root", "--verify", cwd=tmp_path)
    assert "out.root: 3 files" in said
    assert "t  300 entries of 3 files, 3 baskets copied" in said
    document = json.loads(done_here("merge", "-f", "out.root", "in?.root", "--json", cwd=tmp_path))
    assert document["form"] == "arrowroot.merge/1"
    assert document["outputs"][0]["objects"][0]["num_entries"] == 300


def test_the_command_has_an_exit_code_for_inputs_that_were_left_out(inputs, tmp_path):
    inputs[1].write_text("no file of ROOT")
    ended = run_here("merge", "-f", "out.root", "in?.root", "--on-bad-input", "skip", cwd=tmp_path)
    assert ended.returncode == 4
    assert "in1.root was left out" in ended.stderr
    assert run_here("merge", "-f", "out.root", "in?.root", cwd=tmp_path).returncode == 1


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
@pytest.mark.parametrize("rule", ["first", "unique"])
def test_the_first_table_or_each_row_once_is_kept_and_all_of_them_are_refused(tmp_path, layout, rule):
    """What becomes of tables whose rule is another than to put them one after another."""
    rows = [
        {"run": [1, 1, 2], "files": [["a"], ["a", "b"], []]},
        {"run": [2, 3], "files": [[], ["c"]]},
        {"run": [3, 1], "files": [["c"], ["x"]]},
    ]
    for number, values_of_one in enumerate(rows):
        with ar.create(tmp_path / f"in{number}.root") as file:
            file.tree("t", layout=layout).append({"a": np.arange(10) + 10 * number})
            file.tree("dir/Runs", layout=layout).append(pa.table(values_of_one))
    said = done_here(
        "merge", "out.root", "in?.root", f"--rule=Runs={rule}", "--verify", "--provenance", cwd=tmp_path
    )
    kept = {
        "first": rows[0],
        "unique": {"run": [1, 1, 2, 3, 1], "files": [["a"], ["a", "b"], [], ["c"], ["x"]]},
    }[rule]
    with ar.open(tmp_path / "out.root") as file:
        assert file["t"].to_arrow()["a"].to_pylist() == list(range(30))
        read = file["dir/Runs"].to_arrow()
        assert {name: read[name].to_pylist() for name in kept} == kept
        assert ("RNTuple" in file["dir/Runs"].class_name) == (layout == "rntuple")
    assert f"dir/Runs  {len(kept['run'])} entries of 3 files" in said
    assert ("each row once" in said) == (rule == "unique")
    with pytest.raises(ar.UnsupportedError, match=r"dir/Runs: .*all is not known of it"):
        ar.merge(tmp_path / "all.root", str(tmp_path / "in?.root"), rules={"Runs": "all"})
    assert not (tmp_path / "all.root").exists()


def test_rows_of_other_columns_are_an_input_that_does_not_fit(tmp_path):
    for number, name in enumerate(("run", "run", "other")):
        ar.write(f"{tmp_path}/in{number}.root:Runs", {name: np.arange(2) + number})
    report = ar.merge(
        tmp_path / "out.root", str(tmp_path / "in?.root"), rules={"Runs": "unique"}, on_bad_input="skip"
    )
    assert "has no column 'run'" in str(report.left_out[0].error)
    assert [(one.path, one.rule, one.n_inputs, one.num_entries) for one in report.objects] == [
        ("Runs", "unique", 2, 3)
    ]
    assert report.objects[0].notes == ("1 of 4 rows are as one before, and left out",)


def test_an_input_that_is_given_twice_and_a_rule_without_objects_are_told(inputs, tmp_path):
    ended = run_here("merge", "-f", "out.root", "in0.root", "in?.root", "--rule=nope*=drop", cwd=tmp_path)
    assert ended.returncode == 0
    assert "in0.root is among the inputs more than once" in ended.stderr
    assert "--rule nope*: no object has this name or path" in ended.stderr
    assert ar.merge(tmp_path / "out.root", inputs, rules={"t": "first", "x": "drop"}).unused_rules == ("x",)


def test_rules_drop_refuse_and_keep_objects(inputs, tmp_path):
    for path in inputs:
        with ar.create(path) as file:
            file["t"] = {"a": np.arange(3)}
            file["debug/x"] = path.name
            file["note"] = path.name
    rules = {"debug/*": "drop"}
    ar.merge(tmp_path / "out.root", inputs, rules=rules)
    with ar.open(tmp_path / "out.root") as file:
        assert "debug/x" not in file
        assert str(file["note"]) == "in0.root"
    with pytest.raises(
        ar.SchemaMismatchError, match="note: there is one, and a rule says that there must be none"
    ):
        ar.merge(tmp_path / "out.root", inputs, rules={"note": "fail"})
    with pytest.raises(ar.InvalidRequestError, match='no rule "sum"'):
        ar.merge(tmp_path / "out.root", inputs, rules={"note": "sum"})


@pytest.mark.parametrize("columns", ["strict", "union", "first"])
def test_members_of_records_in_another_order_or_more_of_them_are_verified(tmp_path, columns):
    kinds = [
        pa.list_(
            pa.field(
                "item", pa.struct([pa.field(name, kind, nullable=False) for name, kind in of]), nullable=False
            )
        )
        for of in (
            [("p", pa.float64()), ("q", pa.string())],
            [("q", pa.string()), ("p", pa.float64())],
            [("q", pa.string()), ("p", pa.float64()), ("more", pa.int8())],
        )
    ]
    rows = [[[{"p": 1.0, "q": "a"}], []], [[{"q": "b", "p": 2.0}]], [[{"q": "c", "p": 3.0, "more": 1}]]]
    for number, (kind, values_of_one) in enumerate(zip(kinds, rows, strict=True)):
        with ar.create(tmp_path / f"in{number}.root") as file:
            schema = pa.schema([pa.field("m", kind, nullable=False)])
            file.tree("t", schema, layout="rntuple").append({"m": values_of_one})
    names = [f"in{number}.root" for number in range(2 if columns == "strict" else 3)]
    done_here("merge", "-f", "out.root", *names, f"--columns={columns}", "--verify", cwd=tmp_path)
    found = ar.open(tmp_path / "out.root")["t"].to_arrow()["m"].to_pylist()
    assert [(one["p"], one["q"]) for row in found for one in row][:2] == [(1.0, "a"), (2.0, "b")]


def test_what_tables_of_unique_rows_lose_is_told(tmp_path):
    for number in range(2):
        with ar.create(tmp_path / f"in{number}.root") as file, file.tree("t", layout="rntuple") as table:
            spans = table.attributes("lumi", {"run": "int32"})
            table.append({"x": [1, number]})
            spans.add(range(2), {"run": number})
    ended = run_here("merge", "-f", "out.root", "in?.root", "--rule=t=unique", "--provenance", cwd=tmp_path)
    assert ended.returncode == 0
    assert "attribute set 'lumi'" in ended.stderr
    assert "provenance: rows of the rule unique" in ended.stderr
    assert ended.stderr.count("attribute set") == 1


def test_pages_are_called_pages(tmp_path):
    for number in range(2):
        ar.write(f"{tmp_path}/in{number}.root:t", {"x": np.arange(10)}, layout="rntuple")
    ended = run_here("merge", "-f", "out.root", "in?.root", "--rebasket", cwd=tmp_path)
    assert "2 pages copied" in ended.stdout
    assert "2 pages of 2 are smaller than 4 kB" in ended.stderr
    assert "rebasket: pages of RNTuples are not put together" in ended.stderr
    assert "basket" not in ended.stdout
