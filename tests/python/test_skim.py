"""``ar.skim`` and ``arrowroot skim``: entries, columns and cut flows of many files, whole or not at all."""

import json
import os
import random
import shutil
import warnings
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot._skimming import spool
from arrowroot._skimming.flow import Flow
from arrowroot._writing.table import TableWriter

BLOCK = 50


def events(n_entries, first):
    """A table like NanoAOD: ids, counted lists, a weight, text."""
    rng = np.random.default_rng(first)
    counts = rng.integers(0, 4, n_entries).astype(np.int32)
    ends = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
    momenta = rng.exponential(20, int(counts.sum())).astype(np.float32)
    columns = {
        "run": pa.array(np.full(n_entries, 1 + first // 10_000, np.uint32)),
        "luminosityBlock": pa.array((np.arange(n_entries) // BLOCK + 1).astype(np.uint32)),
        "event": pa.array(np.arange(first, first + n_entries).astype(np.uint64)),
        "nMuon": pa.array(counts),
        "Muon_pt": pa.ListArray.from_arrays(ends, pa.array(momenta)),
        "Muon_eta": pa.ListArray.from_arrays(ends, pa.array(-momenta)),
        "w": pa.array(np.where(np.arange(n_entries) % 5, 1.0, -0.5)),
        "word": pa.array([f"w{i % 7}" for i in range(n_entries)], pa.string()),
    }
    table = pa.table(columns)
    fields = [
        pa.field(
            f.name,
            pa.list_(pa.field("item", f.type.value_type, False)) if f.name.startswith("Muon") else f.type,
            False,
        )
        for f in table.schema
    ]
    return table.cast(pa.schema(fields))


def put(path, table, layout="ttree", **more):
    with ar.create(path, compression=more.pop("compression", "lz4:4")) as file:
        with file.tree("Events", layout=layout, flush=500, title="of mine") as tree:
            tree.append(table)
        with file.tree("Runs", layout=layout) as runs:
            total = table["w"].to_numpy().sum()
            runs.append({"genEventSumw": np.array([total]), "genEventCount": np.array([table.num_rows])})
        file["dir/tag"] = "untagged"
        file["h"] = np.histogram(table["event"].to_numpy(), bins=3, range=(0, 90_000))
        for name, value in more.items():
            file[name] = value


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Return the tables of three inputs, in a directory that has them as trees and as RNTuples."""
    directory = tmp_path_factory.mktemp("inputs")
    tables = {name: events(n, first) for name, n, first in (("a", 1200, 0), ("b", 0, 1), ("c", 900, 20_000))}
    for layout in ("ttree", "rntuple"):
        (directory / layout).mkdir()
        for name, table in tables.items():
            put(directory / layout / f"{name}.root", table, layout)
    return directory, tables


def chosen(tables, condition):
    """Return the entries of all tables, in a row, for which a function of an entry holds."""
    table = pa.concat_tables(tables.values())
    return table.filter(np.array([condition(entry) for entry in table.to_pylist()], dtype=bool))


def read(path, tree="Events"):
    return ar.open(path)[tree].to_arrow()


def names_in(directory):
    return [path.name for path in directory.iterdir()]


def same(found, expected):
    assert found.schema.names == expected.schema.names
    assert found.schema.types == expected.schema.types
    assert found.combine_chunks().equals(expected.cast(found.schema).combine_chunks())


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
def test_a_skim_has_the_entries_of_all_inputs_in_their_order_as_they_were(tmp_path, inputs, layout):
    directory, tables = inputs
    out = tmp_path / "out.root"
    made = ar.skim(f"{directory}/{layout}/*.root", out, "Events", filter="nMuon >= 2 && Muon_pt[0] > 10")
    same(read(out), chosen(tables, lambda e: e["nMuon"] >= 2 and e["Muon_pt"][0] > 10))
    scan = ar.scan(f"{directory}/{layout}/*.root", "Events", filter="nMuon >= 2 && Muon_pt[0] > 10")
    same(read(out), scan.to_arrow())
    tree, before = (ar.open(path)["Events"] for path in (out, directory / layout / "a.root"))
    assert (tree.class_name, tree.title) == (before.class_name, "of mine")
    assert {c.name: (c.type_name, c.compression) for c in tree.columns} == {
        c.name: (c.type_name, c.compression) for c in before.columns
    }
    assert [b.counter for b in tree.branches] == [b.counter for b in before.branches]
    # The other trees are there whole, one input after the other, and objects as merging has them.
    assert read(out, "Runs").to_pydict() == {
        "genEventSumw": [t["w"].to_numpy().sum() for t in tables.values()],
        "genEventCount": [1200, 0, 900],
    }
    assert ar.open(out)["dir/tag"] == "untagged"
    assert made.carried == {"Runs": 3}
    assert sorted(made.objects) == ["dir/tag", "h"]
    assert sum(ar.open(out)["h"].values()) == 2100


def test_the_cut_flow_has_entries_and_weights_of_each_input_and_of_all(tmp_path, inputs):
    directory, tables = inputs
    files = [f"{directory}/ttree/{name}.root" for name in tables]
    cuts = {"two muons": "nMuon >= 2", "hard": "any(Muon_pt > 30)"}
    made = ar.skim(files, tmp_path / "o.root", "Events", filter="event != 7", cuts=cuts, weight="w")
    tests = [
        lambda _: True,
        lambda e: e["event"] != 7,
        lambda e: e["event"] != 7 and e["nMuon"] >= 2,
        lambda e: e["event"] != 7 and e["nMuon"] >= 2 and max(e["Muon_pt"]) > 30,
    ]
    for one, table in zip(made.inputs, tables.values(), strict=True):
        left = [chosen({"": table}, test) for test in tests]
        assert [cut.name for cut in one.cuts] == ["all", "filter", "two muons", "hard"]
        assert [cut.num_entries for cut in one.cuts] == [t.num_rows for t in left]
        assert [cut.sum_of_weights for cut in one.cuts] == [t["w"].to_numpy().sum() for t in left]
        total = table["w"].to_numpy().sum()
        assert one.sums == {"Runs:genEventCount": table.num_rows, "Runs:genEventSumw": total}
    assert [cut.num_entries for cut in made.cuts] == [chosen(tables, test).num_rows for test in tests]
    assert made.sums["Runs:genEventCount"] == 2100
    assert made.outputs[0].num_entries == made.cuts[-1].num_entries == read(tmp_path / "o.root").num_rows
    assert made.outputs[0].sum_of_weights == made.cuts[-1].sum_of_weights


def test_several_outputs_come_of_one_pass(tmp_path, inputs):
    directory, tables = inputs
    places = {
        str(tmp_path / "many.root"): "nMuon > 2",
        f"{tmp_path}/few.root:Few": "nMuon < 2",
        str(tmp_path / "all.root"): None,
    }
    made = ar.skim(f"{directory}/ttree/*.root", tree="Events", cuts={"odd": "event % 2 == 1"}, outputs=places)
    expected = {
        "many.root": lambda e: e["event"] % 2 and e["nMuon"] > 2,
        "few.root": lambda e: e["event"] % 2 and e["nMuon"] < 2,
        "all.root": lambda e: e["event"] % 2,
    }
    for one, (name, test) in zip(made.outputs, expected.items(), strict=True):
        table = chosen(tables, test)
        same(read(tmp_path / name, "Few" if name == "few.root" else "Events"), table)
        assert one.num_entries == table.num_rows
        assert read(tmp_path / name, "Runs").num_rows == 3


def test_entries_do_not_depend_on_threads_and_bytes_are_the_same(tmp_path, inputs):
    directory, _ = inputs
    made = []
    for n in (1, 3):
        ar.skim(
            f"{directory}/ttree/*.root",
            tmp_path / "o.root",
            "Events",
            filter="nMuon > 0",
            n_threads=n,
            reproducible=True,
        )
        made.append((tmp_path / "o.root").read_bytes())
    assert made[0] == made[1]


def test_counters_come_with_the_lists_that_they_count(tmp_path, inputs):
    directory, tables = inputs
    ar.skim(
        f"{directory}/ttree/*.root",
        tmp_path / "o.root",
        "Events",
        ["Muon_pt", "event"],
        filter="nMuon == 3",
        carry=False,
    )
    found = ar.open(tmp_path / "o.root")
    assert found.keys() == {"Events"}
    assert found["Events"].column_names == ["nMuon", "Muon_pt", "event"]
    assert {b.path: b.counter for b in found["Events"].branches}["Muon_pt"] == "nMuon"
    same(
        read(tmp_path / "o.root"),
        chosen(tables, lambda e: e["nMuon"] == 3).select(["nMuon", "Muon_pt", "event"]),
    )


def test_another_layout_or_codec_is_asked_for(tmp_path, inputs):
    directory, tables = inputs
    ar.skim(f"{directory}/ttree/a.root:Events", tmp_path / "n.root", layout="rntuple", compression="zstd:3")
    tree = ar.open(tmp_path / "n.root")["Events"]
    assert (tree.class_name, {c.compression for c in tree.columns}) == ("ROOT::RNTuple", {"zstd 3"})
    same(tree.to_arrow(), tables["a"])


def test_columns_keep_their_own_codecs_and_vectors_stay_vectors(tmp_path):
    table = events(50, 3)
    layout = ar.Layout(
        compression={"Muon_*": "zstd:2", "*": "zlib:3"}, lists={"Muon_eta": "vector", "*": "counted"}
    )
    ar.write(f"{tmp_path}/in.root:t", table, layout=layout)
    ar.skim(f"{tmp_path}/in.root", tmp_path / "o.root")
    before, after = (
        {c.name: (c.compression, c.type_name) for c in ar.open(tmp_path / f)["t"].columns}
        for f in ("in.root", "o.root")
    )
    assert before == after
    assert after["Muon_eta"] == ("zstd 2", "vector<float>")


MASK = {"1": [[1, 2], [5, 5]], "3": [[2, 30]], "77": []}


def in_mask(entry):
    blocks = MASK.get(str(entry["run"]), [])
    return any(first <= entry["luminosityBlock"] <= last for first, last in blocks)


def test_a_good_run_list_keeps_its_blocks(tmp_path, inputs):
    directory, tables = inputs
    (tmp_path / "Cert.json").write_text(json.dumps(MASK))
    expected = chosen(tables, in_mask)
    made = ar.skim(
        f"{directory}/ttree/*.root", tmp_path / "o.root", "Events", lumi_mask=tmp_path / "Cert.json"
    )
    same(read(tmp_path / "o.root"), expected)
    assert [(c.name, c.num_entries) for c in made.cuts] == [("all", 2100), ("lumi mask", expected.num_rows)]
    scan = ar.scan(f"{directory}/rntuple/*.root", "Events", lumi_mask=MASK, filter="nMuon > 0")
    same(scan.to_arrow(), chosen(tables, lambda e: in_mask(e) and e["nMuon"] > 0))
    tree = ar.open(directory / "ttree" / "a.root")["Events"]
    assert tree.entries_where("nMuon >= 0", lumi_mask=MASK).tolist() == [
        *range(2 * BLOCK),
        *range(4 * BLOCK, 5 * BLOCK),
    ]


def test_clusters_without_a_good_block_are_not_read(inputs):
    """Beyond the columns of the mask, which say so."""
    directory, _ = inputs
    tree = ar.open(directory / "ttree" / "a.root")["Events"]  # clusters of 500 entries, 10 blocks each
    scan = tree.scan(
        ["run", "luminosityBlock", "Muon_pt", "Muon_eta"], lumi_mask={"1": [[12, 13]]}, trace=True
    )
    assert scan.drain().n_entries == 2 * BLOCK
    read_of = {}
    for one in scan.logical_reads():
        read_of.setdefault(one.column, set()).add(one.first_entry)
    assert read_of["Muon_pt"] == read_of["Muon_eta"] == {500}
    assert read_of["run"] == {0, 500, 1000}


@pytest.mark.parametrize(
    "given",
    ['{"1": [[5, 2]]}', '{"1": [[1]]}', '{"1": [["1", 2]]}', '{"x": []}', '{"1": 3}', "[]", "{", '{"1": [], "1": []}',
     '{"99999999999999": []}', '{"1": [[0, 4294967296]]}', "[" * 100_000, '{"1": [[true, 2]]}'],
)  # fmt: skip
def test_a_list_of_runs_that_is_none_is_refused(tmp_path, inputs, given):
    directory, _ = inputs
    (tmp_path / "bad.json").write_text(given)
    with pytest.raises(ar.InvalidRequestError, match=r"bad\.json"):
        ar.open(directory / "ttree" / "a.root")["Events"].scan(["run"], lumi_mask=tmp_path / "bad.json")


def test_masks_join_ranges_and_know_numbers_that_no_block_has():
    from arrowroot._select.lumi import LumiMask

    mask = LumiMask({"2": [[5, 9], [1, 6]], 3: [[10, 10]]})
    runs = np.array([2, 2, 2, 3, 3, -1, 4, 2], np.int64)
    blocks = np.array([1, 9, 10, 10, 9, 5, 1, -5], np.int64)
    assert mask.is_good(runs, blocks).tolist() == [True, True, False, True, False, False, False, False]
    assert not LumiMask({}).is_good(runs, blocks).any()


def test_inputs_without_blocks_are_an_error_or_left_out_and_told(tmp_path, inputs):
    directory, tables = inputs
    put(tmp_path / "simulated.root", tables["a"].drop_columns(["luminosityBlock"]))
    files = [f"{directory}/ttree/a.root", tmp_path / "simulated.root"]
    with pytest.raises(ar.NoSuchColumnError, match=r"simulated\.root.*lumi_mask"):
        ar.skim(files, tmp_path / "o.root", "Events", ["event"], lumi_mask=MASK)
    made = ar.skim(files, tmp_path / "o.root", "Events", ["event"], lumi_mask=MASK, on_bad_input="skip")
    assert [url for url, _ in made.bad_inputs] == [str(tmp_path / "simulated.root")]
    assert len(made.inputs) == 1


def test_picked_events_come_in_the_order_of_the_inputs_and_missing_ones_are_told(tmp_path, inputs):
    directory, tables = inputs
    ids = [(3, 2, 20_060), (1, 1, 7), (1, 1, 3), (9, 9, 9)]
    with pytest.raises(ar.MissingEventsError, match="1 of 4"):
        ar.skim(f"{directory}/ttree/*.root", tmp_path / "o.root", "Events", pick=ids)
    assert not names_in(tmp_path)
    wanted = ar.EventList(ids, missing="ignore")
    made = ar.skim(f"{directory}/ttree/*.root", tmp_path / "o.root", "Events", pick=wanted)
    same(read(tmp_path / "o.root"), chosen(tables, lambda e: e["event"] in (3, 7, 20_060)))
    assert made.missing_events == [(9, 9, 9)]


def test_inputs_of_lists_and_their_own_trees(tmp_path, inputs):
    directory, tables = inputs
    (tmp_path / "files.txt").write_text(
        f"# mine\n{directory}/ttree/c.root:Events\n\n{directory}/rntuple/[ab].root\n"
    )
    ar.skim(f"@{tmp_path}/files.txt", tmp_path / "o.root", columns=["event"])
    expected = [t["event"] for t in (tables["c"], tables["a"], tables["b"])]
    assert read(tmp_path / "o.root")["event"].to_pylist() == [
        n for column in expected for n in column.to_pylist()
    ]
    with pytest.raises(ar.NoSuchFileError, match="there is no such list"):
        ar.skim(f"@{tmp_path}/nothing.txt", tmp_path / "o.root")


# ---- what is refused, and leaves nothing -----------------------------------------------------------------------------


def cut_short(path):
    os.truncate(path, path.stat().st_size * 2 // 3)


def without_end(path):
    """Take the key list away: what is left is found, and may not be all."""
    os.truncate(path, path.stat().st_size - 200)


def damaged(path):
    """Spoil a basket in the middle: the file opens, and reading it to the end fails."""
    tree = ar.open(path)["Events"]
    pieces = tree.pieces()
    at = int(pieces["offset"][pieces["paths"].index("event") == pieces["column"]][-1])
    with path.open("r+b") as file:
        file.seek(at + 100)
        file.write(b"\xff" * 60)


def other_columns(path):
    put(path, events(80, 5).drop_columns(["word"]))


def other_type(path):
    table = events(80, 5)
    put(path, table.set_column(2, pa.field("event", pa.float64(), False), table["event"].cast(pa.float64())))


@pytest.mark.filterwarnings("ignore::arrowroot.RecoveredWarning")
@pytest.mark.parametrize("spoil", [cut_short, without_end, damaged, other_columns, other_type, os.unlink])
def test_a_bad_input_fails_or_is_left_out_with_all_its_entries(tmp_path, inputs, spoil):
    directory, tables = inputs
    bad, out = tmp_path / "bad.root", tmp_path / "o.root"
    shutil.copy(directory / "ttree" / "c.root", bad)
    spoil(bad)
    files = [f"{directory}/ttree/a.root", str(bad), f"{directory}/ttree/c.root"]
    out.write_text("older")
    with pytest.raises(ar.ArrowrootError, match=r"bad\.root"):
        ar.skim(files, out, "Events", filter="nMuon > 1")
    assert out.read_text() == "older"
    assert {"o.root", "bad.root"} >= set(names_in(tmp_path))
    made = ar.skim(files, out, "Events", filter="nMuon > 1", on_bad_input="skip")
    same(read(out), chosen({"a": tables["a"], "c": tables["c"]}, lambda e: e["nMuon"] > 1))
    assert [url for url, _ in made.bad_inputs] == [str(bad)]
    assert made.cuts[0].num_entries == 2100
    assert {"o.root", "bad.root"} >= set(names_in(tmp_path))


@pytest.mark.filterwarnings("ignore::arrowroot.ArrowrootWarning")
@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
def test_damage_anywhere_is_an_error_or_does_no_harm(tmp_path, inputs, layout):
    """In codecs and pages with checksums, which these are."""
    directory, tables = inputs
    bad, out, whole = tmp_path / "bad.root", tmp_path / "o.root", directory / layout / "c.root"
    n_bad = 0
    for seed in range(12):
        drawn = random.Random(seed)
        content = bytearray(whole.read_bytes())
        at = drawn.randrange(len(content))
        content[at : at + 4] = drawn.randbytes(4)
        bad.write_bytes(content if seed % 4 else content[:at])
        files = [directory / layout / "a.root", bad]
        made = ar.skim(files, out, "Events", filter="nMuon > 1", on_bad_input="skip", carry=False)
        n_bad += len(made.bad_inputs)
        taken = {name: tables[name] for name in ("a" if made.bad_inputs else "ac")}
        same(read(out), chosen(taken, lambda e: e["nMuon"] > 1))
    assert 3 <= n_bad < 12


def test_if_all_inputs_are_bad_there_is_no_output(tmp_path):
    with pytest.raises(ar.NoSuchFileError):
        ar.skim([tmp_path / "x.root"], tmp_path / "o.root", on_bad_input="skip")
    assert not names_in(tmp_path)


def test_what_waits_until_an_input_was_read_goes_to_a_file(tmp_path, inputs, monkeypatch):
    directory, tables = inputs
    monkeypatch.setattr(spool.Spool.__init__, "__defaults__", (1000,))
    ar.skim(
        f"{directory}/ttree/*.root", tmp_path / "o.root", "Events", filter="nMuon > 1", on_bad_input="skip"
    )
    same(read(tmp_path / "o.root"), chosen(tables, lambda e: e["nMuon"] > 1))
    assert names_in(tmp_path) == ["o.root"]


def test_an_input_that_changes_meanwhile_is_an_error(tmp_path, inputs, monkeypatch):
    directory, _ = inputs
    first = tmp_path / "first.root"
    shutil.copy(directory / "ttree" / "a.root", first)
    append = TableWriter.append

    def append_and_touch(self, data):
        # All of it was read by then, as the store does not notice any more.
        append(self, data)
        if self.name == "Runs":
            os.utime(first, ns=(5, 5))

    monkeypatch.setattr(TableWriter, "append", append_and_touch)
    with pytest.raises(ar.StorageError, match=r"first\.root.*changed"):
        ar.skim([first, f"{directory}/ttree/c.root"], tmp_path / "o.root", "Events")
    assert names_in(tmp_path) == ["first.root"]


def test_entries_go_to_outputs_however_batches_are_cut():
    class Divisible(NamedTuple):
        by: int
        columns: tuple[str, ...] = ("n",)
        text: str = ""

        def mask(self, batch, _entry_of):
            return batch["n"].to_numpy() % self.by == 0

    flow = Flow([("even", Divisible(2))], [("a", Divisible(3)), ("b", None), ("c", Divisible(5))], "n")
    numbers = np.arange(100)
    selected = [
        numbers[part][flow.mask(pa.record_batch({"n": numbers[part]}), int)]
        for part in np.split(numbers, [7, 8, 50])
    ]
    selected = np.concatenate(selected)
    assert selected.tolist() == [*range(0, 100, 2)]
    wanted = np.concatenate([flow.wanted(n) for n in (1, 30, 2, 17)], axis=1)
    assert [selected[mask].tolist() for mask in wanted] == [[*range(0, 100, step)] for step in (6, 2, 10)]
    assert [cut.num_entries for cut in (*flow.cuts, *flow.of_outputs)] == [100, 50, 17, 50, 10]
    assert [cut.sum_of_weights for cut in flow.cuts] == [4950.0, 2450.0]


def test_an_interruption_leaves_older_files_as_they_were(tmp_path, inputs):
    directory, _ = inputs
    (tmp_path / "o.root").write_text("older")

    def interrupt(number, *_):
        if number == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ar.skim(
            f"{directory}/ttree/*.root",
            outputs={f"{tmp_path}/o.root": None, f"{tmp_path}/p.root": "nMuon > 0"},
            tree="Events",
            progress=interrupt,
        )
    assert names_in(tmp_path) == ["o.root"]
    assert (tmp_path / "o.root").read_text() == "older"


def test_an_output_is_no_input_and_no_other_output(tmp_path, inputs):
    directory, _ = inputs
    mine = tmp_path / "mine.root"
    shutil.copy(directory / "ttree" / "a.root", mine)
    (tmp_path / "link.root").symlink_to(mine)
    for given in (mine, f"file://{mine}", tmp_path / "link.root"):
        with pytest.raises(ar.InvalidRequestError, match="an input of the skim"):
            ar.skim(given, mine, "Events")
    with pytest.raises(ar.InvalidRequestError, match="two outputs"):
        ar.skim(
            mine, tree="Events", outputs={f"{tmp_path}/o.root": "nMuon > 0", f"{tmp_path}/./o.root": None}
        )


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({}, ar.InvalidRequestError, "which output"),
        ({"output": "o.root", "outputs": {"p.root": None}}, ar.InvalidRequestError, "which output"),
        ({"output": "o.root", "cuts": ["nMuon > 1"]}, ar.InvalidRequestError, "cuts"),
        ({"outputs": ["o.root"]}, ar.InvalidRequestError, "outputs"),
        ({"output": "o.parquet"}, ar.InvalidRequestError, "convert"),
        ({"output": "o.root", "on_bad_input": "ignore"}, ar.InvalidRequestError, "on_bad_input"),
        ({"output": "o.root", "carry": ["Rnus"]}, ar.InvalidRequestError, "carry.*Rnus"),
        ({"output": "o.root", "weight": "word"}, ar.InvalidRequestError, "weight.*word"),
        ({"output": "o.root", "weight": "wrod"}, ar.NoSuchColumnError, "wrod"),
        ({"output": "o.root", "filter": "nMuon >"}, ar.FilterError, "nMuon"),
        ({"output": "o.root", "lumi_mask": 3}, ar.InvalidRequestError, "lumi_mask"),
        ({"output": "o.root", "layout": "tree"}, ar.InvalidRequestError, "layout"),
        ({"output": "o.root", "colums": "x"}, ar.InvalidRequestError, "columns"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path, monkeypatch, inputs, options, error, says):  # noqa: PLR0917 - of pytest
    directory, _ = inputs
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=says):
        ar.skim(f"{directory}/ttree/a.root:Events", **options)
    assert not names_in(tmp_path)


def test_a_full_disk_leaves_nothing(tmp_path, inputs, monkeypatch):
    directory, _ = inputs

    def append(self, _data):
        raise ar.StorageError(28, "No space left on device", self.where)

    monkeypatch.setattr(TableWriter, "append", append)
    # It is no fault of the inputs, which are not left out for it.
    with pytest.raises(ar.StorageError, match="No space"):
        ar.skim(f"{directory}/ttree/*.root", tmp_path / "o.root", "Events", on_bad_input="skip")
    assert not names_in(tmp_path)


# ---- what is carried -------------------------------------------------------------------------------------------------


def test_rules_say_which_trees_and_objects_are_carried(tmp_path, inputs):
    directory, _ = inputs
    given = f"{directory}/ttree/a.root:Events"
    for carry, keys in [
        (True, {"Events", "Runs", "dir", "h"}),
        (False, {"Events"}),
        ("Runs", {"Events", "Runs"}),
        (["!h", "!dir*"], {"Events", "Runs"}),
        (["*", "!Runs"], {"Events", "dir", "h"}),
    ]:
        ar.skim(given, tmp_path / "o.root", carry=carry)
        assert ar.open(tmp_path / "o.root").keys() == keys, carry


def test_inputs_without_entries_say_nothing_of_columns(tmp_path, inputs):
    directory, tables = inputs
    put(tmp_path / "none.root", tables["b"].drop_columns(["word"]))
    put(tmp_path / "fewer.root", tables["b"].select(["run", "luminosityBlock", "event", "w"]))
    files = [
        tmp_path / "fewer.root",
        f"{directory}/ttree/a.root",
        tmp_path / "none.root",
        tmp_path / "fewer.root",
    ]
    cuts = {"some": "nMuon > 1"}
    made = ar.skim(files, tmp_path / "o.root", "Events", cuts=cuts, weight="w", lumi_mask=MASK)
    same(read(tmp_path / "o.root"), chosen({"a": tables["a"]}, lambda e: in_mask(e) and e["nMuon"] > 1))
    assert [cut.name for cut in made.cuts] == ["all", "lumi mask", "some"]
    made = ar.skim(tmp_path / "none.root", tmp_path / "o.root", "Events", cuts=cuts)
    assert (made.outputs[0].num_entries, read(tmp_path / "o.root").num_columns) == (0, 7)
    ar.skim(tmp_path / "fewer.root", tmp_path / "o.root", "Events", cuts=cuts)
    assert read(tmp_path / "o.root").column_names == ["run", "luminosityBlock", "event", "w"]


def test_warnings_of_unreadable_columns_are_told_once(tmp_path, inputs):
    directory, _ = inputs
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = ar.skim(f"{directory}/ttree/*.root", tmp_path / "o.root", "Events")
    assert made.left_out == []
