"""Attribute sets, projected fields, whole trees and objects in skims, and how outputs are checked."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot._skimming.outputs import Outputs
from arrowroot._skimming.request import request_of
from arrowroot._skimming.skim import skimmed
from tests.command import done_here, run_here

from .test_skim import names_in

# ---- attribute sets --------------------------------------------------------------------------------------------------

N_ENTRIES = {"a": 300, "empty": 0, "b": 170}


def put(path, first, n_entries, seed):
    """Write an RNTuple of ids with drawn ranges, and one beside it; return the ranges by their numbers."""
    rng = np.random.default_rng(seed)
    begin = rng.integers(0, n_entries + 1, 12)
    lengths = [int(rng.integers(0, n_entries - one + 1)) // 8 for one in begin]
    begin = [0, n_entries, *begin.tolist()]
    lengths = [n_entries, 0, *lengths]
    ids = [1000 * seed + number for number in range(len(begin))]
    with ar.create(path) as made:
        for name in ("Events", "Runs"):
            table = made.tree(name, layout="rntuple", flush=40)
            # It has ranges before it has entries of its own.
            table.append({"id": np.arange(first, first + n_entries)})
            table.attributes("spans", {"n": "int32", "text": "string"}).append(
                {"first_entry": begin, "n_entries": lengths, "n": ids, "text": [f"é{one}" for one in ids]}
            )
        table.attributes("none", {"x": "float32"})
    return {
        number: range(first + start, first + start + n)
        for number, start, n in zip(ids, begin, lengths, strict=True)
    }


@pytest.fixture(scope="module")
def annotated(tmp_path_factory):
    """Return the paths of three inputs, and what their ranges have: ids of entries by the numbers of ranges."""
    directory = tmp_path_factory.mktemp("annotated")
    spans, first = {}, 0
    for seed, (name, n_entries) in enumerate(N_ENTRIES.items()):
        spans |= put(directory / f"{name}.root", first, n_entries, seed)
        first += n_entries
    return [str(directory / f"{name}.root") for name in N_ENTRIES], spans


def spans_of(path, tree="Events"):
    """Return the ids of the entries that the ranges of an output have, by the numbers of ranges."""
    found = ar.open(path)[tree]
    ids, rows = found["id"].to_numpy(), found.attributes["spans"].to_arrow().to_pylist()
    assert [row["text"] for row in rows] == [f"é{row['n']}" for row in rows]
    assert not any(field.nullable for field in found.attributes["spans"].schema)
    stops = [row["first_entry"] + row["n_entries"] for row in rows]
    assert max(stops) <= len(ids)
    return {row["n"]: ids[row["first_entry"] : stop].tolist() for row, stop in zip(rows, stops, strict=True)}


def left(spans, test=lambda _: True):
    """Return what is left of ranges: those that had entries and have none are not there."""
    found = {number: [one for one in span if test(one)] for number, span in spans.items()}
    return {number: ids for number, ids in found.items() if ids or not spans[number]}


HOW = {"batches": {"batch_size": "1 kB"}, "threads": {"n_threads": 3}, "parts": {"resume": True}}


@pytest.mark.parametrize("how", HOW.values(), ids=HOW.keys())
def test_ranges_of_attribute_sets_become_those_of_the_entries_that_are_left(tmp_path, annotated, how):
    files, spans = annotated
    outputs = {f"{tmp_path}/third.root": "id % 3 == 0", f"{tmp_path}/late.root": "id > 290"}
    made = ar.skim(files, tree="Events", outputs=outputs, filter="id % 7 != 1", **how)
    assert made.left_out == made.notes_left_out == []
    tests = {"third": lambda i: i % 3 == 0 and i % 7 != 1, "late": lambda i: i > 290 and i % 7 != 1}
    for name, test in tests.items():
        assert spans_of(tmp_path / f"{name}.root") == left(spans, test)
        # Tables that are carried have all their entries, those of one input behind those of the other.
        assert spans_of(tmp_path / f"{name}.root", "Runs") == left(spans)
        sets = ar.open(tmp_path / f"{name}.root")["Runs"].attributes
        assert (list(sets), sets["none"].num_ranges) == (["spans", "none"], 0)


def test_ranges_are_those_of_a_whole_copy_and_of_chosen_entries(tmp_path, annotated):
    files, spans = annotated
    ar.skim(files, tmp_path / "all.root", "Events")
    assert spans_of(tmp_path / "all.root") == left(spans)
    of_first = {number: span for number, span in spans.items() if number < 1000}
    for entries in (slice(40, 200), slice(-50, None), range(1), slice(10, 10)):
        for condition, test in ((None, lambda _: True), ("id % 2 == 0", lambda i: i % 2 == 0)):
            ar.skim(files[0], tmp_path / "o.root", "Events", entries=entries, filter=condition, carry=False)
            looked_at = range(*entries.indices(300)) if isinstance(entries, slice) else entries
            ids = [one for one in looked_at if test(one)]
            assert ar.open(tmp_path / "o.root")["Events"]["id"].to_numpy().tolist() == ids
            assert spans_of(tmp_path / "o.root") == left(of_first, set(ids).__contains__)


def test_parts_that_others_make_have_ranges_for_any_layout(tmp_path, annotated, monkeypatch):
    files, spans = annotated
    out = tmp_path / "o.root"
    with monkeypatch.context() as patch:
        patch.setattr(Outputs, "publish", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ar.skim(files, out, "Events", filter="id > 5", layout="ttree", resume=True)
    with ThreadPoolExecutor(1) as executor:
        ar.skim(files, out, "Events", filter="id > 5", executor=executor)
    assert spans_of(out) == left(spans, lambda i: i > 5)


def test_sets_that_cannot_be_kept_are_told(tmp_path, annotated):
    files, _ = annotated
    made = ar.skim(files[0], tmp_path / "tree.root", "Events", layout="ttree", carry=False)
    assert made.notes_left_out == [("Events: attribute set 'spans'", "a tree records none")]
    other = tmp_path / "other.root"
    with ar.create(other) as file, file.tree("Events", layout="rntuple") as table:
        table.append({"id": np.arange(3)})
        table.attributes("spans", {"n": "int64"}).add(range(2), {"n": 1})
    with pytest.raises(ar.SchemaMismatchError, match=r"other\.root.*attribute set 'spans'.*a\.root"):
        ar.skim([files[0], other], tmp_path / "o.root", "Events", carry=False)
    made = ar.skim([files[0], other], tmp_path / "o.root", "Events", carry=False, on_bad_input="skip")
    assert [url for url, _ in made.bad_inputs] == [str(other)]


# ---- projected fields ------------------------------------------------------------------------------------------------

MUONS = pa.table(
    {
        "Muon": [[{"pt": 1.5}, {"pt": 2.5}], [], [{"pt": 4.0}]],
        "run": [1, 2, 3],
    },
    schema=pa.schema(
        [
            pa.field(
                "Muon", pa.list_(pa.field("item", pa.struct([pa.field("pt", pa.float64())]), False)), False
            ),
            pa.field("run", pa.int64(), False),
        ]
    ),
)
PROJECTIONS = {"Muon_pt": "Muon.pt", "nMuon": "#Muon", "again": "run"}


@pytest.fixture(scope="module")
def projected(tmp_path_factory):
    path = tmp_path_factory.mktemp("projected") / "in.root"
    titles = {"Muon_pt": "in GeV"}
    ar.write(f"{path}:t", MUONS, layout="rntuple", projections=PROJECTIONS, titles=titles)
    return path


def test_projected_fields_stay_what_they_are_as_far_as_what_they_show_is_there(tmp_path, projected):
    out = tmp_path / "o.root"
    for columns, left, stored in [
        (None, PROJECTIONS, ["Muon", "run"]),
        (["Muon_pt", "run", "again"], {"again": "run"}, ["Muon_pt", "run"]),
        (["nMuon"], {}, ["nMuon"]),
        (["!again"], {name: PROJECTIONS[name] for name in ("Muon_pt", "nMuon")}, ["Muon", "run"]),
    ]:
        ar.skim([projected, projected], out, columns=columns, filter="nMuon != 1 && again != 7")
        tree, before = ar.open(out)["t"], ar.open(projected)["t"]
        assert (tree.projections, [n for n in tree.column_names if n not in left]) == (left, stored)
        read = before.to_arrow([*stored, *left]).slice(0, 2)
        assert tree.to_arrow([*stored, *left]).to_pylist() == [*read.to_pylist(), *read.to_pylist()]
        titles = {one.name: one.title for one in tree.columns if one.title}
        assert titles == ({"Muon_pt": "in GeV"} if "Muon_pt" in tree.column_names else {})


def test_a_tree_has_what_is_projected_as_branches_once(tmp_path, projected):
    ar.skim(projected, tmp_path / "o.root", layout="ttree")
    tree = ar.open(tmp_path / "o.root")["t"]
    assert tree.column_names == ["Muon", "run", "again"]
    assert tree.to_arrow(["Muon_pt", "nMuon"]).to_pydict() == {
        "Muon_pt": [[1.5, 2.5], [], [4.0]],
        "nMuon": [2, 0, 1],
    }


def test_inputs_project_alike(tmp_path, projected):
    """A name that shows something else is an error; a column of the first input is one of any."""
    stored, other = tmp_path / "stored.root", tmp_path / "other.root"
    ar.skim(projected, stored, layout=ar.Layout("rntuple"), missing="null")
    assert ar.open(stored)["t"].projections == {}
    ar.skim([stored, projected], tmp_path / "o.root")
    assert ar.open(tmp_path / "o.root")["t"].projections == {}
    assert ar.open(tmp_path / "o.root")["t"]["again"].to_numpy().tolist() == [1, 2, 3, 1, 2, 3]
    ar.write(f"{other}:t", MUONS, layout="rntuple", projections={**PROJECTIONS, "again": "Muon"})
    with pytest.raises(ar.SchemaMismatchError, match="'again' shows 'Muon', but one of 'run'"):
        ar.skim([projected, other], tmp_path / "o.root")
    with pytest.raises(ar.SchemaMismatchError, match=r"has no column 'Muon_pt'.*stored\.root"):
        ar.skim([projected, stored], tmp_path / "o.root")


# ---- whole files -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """Return a file of several trees and objects, and one of objects alone."""
    directory = tmp_path_factory.mktemp("several")
    with ar.create(directory / "in.root") as file:
        file.tree("a").append({"x": [1, 2]})
        file.tree("dir/b", layout="rntuple").append({"y": [1.5]})
        file["dir/h"] = np.histogram([1, 2, 2], bins=3)
        file["note"] = "some text"
        file.directory("empty/inside")
    with ar.create(directory / "objects.root") as file:
        file["dir/note"] = "some text"
    return directory


def test_all_trees_and_objects_of_files_go_along_if_nothing_is_chosen(tmp_path, several):
    source = str(several / "in.root")
    made = ar.skim([source, source], tmp_path / "o.root")
    assert (made.cuts, made.carried) == ([], {"a": 4, "dir/b": 2})
    assert (sorted(made.objects), made.left_out) == (["dir/h", "note"], [])
    with ar.open(tmp_path / "o.root") as file:
        assert file["a"]["x"].to_numpy().tolist() == [1, 2, 1, 2]
        assert (file["a"].class_name, file["dir/b"].class_name) == ("TTree", "ROOT::RNTuple")
        assert file["dir/h"].values().tolist() == [2, 0, 4]
        assert {key.path for key in file.key_list() if key.is_directory} == {"dir", "empty", "empty/inside"}
    ar.skim(source, tmp_path / "o.root", carry=["dir*"], resume=True)
    assert ar.open(tmp_path / "o.root").keys() == {"dir"}
    with ThreadPoolExecutor(1) as executor:
        made = ar.skim([source, source], tmp_path / "o.root", executor=executor)
    assert made.carried == {"a": 4, "dir/b": 2}
    for more in (
        {"filter": "x > 1"},
        {"columns": ["x"]},
        {"entries": slice(1)},
        {"missing": "null"},
        {"carry": False},
    ):
        with pytest.raises(ar.InvalidRequestError, match=r"which of|2 trees"):
            ar.skim(source, tmp_path / "o.root", **more)


def test_files_without_trees_are_copied(tmp_path, several):
    source = str(several / "objects.root")
    assert ar.skim([source, source], tmp_path / "o.root").objects == ["dir/note"]
    assert ar.open(tmp_path / "o.root")["dir/note"] == "some text"
    with pytest.raises(ar.NoSuchKeyError, match="no tree in this file"):
        ar.skim(source, tmp_path / "o.root", columns=["x"])
    # With others, where a tree is meant, it is a bad one.
    both = [several / "in.root", source]
    made = ar.skim(both, tmp_path / "o.root", "a", ["x"], on_bad_input="skip")
    assert ([url for url, _ in made.bad_inputs], made.cuts[0].num_entries) == ([source], 2)
    with ar.create(tmp_path / "nothing.root"):
        pass
    with pytest.raises(ar.NoSuchKeyError, match="nothing in this file"):
        ar.skim(tmp_path / "nothing.root", tmp_path / "o.root")


def test_the_command_takes_files_whole_and_says_so(tmp_path, several):
    said = done_here("skim", several / "in.root", tmp_path / "o.root", "--compression", "zstd:3")
    assert "1 entry of dir/b, 2 entries of a, 2 objects" in said
    assert "cut" not in said
    assert {one.compression for one in ar.open(tmp_path / "o.root")["a"].columns} == {"zstd 3"}


# ---- what is told, and checked ---------------------------------------------------------------------------------------


@pytest.fixture
def events(tmp_path):
    """Write two inputs of numbers, in the directory that is returned."""
    for name, first in (("a", 0), ("b", 500)):
        with ar.create(tmp_path / f"{name}.root") as file:
            with file.tree("t", flush=100) as tree:
                tree.append({"x": np.arange(first, first + 500), "y": np.full(500, np.nan)})
            file["other"] = {"z": [first]}
    return tmp_path


def test_outputs_are_read_back_and_compared(events, monkeypatch):
    files, outputs = (
        ["a.root", "b.root"],
        ["--output", "odd.root=x % 2 == 1", "--output", "few.root:u=x < 70"],
    )
    command = [
        "skim",
        *files,
        "--tree",
        "t",
        *outputs,
        "--filter",
        "x != 3",
        "--verify",
        "--batch-size",
        "1 kB",
    ]
    said = done_here(*command, cwd=events)
    assert said.count("read back: the same") == 2
    command.append("--force")
    assert json.loads(done_here(*command, "--json", cwd=events))["verified"] is True
    for path in ("odd.root", "few.root"):
        (events / path).write_bytes(b"older")
    add = Outputs.add

    def changed(outputs, portion, batch):
        if portion.output == 1 and batch.schema.names == ["x", "y"]:
            numbers = batch["x"].to_numpy().copy()
            numbers[numbers == 60] = 61
            batch = batch.set_column(0, batch.schema.field("x"), pa.array(numbers))
        add(outputs, portion, batch)

    monkeypatch.setattr(Outputs, "add", changed)
    done = run_here(*command, cwd=events)
    assert done.returncode == 1
    assert (
        "few.root was not written: 't' read back is not what was read: column 'x', entry 59: 61, not 60"
        in (done.stderr)
    )
    assert [(events / path).read_bytes() for path in ("odd.root", "few.root")] == [b"older"] * 2


def test_a_plan_is_of_the_entries_that_are_wanted(events):
    text = done_here("skim", "a.root:t", "o.root:u", "--filter", "x > 450", "--plan", "--json", cwd=events)
    told = json.loads(text)
    assert told["form"] == "arrowroot.plan/1"
    assert [(one["name"], one["n_entries"], one["n_looked_at"]) for one in told["tables"]] == [
        ("u", None, 49),
        ("other", 1, 1),
    ]
    text = done_here("skim", "a.root", "o.root", "--layout", "rntuple", "--plan", "--json", cwd=events)
    assert [(one["name"], one["n_entries"]) for one in json.loads(text)["tables"]] == [
        ("t", 500),
        ("other", 1),
    ]
    assert names_in(events) == ["a.root", "b.root"]


def test_the_cost_of_writing_is_told_and_reported(events):
    command = ["skim", "a.root:t", "o.root", "--cost"]
    assert "what passed each layer" in done_here(*command, "--fjr", "job.xml", cwd=events)
    assert "publish" in done_here("fjr", "job.xml", cwd=events)
    (told,) = json.loads(done_here(*command, "--json", "-f", cwd=events))["outputs"]
    assert told["cost"]["n_entries"] == 501
    done = run_here(
        "skim", "a.root:t", "--output", "o.root", "--output", "p.root", "--fjr", "j.xml", cwd=events
    )
    assert (done.returncode, "of one output" in done.stderr) == (2, True)


def test_entries_are_a_range_of_one_input(events):
    done_here("skim", "a.root:t", "o.root", "--entries=-20:-10", "--filter", "x % 2 == 0", cwd=events)
    assert ar.open(events / "o.root")["t"]["x"].to_numpy().tolist() == [480, 482, 484, 486, 488]
    made = ar.skim(events / "a.root", events / "o.root", "t", entries=range(5, 8), cuts={"odd": "x % 2 == 1"})
    assert [cut.num_entries for cut in made.cuts] == [3, 2]
    for entries, files in (
        (slice(0, 10, 2), ["a.root"]),
        ([1, 2], ["a.root"]),
        (slice(3), ["a.root", "b.root"]),
    ):
        with pytest.raises(ar.InvalidRequestError, match=r"^entries: "):
            ar.skim([events / name for name in files], events / "p.root", "t", entries=entries)


@pytest.mark.parametrize("condition", [None, "x % 2 == 0"])
def test_the_share_that_is_done_grows_within_an_input(events, monkeypatch, condition):
    shares, add = [], Outputs.add

    def noted(outputs, portion, batch):
        shares.append(tell[0]())
        add(outputs, portion, batch)

    monkeypatch.setattr(Outputs, "add", noted)
    tell = []
    files = [events / "a.root", events / "b.root"]
    given = {
        "output": events / "o.root",
        "tree": "t",
        "filter": condition,
        "batch_size": "1 kB",
        "carry": False,
    }
    skimmed(request_of(files, given, {}), follow=tell.append)
    assert shares == sorted(shares)
    assert len(set(shares)) > 6
    assert 0 < shares[0] < 0.2
    assert shares[-1] == 1


# ---- what may be missing ---------------------------------------------------------------------------------------------

#: As pyarrow has it: all may be missing, and nothing is but of "n".
MAY_BE_MISSING = pa.table(
    {
        "x": [1, 2, 3],
        "l": [[1.0], [], [2.0, 3.0]],
        "s": ["a", "", "c"],
        "r": [{"a": 1}, {"a": 2}, {"a": 3}],
        "rs": [[{"a": 1}], [], [{"a": 3}]],
        "n": [1, None, 3],
    }
)


@pytest.mark.parametrize("chosen", [{}, {"filter": "x > 1"}, {"filter": "x > 1", "flush": "1 MB"}], ids=str)
@pytest.mark.parametrize("layout", ["rntuple", "ttree"])
def test_what_is_stored_says_what_may_be_missing(tmp_path, layout, chosen):
    """A schema that says so of columns of which nothing is makes no optionals, and comes back."""
    ar.write(f"{tmp_path}/in.root:t", MAY_BE_MISSING, layout=layout)
    ar.skim(tmp_path / "in.root", tmp_path / "out.root", **chosen)
    first, made = (ar.open(tmp_path / name)["t"] for name in ("in.root", "out.root"))
    assert [(one.path, one.type_name) for one in made.branches] == [
        (one.path, one.type_name) for one in first.branches
    ]
    found = made.to_arrow()
    assert found.schema.equals(MAY_BE_MISSING.schema)
    assert found.equals(MAY_BE_MISSING.slice(1 if chosen else 0))
    has_nulls = {field.name for field in made.stored_schema() if field.nullable}
    assert has_nulls == {"n"}


def test_cpp_types_of_columns_that_may_be_missing_are_kept(tmp_path):
    types = {
        "a": "std::set<std::int32_t>",
        "b": "std::bitset<2>",
        "c": "std::atomic<float>",
        "d": "ROOT::RVec<double>",
    }
    data = pa.table(
        {
            "a": pa.array([[1, 2], []], pa.list_(pa.int32())),
            "b": [[True, False], [False, False]],
            "c": pa.array([1, 2], pa.float32()),
            "d": [[1.0], []],
        }
    )
    ar.write(f"{tmp_path}/in.root:t", data, layout="rntuple", types=types)
    ar.skim(tmp_path / "in.root", tmp_path / "out.root", filter="c > 1")
    made = ar.open(tmp_path / "out.root")["t"]
    assert {one.path: one.type_name for one in made.branches} == {
        one.path: one.type_name for one in ar.open(tmp_path / "in.root")["t"].branches
    }
    assert made.to_arrow().equals(data.slice(1))


@pytest.mark.parametrize("layout", ["rntuple", "ttree"])
def test_an_input_whose_values_may_be_missing_does_not_fit_one_of_which_none_are(tmp_path, layout):
    for number, values in enumerate(([[1], [2]], [[3], [None]], [[4], None])):
        ar.write(f"{tmp_path}/in{number}.root:t", pa.table({"x": values}), layout=layout)
    for number in (1, 2):
        names = [tmp_path / f"in{one}.root" for one in (0, number)]
        with pytest.raises(
            ar.SchemaMismatchError, match=f"in{number}.root:t: values of column 'x' may be missing"
        ):
            ar.skim(names, tmp_path / "out.root")
        assert not (tmp_path / "out.root").exists()
        # The other way round it fits.
        ar.skim(names[::-1], tmp_path / "out.root")
        (tmp_path / "out.root").unlink()
    ar.skim(f"{tmp_path}/in?.root", tmp_path / "out.root", missing="null")
    assert ar.open(tmp_path / "out.root")["t"].to_arrow()["x"].to_pylist() == [
        [1],
        [2],
        [3],
        [None],
        [4],
        None,
    ]


def test_aliases_of_columns_that_are_left_out_are_told_and_not_kept(tmp_path):
    aliases = {"twice": "2*x", "four": "2*twice + 1e5", "sum": "y+z", "of_y": "y*1.5"}
    with ar.create(tmp_path / "in.root") as file, file.tree("t", aliases=aliases) as tree:
        tree.append({name: np.arange(5.0) for name in "xyz"})
    made = ar.skim(tmp_path / "in.root", tmp_path / "out.root", "t", ["y"])
    assert ar.open(tmp_path / "out.root")["t"].aliases == {"of_y": "y*1.5"}
    assert made.notes_left_out == [
        ("t: note 'aliases'", f"{alias!r} is of {name!r}, which is left out")
        for alias, name in (("twice", "x"), ("four", "twice"), ("sum", "z"))
    ]


def test_an_alias_of_a_column_that_was_one_stays(tmp_path):
    aliases = {"s": "x*2", "u": "s+1", "v": "x+1"}
    with ar.create(tmp_path / "in.root") as file, file.tree("t", aliases=aliases) as tree:
        tree.append({name: np.arange(5.0) for name in "xy"})
    made = ar.skim(tmp_path / "in.root", tmp_path / "out.root", "t", ["s", "y"])
    assert ar.open(tmp_path / "out.root")["t"].aliases == {"u": "s+1"}
    assert [why for _, why in made.notes_left_out] == [
        f"{alias!r} is of 'x', which is left out" for alias in "sv"
    ]
