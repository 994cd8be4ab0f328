"""The campaign beside Parquet: all engines return the same values of the same table, and tables say who is ahead."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

CAMPAIGN = Path(__file__).parents[2] / "campaigns" / "parquet.toml"
WAYS = ("rntuple", "ttree", "pyarrow", "polars", "duckdb")
WORDS = ("numbers", "lists", "one_of_each", "both", "all", "sorted", "unsorted")
N_ENTRIES = {"nano": 400, "few": 2000}
#: All that one engine is asked of a data set, in one process, as imports take longer than most.
ALL = """
import json, sys
directory, way, *asked = sys.argv[1:]
sys.path.insert(0, directory)
import runner
runner.way = runner.WAYS[way]
runner.N_LATER, runner.LATER_NS = 1, 0
for job in asked:
    print(json.dumps(runner.run(json.loads(job))))
"""


@pytest.fixture(scope="module", params=["nano", "few"])
def made(request, tmp_path_factory):
    """The file of a small data set."""
    directory, name = tmp_path_factory.mktemp("parquet"), request.param
    program = CAMPAIGN.parent / "parquet" / "data.py"
    subprocess.run([sys.executable, program, directory, name, "zstd", str(N_ENTRIES[name])], check=True)
    return directory / f"{name}.root"


@pytest.fixture(scope="module")
def answers(made):
    """Way -> answers, by word; that of some entries is ``picked``, that without a checksum ``timed``."""
    entries = made.parent / "beside" / "entries.txt"
    entries.write_text("".join(f"{entry}\n" for entry in range(3, N_ENTRIES[made.stem], 41)))
    asked = {word: {"command": [word]} for word in WORDS}
    asked["picked"] = {"command": ["both"], "entries": str(entries)}
    asked["timed"] = {"command": ["numbers"], "wants_checksum": False}
    always = {"urls": [str(made)], "table": "Events", "threads": 1, "wants_checksum": True}
    jobs = [json.dumps({**always, **one}) for one in asked.values()]
    found = {}
    for way in WAYS:
        command = [sys.executable, "-c", ALL, CAMPAIGN.parent / "parquet", way, *jobs]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        found[way] = dict(zip(asked, told, strict=True))
    return found


@pytest.mark.long
def test_all_readers_return_the_same_values_whatever_is_asked(made, answers):
    n_entries = N_ENTRIES[made.stem]
    told = answers["rntuple"]
    for word in (*WORDS, "picked"):
        for way in WAYS:
            assert answers[way][word]["checksum"] == told[word]["checksum"], (way, word)
            assert answers[way][word]["n_entries"] == told[word]["n_entries"]
    n_columns = {word: len(told[word]["checksum"]) for word in WORDS}
    assert [n_columns[word] for word in WORDS[:4]] == [10, 10, 2, 20]
    assert n_columns["all"] > 20
    assert told["all"]["n_entries"] == n_entries
    assert told["picked"]["n_entries"] == len(range(3, n_entries, 41))
    # Some two entries in a hundred, and not the same.
    for word in ("sorted", "unsorted"):
        assert 0.005 * n_entries <= told[word]["n_entries"] <= 0.04 * n_entries
    assert told["sorted"]["checksum"] != told["unsorted"]["checksum"]


@pytest.mark.long
def test_a_reading_is_timed_and_repeated_and_tells_the_size_of_its_file(made, answers):
    for way, file in (("ttree", "ttree.root"), ("polars", "table.parquet")):
        told = answers[way]["timed"]
        assert told["details"]["file_bytes"] == (made.parent / "beside" / file).stat().st_size
        assert told["counters"]["later"]["wall_ns"] > 0
        assert told["wall_ns"] > 0
        assert "checksum" not in told
