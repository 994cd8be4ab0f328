"""Makes a file of a data set: ``data.py DIRECTORY flat|nano|aod CODEC LAYOUT N_ENTRIES [SEED]``.

A layout is ``ttree`` or ``rntuple``; of the objects of ``aod`` it is ``split99``, ``split0`` or ``rntuple``. The
generators are compiled by ``programs/build.py``. Beside the file stands ``about/columns.json``: what
``native.py`` must know of its columns, and where the baskets of each branch are, as uproot finds them, which is
independent of what is measured.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from native import program

#: ROOT's number of a codec's compression at the level of ROOT's defaults.
COMPRESSION = {"zstd": 505, "lz4": 404, "zlib": 101, "lzma": 204, "none": 0}
#: CMS has another level of LZMA.
OF_NANO = COMPRESSION | {"lzma": 209}
TREES = {"flat": "T", "nano": "Events", "aod": "T"}
#: What the values of NanoAOD are drawn from.
NANO = Path(__file__).resolve().parent / "nano.json"
TYPES = {
    "float": "float32", "double": "float64", "bool": "bool",
    "int8_t": "int8", "uint8_t": "uint8", "int16_t": "int16", "uint16_t": "uint16",
    "int32_t": "int32", "uint32_t": "uint32", "int64_t": "int64", "uint64_t": "uint64",
}  # fmt: skip


def make(path: Path, name: str, codec: str, layout: str, n_entries: int, seed: int = 1) -> None:  # noqa: PLR0917
    """Make a file. Raises: SystemExit with what a generator said."""
    if name != "nano":
        _run(f"generate_{name}", n_entries, path, COMPRESSION[codec], layout, seed)
        return
    # The same values in each codec: a file is made of the one that has none.
    with tempfile.TemporaryDirectory(dir=path.parent) as directory:
        plain = Path(directory) / "plain.root"
        _run("generate_nano", NANO, n_entries, plain, 0, seed)
        if (codec, layout) == ("none", "ttree"):
            plain.replace(path)
        else:
            kind = ["rntuple"] if layout == "rntuple" else []
            _run("recompress", plain, TREES[name], path, OF_NANO[codec], *kind)


def _run(name: str, *arguments: object) -> None:
    done = subprocess.run([program(name), *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr[-3000:]}")


def about(path: Path, tree: str) -> dict[str, Any]:
    """Columns and baskets of a tree; of an RNTuple columns alone."""
    import uproot

    with uproot.open(path) as file:
        table = file[tree]
        told: dict[str, Any] = {
            "tree": tree,
            "n_entries": int(table.num_entries),
            "columns": {},
            "baskets": {},
        }
        if not hasattr(table, "branches"):
            told["columns"] = {} if path.stem.startswith("aod") else _fields(path, tree)
            return told
        for branch in table.itervalues(recursive=True):
            told["baskets"][branch.name] = _baskets(branch)
            if not path.stem.startswith("aod"):
                told["columns"][branch.name] = _column(branch)
    return told


def _fields(path: Path, tree: str) -> dict[str, dict[str, str]]:
    """The same of the fields of an RNTuple: counters are cardinalities. Collections of the importer are left out."""
    import arrowroot

    found = {}
    with arrowroot.open(path) as file:
        fields = [field for field in file[tree].branches if not field.path.startswith("_")]
    for name, kind in ((field.path, field.type_name.replace("std::", "")) for field in fields):
        inner = re.fullmatch(r"(?:ROOT::VecOps::RVec|vector|ROOT::RNTupleCardinality)<(\w+)>", kind)
        is_list = inner is not None and "Cardinality" not in kind
        found[name] = {"type": TYPES[inner[1] if inner else kind], "kind": "vector" if is_list else "scalar"}
    return found


def _column(branch: Any) -> dict[str, str]:
    """The description of a branch that the programs get."""
    name = branch.typename
    if name.startswith("std::vector<"):
        return {"type": TYPES[name[12:-1]], "kind": "vector"}
    if name.endswith("[]"):
        return {"type": TYPES[name[:-2]], "kind": "array", "counter": branch.count_branch.name}
    return {"type": TYPES[name], "kind": "scalar"}


def _baskets(branch: Any) -> dict[str, Any]:
    """Where baskets begin in entries, and offset of the payload, stored bytes and bytes of each."""
    if branch.embedded_baskets:
        sys.exit(f"{branch.name} has baskets inside the tree's record: not expected here")
    keys = [branch.basket_key(k) for k in range(branch.num_baskets)]
    sizes = [[key.fSeekKey + key.fKeylen, key.fNbytes - key.fKeylen, key.fObjlen] for key in keys]
    return {"edges": [int(edge) for edge in branch.entry_offsets], "sizes": sizes}


def main() -> None:
    """Make the file, and what is told of it."""
    directory, name, codec, layout, n_entries, *seed = sys.argv[1:]
    path = Path(directory) / f"{name}_{layout}_{codec}.root"
    make(path, name, codec, layout, int(n_entries), *map(int, seed))
    place = path.parent / "about"
    place.mkdir()
    (place / "columns.json").write_text(json.dumps(about(path, TREES[name])))


if __name__ == "__main__":
    main()
