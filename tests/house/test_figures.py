"""The tables of README and docs are made of the laboratory's results (``campaigns/tables``)."""

import pytest

from arrowroot_lab.store import Store
from campaigns.tables import __main__ as figures
from campaigns.tables import adl
from campaigns.tables.pages import Block
from tests.house.made_results import result

WHERE = "2026-11-28, EPYC, 2 cores, 24 GiB, load 0.5; ROOT 6.40.00, arrowroot 0123456789ab"


@pytest.fixture
def store(tmp_path):
    """Make a store of results."""

    def make(results):
        path = tmp_path / "lab.db"
        with Store.open(path) as store:
            for one in results:
                store.put(one)
        return path

    return make


def told(store, blocks, results):
    """The texts that are made of results."""
    with Store.open(store(results), must_exist=True) as opened:
        return [block.text for block in blocks(opened)]


def test_queries_have_times_ratios_and_bytes(store):
    def case(engine, workload, *times_ms):
        counters = {"store": {"n_bytes": 2_500_000}}
        samples = [{"wall_ns": round(ms * 1e6), "cpu_ns": 1, "counters": counters} for ms in times_ms]
        return result("adl", engine, workload, samples)

    results = [
        case("arrowroot", "Q1", 100, 130, 110), case("uproot + Awkward", "Q1", 400), case("RDataFrame", "Q1", 1100),
        case("arrowroot", "Q1, warm", 4.25), case("RDataFrame", "Q1, warm", 17),
    ]  # fmt: skip
    (text,) = told(store, adl.blocks, results)
    assert text.startswith(f"Measured on {WHERE}. Times in ms.\n\n")
    line = "| Q1 | 110 | 400 | 1100 | 4.2 |  | 17.0 | 0.28 | 0.25 | 2.50 | 2.50 | 2.50 |"
    assert text.splitlines()[4] == line
    assert text.splitlines()[5] == f"| Q2 |{'  |' * 11}"


def test_figures_stand_between_their_marks_and_nothing_else_changes(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- a:begin -->\nold\n<!-- a:end -->\nafter\n")
    Block(page, "a", "new", {"a.svg": "<svg/>"}).put()
    assert page.read_text() == "before\n<!-- a:begin -->\nnew\n<!-- a:end -->\nafter\n"
    assert (tmp_path / "a.svg").read_text() == "<svg/>"
    with pytest.raises(SystemExit, match=r"page.md has no <!-- b:begin -->"):
        Block(page, "b", "new").put()


def test_command_writes_what_was_measured_and_says_when_that_is_nothing(store, monkeypatch, capsys):
    path = store([result("adl", "arrowroot", "Q1", [{"wall_ns": 5_000_000, "cpu_ns": 1}])])
    monkeypatch.setattr("sys.argv", ["figures", "--db", str(path), "--print"])
    assert figures.main() == 0
    assert "| Q1 | 5 |" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["figures", "layouts", "--db", str(path)])
    assert figures.main() == 1
    assert capsys.readouterr().err == "no results of layouts\n"
