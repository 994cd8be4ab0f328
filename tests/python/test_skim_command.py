"""The command ``skim``: what it takes, and what it tells."""

import json

import pyarrow as pa
import pytest
import uproot

import arrowroot as ar
from tests.command import run_here

from .test_skim import MASK, chosen, cut_short, events, in_mask, names_in, put, read, same


@pytest.fixture
def tables(tmp_path):
    """Return the tables of two inputs, a.root and c.root."""
    found = {"a": events(1200, 0), "c": events(900, 20_000)}
    for name, table in found.items():
        put(tmp_path / f"{name}.root", table)
    return found


def test_the_command_takes_what_the_function_does(tmp_path, tables):
    (tmp_path / "Cert.json").write_text(json.dumps(MASK))
    (tmp_path / "events.txt").write_text("# mine\n1:1:7\n1 2 60\n3,2,20060 # far\n9:9:9\n")
    done = run_here(
        "skim",
        "a.root:Events",
        "--cut",
        "two=nMuon >= 2",
        "c.root",
        "o.root",
        "--weight",
        "w",
        "-c",
        "event,Muon_*",
        "--lumi-mask",
        "Cert.json",
        "--json",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    expected = chosen(tables, lambda e: in_mask(e) and e["nMuon"] >= 2)
    assert said["form"] == "arrowroot.skim/1"
    assert said["cuts"][-1] == {
        "name": "two",
        "num_entries": expected.num_rows,
        "sum_of_weights": expected["w"].to_numpy().sum(),
    }
    assert [one["url"] for one in said["inputs"]] == ["a.root", "c.root"]
    same(read(tmp_path / "o.root"), expected.select(["event", "nMuon", "Muon_pt", "Muon_eta"]))
    done = run_here(
        "skim",
        "a.root:Events",
        "c.root",
        "--output",
        "m.root:Mu=nMuon > 0",
        "--output",
        "all.root",
        "--pick",
        "events.txt",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "1 of 4 events is not there: (9, 9, 9)" in done.stderr
    same(read(tmp_path / "all.root"), chosen(tables, lambda e: e["event"] in (7, 60, 20_060)))
    assert (
        read(tmp_path / "m.root", "Mu").num_rows
        == chosen(tables, lambda e: e["event"] in (7, 60, 20_060) and e["nMuon"]).num_rows
    )


def test_numbers_of_listed_events_have_64_bits(tmp_path):
    numbers = pa.array([2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1], pa.uint64())
    ones = pa.array([1] * len(numbers), pa.uint32())
    ar.write(f"{tmp_path}/a.root:Events", {"run": ones, "luminosityBlock": ones, "event": numbers})
    (tmp_path / "events.txt").write_text(f"1:1:{2**63 + 1}\n1:1:{2**64 - 1}\n{'0' * 5000}1:1:{2**64 - 2}\n")
    done = run_here("skim", "a.root", "o.root", "--pick", "events.txt", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"1 of 3 events is not there: (1, 1, {2**64 - 2})" in done.stderr
    assert read(tmp_path / "o.root")["event"].to_pylist() == [2**63 + 1, 2**64 - 1]
    for number in (str(2**64), "9" * 5000):
        (tmp_path / "events.txt").write_text(f"1:1:7\n1:1:{number}\n")
        done = run_here("skim", "a.root", "o.root", "--pick", "events.txt", cwd=tmp_path)
        assert done.returncode == 2
        assert "events.txt: line 2:" in done.stderr
        assert "they are below 2^64" in done.stderr


@pytest.mark.usefixtures("tables")
def test_the_command_tells_bad_inputs_by_its_exit_code(tmp_path):
    (tmp_path / "c.root").rename(tmp_path / "bad.root")
    cut_short(tmp_path / "bad.root")
    done = run_here("skim", "a.root:Events", "bad.root", "o.root", cwd=tmp_path)
    assert done.returncode == 1
    assert "bad.root" in done.stderr
    done = run_here(
        "skim",
        "a.root:Events",
        "bad.root",
        "o.root",
        "--on-bad-input",
        "skip",
        "--carry",
        "none",
        cwd=tmp_path,
    )
    assert done.returncode == 4
    assert "bad.root was left out" in done.stderr
    assert "what is left of it is read" not in done.stderr
    assert "o.root: 1,200 entries" in done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["a.root"], "which output"),
        (["a.root", "o.root", "--cut", "nMuon>=2"], "a cut that is counted has a name"),
        (["a.root", "o.root", "--cut", "nMuon==2"], "a cut that is counted has a name"),
        (["a.root", "--output", "=nMuon"], "names no file"),
        (["a.root", "--output", "o.root", "--output", "o.root=nMuon > 1"], "two outputs"),
        (["a.root", "nowhere/o.root"], "no such directory"),
        (["a.root", "a.root"], "an input of the skim"),
        (["a.root", "o.root", "--pick", "nothing.txt"], "no such list of events"),
        (["a.root", "o.root", "--sum", "Rns:nothing"], "there is no tree 'Rns'"),
        (["a.root", "o.root", "--sum", "Events:nothing"], "there is no column 'nothing' in 'Events'"),
    ],
)
@pytest.mark.usefixtures("tables")
def test_the_command_says_what_is_wrong(tmp_path, words, says):
    done = run_here("skim", *words, "--tree", "Events", cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert says in done.stderr
    assert sorted(names_in(tmp_path)) == ["a.root", "c.root"]


@pytest.mark.usefixtures("tables")
def test_an_output_that_is_there_is_replaced_by_force_alone(tmp_path):
    """Who thinks of two inputs would lose the second one."""
    before = (tmp_path / "c.root").read_bytes()
    outputs = ["--output", "new.root=nMuon > 0", "--output", "c.root"]
    for words in (["a.root", "c.root"], ["a.root", *outputs, "--tree", "Events"]):
        done = run_here("skim", *words, "--carry", "Runs", cwd=tmp_path)
        assert done.returncode == 2
        assert "c.root is there, and would be replaced: write --force for that" in done.stderr
        assert ("arrowroot skim a.root c.root OUT skims all" in done.stderr) == (outputs[0] not in words)
        assert run_here("skim", *words, "--plan", cwd=tmp_path).returncode == 0
        assert (tmp_path / "c.root").read_bytes() == before
        assert sorted(names_in(tmp_path)) == ["a.root", "c.root"]
    assert run_here("skim", "a.root:Events", "c.root", "-f", "-c", "event", cwd=tmp_path).returncode == 0
    assert read(tmp_path / "c.root").column_names == ["event"]
    (tmp_path / "empty.root").touch()
    assert run_here("skim", "a.root:Events", "empty.root", "-c", "event", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("inputs", [["a.root:Events", "c.root:Events"], ["a.root:Events", "[c].root:Events"]])
@pytest.mark.usefixtures("tables")
def test_the_word_behind_a_column_is_the_output_where_all_others_are_inputs(tmp_path, inputs):
    assert run_here("skim", *inputs, "-c", "event", "out", cwd=tmp_path).returncode == 0
    assert read(tmp_path / "out").column_names == ["event"]
    assert read(tmp_path / "out").num_rows == 2100


@pytest.mark.usefixtures("tables")
def test_a_skim_that_goes_on_puts_all_its_outputs_in_their_places(tmp_path):
    """One that was killed while it did so has put the first of them there already."""
    words = [
        "skim",
        "a.root:Events",
        "c.root:Events",
        "--output",
        "o.root",
        "--output",
        "p.root",
        "--resume",
        "--carry",
        "none",
    ]
    whole = (tmp_path / "c.root").read_bytes()
    (tmp_path / "c.root").write_bytes(whole[:1000])
    assert run_here(*words, cwd=tmp_path).returncode == 1
    (tmp_path / "c.root").write_bytes(whole)
    (tmp_path / "o.root").write_bytes(b"of this skim")
    assert run_here(*words, "--filter", "nMuon > 1", cwd=tmp_path).returncode == 2
    assert run_here(*words, cwd=tmp_path).returncode == 0
    assert read(tmp_path / "o.root").num_rows == read(tmp_path / "p.root").num_rows == 2100
    assert run_here(*words, cwd=tmp_path).returncode == 2


@pytest.mark.usefixtures("tables")
def test_a_directory_of_parts_without_one_of_the_skim_replaces_nothing(tmp_path):
    directory = tmp_path / "c.root.parts"
    directory.mkdir()
    before = (tmp_path / "c.root").read_bytes()
    for name in ("", "mine.txt", "0123.part"):
        if name:
            (directory / name).write_bytes(b"of somebody")
        done = run_here("skim", "a.root:Events", "c.root", "--resume", cwd=tmp_path)
        assert done.returncode == 2
        assert "write --force" in done.stderr
        assert (tmp_path / "c.root").read_bytes() == before


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        ("ttree", "'B.m n' as B.m_x20_n"),
        ("rntuple", "'A.pt' as A_x2e_pt, and 1 more alike"),
    ],
)
def test_columns_that_others_find_under_other_names_are_told(tmp_path, layout, said):
    with uproot.recreate(tmp_path / "in.root") as file:
        file.mktree("Events", {"A.pt": "f8", "x": "i4", "B.m n": "i4"})
        file["Events"].extend({"A.pt": [1.0, 2], "x": [1, 2], "B.m n": [3, 4]})
    done = run_here("skim", "in.root", "out.root", "--layout", layout, "--filter", "x > 1", cwd=tmp_path)
    assert done.stderr == f"arrowroot: out.root: other readers find {said} (docs/writing.md)\n"
    with uproot.open(tmp_path / "out.root") as file:
        assert said.split(" as ")[1].split(",")[0] in set(file["Events"].keys())
    done = run_here("convert", "out.root", "out.parquet", cwd=tmp_path)
    assert done.stderr == ""
    done = run_here("convert", "out.parquet", "back.root", "--layout", layout, cwd=tmp_path)
    assert f"back.root: other readers find {said} (docs/writing.md)" in done.stderr
    assert run_here("skim", "in.root", "x.root", "-c", "x", cwd=tmp_path).stderr == ""


@pytest.mark.usefixtures("tables")
def test_an_input_that_is_given_twice_is_told(tmp_path):
    done = run_here("skim", "?.root", "a.root", "o.root", "--tree", "Events", cwd=tmp_path)
    assert done.returncode == 0
    assert "a.root is among the inputs more than once" in done.stderr
    assert "c.root" not in done.stderr


@pytest.mark.usefixtures("tables")
def test_a_definition_of_columns_that_all_entries_have_is_one_branch(tmp_path):
    done = run_here(
        "skim", "a.root:Events", "o.root", "--define", "b=nMuon*2", "-c", "b", "--cut", "m=b>2", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert [branch.path for branch in ar.open(tmp_path / "o.root")["Events"].branches] == ["b"]
