"""What is said of files that are cut short or damaged, by the API and by the command."""

import json
import random
import struct

import numpy as np
import pytest

import arrowroot as ar
from arrowroot.cli import main

from .conftest import write_tree


@pytest.fixture
def two_trees(tmp_path):
    path = tmp_path / "two.root"
    write_tree(path, names=("A", "B"))
    return path


@pytest.fixture
def histogram_file(tmp_path):
    uproot = pytest.importorskip("uproot")
    path = tmp_path / "histogram.root"
    with uproot.recreate(path) as file:
        file["h"] = np.histogram([1, 1, 2, 7], bins=4, range=(0, 8))
    return path


def test_a_file_that_is_cut_short_says_by_how_much(two_trees, arrowroot_command):
    whole = two_trees.read_bytes()
    with ar.open(two_trees) as file:
        assert (file.missing_bytes, file.was_recovered) == (0, False)
        assert "cut short" not in repr(file)
    two_trees.write_bytes(whole[:-2000])
    with pytest.warns(ar.CutShortWarning, match=CUT_SHORT):
        file = ar.open(two_trees)
    with file:
        assert file.missing_bytes == 2000
        assert file.was_recovered
        assert "cut short by 2.00 kB, recovered" in repr(file)
        with pytest.raises(
            ar.NoSuchKeyError, match=r"'Nothing'; the file is cut short, its last 2.00 kB are"
        ):
            file["Nothing"]
    assert "cut short by 2.00 kB, recovered" in arrowroot_command("ls", two_trees, check=False).stdout
    document = json.loads(arrowroot_command("ls", two_trees, "--json", check=False).stdout)
    assert (document["missing_bytes"], document["was_recovered"]) == (2000, True)


def test_a_replica_that_is_whole_goes_before_one_that_is_not(two_trees, tmp_path):
    page, cut = tmp_path / "page.root", tmp_path / "cut.root"
    page.write_text("<!DOCTYPE html><html><body>Who are you?</body></html>")
    cut.write_bytes(two_trees.read_bytes()[:-2000])
    with ar.open(str(page), replicas=[str(cut), str(two_trees)]) as file:
        assert (file.url, file.was_recovered) == (str(two_trees), False)
    with pytest.warns(ar.CutShortWarning, match=CUT_SHORT), ar.open(str(page), replicas=[str(cut)]) as file:
        assert (file.url, file.was_recovered) == (str(cut), True)
    with pytest.raises(ar.CorruptFileError, match="HTML page"):
        ar.open(str(page), replicas=[str(tmp_path / "nothing.root")])


def damage(path, tree):
    """Make the tree's object longer than its record, which uproot does not compress."""
    with ar.open(path) as file:
        key = next(key for key in file._native.keys() if key.path == tree)  # noqa: SIM118 - a list of keys, no dict
    content = bytearray(path.read_bytes())
    content[key.offset + key.stored_bytes - key.object_bytes + 1] = 0xFF
    path.write_bytes(content)


def test_a_tree_of_less_than_no_entries_is_corrupt(two_trees):
    content = bytearray(two_trees.read_bytes())
    with ar.open(two_trees) as file:
        key = next(key for key in file._native.keys() if key.path == "A")  # noqa: SIM118 - a list of keys, no dict
        n_entries = file["A"].num_entries
    start = key.offset + key.stored_bytes - key.object_bytes
    place = content.index(n_entries.to_bytes(8, "big"), start)
    content[place : place + 8] = (-n_entries).to_bytes(8, "big", signed=True)
    two_trees.write_bytes(content)
    with (
        ar.open(two_trees) as file,
        pytest.raises(ar.CorruptFileError, match=f"a tree of -{n_entries} entries"),
    ):
        file["A"]


def test_ls_shows_the_other_trees_and_exits_with_the_code_of_the_damage(two_trees, arrowroot_command):
    damage(two_trees, "A")
    done = arrowroot_command("ls", two_trees, check=False)
    assert done.returncode == 1
    assert "A  TTree:" in done.stdout
    assert "B  TTree, 1,000 entries" in done.stdout
    assert done.stderr.startswith("arrowroot: ")
    assert arrowroot_command("ls", two_trees, "--keys").returncode == 0
    assert arrowroot_command("ls", f"{two_trees}:B").returncode == 0
    alone = two_trees.with_name("alone.root")
    with pytest.importorskip("uproot").recreate(alone, compression=None) as file:
        file["A"] = {"x": np.arange(3)}
    damage(alone, "A")
    for path, others in ((two_trees, ["B"]), (alone, [])):
        done = arrowroot_command("ls", path, "--json", check=False)
        assert done.returncode == 1
        document = json.loads(done.stdout)
        assert "error" in document["trees"][0]
        assert [tree["path"] for tree in document["trees"][1:]] == others


def test_ls_exits_with_3_if_a_tree_is_not_readable_yet(two_trees, monkeypatch, capsys):
    opened = ar.File.__getitem__

    def refuse(file, name):
        if name.startswith("A"):
            raise ar.UnsupportedError("a tree of tomorrow")
        return opened(file, name)

    monkeypatch.setattr(ar.File, "__getitem__", refuse)
    assert main(["ls", str(two_trees)]) == 3
    out = capsys.readouterr()
    assert "a tree of tomorrow" in out.out
    assert "B  TTree, 1,000 entries" in out.out
    assert out.err == "arrowroot: a tree of tomorrow\n"


CUT_SHORT = "the file is cut short, its last"


@pytest.mark.parametrize(
    "command",
    [
        ["ls"],
        ["head"],
        ["perf"],
        ["tune", "--budget-seconds", "0"],
        ["index", "-o", "{folder}/i.parquet", "--columns", "run"],
    ],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize("n_bytes", [None, 0, 3, 50, 200, 1000, "random"])
def test_a_broken_file_is_the_datas_fault_in_every_command(sample, tmp_path, capsys, command, n_bytes):
    path = tmp_path / "broken.root"
    if n_bytes == "random":
        path.write_bytes(random.Random(1).randbytes(10_000))
    elif n_bytes is not None:
        path.write_bytes(sample[0].read_bytes()[:n_bytes])
    arguments = [part.format(folder=tmp_path) for part in command]
    assert main([arguments[0], str(path), *arguments[1:]]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "broken.root: " in error
    assert "bug" not in error


def test_what_is_not_there_in_a_file_that_was_cut_short_may_be_lost(sample, tmp_path, capsys):
    path = tmp_path / "cut.root"
    path.write_bytes(sample[0].read_bytes()[:1000])
    for command in ("head", "perf", "show"):
        assert main([command, f"{path}:Events"]) == 1
        assert CUT_SHORT in capsys.readouterr().err
    ar.RecoveredWarning.forget()
    with pytest.warns(ar.CutShortWarning, match=CUT_SHORT):
        file = ar.open(path)
    with file:
        for missed in (lambda: file["Events"], file.only_tree):
            with pytest.raises(ar.LostKeyError) as caught:
                missed()
            assert isinstance(caught.value, ar.NoSuchKeyError)
            assert isinstance(caught.value, ar.CorruptFileError)
    # In a whole file it is the request's.
    assert main(["head", f"{sample[0]}:Nothing"]) == 2


def test_who_reads_what_is_left_of_a_file_is_told(two_trees, tmp_path, capsys):
    two_trees.write_bytes(two_trees.read_bytes()[:-2000])
    assert main(["ls", str(two_trees)]) == 1
    done = capsys.readouterr()
    assert "A  TTree, 1,000 entries" in done.out
    assert done.err.count(CUT_SHORT) == 1
    for arguments in (
        ["ls", f"{two_trees}:A"],
        ["head", f"{two_trees}:A"],
        ["perf", f"{two_trees}:A"],
        ["tune", f"{two_trees}:A", "--budget-seconds", "0"],
        ["index", f"{two_trees}:A", "-o", str(tmp_path / "i.parquet"), "--columns", "run"],
    ):
        assert main(arguments) == 0
        assert capsys.readouterr().err.count(CUT_SHORT) == 1
    ar.RecoveredWarning.forget()
    with pytest.warns(ar.CutShortWarning, match=CUT_SHORT) as caught, ar.open(two_trees) as file:
        assert file["A"].num_entries == 1000
    assert [warning.filename for warning in caught] == [__file__]
    # Once is enough.
    with ar.open(two_trees) as file:
        assert file["A"].num_entries == 1000
    ar.RecoveredWarning.forget()
    with pytest.warns(ar.CutShortWarning, match=CUT_SHORT) as caught:
        assert ar.scan([f"{two_trees}:A", f"{two_trees}:A"]).num_entries == 2000
    assert [warning.filename for warning in caught] == [__file__]


class Places:
    """Where metadata are in a file: half-open ranges of bytes."""

    def __init__(self, content):
        begin, end, self.free, n_free, _, n_bytes_name = struct.unpack_from(">6I", content, 8)
        self.info, n_info = struct.unpack_from(">2I", content, 37)
        self.root = begin + n_bytes_name, begin + n_bytes_name + 60
        n_keys, _, _, _, seek_keys = struct.unpack_from(">5I", content, self.root[0] + 10)
        self.record = begin, self.root[1]
        self.keys = seek_keys, seek_keys + n_keys
        self.list_payload = (
            seek_keys + struct.unpack_from(">H", content, seek_keys + 14)[0],
            seek_keys + n_keys,
        )
        self.places = self.root[0] + 10, self.root[0] + 30
        self.info, self.free = (self.info, self.info + n_info), (self.free, self.free + n_free)
        self.tail = end - 64, end


def with_zeros(path, place, name="zeros.root"):
    """Write a copy with zeros in a range of bytes."""
    content = bytearray(path.read_bytes())
    content[slice(*place)] = bytes(place[1] - place[0])
    copy = path.with_name(name)
    copy.write_bytes(content)
    return copy


@pytest.mark.parametrize("what", ["keys", "list_payload", "root", "places", "record"])
def test_zeros_where_the_keys_of_a_file_were_are_found_and_what_is_left_is_read(two_trees, capsys, what):
    place = getattr(Places(two_trees.read_bytes()), what)
    wanted = ar.open(two_trees)["B"].to_arrow().to_pylist()
    damaged = with_zeros(two_trees, place)
    with pytest.warns(ar.RecoveredWarning, match="walking its records") as caught:  # noqa: PT031 - any of these
        file = ar.open(damaged)
        assert file["B"].to_arrow().to_pylist() == wanted
        assert ar.scan(f"{damaged}:B").num_entries == 1000
        assert file.was_recovered
    assert [warning.filename for warning in caught] == [__file__]
    assert main(["head", f"{damaged}:B", "-n", "1"]) == 0
    assert capsys.readouterr().err.count("\n") == 1
    if what in ("keys", "root", "record"):
        # It cannot be known that nothing is lost.
        byte = Places(two_trees.read_bytes()).root[0] if what == "record" else place[0]
        assert f"at byte {byte} of the file" in file.damage
        with pytest.raises(ar.LostKeyError, match="the file is damaged: root directory: corrupt data"):
            file["Nothing"]
        assert main(["ls", str(damaged)]) == 1
        shown = capsys.readouterr()
        assert "A  TTree, 1,000 entries" in shown.out
        assert shown.err.count("\n") == 1
        assert "the file is damaged, and keys may be lost" in shown.err
    else:
        assert main(["ls", str(damaged)]) == 0
        assert "walking its records" in capsys.readouterr().err


@pytest.mark.parametrize("grown_by", [0, 700])
def test_a_key_list_that_is_marked_as_free_was_left_by_a_writer_between_two_saves(
    two_trees, capsys, grown_by
):
    content = bytearray(two_trees.read_bytes())
    start, end = Places(content).keys
    struct.pack_into(">i", content, start, start - end - grown_by)
    two_trees.write_bytes(content)
    with pytest.warns(ar.RecoveredWarning, match="not closed after more was written"):  # noqa: PT031 - either
        file = ar.open(two_trees)
        assert [file[name].num_entries for name in "AB"] == [1000, 1000]
    assert (file.damage, file.was_recovered) == (None, True)
    assert main(["ls", str(two_trees)]) == 0
    shown = capsys.readouterr()
    assert "B  TTree, 1,000 entries" in shown.out
    assert shown.err.count("\n") == 1


def test_another_record_in_the_place_of_the_key_list_is_no_key_list(two_trees):
    content = bytearray(two_trees.read_bytes())
    places = Places(content)
    (n_bytes,) = struct.unpack_from(">I", content, places.record[0])
    # The directory names a place where a basket or a tree is.
    struct.pack_into(">I", content, places.root[0] + 26, places.record[0] + n_bytes)
    two_trees.write_bytes(content)
    with pytest.warns(ar.RecoveredWarning, match="a key list of .* bytes expected, found a record"):
        assert ar.open(two_trees)["B"].num_entries == 1000


def test_zeros_where_a_directory_or_its_keys_were_are_found(two_trees, capsys):
    content = two_trees.read_bytes()
    with ar.open(two_trees) as file:
        (key,) = (key for key in file._native.keys() if key.path == "dir")  # noqa: SIM118 - a list of keys, no dict
    payload = key.offset + key.stored_bytes - key.object_bytes
    n_keys, _, _, _, seek_keys = struct.unpack_from(">5I", content, payload + 10)
    for name, place in {
        "record.root": (payload, payload + 30),
        "list.root": (seek_keys, seek_keys + n_keys),
    }.items():
        damaged = with_zeros(two_trees, place, name)
        with pytest.warns(ar.RecoveredWarning, match="damaged, its keys were found"):
            found = ar.open(damaged)["dir/text"]
        assert found == "not a tree"
        with ar.open(damaged) as file:
            assert "text" in file["dir"]
            assert f"at byte {place[0]}" in file.damage
        assert main(["ls", str(damaged)]) == 1
        assert "text;1" in capsys.readouterr().out


def test_zeros_in_a_directory_are_damage_even_where_its_objects_are_lost_too(two_trees, capsys):
    with ar.open(two_trees) as file:
        keys = {key.path: key for key in file._native.keys()}  # noqa: SIM118 - a list of keys, no dict
    of_directory, of_text = keys["dir"], keys["dir/text"]
    payload = of_directory.offset + of_directory.stored_bytes - of_directory.object_bytes
    with_text = with_zeros(two_trees, (of_text.offset, of_text.offset + of_text.stored_bytes))
    # The last one, of its key list alone: its length is there.
    for first in (payload + 2, payload + 14, payload + 26):
        damaged = with_zeros(with_text, (first, payload + 30), f"{first}.root")
        with pytest.warns(ar.RecoveredWarning, match="zeros where a directory says where it"):  # noqa: PT031 - the first use of any key warns
            file = ar.open(damaged)
            assert file["B"].num_entries == 1000
            assert [key.path for key in file.key_list()] == ["A", "B", "dir"]
        assert f"at byte {payload} of the file" in file.damage
        with pytest.raises(ar.LostKeyError):
            file["dir/text"]
        assert main(["ls", str(damaged)]) == 1
        assert "keys may be lost" in capsys.readouterr().err


@pytest.mark.parametrize("text", [b"TDirectory", b"TTree"])
def test_zeros_in_the_name_of_a_class_in_the_key_list_are_found(two_trees, capsys, text):
    content = two_trees.read_bytes()
    place = content.index(text, Places(content).list_payload[0])
    damaged = with_zeros(two_trees, (place + 1, place + 4))
    with pytest.warns(ar.RecoveredWarning, match="damaged, its keys were found") as caught:  # noqa: PT031 - any
        file = ar.open(damaged)
        assert file["dir/text"] == "not a tree"
        assert file["B"].num_entries == 1000
    assert len(caught) == 1
    assert main(["ls", str(damaged)]) == 1
    assert "zeros where a key should be" in capsys.readouterr().err


def test_zeros_over_the_end_or_all_of_a_file_are_damage_in_every_command(two_trees, capsys):
    n_bytes = two_trees.stat().st_size
    damaged = with_zeros(two_trees, (512, n_bytes))
    for command in (["ls"], ["head"], ["perf"], ["show"]):
        target = f"{damaged}:A" if command != ["ls"] else str(damaged)
        assert main([*command, target]) == 1
        shown = capsys.readouterr()
        assert shown.err.count("\n") == 1
        assert "corrupt data" in shown.err
        assert "(no keys)" not in shown.out
    with pytest.raises(ar.CorruptFileError, match="at byte"):
        ar.open(damaged)["A"]


def test_zeros_where_the_descriptions_of_classes_were_are_damage_where_they_are_needed(histogram_file):
    place = Places(histogram_file.read_bytes()).info
    damaged = with_zeros(histogram_file, place)
    with (
        ar.open(damaged) as file,
        pytest.raises(ar.CorruptFileError, match=f"at byte {place[0]} of the file"),
    ):
        file["h"]


@pytest.mark.parametrize("what", ["keys", "root", "record", "info", "free"])
def test_a_replica_without_gaps_goes_before_one_with_zeros(two_trees, what):
    damaged = with_zeros(two_trees, getattr(Places(two_trees.read_bytes()), what))
    with ar.open(str(damaged), replicas=[str(two_trees)]) as file:
        assert (file.url, file.was_recovered) == (str(two_trees), False)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".xml"])
def test_broken_traces_and_reports_are_the_datas_fault(sample, tmp_path, capsys, suffix):
    whole = tmp_path / f"whole{suffix}"
    assert (
        main(["perf", str(sample[0]), "-c", "run", "--fjr" if suffix == ".xml" else "--trace", str(whole)])
        == 0
    )
    line = ["--latency", "5ms", "--bandwidth", "12MB/s"]
    commands = [["fjr"], ["model", *line]] if suffix == ".xml" else [["replay", *line]]
    content = whole.read_bytes()
    broken = {"none": None, "random": random.Random(1).randbytes(5000)}
    broken |= {str(n): content[:n] for n in (0, 4, 100, len(content) // 2)}
    for name, part in broken.items():
        path = tmp_path / f"{name}{suffix}"
        if part is not None:
            path.write_bytes(part)
        for command, *options in commands:
            capsys.readouterr()
            assert main([command, str(path), *options]) == 1, name
            error = capsys.readouterr().err
            assert error.count("\n") == 1
            assert path.name in error
            assert "bug" not in error


def test_head_shows_what_can_be_read_before_it_fails_for_the_others(two_trees, arrowroot_command):
    uproot = pytest.importorskip("uproot")
    with uproot.open(two_trees) as file:
        key = file["A/weight"].basket_key(0)
    content = bytearray(two_trees.read_bytes())
    content[key.fSeekKey + key.fNbytes // 2 : key.fSeekKey + key.fNbytes] = bytes(
        key.fNbytes - key.fNbytes // 2
    )
    two_trees.write_bytes(content)
    done = arrowroot_command("head", f"{two_trees}:A", "-n", 2, "--json", check=False)
    entries = [json.loads(line) for line in done.stdout.splitlines()]
    assert [entry["run"] for entry in entries] == [7000, 7001]
    assert all(set(entry) == {"run", "good", "npt", "pt"} for entry in entries)
    assert done.returncode == 1
    assert "two.root: weight: corrupt data" in done.stderr
    named = arrowroot_command("head", f"{two_trees}:A", "-n", 2, "-c", "run,weight", check=False)
    assert (named.returncode, named.stdout) == (1, "")


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_batches_before_one_that_cannot_be_made_are_delivered_by_any_number_of_threads(tmp_path, n_threads):
    path = tmp_path / "f.root"
    ar.write(f"{path}:t", {"x": np.arange(100_000)}, flush=1000)
    with ar.open(path) as file:
        reads = file["t"].scan(trace=True, n_threads=1)
        list(reads)
        baskets = {read.first_entry: read for read in reads.logical_reads()}
    with path.open("r+b") as file:
        for entry in (90_000, 60_000):
            file.seek(baskets[entry].offset + baskets[entry].n_bytes // 2)
            file.write(bytes(100))
    with ar.open(path) as file:
        for _ in range(5):
            read: list[int] = []
            scan = file["t"].scan(batch_size="8 kB", n_threads=n_threads)
            with pytest.raises(ar.CorruptFileError):
                read.extend(batch.num_rows for batch in scan)
            assert sum(read) == 60_000
