"""Datasets: made once, whole or not at all; and what they are, whatever file holds them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import arrowroot
from arrowroot_lab.campaign import datasets
from arrowroot_lab.campaign.identity import identify, known
from arrowroot_lab.campaign.read import read
from arrowroot_lab.errors import CampaignError, LabError
from arrowroot_lab.runners.values import of_files
from tests.command import done_here
from tests.lab.running import PATIENCE_S, wait_until

REST = """
[storage.local]
kind = "local"
[engine.arrowroot]
[workload.all]
"""
#: A recipe that notes each time that it is followed, and may take its time.
SCRIPT = """
import os, sys, time
from pathlib import Path
import arrowroot, pyarrow as pa
out, *arguments = sys.argv[1:]
with open("followed", "a") as log:
    log.write(f"{os.getpid()} {' '.join(arguments)}\\n")
if "slow" in arguments:
    Path(out, "made.root").write_bytes(b"x" * 1000)
    while not os.path.exists("go"):
        time.sleep(0.02)
if "fail" in arguments:
    print("something else")
    sys.exit("no luck today")
if "large" in arguments:
    with open(Path(out, "large.root"), "wb") as file:
        while True:
            file.write(os.urandom(1 << 20))
            file.flush()
            time.sleep(0.01)
if "nothing" not in arguments:
    arrowroot.write(f"{Path(out, 'made.root')}:T", pa.table({"x": [1, 2, 3]}))
"""


def _write(path, table, **options):
    arrowroot.write(f"{path}:T", table, **options)


def _values(*files):
    return of_files("T", [str(path) for path in files])["values"]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache directory of the test's own."""
    directory = tmp_path / "cache"
    monkeypatch.setenv("ARROWROOT_LAB_CACHE", str(directory))
    return directory


@pytest.fixture
def campaign(tmp_path):
    """A campaign with one dataset."""

    def make(dataset, more=""):
        (tmp_path / "recipe.py").write_text(SCRIPT)
        path = tmp_path / "c.toml"
        path.write_text(f"[dataset.d]\n{dataset}\n{REST}\n{more}")
        return read(path)

    return make


def _scripted(*arguments):
    told = f"arguments = {list(arguments)}" if arguments else ""
    return f'script = "recipe.py"\ntable = "T"\n{told}'


def _followed(tmp_path):
    log = tmp_path / "followed"
    return log.read_text().splitlines() if log.exists() else []


def _leftovers(cache):
    return [path.name for path in (cache / "datasets").glob("*") if "making" in path.name]


def test_a_recipe_is_followed_once(campaign, tmp_path):
    told = campaign(_scripted())
    assert datasets.find(told, told.datasets[0]) is None
    made = datasets.make(told, told.datasets[0])
    assert [path.name for path in made.files] == ["made.root"]
    assert made.identity.n_entries == 3
    assert made.identity.columns == ("x",)
    assert datasets.make(told, told.datasets[0]) == made
    assert datasets.find(told, told.datasets[0]) == made
    assert len(_followed(tmp_path)) == 1


def test_other_arguments_or_another_script_make_another_dataset(campaign, tmp_path):
    told = campaign(_scripted())
    first = datasets.directory_of(told, told.datasets[0])
    other = campaign(_scripted("a"))
    assert datasets.directory_of(other, other.datasets[0]) != first
    (tmp_path / "recipe.py").write_text(SCRIPT + "# changed\n")
    assert datasets.directory_of(told, told.datasets[0]) != first


def _making(path):
    program = (
        "import sys; from arrowroot_lab.campaign import datasets, read; c = read.read(sys.argv[1]); "
        "print(len(datasets.make(c, c.datasets[0]).files))"
    )
    return subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True)


def test_several_processes_make_it_once_and_none_sees_half_of_it(campaign, tmp_path):
    told = campaign(_scripted("slow"))
    makers = [_making(told.path) for _ in range(3)]
    wait_until(lambda: _followed(tmp_path))
    assert datasets.find(told, told.datasets[0]) is None
    assert not datasets.directory_of(told, told.datasets[0]).exists()
    (tmp_path / "go").touch()
    assert [maker.communicate(timeout=PATIENCE_S)[0].strip() for maker in makers] == ["1"] * 3
    assert len(_followed(tmp_path)) == 1


def test_whoever_is_killed_while_making_leaves_nothing_that_is_taken_for_the_dataset(
    campaign, tmp_path, cache
):
    told = campaign(_scripted("slow"))
    maker = _making(told.path)
    wait_until(lambda: _leftovers(cache))
    wait_until(lambda: _followed(tmp_path))
    maker.kill()
    maker.communicate()
    orphan = int(_followed(tmp_path)[0].split()[0])
    try:
        assert datasets.find(told, told.datasets[0]) is None
        # The recipe that the killed one has started is still there, and goes on at the same time as the next one.
        (tmp_path / "go").touch()
        made = datasets.make(told, told.datasets[0])
    finally:
        with suppress(ProcessLookupError):
            os.kill(orphan, signal.SIGKILL)
    assert made.identity.n_entries == 3
    assert _leftovers(cache) == []
    assert len(_followed(tmp_path)) == 2


def test_an_interrupt_ends_the_recipe_with_all_that_it_started(campaign, tmp_path, cache):
    told = campaign(_scripted("slow"))
    maker = _making(told.path)
    wait_until(lambda: _followed(tmp_path))
    maker.send_signal(signal.SIGINT)
    maker.communicate(timeout=PATIENCE_S)
    recipe = int(_followed(tmp_path)[0].split()[0])
    wait_until(lambda: not Path(f"/proc/{recipe}").exists())
    assert _leftovers(cache) == []


@pytest.mark.parametrize(
    ("argument", "more", "problem"),
    [
        ("fail", "", "dataset d: exit status 1: no luck today"),
        ("nothing", "", "dataset d: its recipe made no file"),
        (
            "large",
            '[limits]\ndisk = "4 MB"',
            r"dataset d: it takes more than 4.00 MB, which limits.disk allows",
        ),
        ("slow", '[limits]\ntotal = "500 ms"', "dataset d: not done after 0.5 s"),
    ],
)
def test_a_recipe_that_fails_is_told_and_leaves_nothing(campaign, cache, argument, more, problem):
    told = campaign(_scripted(argument), more)
    with pytest.raises(LabError, match=problem):
        datasets.make(told, told.datasets[0])
    assert _leftovers(cache) == []
    assert not datasets.directory_of(told, told.datasets[0]).exists()


def test_a_sample_that_cannot_be_made_is_told(campaign):
    told = campaign('sample = { size = "1 MB", compression = "best" }')
    with pytest.raises(LabError, match=r"dataset d: exit status 2: .*best"):
        datasets.make(told, told.datasets[0])


def test_files_are_found_by_a_glob_below_the_campaign_or_anywhere(campaign, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for name in ("b.root", "a.root"):
        _write(data / name, pa.table({"x": [1, 2]}))
    (data / "loop").symlink_to(data)
    for pattern in ("data/*.root", str(data / "?.root"), f"../{tmp_path.name}/data/*.root", "**/*.root"):
        told = campaign(f'files = "{pattern}"\ntable = "T"')
        found = datasets.make(told, told.datasets[0])
        assert [path.name for path in found.files] == ["a.root", "b.root"]
        assert found.identity.n_entries == 4
    _write(data / "c[1].root", pa.table({"x": [1, 2]}))
    told = campaign('files = "data/c[1].root"\ntable = "T"')
    assert len(datasets.make(told, told.datasets[0]).files) == 1
    told = campaign('files = "none/*.root"\ntable = "T"')
    assert datasets.find(told, told.datasets[0]) is None
    with pytest.raises(CampaignError, match=r"dataset\.d\.files: no file matches 'none/\*\.root'"):
        datasets.make(told, told.datasets[0])


def test_the_paths_of_a_campaign_that_is_named_from_where_it_is_are_good_in_any_directory(
    campaign, tmp_path, monkeypatch
):
    _write(tmp_path / "a.root", pa.table({"x": [1, 2]}))
    path = campaign('files = "a*.root"\ntable = "T"').path
    monkeypatch.chdir(path.parent)
    monkeypatch.setenv("ARROWROOT_LAB_CACHE", "cache")
    told = read(path.name)
    assert [str(file) for file in datasets.make(told, told.datasets[0]).files] == [str(tmp_path / "a.root")]
    assert datasets.cache_directory() == tmp_path / "cache"


def test_what_is_no_dataset_is_told(campaign, tmp_path):
    (tmp_path / "broken.root").write_bytes(b"root" + bytes(100))
    told = campaign('files = "broken.root"\ntable = "T"')
    with pytest.raises(LabError, match=r"broken\.root"):
        datasets.make(told, told.datasets[0])
    _write(tmp_path / "good.root", pa.table({"x": [1]}))
    told = campaign('files = "good.root"\ntable = "Tree"')
    with pytest.raises(LabError, match="Tree"):
        datasets.make(told, told.datasets[0])


# Identities.


@pytest.fixture
def identity(cache):
    """The identity of files of ours."""
    return lambda *files, table="T": identify(files, table, cache)


def test_a_tree_and_an_rntuple_of_the_same_values_have_one_hash_of_values(identity, tmp_path):
    sample = tmp_path / "sample.root"
    done_here("sample", "d3pd", f"{sample}:T", "--entries", "60")
    with arrowroot.open(sample) as file:
        table = file["T"].to_arrow()
    for name, options in {
        "tree": {},
        "small": {"basket_size": "4 kB", "flush": 20, "compression": "lz4"},
        "rntuple": {"layout": "rntuple"},
    }.items():
        _write(tmp_path / f"{name}.root", table, **options)
    found = [identity(tmp_path / f"{name}.root") for name in ("tree", "small", "rntuple")]
    assert len({one.values for one in found}) == 1
    assert {one.columns for one in found} == {tuple(table.column_names)}
    assert len({one.layout for one in found}) == 3
    assert len({one.file for one in found}) == 3


def _table(n):
    rng = np.random.default_rng(1)
    lengths = rng.integers(0, 4, n)
    return pa.table({
        "i": pa.array(rng.integers(-100, 100, n), pa.int16()),
        "x": pa.array(rng.normal(size=n), pa.float32()),
        "is_good": pa.array(rng.random(n) < 0.5),
        "name": pa.array([f"n{'é' * (k % 5)}" for k in range(n)]),
        "hits": pa.array([list(rng.random(k)) for k in lengths], pa.list_(pa.float64())),
        "tags": pa.array([[f"t{j}" for j in range(k)] for k in lengths], pa.list_(pa.string())),
    })  # fmt: skip


def test_values_do_not_depend_on_where_files_and_clusters_end(tmp_path):
    table = _table(500)
    _write(tmp_path / "whole.root", table)
    _write(tmp_path / "1.root", table.slice(0, 123))
    _write(tmp_path / "2.root", table.slice(123))
    whole = _values(tmp_path / "whole.root")
    parts = _values(tmp_path / "1.root", tmp_path / "2.root")
    assert parts == whole
    turned = _values(tmp_path / "2.root", tmp_path / "1.root")
    assert turned != whole


@pytest.mark.parametrize("column", ["i", "x", "is_good", "name", "hits", "tags"])
def test_one_changed_value_is_another_dataset(tmp_path, column):
    table = _table(50)
    values = table.column(column).to_pylist()
    at = next(n for n, value in enumerate(values) if value not in ([], None))
    old = values[at]
    values[at] = {
        bool: lambda: not old, int: lambda: old + 1, float: lambda: old + 0.5, str: lambda: old + "x",
        list: lambda: [*old[:-1], old[-1] * 2],
    }[type(old)]()  # fmt: skip
    field = table.schema.field(column)
    changed = table.set_column(table.schema.get_field_index(column), field, pa.array(values, field.type))
    _write(tmp_path / "a.root", table)
    _write(tmp_path / "b.root", changed)
    assert _values(tmp_path / "a.root") != _values(tmp_path / "b.root")


def test_lists_that_are_cut_elsewhere_are_other_values(tmp_path):
    kind = pa.list_(pa.int32())
    for name, rows in {"a": [[1, 2], [3]], "b": [[1], [2, 3]], "c": [[1, 2, 3], []]}.items():
        _write(tmp_path / f"{name}.root", pa.table({"x": pa.array(rows, kind)}))
    assert len({_values(tmp_path / f"{name}.root") for name in "abc"}) == 3


def test_names_and_types_belong_to_the_values(tmp_path):
    for name, table in {
        "a": pa.table({"x": pa.array([1, 2], pa.int32())}),
        "b": pa.table({"y": pa.array([1, 2], pa.int32())}),
        "c": pa.table({"x": pa.array([1, 2], pa.uint32())}),
    }.items():
        _write(tmp_path / f"{name}.root", table)
    assert len({_values(tmp_path / f"{name}.root") for name in "abc"}) == 3


def test_an_identity_is_computed_again_once_the_file_has_changed(identity, tmp_path, cache):
    path = tmp_path / "a.root"
    _write(path, pa.table({"x": [1, 2]}))
    before = identity(path)
    assert known([path], "T", cache) == before
    _write(path, pa.table({"x": [1, 3]}))
    assert known([path], "T", cache) is None
    assert identity(path).values != before.values


def test_a_kept_identity_that_was_damaged_is_computed_anew(identity, tmp_path, cache):
    path = tmp_path / "a.root"
    _write(path, pa.table({"x": [1, 2]}))
    before = identity(path)
    (kept,) = (cache / "identities").iterdir()
    for damage in ("", "{", "[]", '{"values": 1}', "null"):
        kept.write_text(damage)
        assert identity(path) == before


def test_the_size_of_a_directory_is_told_while_what_is_in_it_comes_and_goes(tmp_path):
    (tmp_path / "kept").write_bytes(b"x" * 8192)
    is_over = threading.Event()

    def come_and_go():
        while not is_over.is_set():
            (tmp_path / "gone" / "deep").mkdir(parents=True)
            (tmp_path / "gone" / "deep").rmdir()
            (tmp_path / "gone").rmdir()

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        sizes = [datasets.size_of(tmp_path) for _ in range(2000)]
    finally:
        is_over.set()
        thread.join()
    assert min(sizes) >= 8192
