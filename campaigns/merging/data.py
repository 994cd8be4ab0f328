"""Makes the inputs of a merge: ``data.py DIRECTORY trees|rntuples|large|histograms N_FILES N``.

``trees`` and ``rntuples`` have N entries each, drawn like those of NanoAOD, and ``large`` are trees of more entries;
``histograms`` have N of these, in directories of a hundred. ``tiny`` beside them has an input that a process merges
before it is timed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import arrowroot

if TYPE_CHECKING:
    import pyarrow as pa

TABLE = "Events"
#: A tree of one entry beside the histograms.
OF_RUN = "Runs"
#: Inputs that differ: the others have the values of these again, in files of their own.
N_DISTINCT = 4
LAYOUTS = {"trees": "ttree", "large": "ttree", "rntuples": "rntuple"}
N_BINS = 100
#: Bytes of a seed's numbers are the same on every machine.
SEED = 1


def events(n_entries: int, directory: Path) -> pa.Table:
    """Columns that are drawn like those of NanoAOD."""
    path = directory / "sample.root"
    command = [sys.executable, "-m", "arrowroot", "sample", "nanoaod", f"{path}:{TABLE}"]
    options = ["--entries", str(n_entries), "--compression", "none", "--seed", str(SEED)]
    subprocess.run([*command, *options], stdout=subprocess.DEVNULL, check=True)
    with arrowroot.open(path) as file:
        return file[TABLE].to_arrow()


def write_tables(directory: Path, kind: str, n_files: int, n_entries: int) -> None:
    """Write the inputs that are tables."""
    with tempfile.TemporaryDirectory(dir=directory) as scratch:
        table = events(N_DISTINCT * n_entries, Path(scratch))
    for number in range(n_files):
        part = table.slice(number % N_DISTINCT * n_entries, n_entries)
        arrowroot.write(
            f"{directory}/in{number:04}.root:{TABLE}", part, layout=LAYOUTS[kind], compression="zstd:5"
        )
    tiny = directory / "tiny"
    tiny.mkdir()
    arrowroot.write(f"{tiny}/in.root:{TABLE}", table.slice(0, 10), layout=LAYOUTS[kind], compression="zstd:5")


def write_histograms(directory: Path, n_files: int, n: int) -> None:
    """Write the inputs that are histograms of one dimension."""
    draw = np.random.default_rng(SEED)
    edges = np.linspace(0, 1, N_BINS + 1)
    tiny = directory / "tiny"
    tiny.mkdir()
    for number, path in enumerate(
        [tiny / "in.root", *(directory / f"in{k:04}.root" for k in range(n_files))]
    ):
        if number > N_DISTINCT:
            shutil.copy(directory / f"in{(number - 1) % N_DISTINCT:04}.root", path)
            continue
        with arrowroot.create(path, compression="zlib:1") as file:
            file[OF_RUN] = {"run": np.array([number])}
            for k in range(n if number else 1):
                file[f"d{k // 100}/h{k}"] = (draw.poisson(50, N_BINS).astype(float), edges)


def main() -> None:
    """Make the files."""
    directory, kind, n_files, n = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    if kind == "histograms":
        write_histograms(directory, n_files, n)
    else:
        write_tables(directory, kind, n_files, n)


if __name__ == "__main__":
    main()
