"""The end of `make demo`: three figures, one picture, and where all of it is."""

import subprocess
import sys
from pathlib import Path

import pytest

from arrowroot_lab.campaign.matrix import cases
from arrowroot_lab.campaign.read import read
from arrowroot_lab.store import Store
from tests.house.made_results import result

REPOSITORY = Path(__file__).parents[2]
FAR = "20 ms, simulated"
#: Dataset, storage, strategy, and the times of three samples.
MEASURED = [
    ("tree", "local", "auto", (45_200_000, 45_000_000, 47_000_000)),
    ("rntuple", "local", "auto", (38_000_000, 37_000_000, 39_000_000)),
    ("tree", FAR, "auto", (29_000_000,)),
    ("tree", FAR, "direct", (1_610_000_000,)),
]


@pytest.fixture
def end(tmp_path):
    """Run the end of a demo that measured these; return what it says."""
    for name in ("demo/perf.png", "demo/pages/index.html"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("made")

    def run(measured, disturbed=()):
        with Store.open(tmp_path / "demo" / "lab.db") as store:
            for dataset, storage, strategy, times in measured:
                samples = [{"wall_ns": time, "disturbed": list(disturbed)} for time in times]
                made = result("quick", "arrowroot", "all", samples, dataset=dataset, storage=storage)
                made.case["strategy"] = {"name": strategy}
                store.put(made)
        files = ("demo/sample.root", "demo/perf.png", "demo/pages/index.html", "demo/lab.db")
        command = [sys.executable, REPOSITORY / "tools" / "demo_epilogue.py", *files]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize("disturbed", [[], ["the machine was busy"]])
def test_the_demo_ends_with_three_figures_and_a_picture_on_a_busy_machine_too(end, disturbed):
    done = end(MEASURED, disturbed)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if line.startswith("  ")][:3] == ["45.2", "38.0", "29.0"]
    assert "1.61 s with" in done.stdout
    assert "demo/perf.png" in done.stdout
    assert ("while other programs ran" in done.stdout) == bool(disturbed)


def test_the_demo_fails_without_a_figure(end):
    done = end(MEASURED[:-1])
    assert (done.returncode, done.stdout) == (1, "")
    assert f"demo/lab.db has no time of tree / {FAR} / direct" in done.stderr


def test_the_quick_campaign_has_the_cases_of_the_figures():
    made = [
        (case.dataset.name, case.storage.name, case.strategy.name)
        for case in cases(read(REPOSITORY / "campaigns" / "quick.toml"))
    ]
    assert len(made) == len(set(made))
    assert set(made) >= {(dataset, storage, strategy) for dataset, storage, strategy, _ in MEASURED}
