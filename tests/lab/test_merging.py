"""The campaign of merging: all engines write the same values, and say what they took."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parents[2] / "campaigns" / "merging"
WAYS = ("limit", "arrowroot", "hadd", "hadd-2", "uproot")
#: Files and entries, or histograms, of each data set.
SIZES = {"trees": (3, 40), "rntuples": (3, 40), "histograms": (6, 120)}


def answers(directory, verb="run"):
    """Return the answer of each way."""
    job = {
        "urls": [str(path) for path in directory.glob("*.root")],
        "command": ["merge"],
        "wants_checksum": True,
    }
    found = {}
    for way in WAYS:
        command = [sys.executable, PROGRAMS / "runner.py", way, verb]
        done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found[way] = json.loads(done.stdout.splitlines()[-1])
        assert "error" not in found[way], found[way]
    return found


@pytest.mark.long
@pytest.mark.parametrize("kind", SIZES)
def test_all_mergers_write_the_same_values(kind, tmp_path):
    pytest.importorskip("ROOT")
    sizes = map(str, SIZES[kind])
    subprocess.run([sys.executable, PROGRAMS / "data.py", tmp_path, kind, *sizes], check=True)
    told = answers(tmp_path)
    ours = told["arrowroot"]["checksum"]
    n_files, n = SIZES[kind]
    # A histogram has two bins more than its hundred.
    assert {one["n"] for one in ours.values()} >= {n * 102 if kind == "histograms" else n_files * n}
    for way in ("hadd", "hadd-2", "uproot"):
        assert told[way].get("checksum") == (None if "unsupported" in told[way] else ours), way
    assert [way for way in WAYS if "unsupported" in told[way]] == ([] if kind == "histograms" else ["uproot"])
    for one in told.values():
        if "unsupported" not in one:
            assert one["details"]["file_bytes"] > 0
            assert one["wall_ns"] > 0
    # The CPU time of a command is that of the process that was started.
    assert told["hadd"]["cpu_ns"] > 10_000_000
    assert told["hadd"]["details"]["start_cpu_ns"] > 10_000_000
    assert told["arrowroot"]["details"]["start_cpu_ns"] == 0


def test_engines_tell_their_versions():
    pytest.importorskip("ROOT")
    told = answers(Path("/nowhere"), "identify")
    assert all(told[way]["versions"] for way in WAYS)
    assert "checksum" not in told["limit"]["can"]
