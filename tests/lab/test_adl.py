"""The analysis queries: each engine has the same histograms, and the campaign compares them, as it does values."""

import importlib
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from arrowroot_lab.campaign.read import read
from arrowroot_lab.documents import Outcome
from arrowroot_lab.running.events import Progress
from arrowroot_lab.running.session import Session
from arrowroot_lab.store import Store
from tests.command import done_here

CAMPAIGN = Path(__file__).parents[2] / "campaigns" / "adl.toml"
ENGINES = ("arrowroot", "uproot", "rdataframe")
N_EVENTS = 6000


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    path = tmp_path_factory.mktemp("adl") / "sample.root"
    done_here("sample", "nanoaod", f"{path}:Events", "--entries", N_EVENTS)
    return path


#: Queries of one process, as importing ROOT takes longer than most. RDataFrame compiles each for a second: two of
#: them, and all with ARROWROOT_SOAK=1.
ALL = """
import json, sys
directory, path, engine, *queries = sys.argv[1:]
sys.path.insert(0, directory)
import runner
runner.ENGINE = engine
do = runner.doing({"urls": [path], "table": "Events", "threads": 1})
for query in map(int, queries):
    histograms, counters = do(query)
    counts = {name: [int(count) for count in told] for name, told in histograms.items()}
    print(json.dumps({"query": query, "histograms": counts, "counters": counters}))
"""


def histograms(engine, path):
    """Query -> name -> counts."""
    queries = "56" if engine == "rdataframe" and not os.environ.get("ARROWROOT_SOAK") else "12345678"
    command = [sys.executable, "-c", ALL, str(CAMPAIGN.parent / "adl"), str(path), engine, *queries]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert all(answer["counters"]["n_bytes"] > 0 for answer in answers)
    return {answer["query"]: answer["histograms"] for answer in answers}


@pytest.mark.long
def test_all_queries_have_the_same_histograms_with_all_engines(sample):
    engines = [engine for engine in ENGINES if engine != "rdataframe" or find_spec("ROOT")]
    told = {engine: histograms(engine, sample) for engine in engines}
    for query, wanted in told["uproot"].items():
        for engine in engines:
            assert told[engine].get(query, wanted) == wanted, (engine, query)
        for name, counts in wanted.items():
            # A histogram without events would be the same with everybody.
            assert sum(1 for count in counts[1:-1] if count) > 5, (query, name)
            assert len(counts) == 102
    assert len(told["arrowroot"]) == len(told["uproot"]) == 8
    assert sum(told["arrowroot"][1]["MET"]) == sum(told["arrowroot"][7]["sum"]) == N_EVENTS


def test_entries_that_move_to_both_sides_are_another_histogram(monkeypatch):
    monkeypatch.syspath_prepend(CAMPAIGN.parent / "adl")
    checksum = importlib.import_module("histograms").checksum
    assert checksum([0, 5, 5, 5, 5, 0]) == checksum([0, 5, 5, 5, 5, 0])
    # The same number of entries, with the same mean.
    assert checksum([0, 5, 5, 5, 5, 0]) != checksum([0, 4, 6, 6, 4, 0])
    assert checksum([0, 5, 5, 5, 5, 0])["n"] == 6


@pytest.fixture
def results(tmp_path, monkeypatch, sample):
    """The results of a part of the campaign, on the small sample, by the command lines that it has."""
    monkeypatch.setenv("ARROWROOT_LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")

    text = CAMPAIGN.read_text().replace("repeats = 7", "repeats = 1")
    before, _, after = text.partition("sample = {")
    (tmp_path / "adl").symlink_to(CAMPAIGN.parent / "adl")
    path = tmp_path / "adl.toml"
    path.write_text(f'{before}files = "{sample}"\ntable = "Events"{after.partition("}")[2]}')
    chosen = ("* / arrowroot / Q4 / *", "* / arrowroot / Q4, warm / *", "* / uproot* / Q4 / *")
    with Store.open(tmp_path / "lab.db") as store:
        campaign = read(path)
        return Session(campaign, store, "site", Progress(lambda *_: None), chosen).run().results


@pytest.mark.long
def test_the_campaign_compares_the_histograms_of_its_engines(results):
    results = {(one.case["engine"], one.case["workload_name"]): one for one in results}
    assert len(results) == 3
    for one in results.values():
        assert one.outcome is Outcome.OK, one.reason
    assert results["arrowroot", "Q4"].checked == {"by": "uproot + Awkward", "is_equal": True, "n_columns": 1}
    assert results["uproot + Awkward", "Q4"].checked["by"] == "arrowroot"
    assert list(results["arrowroot", "Q4"].checksum) == ["query 4: MET"]
    cold, warm = (results["arrowroot", name].samples[0] for name in ("Q4", "Q4, warm"))
    assert warm.wall_ns < cold.wall_ns
