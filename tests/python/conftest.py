"""Files to read: real ones, and ones written by uproot while testing."""

import os
import subprocess
import sys
from pathlib import Path

import hypothesis
import numpy as np
import pytest

from tests.command import run_here

# Times say how busy the machine is, not whether the code is right. In CI the same cases come each time: a change is not
# to fail for a case that another would have drawn.
hypothesis.settings.register_profile(
    "busy",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
hypothesis.settings.load_profile("busy")

CONFORMANCE = Path(__file__).resolve().parents[3] / "shared" / "conformance" / "data"
N_ENTRIES = 1000


@pytest.fixture(scope="session")
def conformance():
    if not CONFORMANCE.is_dir():
        pytest.skip(f"NO CONFORMANCE FILES at {CONFORMANCE}: real files are NOT tested")
    return CONFORMANCE


def write_signed(index, table, description, group_rows=None):
    """Write an index that somebody else has made, with a checksum that is right."""
    import pyarrow.parquet as pq

    from arrowroot._saving import checksum

    table = table.replace_schema_metadata(None)
    with pq.ParquetWriter(index, table.schema) as writer:
        writer.write_table(table, group_rows)
        writer.add_key_value_metadata({"arrowroot.index": description})
        writer.add_key_value_metadata({checksum.KEY: checksum.PLACEHOLDER})
    checksum.sign(index)


def write_tree(path, n_entries=N_ENTRIES, *, seed=7, names=("Events",), **extra):
    """Write trees with flat and jagged columns; return what is in each of them, as NumPy arrays by column."""
    uproot = pytest.importorskip("uproot")
    ak = pytest.importorskip("awkward")
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 5, n_entries)
    columns = {
        "run": np.arange(n_entries, dtype=np.int32) + 1000 * seed,
        "weight": rng.normal(size=n_entries),
        "good": rng.integers(0, 2, n_entries).astype(bool),
        **extra,
    }
    jagged = ak.unflatten(rng.normal(size=int(counts.sum())).astype(np.float32), counts)
    with uproot.recreate(path, compression=uproot.ZSTD(3)) as file:
        for name in names:
            tree = file.mktree(
                name, {**{key: values.dtype for key, values in columns.items()}, "pt": "var * float32"}
            )
            for start in range(0, n_entries, 300):
                part = slice(start, start + 300)
                tree.extend({**{key: values[part] for key, values in columns.items()}, "pt": jagged[part]})
        file["dir/text"] = "not a tree"
    return {**columns, "pt": jagged, "npt": counts.astype(np.int32)}


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    """Return a file and the content of its one tree."""
    path = tmp_path_factory.mktemp("sample") / "sample.root"
    return path, write_tree(path)


@pytest.fixture
def arrowroot_command():
    """Run the command in this process."""

    def run(*arguments, check=True, **options):
        done = run_here(*arguments, **options)
        if check:
            assert done.returncode == 0, done.stderr
        return done

    return run


@pytest.fixture
def arrowroot_process():
    """Run the command in a process of its own."""

    def run(*arguments, check=True, **options):
        command = [sys.executable, "-m", "arrowroot", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, **options)
        if check:
            assert done.returncode == 0, done.stderr
        return done

    return run
