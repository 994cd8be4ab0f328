"""Good-run lists: the luminosity blocks of each run that are certified, as CMS's JSON has them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from arrowroot._errors import InvalidRequestError, NoSuchColumnError, NoSuchFileError, StorageError
from arrowroot._render import printable, shown
from arrowroot._select.events import USUAL_COLUMNS, integers
from arrowroot._sizes import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    #: The path of a JSON file, or what is in it: ranges of blocks, both ends included, by run.
    LumiMaskLike: TypeAlias = "LumiMask | str | os.PathLike[str] | Mapping[Any, Any]"

#: Columns of run and luminosity block, by what writes them.
_COLUMNS = tuple(dict.fromkeys(names[:2] for names in USUAL_COLUMNS if len(names) == 3))
#: Runs and blocks are numbers of 32 bits.
_BITS = 32
_END = 1 << _BITS
#: The largest list that is read; CMS's have some 20 kB.
_MAX_BYTES = 64_000_000


class LumiMask:
    """Certified luminosity blocks, by run."""

    def __init__(self, ranges: Mapping[Any, Any], where: str = "lumi_mask") -> None:
        """Take ranges of blocks by run: ``{"273158": [[1, 1279]]}``, both ends included.

        Raises: InvalidRequestError, with ``where``, for anything else.
        """
        import numpy as np

        every = sorted(found for run, blocks in ranges.items() for found in _checked(run, blocks, where))
        merged: list[list[int]] = []
        for first, last in every:
            if merged and first <= merged[-1][1] + 1:
                merged[-1][1] = max(merged[-1][1], last)
            else:
                merged.append([first, last])
        self.name = where
        #: First and last of each range, as numbers that have the run in their upper half.
        self._first = np.array([first for first, _ in merged], dtype=np.uint64)
        self._last = np.array([last for _, last in merged], dtype=np.uint64)
        self._n_runs = len({first >> _BITS for first, _ in every})

    @classmethod
    def of(cls, given: object) -> LumiMask:
        """Return a mask from what a user gave: a path, or what such a file holds.

        Raises: InvalidRequestError; NoSuchFileError or StorageError if the file cannot be read.
        """
        if isinstance(given, cls):
            return given
        if isinstance(given, str | os.PathLike):
            path = os.fspath(given)
            return cls(_read(path), path)
        if isinstance(given, Mapping):
            return cls(given)
        raise InvalidRequestError(
            f'lumi_mask: expected the path of a JSON file, or {{"273158": [[1, 1279]]}}, got {shown(given)}'
        )

    def __repr__(self) -> str:
        return f"<LumiMask {printable(self.name)}: {counted(self._n_runs, 'run')}>"

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """First and last block of each range, as numbers that have the run in their upper 32 bits."""
        return list(zip(self._first.tolist(), self._last.tolist(), strict=True))

    @property
    def digest(self) -> str:
        """A text that masks of other blocks do not have."""
        return hashlib.sha256(repr(self.ranges).encode()).hexdigest()

    def columns_in(self, has: Callable[[str], bool], where: str) -> tuple[str, str]:
        """Return the columns of run and block of a tree. Raises: NoSuchColumnError if it has none of the usual ones."""
        found = next((names for names in _COLUMNS if all(map(has, names))), None)
        if found is None:
            raise NoSuchColumnError(
                f"{where}: lumi_mask: no columns of run and luminosity block, as run and luminosityBlock",
                "luminosityBlock",
                [],
            )
        return found[0], found[1]

    def is_good(
        self, runs: npt.NDArray[np.integer[Any]], blocks: npt.NDArray[np.integer[Any]]
    ) -> npt.NDArray[np.bool_]:
        """Return which of some entries are in certified blocks."""
        import numpy as np

        possible = (runs >= 0) & (runs < _END) & (blocks >= 0) & (blocks < _END)
        keys = (runs.astype(np.uint64) << np.uint64(_BITS)) | (blocks.astype(np.uint64) % np.uint64(_END))
        index = np.searchsorted(self._first, keys, side="right")
        is_there = possible & (index > 0)
        found: npt.NDArray[np.bool_] = is_there.copy()
        found[is_there] = keys[is_there] <= self._last[index[is_there] - 1]
        return found


class LumiFilter:
    """A mask as a filter on two columns of a tree."""

    def __init__(self, mask: LumiMask, columns: Sequence[str]) -> None:
        """``columns``: the paths of run and block."""
        self.text = f"lumi mask {mask.name}"
        self.columns = list(columns)
        self._mask = mask

    def mask(self, batch: pa.RecordBatch, entry_of: Callable[[Any], Any]) -> npt.NDArray[np.bool_]:
        """Return which rows of a batch are in certified blocks."""
        del entry_of  # every value can be looked up
        runs, blocks = (integers(batch.column(name), name, "lumi_mask") for name in self.columns)
        return self._mask.is_good(runs, blocks)


def _checked(run: object, blocks: object, where: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a run. Raises: InvalidRequestError."""
    text = str(run)
    # Longer texts are no numbers of 32 bits, and take long to convert.
    if not (text.isascii() and text.isdecimal() and len(text) <= 10 and int(text) < _END):
        raise InvalidRequestError(f"{where}: {shown(run)} is not the number of a run")
    if not isinstance(blocks, list | tuple):
        raise InvalidRequestError(
            f"{where}: run {text}: expected ranges of blocks as [[1, 1279]], got {shown(blocks)}"
        )
    for one in blocks:
        ends = tuple(one) if isinstance(one, list | tuple) else ()
        if len(ends) != 2 or any(type(end) is not int for end in ends) or not 0 <= ends[0] <= ends[1] < _END:
            raise InvalidRequestError(
                f"{where}: run {text}: expected a range of blocks as [1, 1279], got {shown(one)}"
            )
        yield (int(text) << _BITS) | ends[0], (int(text) << _BITS) | ends[1]


def _read(path: str) -> Mapping[str, Any]:
    """Return what is in a JSON file."""
    try:
        with Path(path).open("rb") as file:
            text = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        raise NoSuchFileError(f"{path}: lumi_mask: there is no such file") from None
    except OSError as error:
        raise StorageError(f"{path}: lumi_mask: {error.strerror}") from error
    if len(text) > _MAX_BYTES:
        raise InvalidRequestError(f"{path}: lumi_mask: too long for a list of runs")
    try:
        found = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError, InvalidRequestError) as error:
        raise InvalidRequestError(f"{path}: lumi_mask: no JSON as CMS has it: {error}") from None
    if not isinstance(found, dict):
        raise InvalidRequestError(f"{path}: lumi_mask: expected runs with their blocks, got {shown(found)}")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InvalidRequestError("a run is there twice")
    return found
