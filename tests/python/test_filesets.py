"""Data sets: lists of files, samples as coffea writes them, and columns that say where entries come from."""

from __future__ import annotations

import functools
import json
import warnings

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar

#: Entries of the files, which know their numbers.
SIZES = {"a": 5, "b": 0, "c": 7, "d": 3}


@pytest.fixture(params=["ttree", "rntuple"])
def folder(request, tmp_path, monkeypatch):
    """The working directory, with four files of the tree T."""
    monkeypatch.chdir(tmp_path)
    for number, (name, n) in enumerate(SIZES.items()):
        table = pa.table(
            {
                "x": pa.array(np.arange(n) + 100 * number, pa.int64()),
                "y": [[1.5] * (i % 3) for i in range(n)],
            },
            pa.schema([("x", pa.int64()), ("y", pa.list_(pa.float64()))]),
        )
        with ar.create(f"{name}.root") as file:
            file.tree("T", table.schema, flush=2, layout=request.param).append(table)
    return tmp_path


def origins(sample_of=None):
    """Return what the columns of origin are for all entries."""
    return {
        "sample": [(sample_of or {}).get(name, "") for name, n in SIZES.items() for _ in range(n)],
        "file": [f"{name}.root" for name, n in SIZES.items() for _ in range(n)],
        "tree": ["T"] * sum(SIZES.values()),
        "entry": [entry for n in SIZES.values() for entry in range(n)],
        "x": [entry + 100 * number for number, n in enumerate(SIZES.values()) for entry in range(n)],
    }


FILESETS = {
    "coffea": {
        "tt": {"files": {"a.root": "T", "b.root": "T"}, "metadata": {"xsec": 832}},
        "dy": {"files": {"c.root": "T", "d.root": "T"}},
    },
    "preprocessed": {
        "tt": {
            "files": {
                name: {"object_path": "T", "steps": steps, "num_entries": n, "uuid": "x", "form": None}
                for name, steps, n in (("a.root", [[0, 2], [2, 5]], 5), ("b.root", [], 0))
            },
            "metadata": {"xsec": 832},
        },
        "dy": {"files": {"c.root": {"object_path": "T", "steps": [[0, 7]]}, "d.root": "T"}, "metadata": None},
    },
    "lists": {
        "tt": {"files": ["[ab].root"], "metadata": {"xsec": 832}},
        "dy": ["c.root", "d.root:T"],
    },
    "globs": {"tt": {"files": "[ab].root", "metadata": {"xsec": 832}}, "dy": {"files": "[cd].root"}},
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("given", FILESETS.values(), ids=FILESETS)
def test_samples_are_read_and_told_apart(given):
    scan = ar.scan(given, "T", ["x"], origin=["sample", "file", "tree", "entry"])
    table = scan.to_arrow()
    assert table.column_names == ["x", "sample", "file", "tree", "entry"]
    expected = origins({"a": "tt", "b": "tt", "c": "dy", "d": "dy"})
    assert table.to_pydict() == {name: expected[name] for name in table.column_names}
    assert scan.schema == table.schema
    assert {name: dict(of) for name, of in scan.samples.items()} == {"tt": {"xsec": 832}, "dy": {}}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_entries": 4},
        {"filter": "x % 2 == 0"},
        {"filter": "x % 2 == 0", "batch_entries": 3},
        {"filter": "x >= 200", "columns": ["y", "x"]},
        {"filter": "x >= 0", "on_error": print},
        {"on_error": print, "batch_entries": 2},
        {"entries": slice(3, 9)},
        {"entries": [14, 0, 6, 6, 2]},
        {"entries": [0, 6, 14], "batch_entries": 2},
        {"entries": [14, 0, 6, 6, 2], "filter": "x != 201"},
        {"entries": slice(3, 9), "filter": "x != 4", "batch_size": "64 kB"},
    ],
    ids=str,
)
def test_each_entry_says_where_it_comes_from(options):
    columns = options.pop("columns", ["x"])
    scan = ar.scan("*.root", "T", columns, origin=["entry", "file"], **options)
    for _ in range(2):
        table = scan.to_arrow()
        found = dict(
            zip(origins()["x"], zip(origins()["entry"], origins()["file"], strict=True), strict=True)
        )
        rows = list(zip(table["entry"].to_pylist(), table["file"].to_pylist(), strict=True))
        assert rows == [found[x] for x in table["x"].to_pylist()]
        assert table.num_rows > 0
    without = ar.scan("*.root", "T", columns, **options).to_arrow()
    assert table.select(columns).equals(without)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("condition", [None, "x >= 0"])
def test_files_that_are_left_out_shift_no_sample(condition):
    given = {
        "none": ["gone.root"],
        "tt": ["a.root", "b.root"],
        "no": ["lost.root"],
        "dy": ["c.root", "d.root"],
    }
    scan = ar.scan(given, "T", ["x"], filter=condition, on_error=lambda _: None, origin=["sample", "entry"])
    expected = origins({"a": "tt", "b": "tt", "c": "dy", "d": "dy"})
    table = scan.to_arrow()
    assert table.to_pydict() == {name: expected[name] for name in table.column_names}


@pytest.mark.usefixtures("folder")
def test_entries_read_beside_friends_say_where_they_come_from():
    n = sum(SIZES.values())
    ar.write("weights.root:W", {"w": np.arange(n)})
    options = {"friends": {"f": "weights.root:W"}, "origin": "entry"}
    files = [f"{name}.root" for name in SIZES]
    table = ar.scan(files, "T", ["x", "f.w"], **options).to_arrow()
    assert table["entry"].to_pylist() == origins()["entry"]
    table = ar.scan(files, "T", ["x", "f.w"], filter="f.w > 3", **options).to_arrow()
    assert table["entry"].to_pylist() == origins()["entry"][4:]


@pytest.mark.usefixtures("folder")
def test_a_list_names_files_one_a_line(folder):
    (folder / "files.txt").write_text("# all\n\n  a.root\n[bc].root:T\nd.root\n")
    for given in ("@files.txt", ["@files.txt"]):
        assert ar.scan(given, "T", ["x"]).to_arrow()["x"].to_pylist() == origins()["x"]
    assert ar.scan({"all": {"files": "@files.txt"}}, "T").num_entries == 15
    assert len(ar.partitions("@files.txt", "T", ["x"])) == 3  # one file has no entries
    (folder / "@odd.root").write_bytes((folder / "a.root").read_bytes())
    assert ar.scan("@odd.root", "T").num_entries == 5


@pytest.mark.parametrize("given", FILESETS.values(), ids=FILESETS)
def test_samples_are_read_from_a_file_of_json(folder, given):
    (folder / "samples.json").write_text(f"\n {json.dumps(given)}")
    scans = [ar.scan(one, "T", ["x"], origin="sample") for one in ("@samples.json", given)]
    assert scans[0].to_arrow().equals(scans[1].to_arrow())
    assert scans[0].samples == scans[1].samples


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"tt": ["a.root"', "@s.json: no samples in JSON, as"),
        ('{"tt": ' + "[" * 200_000, "@s.json: no samples in JSON, as"),
        ('{"tt": 3}', "expected a path or URL"),
        ('{"tt": {"files": ["@s.json"]}}', "@s.json: samples, which stand alone"),
    ],
)
def test_samples_that_cannot_be_meant_are_refused(folder, text, message):
    (folder / "s.json").write_text(text)
    with pytest.raises(ar.InvalidRequestError, match=message):
        ar.scan("@s.json", "T")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("given", "options", "error", "message"),
    [
        ("@nothing.txt", {}, ar.NoSuchFileError, "@nothing.txt: there is no such list"),
        ("@a.root", {}, ar.InvalidRequestError, "no list of files"),
        (
            {"tt": {"a.root": {"object_path": "T", "steps": [[0, 2]], "num_entries": 5}}},
            {},
            ar.InvalidRequestError,
            "a part of its entries",
        ),
        (
            {"tt": {"a.root": {"object_path": "T", "steps": [[2, 5]]}}},
            {},
            ar.InvalidRequestError,
            "a part of its entries",
        ),
        (
            {"tt": {"files": ["a.root"], "metadata": [1]}},
            {},
            ar.InvalidRequestError,
            "metadata: expected a mapping",
        ),
        ({"tt": ["a.root"], "b.root": "T"}, {}, ar.InvalidRequestError, "expected the files of a sample"),
        ({"tt": 5}, {}, ar.InvalidRequestError, "expected a path or URL"),
        ("a.root", {"origin": "run"}, ar.InvalidRequestError, "origin: expected some of 'sample'"),
        ("a.root", {"origin": ["file", "file"]}, ar.InvalidRequestError, "each once"),
    ],
)
def test_what_cannot_be_meant_is_refused(given, options, error, message):
    with pytest.raises(error, match=message):
        ar.scan(given, "T", ["x"], **options)


def test_a_column_of_the_same_name_is_refused(tmp_path):
    ar.write(f"{tmp_path}/a.root:T", {"entry": [1, 2]})
    with pytest.raises(ar.InvalidRequestError, match="there is a column 'entry'"):
        ar.scan(tmp_path / "a.root", origin="entry")
    assert ar.scan(tmp_path / "a.root", origin="tree").to_arrow()["tree"].to_pylist() == ["T", "T"]


def test_a_sample_without_files_is_named(tmp_path):
    ar.write(f"{tmp_path}/a.root:t", {"x": [1, 2, 3]})
    for files, message in (({"files": []}, "no file to read"), ([f"{tmp_path}/b*.root"], "no file matches")):
        with pytest.raises(ar.ArrowrootError, match=f"sample 'Z': {message}"):
            ar.scan({"A": [f"{tmp_path}/a.root"], "Z": files}, "t")


def test_a_glob_that_matches_nothing_is_left_out_as_a_file_that_is_missing(tmp_path):
    ar.write(f"{tmp_path}/a.root:t", {"x": [1, 2, 3]})
    samples = {"A": [f"{tmp_path}/a.root"], "Z": [f"{tmp_path}/b*.root"]}
    for files in (samples, dict(reversed(samples.items()))):
        left_out = []
        scan = ar.scan(files, "t", on_error=left_out.append, origin="sample")
        assert scan.to_arrow().to_pydict() == {"x": [1, 2, 3], "sample": ["A"] * 3}
        assert [(one.url, one.reason) for one in left_out] == [(f"{tmp_path}/b*.root", "missing")]


def test_steps_cover_a_file_in_any_order(tmp_path):
    ar.write(f"{tmp_path}/a.root:t", {"x": [1, 2, 3]})

    def scanned(steps):
        said = {"object_path": "t", "steps": steps, "num_entries": 3}
        return ar.scan({"A": {"files": {f"{tmp_path}/a.root": said}}})

    assert scanned([[1, 3], [0, 1]]).num_entries == 3
    for steps in ([[1, 3]], [[2, 3], [0, 1]], [[0, 2], [1, 3]]):
        with pytest.raises(ar.InvalidRequestError, match="a part of its entries"):
            scanned(steps)


@pytest.fixture
def of_two(tmp_path):
    """Samples of three files, one of them without entries."""
    for name, values in {"a": [1, 2, 3], "b": [], "c": [4, 5]}.items():
        ar.write(f"{tmp_path}/{name}.root:t", {"x": np.array(values, np.int64)})
    return {"A": [f"{tmp_path}/a.root", f"{tmp_path}/b.root"], "C": [f"{tmp_path}/c.root"]}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("sample == 'A'", [1, 2, 3]),
        ("sample != 'A' && x > 4", [5]),
        ("entry == 1", [2, 5]),
        ("endswith(file, 'c.root') and tree == 't'", [4, 5]),
        ("weight == 2 and entry > 0", [2, 3]),
        # The number in all files.
        ("x > 0 and Entry$ >= 2", [3, 4, 5]),
    ],
)
def test_a_filter_may_ask_where_entries_come_from(of_two, condition, expected):
    define = {"weight": "sample == 'A' ? 2 : 1"}
    for options in ({}, {"missing": "null"}, {"on_error": "skip"}, {"batch_entries": 2}, {"n_threads": 2}):
        scan = ar.scan(of_two, "t", ["x"], filter=condition, define=define, **options)
        assert scan.to_arrow().to_pydict() == {"x": expected}, options
    back = ar.scan(of_two, "t", ["x"], filter=condition, define=define, entries=[4, 3, 2, 1, 0])
    assert back.to_arrow()["x"].to_pylist() == expected[::-1]


def test_definitions_and_histograms_may_ask_where_entries_come_from(of_two):
    define = {"w": "sample == 'A' ? 2.0 : 1.0", "e": "entry", "s": "sample"}
    assert ar.scan(of_two, "t", define=define).to_arrow().to_pydict() == {
        "x": [1, 2, 3, 4, 5], "w": [2, 2, 2, 1, 1], "e": [0, 1, 2, 0, 1], "s": ["A"] * 3 + ["C"] * 2,
    }  # fmt: skip
    filled = ar.scan(of_two, "t").hist({"h": ar.Hist((1, 0, 9), x="x", weight=define["w"])}, by_sample=True)
    assert filled["h"].values().ravel().tolist() == [6, 2]
    pieces = ar.partitions([*of_two["A"], *of_two["C"]], "t", target="8 B", filter="entry == 1")
    assert [piece.read()["x"].to_pylist() for piece in pieces] == [[2], [5]]


def test_a_skim_may_ask_where_entries_come_from_alone(of_two, tmp_path):
    files = [*of_two["A"], *of_two["C"]]
    made = ar.skim(files, tmp_path / "o.root", "t", filter="entry == 1")
    assert [one.cuts[-1].num_entries for one in made.inputs] == [1, 0, 1]
    with ar.open(tmp_path / "o.root") as file:
        assert file["t"].to_arrow()["x"].to_pylist() == [2, 5]
    outputs = {f"{tmp_path}/c.root-only.root": "endswith(file, 'c.root')", f"{tmp_path}/all.root": None}
    made = ar.skim(files, outputs=outputs, tree="t")
    assert [one.num_entries for one in made.outputs] == [2, 5]


def test_names_of_origin_are_those_of_columns_first_and_samples_are_named(of_two, tmp_path):
    files = [*of_two["A"], *of_two["C"]]
    with pytest.raises(
        ar.NoSuchColumnError, match=r"no branch 'sample'; files have one where samples are scanned"
    ):
        ar.scan(files, "t", filter="sample == 'A'")
    with pytest.raises(ar.NoSuchColumnError, match=r"an option: write ar.scan\(..., origin='sample'\)"):
        ar.scan(of_two, "t", ["x", "sample"])
    with pytest.raises(ar.NoSuchColumnError, match="no branch 'A': a text stands in quotes: \"A\""):
        ar.scan(of_two, "t", filter="sample == A")
    by_number = ar.scan(files, "t", filter="Entry$ < 2").to_arrow()
    assert by_number.equals(ar.scan(files, "t", entries=slice(0, 2)).to_arrow())
    ar.write(f"{tmp_path}/own.root:t", {"entry": [7, 8], "sample": ["u", "v"]})
    own = ar.scan({"A": [f"{tmp_path}/own.root"]}, "t", filter="entry == 8 && sample == 'v'")
    assert own.to_arrow()["entry"].to_pylist() == [8]


def test_steps_end_where_the_file_does(tmp_path):
    """Whether they do is known once the file is open, where the set does not say how many entries there are."""
    for name in ("a", "b"):
        ar.write(f"{tmp_path}/{name}.root:t", {"x": [1, 2, 3]})

    def files(end, n_entries=None):
        said = {"object_path": "t", "steps": [[0, 1], [1, end]], "num_entries": n_entries}
        return {"A": {"files": {f"{tmp_path}/a.root": "t", f"{tmp_path}/b.root": said}}}

    asked = (
        lambda given: ar.scan(given).num_entries,
        lambda given: sum(one.num_entries for one in ar.partitions(given)),
        lambda given: ar.dataset(given).count_rows(),
        lambda given: ar.skim(given, f"{tmp_path}/new.root", columns="x").cuts,
    )
    for ask in asked:
        assert ask(files(3))
        for wrong in (files(2), files(7), files(7, 7)):
            with pytest.raises(
                ar.InvalidRequestError, match=r"b\.root.* has 3 entries, and its steps end at"
            ):
                ask(wrong)


def told_of(made):
    """Return the warnings of origins that are none."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made()
    assert all(one.category is ar.NoSuchOriginWarning for one in told)
    return [str(one.message).partition("\n")[0] for one in told]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sample == 'ttbra'", "no sample is called 'ttbra'; did you mean 'ttbar'?"),
        ("'Data' != sample", "no sample is called 'Data'; did you mean 'data'?"),
        ("sample in ('data', 'signal')", "no sample is called 'signal'; there are 'ttbar', 'data', 'lost'"),
        ("startswith(sample, 'dy')", "no sample begins with 'dy'; there are 'ttbar', 'data', 'lost'"),
        ("tree == 'Events'", "no tree is called 'Events'; there are 't'"),
        ("file == 'c.root'", "no file is called 'c.root'; did you mean '{folder}/c.root'?"),
        ("contains(file, 'run')", "no file contains 'run'; there are {files}"),
        ("sample == 'lost' || file == '{folder}/gone.root'", None),
        ("sample == 'data' && endswith(file, '/c.root') && tree == \"t\"", None),
        (
            "(sample == 'ttbar' ? 1 : sample == 'nothing' ? 2 : 3) > 1",
            "no sample is called 'nothing'; there are",
        ),
    ],
)
def test_a_text_that_no_origin_has_is_told_with_those_that_there_are(of_two, tmp_path, text, expected):
    files = {"ttbar": of_two["A"], "data": of_two["C"], "lost": [f"{tmp_path}/gone.root"]}
    text = text.format(folder=tmp_path)
    names = [repr(f"{tmp_path}/{name}.root") for name in ("a", "b", "c", "gone")]
    line = expected and expected.format(folder=tmp_path, files=", ".join(names))
    skip = {"on_error": lambda _: None}
    for made in (
        lambda: ar.scan(files, "t", ["x"], filter=text, **skip).to_arrow(),
        lambda: ar.scan(files, "t", ["x"], define={"w": f"({text}) ? 1 : 2"}, **skip).to_arrow(),
        lambda: ar.scan(files, "t", ["x"], filter=text, missing="null", **skip).to_arrow(),
        lambda: ar.scan(files, "t", **skip).hist({"h": ar.Hist((1, 0, 9), x="x", where=text)}),
    ):
        told = told_of(made)
        assert len(told) == (expected is not None), told
        if expected:
            assert line in told[0]


def test_many_texts_that_no_origin_has_are_told_in_one_warning(of_two):
    text = " || ".join(f"file == 'n{k}'" for k in range(2000))
    (of_all,) = told_of(lambda: ar.scan(of_two, "t", filter=text).to_arrow())
    assert of_all.startswith("filter: no file is called 'n0' or 'n1' or 'n2'")
    assert "n10" not in of_all
    text = f"({text}) && endswith(sample, 'B') || sample == 'D'"
    told = told_of(lambda: ar.scan(of_two, "t", filter=text, define={"w": "sample == 'E'"}).to_arrow())
    assert len(told) == 3
    assert any(" and 1,99" in line and " more; " in line for line in told)
    assert any("no sample ends with 'B' or is called 'D'; " in line for line in told)


@pytest.mark.parametrize("missing", ["raise", "null"])
def test_skims_know_files_and_trees_as_expressions_do(tmp_path, missing):
    ar.write(f"{tmp_path}/a b.root:t", {"x": np.arange(3)})
    ar.write(f"{tmp_path}/c.root:t", {"x": np.arange(2)})
    skim = functools.partial(ar.skim, output=tmp_path / "o.root", tree="t", columns=["x"], missing=missing)
    for given in (
        f"file://{tmp_path}/a b.root",
        f"FILE://localhost{tmp_path}/a%20b.root",
        f"{tmp_path}/a b.root?arrowroot.strategy=auto",
    ):
        inputs = [given, f"file://{tmp_path}/c.root"]
        skim_where = functools.partial(skim, inputs)
        right = f"file == '{tmp_path}/a b.root' && tree == 't'"
        assert told_of(functools.partial(skim_where, filter=right)) == []
        assert ar.open(tmp_path / "o.root")["t"].num_entries == 3
        told = told_of(functools.partial(skim_where, filter=f"file == 'file://{tmp_path}/c.root'"))
        line = f"filter: no file is called 'file://{tmp_path}/c.root'; did you mean '{tmp_path}/c.root'"
        assert [one.startswith(line) for one in told] == [True]
        assert told_of(functools.partial(skim_where, filter="tree == 'Events'")) == [
            "filter: no tree is called 'Events'; there are 't'"
        ]
        with pytest.raises(ar.InvalidRequestError, match="an input of the skim, which would be overwritten"):
            skim(inputs, output=tmp_path / "a b.root")


def test_a_text_that_no_origin_has_is_told_of_whole_data_sets(of_two, tmp_path):
    """A piece, or an input, does not know the samples of the others, which its maker does."""
    text = "sample != 'B' and x > 0"
    line = "filter: no sample is called 'B'; did you mean 'A' or 'C'?"
    pieces = []
    assert told_of(lambda: pieces.extend(ar.partitions(of_two, "t", filter=text))) == [line]
    assert told_of(lambda: [piece.read() for piece in pieces]) == []
    assert (
        told_of(lambda: [piece.read() for piece in ar.partitions(of_two, "t", filter="sample == 'A'")]) == []
    )
    for missing in ("raise", "null"):
        skim = functools.partial(ar.skim, of_two, tmp_path / "o.root", "t", missing=missing)
        assert told_of(functools.partial(skim, filter=text)) == [line]
        assert told_of(functools.partial(skim, filter="sample == 'C'")) == []
    scan = []
    define = {"w": "sample == 'B' ? 1 : 2"}
    assert len(told_of(lambda: scan.append(ar.scan(of_two, "t", define=define)))) == 1
    # It is told once.
    assert told_of(lambda: scan[0].hist({"h": ar.Hist((1, 0, 9), x="x", weight="w")})) == []
    with ar.open(of_two["C"][0]) as file:
        assert told_of(lambda: file["t"].entries_where("file == 'a.root'")) != []
