"""Generates the sets of files, and tells what a benchmark has to know of them: ``python -m bench.data --scale 0.1``.

A set is a directory of the cache: ``flat_zstd.root``, ``flat_zstd.ntpl.root``, ``aod_split0_zstd.root``, ... Its folder
``spec`` has for each data set the cases with their columns, a list of entries, and the baskets that each case needs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import subprocess
import sys
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from typing import TYPE_CHECKING, Any

from . import catalogue, programs
from .pages import names as listed
from .paths import BIN, CACHE, DEFINITIONS, PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

DATA = CACHE / "data"
#: Entries at least, at any scale.
FEWEST_ENTRIES = 1000
#: What the content follows from. A set that was made with something else is made anew.
CONTENT = (
    "random.hxx",
    "flat_event.hxx",
    "Aod.h",
    "generate_flat.cxx",
    "generate_aod.cxx",
    "generate_nano.cxx",
)

TYPES = {
    "float": "float32", "double": "float64", "bool": "bool",
    "int8_t": "int8", "uint8_t": "uint8", "int16_t": "int16", "uint16_t": "uint16",
    "int32_t": "int32", "uint32_t": "uint32", "int64_t": "int64", "uint64_t": "uint64",
}  # fmt: skip

Column = dict[str, Any]


@dataclass(frozen=True)
class FileSet:
    """A set of files: its name, the size of the data, and the seed of their content."""

    name: str
    scale: float
    seed: int = 1

    @classmethod
    def of(cls, name: str | None, scale: float, seed: int = 1) -> FileSet:
        """A set that datasets.toml names, or the one of a scale."""
        suffix = "" if seed == 1 else f"-seed{seed}"
        if name:
            return cls(name + suffix, catalogue.load("datasets")["sets"][name]["scale"], seed)
        name = "default" if scale == 1 else f"scale-{scale:g}".replace(".", "_")
        return cls(name + suffix, scale, seed)

    @property
    def directory(self) -> Path:
        """Where the files are."""
        return DATA / self.name

    def dataset(self, name: str) -> Files:
        """The files of a data set."""
        return Files(self, catalogue.datasets()[name])

    def make(self, codecs: Sequence[str], names: Sequence[str]) -> None:
        """Generate what is missing."""
        programs.prepare()
        settings = f"seed={self.seed} scale={self.scale:g} content={_content()}\n"
        told = self.directory / "settings"
        if told.exists() and told.read_text() != settings:
            print(f"the definition of the data has changed: {self.directory} is made anew")
            for path in [*self.directory.glob("*.root"), *self.directory.glob("spec/*")]:
                path.unlink()
        (self.directory / "spec").mkdir(parents=True, exist_ok=True)
        told.write_text(settings)
        for name in names:
            files = self.dataset(name)
            for codec in codecs:
                files.make(codec)
            files.describe()


def _content() -> str:
    paths = [DEFINITIONS / "nano.json", *(PROGRAMS / name for name in CONTENT)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


@dataclass(frozen=True)
class Files:
    """A data set's files in a set."""

    set: FileSet
    dataset: catalogue.Dataset

    def path(self, codec: str, layout: str) -> Path:
        """The file of a codec and a layout: ``ttree``, ``rntuple``; of objects ``split99``, ``split0``, ``rntuple``."""
        if self.dataset.collections:
            return self.set.directory / f"{self.dataset.name}_{layout}_{codec}.root"
        end = ".ntpl.root" if layout == "rntuple" else ".root"
        return self.set.directory / f"{self.dataset.name}_{codec}{end}"

    def make(self, codec: str) -> None:
        """Generate the files of a codec that are missing."""
        n_entries = max(FEWEST_ENTRIES, int(self.dataset.n_entries * self.set.scale))
        number, seed = str(catalogue.compression(codec, self.dataset.name)), str(self.set.seed)
        for layout in catalogue.layouts(codec, self.dataset.name):
            path = self.path(codec, layout)
            if path.exists():
                continue
            part = path.with_suffix(".part.root")
            if self.dataset.name == "nano":
                plain = self._plain_nano(n_entries)
                kind = ["rntuple"] if layout == "rntuple" else []
                command = ["recompress", str(plain), self.dataset.tree, str(part), number, *kind]
            else:
                generator = f"generate_{self.dataset.name}"
                command = [generator, str(n_entries), str(part), number, layout, seed]
            _run(path, part, command)

    def _plain_nano(self, n_entries: int) -> Path:
        """The uncompressed file that the others are made of; generated if it is missing."""
        path = self.path("none", "ttree")
        if not path.exists():
            part = path.with_suffix(".part.root")
            definition = str(DEFINITIONS / "nano.json")
            _run(
                path, part, ["generate_nano", definition, str(n_entries), str(part), "0", str(self.set.seed)]
            )
        return path

    @property
    def _spec_path(self) -> Path:
        return self.set.directory / "spec" / f"{self.dataset.name}.json"

    @cached_property
    def spec(self) -> dict[str, Any]:
        """Tree, number of entries, cases and baskets. Ends the program if the data are not there."""
        if not self._spec_path.exists():
            sys.exit(f"no data set {self.dataset.name} in {self.set.directory}: run without --prepared")
        found: dict[str, Any] = json.loads(self._spec_path.read_text())
        return found

    @property
    def n_entries(self) -> int:
        """The number of entries of the tree."""
        return int(self.spec["n_entries"])

    def columns(self, case: str) -> list[Column]:
        """The columns that a case reads: name, type, kind and counter of each column."""
        found: list[Column] = self.spec["cases"][case]["columns"]
        return found

    def entries(self, case: str) -> str | None:
        """The file of the entries that a case reads; None for all of them."""
        is_sampled = self.spec["cases"][case]["sampled"]
        return str(self._spec_path.with_suffix(".entries")) if is_sampled else None

    def baskets(self, codec: str, case: str, layout: str) -> tuple[str, dict[str, int]]:
        """The list of the baskets that a case needs of a tree, and the sums of their bytes."""
        key = f"{self.path(codec, layout).stem}.{case}"
        return str(self._spec_path.with_name(f"{key}.baskets")), self.spec["baskets"][key]

    def describe(self) -> None:
        """Write the specification, if the files or the definitions have changed."""
        import uproot  # noqa: PLC0415 - a peer, and independent of what is measured

        trees = [
            (codec, layout, path)
            for codec in catalogue.load("datasets")["codecs"]
            for layout in self.dataset.layouts
            if layout != "rntuple" and (path := self.path(codec, layout)).exists()
        ]
        about = {"files": [path.name for _, _, path in trees], "definition": self.dataset.cases}
        if self._spec_path.exists() and json.loads(self._spec_path.read_text())["about"] == about:
            return
        spec: dict[str, Any] = {"about": about, "tree": self.dataset.tree, "cases": {}, "baskets": {}}
        entries: list[int] = []
        for _, layout, path in trees:
            with uproot.open(path) as file:
                tree = file[self.dataset.tree]
                if not entries:
                    spec["n_entries"] = tree.num_entries
                    entries = self._choose_entries(tree.num_entries)
                for case, told in self.dataset.cases.items():
                    columns, branches = self._chosen(tree, told["columns"], layout)
                    is_sampled = "entries" in told
                    spec["cases"].setdefault(case, {"columns": columns, "sampled": is_sampled})
                    key = f"{path.stem}.{case}"
                    target = self._spec_path.with_name(f"{key}.baskets")
                    spec["baskets"][key] = write_baskets(target, branches, entries if is_sampled else None)
        self._spec_path.write_text(json.dumps(spec, indent=1))

    def _choose_entries(self, n_entries: int) -> list[int]:
        """The entries of the cases that read some: the same ones for all of them."""
        share = next(told["entries"] for told in self.dataset.cases.values() if "entries" in told)
        chosen = random.Random(self.set.seed).sample(  # noqa: S311 - no secret
            range(n_entries), max(1, int(n_entries * share))
        )
        self._spec_path.with_suffix(".entries").write_text("".join(f"{entry}\n" for entry in sorted(chosen)))
        return sorted(chosen)

    def _chosen(self, tree: Any, patterns: list[str], layout: str) -> tuple[list[Column], list[Any]]:
        """Columns of a case, and the branches that hold them, with their counters."""
        if self.dataset.collections:
            return self._chosen_members(tree, patterns, layout)
        branches = [
            branch
            for pattern in patterns
            for branch in ([tree[pattern]] if "*" not in pattern and "?" not in pattern else tree.branches)
            if fnmatch(branch.name, pattern)
        ]
        with_counters = {branch.name: branch for branch in branches}
        for branch in branches:
            if branch.count_branch is not None:
                with_counters[branch.count_branch.name] = branch.count_branch
        return [column_of(branch) for branch in branches], list(with_counters.values())

    def _chosen_members(self, tree: Any, patterns: list[str], layout: str) -> tuple[list[Column], list[Any]]:
        members = [
            (name, type_)
            for type_, names in self.dataset.members.items()
            for name in names
            if any(fnmatch(name, pattern) for pattern in patterns)
        ]
        columns, branches = [], []
        for collection in self.dataset.collections:
            columns += [
                {
                    "name": f"{collection}.{name}",
                    "type": type_,
                    "kind": "nested" if name == "cov" else "vector",
                }
                for name, type_ in members
            ]
            branches.append(tree[collection])
            if layout == "split99":
                chosen = {f"{collection}.{name}" for name, _ in members}
                branches += [branch for branch in tree[collection].branches if branch.name in chosen]
        return columns, branches


def column_of(branch: Any) -> Column:
    """The description of a branch that an engine gets."""
    name = branch.typename
    if name.startswith("std::vector<"):
        return {"name": branch.name, "type": TYPES[name[12:-1]], "kind": "vector"}
    if name.endswith("[]"):
        counter = branch.count_branch.name
        return {"name": branch.name, "type": TYPES[name[:-2]], "kind": "array", "counter": counter}
    return {"name": branch.name, "type": TYPES[name], "kind": "scalar"}


def write_baskets(path: Path, branches: Iterable[Any], entries: list[int] | None) -> dict[str, int]:
    """List the baskets of branches, or those of them that hold one of the sorted entries.

    A line has the offset of the payload, its stored bytes and its bytes. Returns the sums.
    """
    full = stored = 0
    with path.open("w") as out:
        for branch in branches:
            if branch.embedded_baskets:
                sys.exit(f"{branch.name} has baskets inside the tree's record: not expected here")
            edges, position = branch.entry_offsets, 0
            for k in range(branch.num_baskets):
                if entries is not None:
                    while position < len(entries) and entries[position] < edges[k]:
                        position += 1
                    if position == len(entries) or entries[position] >= edges[k + 1]:
                        continue
                key = branch.basket_key(k)
                size = key.fNbytes - key.fKeylen
                out.write(f"{key.fSeekKey + key.fKeylen} {size} {key.fObjlen}\n")
                full, stored = full + key.fObjlen, stored + size
    return {"uncompressed_bytes": full, "compressed_bytes": stored}


def _run(path: Path, part: Path, command: list[str]) -> None:
    """Let a program write ``part``, and give it its name."""
    print(f"making {path.name}", flush=True)
    part.unlink(missing_ok=True)
    done = subprocess.run([str(BIN / command[0]), *command[1:]], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{path.name} cannot be made:\n{done.stderr[-3000:]}")
    part.replace(path)


def warm_page_cache(path: Path) -> None:
    """Read a file once, so that it is in the page cache."""
    with path.open("rb", buffering=0) as file:
        while file.read(1 << 24):
            pass


def main() -> None:
    """Make a set."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="1 is 8 GB with all codecs (default 1)")
    parser.add_argument("--seed", type=int, default=1, help="of the content (default 1)")
    parser.add_argument("--set", help="of datasets.toml, instead of a scale")
    parser.add_argument("--codecs", type=listed, default=["zstd", "zlib", "lz4", "none"])
    parser.add_argument("--datasets", type=listed, default=list(catalogue.datasets()))
    options = parser.parse_args()
    FileSet.of(options.set, options.scale, options.seed).make(options.codecs, options.datasets)


if __name__ == "__main__":
    main()
