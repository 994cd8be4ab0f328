"""Trees that ROOT and arrowroot write of the same values with the same settings.

It is imported in ROOT's process too, which has no arrowroot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

#: Letters of leaf lists, and what they stand for.
LETTERS = {
    "O": np.bool_, "B": np.int8, "b": np.uint8, "S": np.int16, "s": np.uint16, "I": np.int32, "i": np.uint32,
    "L": np.int64, "l": np.uint64, "F": np.float32, "D": np.float64, "f": np.float32, "d": np.float64,
}  # fmt: skip
#: The texts behind the letters of packed numbers, which are below 10.
ANNOTATIONS = ("", "[0,0,9]", "[-10,10,12]", "[-10,10]", "[-10,10,32]")


@dataclass(frozen=True)
class Column:
    """A column: values of all entries behind each other, or texts.

    ``counts``: how many arrays of ``dims`` each entry has; none if it has one.
    """

    name: str
    letter: str
    dims: tuple[int, ...]
    counter: str | None
    counts: Any
    values: Any
    annotation: str = ""

    @property
    def precision(self) -> str | None:
        """As a layout says it."""
        kind = {"f": "Float16", "d": "Double32"}.get(self.letter)
        return None if kind is None else f"{kind}{self.annotation}"

    @property
    def leaf_list(self) -> str:
        """As ``TTree::Branch`` takes it."""
        counter = f"[{self.counter}]" if self.counter else ""
        return f"{self.name}{counter}{''.join(f'[{n}]' for n in self.dims)}/{self.letter}{self.annotation}"


@dataclass(frozen=True)
class Case:
    """A tree and how it is written; ``flush`` None: clusters are not marked, and full baskets are written."""

    seed: int
    name: str
    title: str
    directory: str
    n_entries: int
    flush: int | str | None
    basket_size: int
    #: ROOT gives baskets their sizes anew at the first flush.
    is_optimized: bool
    columns: tuple[Column, ...]
    #: ``kGenerateOffsetMap``: offsets that follow from a counter are not stored.
    generates_offsets: bool = False

    @property
    def first_basket_size(self) -> int:
        """Until ROOT has given others: its default."""
        return 32_000 if self.is_optimized else self.basket_size

    @property
    def file_name(self) -> str:
        """Of both files, each in a directory of its own."""
        return f"case-{self.seed}.root"

    @property
    def schema_name(self) -> str:
        """Of the file with the Arrow schema that arrowroot has written into the tree, if it has."""
        return f"case-{self.seed}.schema"


def draw_case(seed: int) -> Case:
    """A case drawn from a seed: the same one in every process."""
    rng = np.random.default_rng([29, seed])
    n_entries = int(rng.choice([0, 1, 2, 9, 100, 1000, 3000]))
    columns = []
    n_groups = 0
    while len(columns) < int(rng.integers(1, 9)) or not columns:
        kind = rng.choice(["number", "fixed", "counted", "text"])
        if kind == "text":
            texts = [_text(rng) for _ in range(n_entries)]
            columns.append(Column(f"s{len(columns)}", "C", (), None, None, texts))
        elif kind == "counted":
            counts = _counts(rng, n_entries)
            n_groups += 1
            # Nothing says that lists belong together if all are empty.
            n_members = int(rng.integers(1, 4)) if counts.sum() else 1
            for member in range(n_members):
                dims = tuple(int(n) for n in rng.integers(1, 4, rng.choice([0, 0, 1, 2])))
                letter = str(rng.choice(list(LETTERS)))
                values = _numbers(rng, letter, int(counts.sum()) * int(np.prod(dims)))
                # Several share the counter of their prefix.
                prefix = f"Group{n_groups}"
                name = prefix if n_members == 1 else f"{prefix}_m{member}"
                annotation = _annotation(rng, letter)
                columns.append(Column(name, letter, dims, f"n{prefix}", counts, values, annotation))
        else:
            dims = tuple(int(n) for n in rng.integers(1, 5, rng.integers(1, 3))) if kind == "fixed" else ()
            letter = str(rng.choice(list(LETTERS)))
            values = _numbers(rng, letter, n_entries * int(np.prod(dims)))
            annotation = _annotation(rng, letter)
            columns.append(Column(f"x{len(columns)}", letter, dims, None, None, values, annotation))
    flush: int | str | None = [None, "auto", 1, 7, 64, 500][int(rng.integers(0, 6))]
    if flush == 1 and n_entries > 100:
        flush = 100
    return Case(
        seed=seed,
        name=str(rng.choice(["T", "Events", "a_tree_with_a_long_name"])),
        title=str(rng.choice(["", "a title", "t" * 300])),
        directory=str(rng.choice(["", "", "sub", "a/b"])),
        n_entries=n_entries,
        flush=flush,
        basket_size=int(rng.choice([300, 1000, 4096, 32000])),
        columns=tuple(columns),
        is_optimized=isinstance(flush, int) and seed % 2 == 1,
        generates_offsets=seed % 5 >= 3,
    )


def _counts(rng: np.random.Generator, n_entries: int) -> Any:
    largest = rng.choice([1, 4, 30, 300], p=[0.2, 0.4, 0.3, 0.1])
    return rng.integers(0, largest + 1, n_entries).astype(np.int32)


def _annotation(rng: np.random.Generator, letter: str) -> str:
    return str(rng.choice(ANNOTATIONS)) if letter in "fd" else ""


def _numbers(rng: np.random.Generator, letter: str, n: int) -> Any:
    dtype = np.dtype(LETTERS[letter])
    if dtype == np.bool_:
        return rng.random(n) < 0.5
    if dtype.kind == "f":
        return rng.normal(size=n).astype(dtype)
    return np.frombuffer(rng.bytes(n * dtype.itemsize), dtype).copy()


def _text(rng: np.random.Generator) -> str:
    # Of empty texts ROOT writes nothing, and arrowroot their length: uproot misreads the former.
    n = int(rng.choice([1, 2, 30, 254, 255, 700], p=[0.3, 0.3, 0.3, 0.04, 0.03, 0.03]))
    return "".join(map(chr, rng.integers(33, 127, n)))
