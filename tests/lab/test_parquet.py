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
#: All that one engine is asked, in one process, as imports take longer than most.
ALL = """
import json, sys
directory, way, job, *words = sys.argv[1:]
sys.path.insert(0, directory)
import runner
runner.way = runner.WAYS[way]
for word in words:
    print(json.dumps(runner.run({**json.loads(job), "command": [word]})))
"""


@pytest.fixture(scope="module", params=["nano", "few"])
def made(request, tmp_path_factory):
    """The file of a small data set, and a list of some of its entries."""
    directory, name = tmp_path_factory.mktemp("parquet"), request.param
    program = CAMPAIGN.parent / "parquet" / "data.py"
    subprocess.run([sys.executable, program, directory, name, "zstd", str(N_ENTRIES[name])], check=True)
    entries = directory / "beside" / "entries.txt"
    entries.write_text("".join(f"{entry}\n" for entry in range(3, N_ENTRIES[name], 41)))
    return directory / f"{name}.root", entries


def answers(made, way, *words, **more):
    """Word -> answer."""
    job = {"urls": [str(made[0])], "table": "Events", "threads": 1, "wants_checksum": True, **more}
    command = [sys.executable, "-c", ALL, CAMPAIGN.parent / "parquet", way, json.dumps(job), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return dict(zip(words, told, strict=True))


def test_all_readers_return_the_same_values_whatever_is_asked(made):
    n_entries = N_ENTRIES[made[0].stem]
    whole, picked = (
        {way: answers(made, way, *words, **more) for way in WAYS}
        for words, more in ((WORDS, {}), (["both"], {"entries": str(made[1])}))
    )
    for found in (whole, picked):
        for word, first in found["rntuple"].items():
            for way in WAYS:
                assert found[way][word]["checksum"] == first["checksum"], (way, word)
                assert found[way][word]["n_entries"] == first["n_entries"]
    told = whole["rntuple"]
    n_columns = {word: len(one["checksum"]) for word, one in told.items()}
    assert [n_columns[word] for word in WORDS[:4]] == [10, 10, 2, 20]
    assert n_columns["all"] > 20
    assert told["all"]["n_entries"] == n_entries
    assert picked["rntuple"]["both"]["n_entries"] == len(range(3, n_entries, 41))
    # Some two entries in a hundred, and not the same.
    for word in ("sorted", "unsorted"):
        assert 0.005 * n_entries <= told[word]["n_entries"] <= 0.04 * n_entries
    assert told["sorted"]["checksum"] != told["unsorted"]["checksum"]


def test_a_reading_is_timed_and_repeated_and_tells_the_size_of_its_file(made):
    for way, file in (("ttree", "ttree.root"), ("polars", "table.parquet")):
        told = answers(made, way, "numbers", wants_checksum=False)["numbers"]
        assert told["details"]["file_bytes"] == (made[0].parent / "beside" / file).stat().st_size
        assert told["counters"]["later"]["wall_ns"] > 0
        assert told["wall_ns"] > 0
        assert "checksum" not in told
