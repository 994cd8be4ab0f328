"""The engines of the documents' campaigns that need no compiler, at the process line, and what they tell programs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import arrowroot
from arrowroot_lab.engines.ask import ask
from arrowroot_lab.errors import RunnerError, SkippedError
from arrowroot_lab.runners import root_runner
from tests.judge import root

CAMPAIGNS = Path(__file__).parents[2] / "campaigns"


def asked(script, engine, job, verb="run"):
    return ask([sys.executable, "-W", "ignore", str(CAMPAIGNS / script), engine], verb, job).answer


@pytest.fixture(scope="module")
def columns(tmp_path_factory):
    """The dataset of a case of writing."""
    directory = tmp_path_factory.mktemp("columns")
    command = [sys.executable, CAMPAIGNS / "writing" / "data.py", directory, "jagged", "20", "0.1"]
    subprocess.run(command, check=True)
    return {"kind": "program", "urls": [str(directory / "columns.root")], "table": "T", "threads": 1}


@pytest.mark.parametrize("layout", ["ttree", "rntuple"])
@pytest.mark.parametrize("writer", ["arrowroot", "uproot"])
def test_a_writer_writes_what_it_was_given(columns, writer, layout):
    job = {**columns, "command": ["101", layout, "2"], "wants_checksum": True}
    told = asked("writing/runner.py", writer, job)
    assert told["n_entries"] == 416
    assert told["counters"]["payload"]["n_bytes"] > 90_000
    assert told["counters"]["written"]["n_bytes"] > 50_000
    if writer == "arrowroot":
        assert told["counters"]["disk"]["wall_ns"] > 0
        assert told["counters"]["system"]["sync_ns"] > 0


@pytest.mark.parametrize("kind", ["split", "member-wise", "object-wise"])
def test_objects_are_written_and_buffers_bound_what_waits(columns, kind):
    job = {
        **columns,
        "command": ["505", "ttree", "1", "objects", kind, "buffers", "64"],
        "wants_checksum": True,
    }
    assert "disk" not in asked("writing/runner.py", "arrowroot", job)["counters"]


#: A writer that loses the last value of a column.
FAULTY = """
import sys
sys.path.insert(0, sys.argv[3])
import arrowroot, pyarrow as pa, runner
def write(asked):
    table = asked.arrow()
    name = table.column_names[0]
    values = table[name].combine_chunks().to_pylist()
    values[-1] = [1.5]
    table = table.set_column(0, name, pa.array(values, table.schema.field(name).type))
    return runner.least(1, lambda: arrowroot.write(f"{asked.out}:T", table))
runner.WRITERS["arrowroot"], runner.WRITER = write, "arrowroot"
print(runner.json.dumps(runner.run(runner.json.loads(sys.argv[1]))))
"""


def test_a_writer_that_writes_something_else_has_failed(columns):
    job = {**columns, "command": ["0", "ttree", "1"], "wants_checksum": True}
    command = [sys.executable, "-c", FAULTY, json.dumps(job), "", str(CAMPAIGNS / "writing")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["error"].startswith("wrong values: column C000_c0000: ")


def test_a_codec_that_a_writer_does_not_have_is_no_failure(columns):
    with pytest.raises(Exception, match="LZ4 HC"):
        asked("writing/runner.py", "uproot", {**columns, "command": ["404", "ttree", "1"]})


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    path = tmp_path_factory.mktemp("reading") / "flat_ttree_none.root"
    table = {"x": np.arange(1000.0), "v": [[1, 2]] * 999 + [[3]]}
    arrowroot.write(f"{path}:T", pa.table(table), compression=None, layout=arrowroot.Layout(flush=300))
    return {"kind": "program", "urls": [str(path)], "table": "T"}


@pytest.mark.parametrize("engine", ["arrowroot", "uproot"])
def test_opening_lists_the_columns(tree, engine):
    told = asked("reading/processes.py", engine, {**tree, "command": ["open"]})
    n_columns = told["counters"]["listed"]["n_columns"]
    assert told["checksum"] == {"columns": {"n": n_columns, "sum": str(n_columns)}}
    assert n_columns >= 2


@pytest.mark.parametrize("word", ["import", "ls", "memory"])
def test_whole_processes_are_measured(tree, word):
    told = asked("reading/processes.py", "arrowroot", {**tree, "command": [word]})
    assert told["wall_ns"] > 1_000_000
    if word == "memory":
        assert told["counters"]["memory"]["values_bytes"] > 8000


def test_a_process_that_fails_is_told(tree):
    with pytest.raises(RunnerError, match=r"arrowroot: .*nothing\.root"):
        asked("reading/processes.py", "arrowroot", {**tree, "urls": ["nothing.root"], "command": ["ls"]})


#: What data.py and native.py say of the columns and baskets of a file, some of whose entries are wanted.
ABOUT = """
import json, sys
sys.path.insert(0, sys.argv[2])
import data, native
from pathlib import Path
about = data.about(Path(sys.argv[1]), "T")
baskets = {name: [list(native.baskets_of(of, wanted)) for wanted in (None, [0, 650])] for name, of in
           about["baskets"].items()}
print(json.dumps([about["columns"], baskets]))
"""


def test_the_limit_gets_the_baskets_of_the_entries_that_are_wanted(tree):
    command = [sys.executable, "-W", "ignore", "-c", ABOUT, tree["urls"][0], str(CAMPAIGNS / "reading")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    columns, baskets = json.loads(done.stdout)
    assert columns["x"] == {"type": "float64", "kind": "scalar"}
    assert (columns["v"]["type"], columns["v"]["kind"]) == ("int64", "array")
    whole, some = baskets["x"]
    assert [full for _, _, full in whole] == [2400, 2400, 2400, 800]
    assert some == [whole[0], whole[2]]
    content = Path(tree["urls"][0]).read_bytes()
    offset, stored, _ = whole[3]
    assert np.frombuffer(content[offset : offset + stored], ">f8").tolist() == list(range(900, 1000))


def test_a_program_that_was_not_compiled_is_no_failure(monkeypatch, tmp_path):
    for name in ("ARROWROOT_BENCH", "CARGO_TARGET_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    with pytest.raises(SkippedError, match=r"page_limit is not in .*: python -m bench\.programs compiles it"):
        asked("reading/native.py", "page-limit", {}, "identify")
    # What a compiler of C++ makes is made when it is needed, where there is one.
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(
        SkippedError, match="limit_read is not compiled yet, which needs no-such-compiler and"
    ):
        asked("reading/native.py", "limit", {}, "identify")
    with pytest.raises(SkippedError, match="write_columns is not compiled yet, which needs no-such-compiler"):
        asked("writing/runner.py", "root-ttree", {}, "identify")


def test_the_version_of_root_is_its_own_and_not_that_of_its_wheel(tmp_path):
    pytest.importorskip("ROOT")
    code = "std::string version() { return gROOT->GetVersion(); }"
    (version,) = root.interpreted(tmp_path, code, ("version",))
    assert root_runner.version_of_wheel() == version
