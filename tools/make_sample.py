"""Make a sample of simulated event data: a TTree 'Events' laid out as CMS's NanoAOD is.

Counters with jagged arrays of floats, integers and flags for a dozen collections, and several hundred
trigger bits: some 600 branches, ZSTD. The values are random, the same on every machine, and mean nothing as
physics; how many there are, how they repeat and how many mantissa bits they keep is near enough to real files
for their sizes and compression ratios to be.

ROOT writes the file if it is installed (make_sample.cxx does the filling), uproot otherwise: without flags in
the collections.

usage: make_sample.py [--megabytes N] [--writer root|uproot] FILE
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
import warnings
from pathlib import Path

SEED = 20260101
# Collection: (most, mean number in an entry, extra floats, extra integers, extra flags); all have pt, eta,
# phi and mass besides.
COLLECTIONS = {
    "Electron": (8, 0.8, 16, 8, 5),
    "Muon": (8, 0.9, 14, 8, 12),
    "Tau": (6, 0.6, 12, 9, 2),
    "Photon": (8, 1.1, 12, 6, 4),
    "Jet": (24, 5.5, 16, 8, 0),
    "FatJet": (6, 0.6, 22, 5, 0),
    "GenPart": (90, 28.0, 0, 4, 0),
    "GenJet": (20, 4.5, 0, 2, 0),
    "SV": (10, 1.2, 8, 1, 0),
    "IsoTrack": (6, 0.5, 8, 3, 3),
    "TrigObj": (30, 7.0, 3, 3, 0),
    "SoftActivityJet": (6, 4.0, 0, 0, 0),
}
N_SCALARS = 60
N_TRIGGERS = 280


def progress(done: float, started: float) -> None:
    """Draw a bar on a terminal; say nothing elsewhere."""
    if sys.stderr.isatty():
        width = 40
        filled = round(width * min(done, 1))
        bar = "#" * filled + "." * (width - filled)
        end = "\n" if done >= 1 else ""
        seconds = time.monotonic() - started
        print(f"\rmaking the sample [{bar}] {seconds:3.0f} s", end=end, file=sys.stderr, flush=True)


def write_with_root(path: Path, n_bytes: int) -> int:
    """Write the sample through ROOT; returns the number of entries."""
    warnings.filterwarnings("ignore", message=r"\s*This distribution of ROOT is in alpha stage")
    import ROOT  # noqa: PLC0415  # takes seconds, and may not be there

    ROOT.gROOT.SetBatch(True)
    ROOT.EnableImplicitMT(2)  # baskets are compressed on two threads; the content does not depend on it
    if not ROOT.gInterpreter.Declare(Path(__file__).with_suffix(".cxx").read_text(encoding="utf-8")):
        sys.exit("make_sample.py: ROOT's interpreter cannot compile the generator here; try --writer uproot")
    writer = ROOT.arrowroot_sample.Writer(str(path), SEED, N_SCALARS, N_TRIGGERS)
    for name, shape in COLLECTIONS.items():
        writer.add_collection(name, *shape)
    for i in range(N_SCALARS):
        writer.add_scalar(f"{('MET', 'PuppiMET', 'PV', 'Generator')[i % 4]}_value{i // 4}", i)
    for i in range(N_TRIGGERS):
        writer.add_trigger(f"HLT_Path{i:03d}", i)
    started = time.monotonic()
    written = 0
    while written < n_bytes:
        written = writer.fill(2000)
        progress(written / n_bytes, started)
    return int(writer.close())


def write_with_uproot(path: Path, n_bytes: int) -> int:
    """Write a smaller relative of the sample through uproot; returns the number of entries."""
    import awkward as ak  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415
    import uproot  # noqa: PLC0415

    random = np.random.default_rng(SEED)
    started = time.monotonic()
    n_entries = 0
    n_step = 20_000

    def floats(n: int) -> np.ndarray:
        values = random.exponential(20.0, n).astype(np.float32)
        return (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)

    with uproot.recreate(path, compression=uproot.ZSTD(5)) as file:
        while True:
            step: dict[str, object] = {"event": np.arange(n_entries, n_entries + n_step, dtype=np.uint64)}
            for name, (most, mean, n_floats, n_integers, _) in COLLECTIONS.items():
                counts = np.minimum(random.poisson(mean, n_step), most)
                total = int(counts.sum())
                leaves = {leaf: floats(total) for leaf in ("pt", "eta", "phi", "mass")}
                leaves |= {f"float{i}": floats(total) for i in range(n_floats)}
                leaves |= {f"int{i}": random.integers(0, 2 << i, total, np.int32) for i in range(n_integers)}
                step[name] = ak.zip({leaf: ak.unflatten(values, counts) for leaf, values in leaves.items()})
            for i in range(N_SCALARS):
                step[f"MET_value{i}"] = floats(n_step)
            for i in range(N_TRIGGERS):
                step[f"HLT_Path{i:03d}"] = random.random(n_step) < 0.5 ** (1 + i % 24)
            if n_entries == 0:
                types = {
                    name: values.dtype if isinstance(values, np.ndarray) else values.type.content
                    for name, values in step.items()
                }
                file.mktree("Events", types, title="Events")
            file["Events"].extend(step)
            n_entries += n_step
            written = path.stat().st_size
            progress(written / n_bytes, started)
            if written >= n_bytes:
                return n_entries


def main() -> None:
    """Parse the command line and write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--megabytes", type=float, default=300, help="of the file (default: %(default)s)")
    parser.add_argument("--writer", choices=["root", "uproot"], help="default: ROOT if it is installed")
    options = parser.parse_args()
    path: Path = options.file
    if path.exists():
        print(f"sample: {path}, {path.stat().st_size / 1e6:.0f} MB, is there already (rm it for a new one)")
        return
    writer = options.writer or ("root" if importlib.util.find_spec("ROOT") else "uproot")
    if writer == "uproot" and options.writer is None:
        print("uproot writes the sample; ROOT, where it is installed, adds flags to the collections")
    path.parent.mkdir(parents=True, exist_ok=True)
    # Under another name until it is complete: an interrupted run must leave no half a sample to be reused.
    unfinished = path.with_name(path.stem + ".unfinished" + path.suffix)
    print(f"making a sample of {options.megabytes:.0f} MB with {writer}", flush=True)
    started = time.monotonic()
    write = write_with_root if writer == "root" else write_with_uproot
    n_entries = write(unfinished, int(options.megabytes * 1e6))
    unfinished.replace(path)
    seconds = time.monotonic() - started
    print(f"sample: {path}, {path.stat().st_size / 1e6:.0f} MB, {n_entries} entries, made in {seconds:.0f} s")


if __name__ == "__main__":
    main()
