"""Small files of our own writing, of every layout and codec, to be damaged."""

from __future__ import annotations

import struct
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

import arrowroot as ar
from tests.tables import every_kind, required

if TYPE_CHECKING:
    from pathlib import Path

N_ENTRIES = 240
#: Codecs with a checksum of what they compressed: LZ4 by ROOT's frame.
CHECKED_CODECS = ("zlib:3", "lz4:3", "lzma:3")
PRESETS = ("old-aod", "aod-2011", "d3pd", "nanoaod")


#: Types of the columns of containers that are asked for.
CONTAINERS = {
    "numbers": "std::map<int, float>",
    "lists": "std::map<std::string, std::vector<float>>",
    "inside": "std::vector<std::map<int, float>>",
    "set": "std::set<long>",
}


class OwnFile(NamedTuple):
    """A file, and the half-open ranges of its bytes for which a checksum stands."""

    path: Path
    checked: list[tuple[int, int]]


def containers() -> pa.Table:
    """Return columns of maps and sets."""
    item = required(pa.float32(), "value")
    numbers = [[(1, 0.5), (7, 1.5)], [], [(3, 0.0)]]
    columns = {
        "texts": pa.array([[("a", 1.0)], [], [("b", 2.0), ("", 3.0)]], pa.map_(pa.string(), item)),
        "numbers": pa.array(numbers, pa.map_(pa.int32(), item)),
        "lists": pa.array(
            [[("a", [1.5, 2.5]), ("b", [])], [], [("", [0.5])]],
            pa.map_(pa.string(), required(pa.list_(required(pa.float32())), "value")),
        ),
        "inside": pa.array(
            [[numbers[0], []], [], numbers[1:]], pa.list_(required(pa.map_(pa.int32(), item)))
        ),
        "set": pa.array([[1, 2], [], [7]]),
    }
    return pa.table(columns)


def objects() -> dict[str, Any]:
    """Return objects of all the classes that are written."""
    import hist

    chance = np.random.default_rng(1)
    found: dict[str, Any] = {
        "regular": hist.Hist.new.Reg(20, 0, 1, name="x", label="x").Weight().fill(chance.random(50)),
        "two": hist.Hist.new.Reg(3, 0, 1).Var([0, 1, 5]).Double(),
        "three": hist.Hist.new.Reg(2, 0, 1).Reg(2, 0, 1).Int(0, 3).Double(),
        "words": hist.Hist.new.StrCat(["ee", "mm"], growth=True).Double().fill(["ee", "mm", "ee"]),
        "profile": hist.Hist.new.Reg(4, 0, 1).Mean().fill(chance.random(9), sample=chance.random(9)),
        "numpy": np.histogram(chance.random(50), bins=7),
        "text": "some text" * 20,
        "list": ["one", "two", hist.Hist.new.Reg(3, 0, 1).Double()],
        "map": {"a": "b", "c": ["d", "e"]},
    }
    return found


def write(directory: Path) -> dict[str, OwnFile]:
    """Write all files, and return them by name."""
    found: dict[str, OwnFile] = {}
    plain = [
        (layout, codec) for layout in ("ttree", "rntuple") for codec in (None, "zstd:3", *CHECKED_CODECS)
    ]
    kinds = every_kind(N_ENTRIES)
    for number, (layout, codec) in enumerate([*plain, *((preset, "") for preset in PRESETS)]):
        # Each column is read again and again: a third of all kinds in each file.
        columns = kinds.select(kinds.column_names[number % 3 :: 3])
        name = f"{layout}-{str(codec).partition(':')[0]}.root" if codec != "" else f"{layout}.root"
        path = directory / name
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ar.FewReadersWarning)
            options: dict[str, Any] = {} if codec == "" else {"compression": codec}
            with ar.create(path, **options) as file:
                file.tree("T", layout=layout, flush=100).append(columns)
        found[name] = OwnFile(path, _checked(path.read_bytes(), layout, codec))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ar.FewReadersWarning)
        with ar.create(directory / "containers.root", compression=None) as file:
            file.tree("T", types=CONTAINERS).append(containers())
    found["containers.root"] = OwnFile(directory / "containers.root", [])
    for codec in (None, *CHECKED_CODECS):
        name = f"objects-{str(codec).partition(':')[0]}.root"
        with ar.create(directory / name, compression=codec) as file:
            for key, value in objects().items():
                file[key] = value
        found[name] = OwnFile(directory / name, [])
    return found


def _checked(data: bytes, layout: str, codec: str | None) -> list[tuple[int, int]]:
    """Return what a checksum guards: all of an RNTuple, and of a tree the baskets that some codecs compressed."""
    if layout == "rntuple":
        return [(100, len(data))]
    if codec not in CHECKED_CODECS:
        return []
    ranges = []
    at = struct.unpack_from(">i", data, 8)[0]
    while at + 18 <= len(data):
        n_bytes, _, object_bytes, _, key_bytes = struct.unpack_from(">ihiIh", data, at)
        if n_bytes <= 0:
            at -= n_bytes or -len(data)
            continue
        if object_bytes != n_bytes - key_bytes:
            ranges.append((at + key_bytes, at + n_bytes))
        at += n_bytes
    return ranges


def values(path: Path, *, verify_checksums: bool = True) -> tuple[dict[str, Any], bool]:
    """Return the columns that can be read, and whether any cannot or was warned of."""
    found: dict[str, Any] = {}
    has_error = False
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        try:
            with ar.open(path) as file:
                tree: Any = file["T"]
                names = tree.column_names
                for name in names:
                    try:
                        found[name] = repr(
                            tree.to_arrow([name], verify_checksums=verify_checksums)[name].to_pylist()
                        )
                    except (ar.ArrowrootError, UserWarning):
                        has_error = True
        except (ar.ArrowrootError, UserWarning):
            has_error = True
    return found, has_error
