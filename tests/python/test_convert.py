"""`arrowroot convert` between ROOT, Parquet and Arrow IPC: the same values, whole or not at all."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from arrowroot._converting import compare, formats, inputs
from arrowroot._writing.schema import nullable_as_found
from arrowroot.cli import main
from tests.command import run_here
from tests.recorded import session
from tests.tables import draw

pq = pytest.importorskip("pyarrow.parquet")


def table_of(n=2000):
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 4, n)
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
    values = rng.normal(size=int(counts.sum())).astype(np.float32)
    values[::17] = np.nan
    return pa.table(
        {
            "event": pa.array(np.arange(n)),
            "x": pa.array(rng.normal(size=n)),
            "Jet_pt": pa.ListArray.from_arrays(offsets, pa.array(values)),
            "maybe": pa.array([None if i % 5 == 0 else i for i in range(n)], pa.int32()),
            "word": pa.array([f"w{i % 3}" for i in range(n)]),
        }
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return the same table in every format, by the names of the formats."""
    directory, table = tmp_path_factory.mktemp("convert"), table_of()
    pq.write_table(table, directory / "in.parquet", row_group_size=500)
    with pa.ipc.new_file(directory / "in.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=300)
    with pa.ipc.new_stream(directory / "in.ipc", table.schema) as writer:
        writer.write_table(table, max_chunksize=300)
    for layout in ("ttree", "rntuple"):
        ar.write(f"{directory}/{layout}.root:Events", table, layout=layout, flush=700)
    return directory


def content_of(path):
    """Return a table and its schema, whatever the format is."""
    table = inputs.input_of(formats.place_of(str(path)), inputs.Choice(), {})
    return table.schema, table.batches()


def put(table, path):
    """Write a table into a file of the format that its name says."""
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".root":
        ar.write(f"{path}:Events", table, layout=path.stem, flush=20)
    else:
        new = pa.ipc.new_stream if path.suffix == ".ipc" else pa.ipc.new_file
        with new(path, table.schema) as file:
            file.write_table(table, max_chunksize=30)


def batches_of(table, names):
    return iter(table.select(names).to_batches())


def is_of_parquet(field):
    """True if pyarrow writes a type to Parquet, and reads the same one."""
    sink = pa.BufferOutputStream()
    try:
        pq.write_table(pa.schema([field]).empty_table(), sink)
        return pq.read_schema(pa.BufferReader(sink.getvalue())).types == [field.type]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False


N_SEEDS = 400 if os.environ.get("ARROWROOT_SOAK") else 20
SOURCES = ["in.parquet", "in.arrow", "in.ipc", "ttree.root", "rntuple.root"]
TARGETS = [("out.parquet", []), ("out.arrow", []), ("out.root", []), ("out.root", ["--layout", "rntuple"])]


@pytest.fixture
def convert(capsys):
    """Runs convert, or skim from ROOT to ROOT, in this process, which has loaded pyarrow; returns what it prints."""

    def run(source, output, *arguments):
        is_root = [".root" in str(name) for name in (source, output)]
        command = "skim" if all(is_root) else "convert"
        code = main([command, "--force", *map(str, (source, output, *arguments))])
        printed = capsys.readouterr()
        assert code == 0, printed.err
        return printed

    return run


@pytest.mark.parametrize("output", TARGETS, ids=["parquet", "ipc", "ttree", "rntuple"])
@pytest.mark.parametrize("source", SOURCES)
def test_from_every_format_to_every_format(tmp_path, convert, source, output):
    target, options = output
    is_parquet = "parquet" in source + target
    # The oldest pyarrow makes no half floats of Python's, and nothing of views of lists.
    seeds = range(SOURCES.index(source), N_SEEDS, 5) if hasattr(pa, "decimal32") else []
    out = tmp_path / target
    for made in (table_of(300), *map(draw, seeds)):
        names = [f.name for f in made.schema if not is_parquet or is_of_parquet(f)]
        table = made.select(names)
        if not table.num_columns:
            continue
        put(table, tmp_path / source)
        done = convert(tmp_path / source, out, "--verify", "--batch-size", "2 kB", *options)
        assert f"{table.num_rows:,} entr" in done.out
        assert "read back: the same" in done.out
        schema = nullable_as_found(table.schema, partial(batches_of, table))
        assert compare.difference((schema, table.to_batches()), content_of(out)) is None, schema
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([source, target])
        assert all("(docs/writing.md)" in line for line in done.err.splitlines())


@pytest.mark.parametrize("between", ["t.parquet", "t.arrow"])
def test_lists_that_share_a_counter_in_a_tree_share_it_in_the_output(tmp_path, convert, between):
    """Also where the counter is no column of the output, and the first batch has empty lists alone."""
    n = 5000
    lengths = np.where(np.arange(n) < n // 2, 0, np.arange(n) % 3).astype(np.int32)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    lists = pa.ListArray.from_arrays(offsets, pa.array(np.arange(lengths.sum(), dtype=np.float32)))
    columns = {"nM": pa.array(lengths), **dict.fromkeys(("M_a", "M_b", "M_c", "N_a", "N_b"), lists)}
    schema = pa.schema([pa.field(name, array.type, nullable=False) for name, array in columns.items()])
    table = pa.table(columns, schema=schema)
    layout = ar.Layout(counters={"N_*": "own"})
    ar.write(f"{tmp_path}/in.root:t", table, layout=layout, flush=500)
    convert(tmp_path / "in.root", tmp_path / between, "-c", "M_a", "-c", "M_b", "-c", "N_*")
    convert(tmp_path / between, f"{tmp_path}/out.root:t", "--verify", "--batch-size", "4 kB")
    tree = ar.open(tmp_path / "out.root")["t"]
    assert {name for name in ("nM", "nM_a", "nM_b", "nN", "nN_a", "nN_b") if name in tree} == {
        "nM",
        "nN_a",
        "nN_b",
    }
    assert not any(field.metadata for field in tree.schema)
    assert tree.to_arrow().to_pydict() == table.select(["M_a", "M_b", "N_a", "N_b"]).to_pydict()


def notes_of(path, tree):
    with ar.open(path) as file:
        found = file[tree]
        return found.aliases, found.user_info, found.recorded_friends, found.recorded_index


def test_notes_of_a_tree_go_along_and_what_cannot_is_named(tmp_path, capsys):
    source, out = tmp_path / "in.root", tmp_path / "out.root"
    friends = {"beside": "other/T", "far": "far.root:F"}
    notes = {"aliases": {"twice": "2*x"}, "user_info": {"lumi": 1.5, "n": "t"}, "friends": friends}
    columns = {"x": np.arange(5.0), "run": np.arange(5) // 2, "event": np.arange(5, dtype=np.int32)}
    with ar.create(source) as file:
        with file.tree("d/Events", index=("run", "event"), **notes) as tree:
            tree.append(columns)
        file["other/T"] = {"q": np.arange(5)}
        with file.tree("Texts", user_info=["a", "b"]) as tree:
            tree.append({"x": [1]})

    def left_out():
        return [line.partition("note ")[2] for line in capsys.readouterr().err.splitlines()]

    assert main(["skim", str(source), str(out), "--layout", "d3pd"]) == 0
    assert notes_of(out, "d/Events") == notes_of(source, "d/Events")
    assert notes_of(out, "d/Events")[2] == [("beside", "other/T", ""), ("far", "F", "far.root")]
    assert notes_of(out, "Texts") == notes_of(source, "Texts")
    assert left_out() == []
    # Alone and with some of its columns.
    alone = ["skim", "--force", f"{source}:d/Events", "--carry", "none"]
    assert main([*alone, f"{out}:E", "-c", "x,run"]) == 0
    assert notes_of(out, "E") == (notes["aliases"], notes["user_info"], [("far", "F", "far.root")], None)
    assert [line.split(" was left out: ")[0] for line in left_out()] == ["'index'", "'friends'"]
    # Entries that are chosen are still found by their index.
    assert main([*alone, f"{out}:E", "--filter", "x > 2"]) == 0
    assert notes_of(out, "E")[2:] == ([], ("run", "event"))
    assert "some are chosen" in left_out()[0]
    for command in (
        [*alone, str(out), "--layout", "rntuple"],
        ["convert", f"{source}:d/Events", str(tmp_path / "out.parquet")],
    ):
        assert main(command) == 0
        assert {line.split(" ")[0] for line in left_out()} == {
            "'aliases'",
            "'user_info'",
            "'friends'",
            "'index'",
        }


@pytest.fixture
def of_unknown_classes(tmp_path):
    """Return a file with an object and a column of classes that nobody knows, and an empty directory."""
    path = tmp_path / "in.root"
    with ar.create(path, compression=None) as file:
        file["d/known"] = "text"
        file["unknown"] = "text"
        file.directory("empty/inside")
        table = pa.table({"x": [1.0], "m": [{"pt": 2.0}]})
        layout = ar.Layout(split={"m": 0}, classes={"m": "Muon"}, compression=None)
        with file.tree("T", layout=layout) as tree, pytest.warns(ar.FewReadersWarning):
            tree.append(table)
    content = path.read_bytes()
    described = content.index(b"\x0cStreamerInfo")
    key = b"\x0aTObjString\x07unknown"
    assert content.count(key) == 2
    head = content[:described].replace(b"Muon", b"Muox")
    path.write_bytes((head + content[described:]).replace(key, key.replace(b"String", b"StrinX")))
    return path


@pytest.mark.parametrize("target", ["out.root", "out.parquet", "out.arrow"])
def test_what_is_left_out_is_named_and_the_exit_code_says_so(of_unknown_classes, tmp_path, capsys, target):
    out = tmp_path / target
    command = "skim" if target == "out.root" else "convert"
    code = main([command, str(of_unknown_classes), str(out), "--json"])
    printed = capsys.readouterr()
    left_out = {one["path"]: one["reason"] for one in json.loads(printed.out)["left_out"]}
    objects = set() if target == "out.root" else {"unknown", "d/known"}
    assert set(left_out) == {"T: column 'm'"} | objects
    assert "not readable yet" in left_out["T: column 'm'"]
    lines = printed.err.splitlines()
    assert len(lines) == len(left_out)
    assert all("was left out: " in line for line in lines)
    assert code == 3
    if target == "out.root":
        with ar.open(out) as file:
            assert {key.path for key in file.key_list() if key.is_directory} == {"d", "empty", "empty/inside"}
            with ar.open(of_unknown_classes) as before:
                assert file.raw("unknown") == before.raw("unknown")
    # Nothing is left out of what is chosen.
    alone = ["--force", "--carry", "none"] if command == "skim" else []
    assert main([command, f"{of_unknown_classes}:T", str(out), "-c", "x", *alone]) == 0
    assert not capsys.readouterr().err


def test_a_copy_of_entries_in_no_order_says_that_they_are(tmp_path, capsys):
    source, out = tmp_path / "in.root", tmp_path / "out.root"
    with ar.create(source) as file, file.tree("T", entries_reshuffled=True) as tree:
        tree.append({"x": np.arange(5.0)})
    for options in ([], ["--filter", "x > 2"]):
        assert main(["skim", str(source), str(out), "-f", *options]) == 0
        assert ar.open(out)["T"].entries_reshuffled
        assert not capsys.readouterr().err
    assert main(["skim", str(source), str(out), "-f", "--layout", "rntuple"]) == 0
    assert "T: note 'entries_reshuffled' was left out: an RNTuple records none" in capsys.readouterr().err


def test_columns_entries_and_a_filter_are_chosen(files, tmp_path, arrowroot_command):
    out = tmp_path / "out.parquet"
    arrowroot_command(
        "convert",
        files / "ttree.root",
        out,
        "-c",
        "event,Jet_*",
        "--filter",
        "event >= 10 && x > 0",
        "--entries",
        "5:100",
    )
    table, whole = pq.read_table(out), table_of()
    assert table.column_names == ["event", "Jet_pt"]
    event, x = whole["event"].to_numpy(), whole["x"].to_numpy()
    wanted = (event >= 10) & (event < 100) & (x > 0)
    assert table["event"].to_numpy().tolist() == event[wanted].tolist()
    out = tmp_path / "out.root"
    arrowroot_command("convert", files / "in.parquet", out, "-c", "!Jet_*", "--entries=-10:")
    tree = ar.open(out)["Events"]
    assert (tree.num_entries, "Jet_pt" in tree.column_names) == (10, False)


@pytest.mark.parametrize("target", ["out.root", "out.parquet", "out.arrow"])
@pytest.mark.parametrize(
    "condition",
    ["event >= 10 && x > 0", "any(Jet_pt > 1)", "maybe % 2 == 0", 'startswith(word, "w1")', "x > 100"],
)
def test_a_filter_means_the_same_whatever_the_format_is(files, tmp_path, convert, condition, target):
    (tmp_path / "expected").mkdir()
    chosen = ("--filter", condition, "--entries", "5:1500", "-c", "event,Jet_pt,maybe")
    expected = tmp_path / "expected" / target
    convert(files / ("in.parquet" if target == "out.root" else "ttree.root"), expected, *chosen)
    for source in ("in.parquet", "in.arrow", "in.ipc"):
        out = tmp_path / target
        done = convert(files / source, out, *chosen, "--verify", "--json", "--batch-size", "20 kB")
        assert json.loads(done.out)["verified"]
        assert compare.difference(content_of(expected), content_of(out)) is None


def test_what_only_left_out_entries_lack_is_not_missing(tmp_path, arrowroot_command):
    pq.write_table(pa.table({"x": [1, None, 3], "n": [0, 1, 2]}), tmp_path / "in.parquet")
    for number, arguments in enumerate((("--filter", "n != 1"), ("--entries", "2:"))):
        out = tmp_path / f"{number}.root"
        arrowroot_command("convert", tmp_path / "in.parquet", out, *arguments)
        assert not ar.open(out)["Events"].schema.field("x").nullable


def test_metadata_of_a_schema_go_along(tmp_path, arrowroot_command):
    schema = pa.schema([pa.field("x", pa.int32(), metadata={"unit": "GeV"})], metadata={"made by": "me"})
    pq.write_table(pa.table([pa.array([1], pa.int32())], schema=schema), tmp_path / "0.parquet")
    for number, suffix in enumerate((".root", ".arrow", ".parquet"), 1):
        source = next(tmp_path.glob(f"{number - 1}.*"))
        arrowroot_command("convert", source, tmp_path / f"{number}{suffix}", "--verify")
    back = pq.read_schema(tmp_path / "3.parquet")
    assert back.metadata == {b"made by": b"me"}
    assert back.field("x").metadata[b"unit"] == b"GeV"


@pytest.mark.parametrize("target", ["out.root", "out.parquet", "out.arrow"])
def test_an_output_that_is_not_what_was_read_is_not_published(files, tmp_path, capsys, monkeypatch, target):
    out = tmp_path / target
    reading = inputs.input_of

    def of_other_values(place, choice, storage):
        found = reading(place, choice, storage)
        if place.file == str(source):
            return found
        changed = found.schema.get_field_index("x")

        def batches():
            for batch in found.batches():
                yield batch.set_column(changed, found.schema.field("x"), pa.array(np.zeros(batch.num_rows)))

        return found._replace(batches=batches)

    monkeypatch.setattr(inputs, "input_of", of_other_values)
    source = files / ("in.parquet" if target == "out.root" else "ttree.root")
    command = ["convert", str(source), str(out), "--verify", "--force"]
    assert main(command) == 1
    assert not capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
    out.write_bytes(b"older")
    assert main([*command, "--json"]) == 1
    shown = capsys.readouterr()
    told = json.loads(shown.out)
    assert (told["verified"], told["bytes"]) == (False, 0)
    assert "column 'x', entry 0" in told["difference"]
    assert "was not written" in shown.err
    assert out.read_bytes() == b"older"
    assert [path.name for path in tmp_path.iterdir()] == [target]
    monkeypatch.undo()
    assert main(command) == 0
    assert [path.name for path in tmp_path.iterdir()] == [target]


def test_one_tree_is_converted(tmp_path, arrowroot_command):
    with ar.create(tmp_path / "in.root") as f:
        f.tree("a").append({"x": [1, 2]})
        f.tree("dir/b", layout="rntuple").append({"y": [1.5]})
        f["note"] = "some text"
    done = arrowroot_command("convert", tmp_path / "in.root", tmp_path / "no.parquet", check=False)
    assert done.returncode == 2
    assert "2 trees" in done.stderr
    out = tmp_path / "b.parquet"
    done = arrowroot_command("convert", f"{tmp_path}/in.root:dir/b", out, "--verify", "--json")
    told = json.loads(done.stdout)
    assert (told["form"], told["table"], told["num_entries"]) == ("arrowroot.convert/2", "dir/b", 1)
    assert (told["left_out"], told["verified"], told["bytes"]) == ([], True, out.stat().st_size)


def test_root_to_root_is_skim(tmp_path, capsys):
    """The command to type is named whole, and does it."""
    ar.write(f"{tmp_path}/in.root:t", {"x": [1, 2, 3], "y": [4, 5, 6]}, layout="rntuple")
    for typed, made in (
        (["in.root", "out.root"], ["x", "y"]),
        (["in.root:t", "out.root:u", "--format", "root", "--filter", "x > 1", "-c", "x", "--verify"], ["x"]),
        (["in.root:t", "--layout=ttree", "out.root", "--format=root", "--entries=-2:"], ["x", "y"]),
    ):
        words = [word.replace("in.", f"{tmp_path}/in.").replace("out.", f"{tmp_path}/out.") for word in typed]
        assert main(["convert", *words]) == 2
        line = capsys.readouterr().err.partition(": write arrowroot ")[2]
        assert "--format" not in line
        assert main(shlex.split(line)) == 0
        (tree,) = (ar.open(tmp_path / "out.root")[name] for name in ar.open(tmp_path / "out.root").trees)
        assert (tree.column_names, tree.num_entries) == (made, 3 if len(typed) == 2 else 2)
        (tmp_path / "out.root").unlink()
        capsys.readouterr()


def test_a_difference_is_found_wherever_it_is():
    table = table_of(50)
    schema, batches = table.schema, table.to_batches
    assert compare.difference((schema, batches(max_chunksize=7)), (schema, batches(max_chunksize=11))) is None
    other = table.set_column(1, "x", pa.array([0.0] * 49 + [1.0]))
    zero = table.set_column(1, "x", pa.array([0.0] * 50))
    assert "'x', entry 49" in compare.difference((schema, zero.to_batches()), (schema, other.to_batches()))
    assert "fewer" in compare.difference((schema, batches()), (schema, table.slice(0, 49).to_batches()))
    assert "more" in compare.difference((schema, table.slice(0, 49).to_batches()), (schema, batches()))
    less = table.drop_columns(["x"])
    assert "'x'" in compare.difference((schema, batches()), (less.schema, less.to_batches()))
    cast = table.set_column(1, "x", table["x"].cast(pa.float32()))
    assert "'x' is float" in compare.difference((schema, batches()), (cast.schema, cast.to_batches()))


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ([1.0, float("nan")], [1.0, 2.0]),
        ([0.0], [-0.0]),
        ([[1], []], [[], [1]]),
        ([None, 1], [1, None]),
        ([{"a": 1}], [{"a": 2}]),
        (["a", ""], ["", "a"]),
    ],
)
def test_values_are_compared_bit_by_bit(one, two):
    assert compare.same(pa.array(one), pa.array(one))
    assert not compare.same(pa.array(one), pa.array(two, pa.array(one).type))


def test_slices_of_nested_arrays_are_compared_by_what_is_in_them():
    maps = pa.array([[("a", 1)], [("b", 2), ("c", None)], []], pa.map_(pa.string(), pa.int32()))
    nested = pa.array([[[1.0]], [], [[], [2.0, None]]])
    fixed = pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int8(), 2))
    for array in (maps, nested, fixed, pa.array(["x", "y", "z"]).dictionary_encode()):
        again = pa.array(array.to_pylist(), array.type)
        for start in range(3):
            assert compare.same(array.slice(start), again.slice(start))
            assert not compare.same(array.slice(start), again.slice(0, 3 - start)) or start == 0


def test_what_makes_no_sense_is_told_and_nothing_is_written(files, tmp_path, convert):
    for path in files.iterdir():
        shutil.copy(path, tmp_path)
    few = pa.table({name: [1, 2] for name in ("x", "y", "z[3]", "ab")})
    pq.write_table(few, tmp_path / "few.parquet")
    ar.write(f"{tmp_path}/few.root:t", few)
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 this is none PAR1")
    with ar.create(tmp_path / "objects.root") as file:
        file["text"] = "text"
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}

    def names_of(source, columns):
        convert(source, "out.arrow", "-c", columns)
        found = content_of("out.arrow")[0].names
        (tmp_path / "out.arrow").unlink()
        return found

    session("convert", tmp_path, {"names_of": names_of, "said": lambda *words: run_here(*words).stderr})
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_root_file_that_is_there_is_replaced_by_force_alone(files, tmp_path, arrowroot_command):
    out = tmp_path / "mine.root"
    ar.write(f"{out}:mine", {"x": [1]})
    before = out.read_bytes()
    command = ["convert", files / "in.parquet", f"{out}:mine", "-c", "event"]
    done = arrowroot_command(*command, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("mine.root has 'mine', which would be replaced: write --force for that\n")
    done = arrowroot_command("convert", files / "in.parquet", out, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("mine.root is there, and would be replaced: write --force for that\n")
    assert out.read_bytes() == before
    arrowroot_command(*command, "--plan")
    arrowroot_command(*command, "-f")
    assert ar.open(out)["mine"].column_names == ["event"]
    # An empty file, as mktemp makes, holds nothing; Parquet is replaced as documented.
    out.write_bytes(b"")
    arrowroot_command(*command)
    for _ in range(2):
        arrowroot_command("convert", out, tmp_path / "out.parquet")


def test_urls_of_files_are_paths(files, tmp_path, convert):
    for name in ("o.root", "o.parquet", "o.arrow"):
        printed = convert((files / "in.parquet").as_uri(), (tmp_path / name).as_uri(), "--json")
        assert json.loads(printed.out)["output"] == str(tmp_path / name)
        assert sum(batch.num_rows for batch in content_of(tmp_path / name)[1]) == 2000
    convert_to = ["sample", "aod", (tmp_path / "s.root").as_uri(), "--entries", "5"]
    assert main(convert_to) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["o.arrow", "o.parquet", "o.root", "s.root"]


@pytest.mark.parametrize("name", ["in.parquet", "in.arrow"])
def test_a_plan_is_of_what_is_written(tmp_path, convert, name):
    table = pa.table({"x": pa.array([*range(70_000), None], pa.int32()), "y": pa.array(range(70_001))})
    pq.write_table(table, tmp_path / "in.parquet")
    with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=1000)

    def planned(*options):
        text = convert(tmp_path / name, tmp_path / "out.root", "--plan", "--json", *options).out
        (plan,) = json.loads(text)["tables"]
        return sorted(branch["name"] for branch in plan["branches"]), plan["n_entries"]

    branches, n_entries = planned()
    assert (branches, n_entries) == (["x", "x_isvalid", "y"], 70_001)
    assert planned("--filter", "y < 10") == (["x", "y"], None)
    convert(tmp_path / name, tmp_path / "out.root")
    with ar.open(tmp_path / "out.root") as file:
        assert file["Events"].to_arrow()["x"].null_count == 1


@pytest.mark.parametrize("target", ["out.root", "out.parquet", "out.arrow"])
def test_an_input_that_breaks_off_leaves_an_older_output_as_it_was(
    files, tmp_path, arrowroot_command, target
):
    data = bytearray((files / "ttree.root").read_bytes())
    place = data.find(b"TBasket", len(data) // 2)
    data[place + 60 : place + 160] = bytes(100)
    (tmp_path / "in.root").write_bytes(data)
    (tmp_path / target).write_bytes(b"older")
    command = "skim" if target == "out.root" else "convert"
    done = arrowroot_command(command, "--force", tmp_path / "in.root", tmp_path / target, check=False)
    assert done.returncode == 1, done.stdout
    assert (tmp_path / target).read_bytes() == b"older"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["in.root", target])


DAMAGES = {
    "text": (pa.array(["aaaa", "bbbb", "cc"]), [0, 4, 8, 10], [0, 4, 60_000, 10]),
    "list": (pa.array([[1], [2, 3], [4]]), [0, 1, 3, 4], [0, 3000, 3, 4]),
    "values of a dictionary": (
        pa.array(["aaaa", "bbbb", "cc"]).dictionary_encode(),
        [0, 4, 8, 10],
        [0, 4, 4000, 10],
    ),
    "index": (pa.array(["a", "b", "c", "a"]).dictionary_encode(), [0, 1, 2, 0], [0, 1, 9999, 0]),
}


@pytest.mark.parametrize("is_nullable", [True, False], ids=["nullable", "exact"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_damaged_values_of_an_ipc_file_are_told_and_nothing_is_written(tmp_path, capsys, damage, is_nullable):
    array, *numbers = damage
    right, wrong = (np.array(some, np.int32).tobytes() for some in numbers)
    schema = pa.schema([pa.field("x", array.type, nullable=is_nullable)])
    with pa.ipc.new_file(tmp_path / "in.arrow", schema) as writer:
        writer.write_batch(pa.record_batch([array], schema=schema))
    content = (tmp_path / "in.arrow").read_bytes()
    assert content.count(right) == 1
    (tmp_path / "in.arrow").write_bytes(content.replace(right, wrong))
    for target in ("out.root", "out.parquet"):
        assert main(["convert", str(tmp_path / "in.arrow"), str(tmp_path / target)]) == 1
        assert f"{tmp_path / 'in.arrow'}: column 'x' of batch 0: " in capsys.readouterr().err
        assert [path.name for path in tmp_path.iterdir()] == ["in.arrow"]


def test_memory_does_not_grow_with_the_file(tmp_path):
    code = """if True:
        import resource, sys
        from arrowroot.cli import main
        assert main(sys.argv[1:]) == 0
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    """
    part = pa.table({"x": np.random.default_rng(1).normal(size=500_000), "y": np.arange(500_000)})
    peaks = []
    for n in (1_000_000, 32_000_000):
        source = tmp_path / f"{n}.parquet"
        with pq.ParquetWriter(source, part.schema, compression="none", use_dictionary=False) as writer:
            for _ in range(n // 500_000):
                writer.write_table(part)
        command = [
            sys.executable,
            "-c",
            code,
            "convert",
            source,
            tmp_path / f"{n}.root",
            "--compression",
            "none",
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env=os.environ | {"MALLOC_ARENA_MAX": "2"}
        )
        peaks.append(int(done.stdout.split()[-1]) * 1024)
    # The larger one has 496 MB more. Up to 256 MB wait to be written, by default; 100 MB are for all else.
    assert peaks[1] - peaks[0] < 356e6, peaks


def test_keys_whose_names_cannot_be_written_are_left_out_by_name(tmp_path, capsys):
    with ar.create(tmp_path / "in.root") as file:
        file["T"] = file["a_tree"] = {"x": [1, 2]}
        file["note"] = file["a_note"] = "text"
        file["a_dir/note"] = "text"
    content = (tmp_path / "in.root").read_bytes()
    for name in (b"a_tree", b"a_note", b"a_dir"):
        content = content.replace(name, name.replace(b"_", b";"))
    (tmp_path / "in.root").write_bytes(content)
    assert main(["skim", str(tmp_path / "in.root"), str(tmp_path / "out.root")]) == 3
    told = capsys.readouterr().err.splitlines()
    assert sorted(line.split(" was left out: ")[0] for line in told) == [
        f"arrowroot: {name}" for name in ("a;dir", "a;dir/note", "a;note", "a;tree")
    ]
    with ar.open(tmp_path / "out.root") as file:
        assert sorted(file) == ["T", "note"]
    assert (
        main(["skim", f"{tmp_path / 'in.root'}:a;tree", f"{tmp_path / 'named.root'}:t", "--carry", "none"])
        == 0
    )
