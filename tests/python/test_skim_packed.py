"""Skims that copy clusters packed: the same entries as those that decode all, with baskets and pages as they were."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import arrowroot as ar
from arrowroot._api.tree import Tree
from arrowroot._skimming import inputs as skim_inputs
from arrowroot._skimming.outputs import Outputs
from arrowroot._skimming.reading import Reading
from tests.command import run_here

LAYOUTS = ["ttree", "rntuple"]
#: Entries of a cluster of the inputs.
N = 4000
#: Passes clusters 0, 2 and 4 whole, half of 3, and nothing of 1.
SOME = "block != 1 && (block != 3 || x > 0)"


def events(n_clusters, seed=1, first_block=0):
    """A table of numbers that compress badly, counted lists, and text."""
    rng = np.random.default_rng(seed)
    n = n_clusters * N
    counts = rng.integers(0, 5, n).astype(np.int32)
    ends = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
    momenta = pa.array(rng.exponential(20, int(counts.sum())).astype(np.float32))
    lists = pa.list_(pa.field("item", pa.float32(), nullable=False))
    columns = {
        "event": pa.array(rng.integers(0, 1 << 62, n).astype(np.uint64)),
        "block": pa.array((first_block + np.arange(n) // N).astype(np.int32)),
        "x": pa.array(rng.normal(size=n)),
        "nMuon": pa.array(counts),
        "Muon_pt": pa.ListArray.from_arrays(ends, momenta).cast(lists),
        # Its lists begin and end where those before do: an RNTuple stores that once.
        "Muon_eta": pa.ListArray.from_arrays(ends, pc.negate(momenta)).cast(lists),
        "word": pa.array([f"w{value}" for value in rng.integers(0, 1 << 40, n)]),
    }
    return pa.table(columns).cast(
        pa.schema([pa.field(name, column.type, nullable=False) for name, column in columns.items()])
    )


def put(path, table, layout, compression="zstd:1", flush=N):
    with ar.create(path, compression=compression) as file:
        with file.tree("Events", layout=layout, flush=flush) as tree:
            tree.append(table)
        file["Runs"] = {"genEventSumw": np.array([float(table.num_rows)])}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Return a table, and the directory of a file for each layout that has it in five clusters."""
    directory, table = tmp_path_factory.mktemp("inputs"), events(5)
    for layout in LAYOUTS:
        put(directory / f"{layout}.root", table, layout)
    return directory, table


def chosen(table, condition):
    return table.filter(np.array([condition(*one) for one in zip(*of(table, "block", "x"), strict=True)]))


def of(table, *names):
    return [table[name].to_numpy() for name in names]


def some(block, x):
    return block != 1 and (block != 3 or x > 0)


def same(path, expected, tree="Events"):
    found = ar.open(path)[tree].to_arrow()
    assert found.schema.names == expected.schema.names
    assert found.combine_chunks().equals(expected.cast(found.schema).combine_chunks())


@pytest.fixture
def decoded(monkeypatch):
    """Return the ranges and lists of entries that are decoded."""
    found, source = [], Tree.source

    def noted(tree, paths, entries, options):
        if not isinstance(entries, tuple) or entries[0] < entries[1]:
            found.append(entries)
        return source(tree, paths, entries, options)

    monkeypatch.setattr(Tree, "source", noted)
    return found


def counts(made, number=0):
    copied = made.outputs[number].copied
    return copied.n_packed_clusters, copied.n_new_clusters


def test_clusters_of_a_compact_tree_are_copied_packed(tmp_path, inputs, monkeypatch):
    directory, table = inputs
    packed_for, are_compact = Tree.packed_for, []

    def packed_of_compact(tree, writer):
        make, _ = tree.compact()
        are_compact.append(make())
        return packed_for(are_compact[-1], writer)

    monkeypatch.setattr(Tree, "packed_for", packed_of_compact)
    made = ar.skim(directory / "ttree.root", tmp_path / "skim.root", "Events", carry=False)
    assert len(are_compact) == 1
    assert counts(made) == (5, 0)
    same(tmp_path / "skim.root", table)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_whole_clusters_are_copied_between_entries_that_are_written_anew(tmp_path, inputs, layout):
    directory, table = inputs
    expected = chosen(table, some)
    written = []
    for n_threads in (1, 8):
        out = tmp_path / f"out{n_threads}" / "out.root"
        out.parent.mkdir()
        source = directory / f"{layout}.root"
        made = ar.skim(source, out, "Events", filter=SOME, reproducible=True, n_threads=n_threads)
        same(out, expected)
        # The half one is a cluster between them, and Runs has one.
        assert counts(made) == (3, 2)
        assert made.outputs[0].num_entries == expected.num_rows == made.cuts[-1].num_entries
        assert list(ar.open(out)["Events"].clusters) == [
            0,
            N,
            2 * N,
            expected.num_rows - N,
            expected.num_rows,
        ]
        written.append(out.read_bytes())
    assert written[0] == written[1]
    told = made.to_dict()["outputs"][0]
    assert told["n_packed_clusters"] == 3
    assert told["packed_bytes"] > told["new_bytes"] > 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_choice_of_columns_reads_their_packed_bytes_and_decodes_nothing(tmp_path, inputs, layout, decoded):
    directory, table = inputs
    out, names = tmp_path / "out.root", ["nMuon", "Muon_pt", "x"]
    source = directory / f"{layout}.root"
    made = ar.skim(source, out, "Events", names, carry=False, sums=[])
    assert decoded == []
    same(out, table.select(names))
    assert counts(made) == (5, 0)
    stored = sum(column.stored_bytes for column in ar.open(source)["Events"].columns if column.name in names)
    # An RNTuple has keys of records, one for each cluster.
    assert 0 <= made.outputs[0].copied.packed_bytes - stored < (1 if layout == "ttree" else 5 * 100)
    assert made.outputs[0].copied.new_bytes == 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_cluster_is_read_once_in_few_requests(tmp_path, inputs, layout, monkeypatch):
    directory, _ = inputs
    files, opened = [], skim_inputs.File

    def noted(opening):
        files.append(opened(opening))
        return files[-1]

    monkeypatch.setattr(skim_inputs, "File", noted)
    source = directory / f"{layout}.root"
    for number, entries in enumerate((slice(0, 0), None)):
        ar.skim(source, tmp_path / f"{number}.root", "Events", entries=entries, carry=False)
    (n_before, bytes_before), (n_reads, n_bytes) = map(reads, files)
    stored_bytes = files[0]["Events"].stored_bytes
    # Between the clusters of an RNTuple are the keys of their records.
    assert 0 <= n_bytes - bytes_before - stored_bytes < 5 * 100
    assert n_reads - n_before == 5


def reads(file):
    """Return how many reads a file has seen, and their bytes."""
    found = [one for one in file.accounts if one.layer == "store" and one.operation == "read"]
    return sum(one.n_successful for one in found), sum(one.bytes for one in found)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_output_gets_the_clusters_that_it_wants_as_a_whole(tmp_path, inputs, layout):
    directory, table = inputs
    conditions = {"all": None, "some": SOME, "few": "x > 3", "two": "block == 2"}
    outs = {str(tmp_path / f"{name}.root"): text for name, text in conditions.items()}
    made = ar.skim(directory / f"{layout}.root", outputs=outs, tree="Events", carry=False)
    wanted = [lambda *_: True, some, lambda _, x: x > 3, lambda block, _: block == 2]
    for number, (out, condition) in enumerate(zip(outs, wanted, strict=True)):
        expected = chosen(table, condition)
        same(out, expected)
        assert made.outputs[number].num_entries == expected.num_rows
    assert [counts(made, number) for number in range(4)] == [(5, 0), (3, 1), (0, 1), (1, 0)]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_good_runs_and_ranges_of_entries_copy_the_clusters_in_them(tmp_path, inputs, layout):
    _, table = inputs
    source, out = tmp_path / "in.root", tmp_path / "out.root"
    blocks = pa.array(table["block"].to_numpy().astype(np.uint32) + 1)
    runs = pa.array(np.ones(len(blocks), np.uint32))
    ids = [pa.field(name, pa.uint32(), nullable=False) for name in ("run", "luminosityBlock")]
    table = table.append_column(ids[0], runs).append_column(ids[1], blocks)
    put(source, table, layout)
    made = ar.skim(source, out, "Events", lumi_mask={"1": [[1, 1], [3, 4]]}, carry=False)
    same(out, chosen(table, lambda block, _: block in {0, 2, 3}))
    assert counts(made) == (3, 0)
    made = ar.skim(source, out, "Events", entries=slice(N // 2, 3 * N + 10), carry=False)
    same(out, table.slice(N // 2, 5 * N // 2 + 10))
    # Half of the first one before, and a few entries of the fourth.
    assert counts(made) == (2, 2)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_inputs_keep_their_codecs_unless_one_is_asked_for(tmp_path, layout):
    tables = [events(2, seed) for seed in range(3)]
    sources = [tmp_path / f"{seed}.root" for seed in range(3)]
    for source, table, codec in zip(sources, tables, ["lz4:4", "zstd:5", "zlib:1"], strict=True):
        put(source, table, layout, codec)
    out = tmp_path / "out.root"
    made = ar.skim(sources, out, "Events", carry=False)
    same(out, pa.concat_tables(tables))
    assert counts(made) == (6, 0)
    stored_bytes = sum(ar.open(one)["Events"].stored_bytes for one in sources)
    assert 0 <= made.outputs[0].copied.packed_bytes - stored_bytes < 6 * 100
    for style in ({"compression": "zstd:1"}, {"layout": layout}, {"flush": 10_000}):
        made = ar.skim(sources, out, "Events", carry=False, **style)
        same(out, pa.concat_tables(tables))
        assert counts(made)[0] == 0, style


@pytest.mark.parametrize("layout", LAYOUTS)
def test_small_clusters_are_put_together_and_few_entries_go_with_the_cluster_behind(tmp_path, inputs, layout):
    directory, table = inputs
    small, out = tmp_path / "small.root", tmp_path / "out.root"
    put(small, table, layout, flush=200)
    assert len(ar.open(small)["Events"].clusters) == 101
    assert counts(ar.skim(small, out, "Events", carry=False)) == (0, 1)
    same(out, table)
    made = ar.skim(directory / f"{layout}.root", out, "Events", filter="block != 1 || x > 2.5", carry=False)
    same(out, chosen(table, lambda block, x: block != 1 or x > 2.5))
    assert counts(made) == (3, 1)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_columns_that_the_output_stores_otherwise_or_computes_are_written_anew(tmp_path, inputs, layout):
    directory, table = inputs
    out, source = tmp_path / "out.root", tmp_path / "in.root"
    made = ar.skim(
        directory / f"{layout}.root", out, "Events", ["x", "twice"], define={"twice": "2 * x"}, carry=False
    )
    assert counts(made) == (0, 1)
    assert (
        ar.open(out)["Events"].to_arrow(["twice"])["twice"].to_numpy().tolist()
        == (2 * table["x"].to_numpy()).tolist()
    )
    # Not all inputs have it.
    put(source, table.drop_columns(["word"]), layout)
    made = ar.skim([directory / f"{layout}.root", source], out, "Events", missing="null", carry=False)
    assert counts(made)[0] == 0
    assert made.outputs[0].num_entries == 2 * table.num_rows


def test_members_are_copied_and_objects_of_a_tree_written_anew(tmp_path):
    rng = np.random.default_rng(1)
    point = pa.struct([pa.field(name, pa.float64(), nullable=False) for name in "ab"])
    values = pa.StructArray.from_arrays([pa.array(rng.normal(size=N)) for _ in "ab"], fields=list(point))
    table = pa.table([values], pa.schema([pa.field("p", point, nullable=False)]))
    source, out = tmp_path / "in.root", tmp_path / "out.root"
    for layout, n_packed in ((ar.Layout(split={"p": 99}), 0), ("ttree", 1), ("rntuple", 1)):
        with ar.create(source) as file, file.tree("Events", layout=layout) as tree:
            tree.append(table)
        made = ar.skim(source, out, "Events", carry=False)
        assert counts(made) == (n_packed, 1 - n_packed), layout
        same(out, table)


def test_clusters_before_a_late_column_are_written_anew(tmp_path):
    table, source, out = events(4), tmp_path / "in.root", tmp_path / "out.root"
    first = table.slice(0, 2 * N).drop_columns(["x"])
    with (
        ar.create(source) as file,
        file.tree("Events", layout="rntuple", columns="vary", flush=N) as tree,
    ):
        tree.append(first)
        tree.append(table.slice(2 * N))
    made = ar.skim(source, out, "Events", carry=False)
    expected = ar.open(source)["Events"].to_arrow()
    same(out, expected)
    assert expected["x"].null_count == 0
    assert counts(made) == (2, 1)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_skim_that_was_interrupted_goes_on_to_the_same_bytes(tmp_path, inputs, layout, monkeypatch):
    directory, table = inputs
    whole, out = tmp_path / "whole" / "out.root", tmp_path / "out.root"
    whole.parent.mkdir()
    sources = [directory / f"{layout}.root"] * 2
    asked = {"filter": SOME, "reproducible": True}
    ar.skim(sources, whole, "Events", **asked)
    made, portions = [], Reading.portions
    monkeypatch.setattr(Reading, "portions", lambda reading: made.append(1) or portions(reading))
    left, add_span = [4], Outputs.add_span

    def failing(outputs, *given):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        add_span(outputs, *given)

    with monkeypatch.context() as patch:
        patch.setattr(Outputs, "add_span", failing)
        with pytest.raises(KeyboardInterrupt):
            ar.skim(sources, out, "Events", resume=True, **asked)
    assert not out.exists()
    del made[:]
    report = ar.skim(sources, out, "Events", resume=True, **asked)
    assert made == []
    assert counts(report)[0] == 6
    assert out.read_bytes() == whole.read_bytes()
    same(out, pa.concat_tables([chosen(table, some)] * 2))


def damaged(source, path, piece_of, at):
    """Write a copy of a file with another byte in a basket or page of a column."""
    native = ar.open(source)["Events"]._native.pieces()
    column = list(native["paths"]).index(piece_of)
    number = list(native["column"]).index(column)
    data = bytearray(source.read_bytes())
    place = int(native["offset"][number]) + at
    data[place] ^= 0x55
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("layout", LAYOUTS)
def test_damage_that_heads_and_checksums_show_leaves_no_output(tmp_path, inputs, layout):
    directory, table = inputs
    # The number of bytes at the begin of a basket; any byte of a page.
    spoilt = damaged(directory / f"{layout}.root", tmp_path / "in.root", "x", 3 if layout == "ttree" else 700)
    out = tmp_path / "out.root"
    out.write_bytes(b"older")
    with pytest.raises(ar.CorruptFileError, match=r"in\.root"):
        ar.skim(spoilt, out, "Events", carry=False)
    assert out.read_bytes() == b"older"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.root", "out.root"]
    # An input that may be left out is decoded as a whole before.
    sound = shutil.copy(directory / f"{layout}.root", tmp_path / "sound.root")
    made = ar.skim([sound, spoilt], out, "Events", on_bad_input="skip", carry=False)
    assert [url.rpartition("/")[2] for url, _ in made.bad_inputs] == ["in.root"]
    assert counts(made) == (0, 1)
    same(out, table)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_command_tells_what_was_copied_and_compares_it(tmp_path, inputs, layout, monkeypatch):
    directory, table = inputs
    monkeypatch.chdir(tmp_path)
    source = f"{directory}/{layout}.root:Events"
    ran = run_here("skim", source, "out.root", "--filter", SOME, "--verify", "--carry", "none", "--json")
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["verified"]
    assert (told["outputs"][0]["n_packed_clusters"], told["outputs"][0]["n_new_clusters"]) == (3, 1)
    ran = run_here("skim", source, "out.root", "--filter", SOME, "--carry", "none", "--force")
    assert "3 clusters copied packed, 1 written anew" in ran.stdout
    same(tmp_path / "out.root", chosen(table, some))
