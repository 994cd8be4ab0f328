"""Derives the definition of the NanoAOD-like data set from a real file: ``python -m bench.nano_schema FILE``.

It writes ``campaigns/reading/nano.json``: names, types, counters, multiplicities and how the values of each branch are
distributed, but no entry of the file. ``programs/generate_nano.cxx`` draws the data set from it. The committed one is
of a NanoAOD file of 200 simulated events of CMS Open Data (top-quark pairs, 2015), as scikit-hep-testdata has it.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import arrowroot

if TYPE_CHECKING:
    from collections.abc import Iterable

PATH = Path(__file__).resolve().parents[1] / "campaigns" / "reading" / "nano.json"
TREE = "Events"
#: ROOT's names of the types, and its codes of them for leaves.
CODES = {
    "float": "F", "double": "D", "int32": "I", "uint32": "i", "bool": "O", "uint8": "b", "int8": "B", "int16": "S",
    "uint16": "s", "int64": "L", "uint64": "l",
}  # fmt: skip
#: A value that is at least this share of a branch's values stands in its table; so do all of them if they are few.
FREQUENT_SHARE, FEW = 0.02, 24
#: The others are told by so many points of their distribution.
N_QUANTILES = 17
SIGNIFICANT = 6


def distribution(values: np.ndarray) -> dict[str, Any]:
    """How values are distributed: a table of the frequent ones with their counts, and quantiles of the others.

    Floats also have ``zero_bits``: how many low bits of the mantissa are zero in all of them.
    """
    if values.dtype == bool:
        values = values.astype(np.uint8)
    finite = values[np.isfinite(values)]
    counts = Counter(finite.tolist())
    frequent = {
        value: n
        for value, n in counts.items()
        if len(counts) <= FEW or (n >= FREQUENT_SHARE * len(values) and value == value // 1)
    }
    others = np.array([value for value in finite.tolist() if value not in frequent], dtype=values.dtype)
    told: dict[str, Any] = {"values": [[number(value), n] for value, n in sorted(frequent.items())]}
    if len(finite) < len(values):  # JSON has no such numbers
        told["values"].append(["nan", len(values) - len(finite)])
    if len(others):
        quantiles = np.quantile(others.astype(np.float64), np.linspace(0, 1, N_QUANTILES))
        told["others"] = len(others)
        told["quantiles"] = [number(x if values.dtype.kind == "f" else round(x)) for x in quantiles.tolist()]
    if values.dtype == np.float32:
        told["zero_bits"] = zero_bits(finite)
    return told


def number(value: int | float) -> int | float:  # noqa: PYI041 - the two are told apart
    """A value as short as its meaning allows; integers as they are."""
    if not isinstance(value, float):
        return value
    short = float(f"{value:.{SIGNIFICANT}g}")
    return int(short) if short.is_integer() else short


def zero_bits(values: np.ndarray) -> int:
    """How many low bits are zero in all single-precision values; at most 22."""
    bits = int(np.bitwise_or.reduce(values.view(np.uint32), initial=0))
    return min((bits & -bits).bit_length() - 1, 22) if bits else 0


def branch(name: str, column: pa.ChunkedArray, counter: str | None) -> dict[str, Any]:
    """The definition of a branch."""
    values = column.combine_chunks()
    if counter:
        values = values.flatten()
    told = {"name": name, "type": CODES[str(values.type)]}
    if counter:
        told["counter"] = counter
    return told | distribution(values.to_numpy(zero_copy_only=False))


def schema(path: Path) -> Iterable[dict[str, Any]]:
    """The definitions of all branches of plain numbers, and of counted arrays of them, in the file's order."""
    with arrowroot.open(path) as file:
        tree = file[TREE]
        for described in tree.branches:
            column = pa.table(tree.to_arrow([described.name]))[described.name]
            # NanoAOD names the counter of Muon_pt and its siblings nMuon.
            counter = f"n{described.name.partition('_')[0]}" if pa.types.is_list(column.type) else None
            yield branch(described.name, column, counter)


def main() -> None:
    """Write the definition, one branch a line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path)
    lines = [json.dumps(told) for told in schema(parser.parse_args().file)]
    PATH.write_text('{"tree": "Events", "branches": [\n' + ",\n".join(lines) + "\n]}\n")


if __name__ == "__main__":
    main()
