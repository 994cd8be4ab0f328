"""Histograms of many dimensions as ROOT's THnSparse, which stores the bins that are filled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arrowroot._errors import UnsupportedError
from arrowroot._writing.records import named, record_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from arrowroot._objects.record import Record

    Array = npt.NDArray[np.float64]

#: Bins of a chunk. Source: ``THnSparseT`` (ROOT 6.40).
_CHUNK_BINS = 1024 * 16
#: The sum of squares of weights if no errors are kept. Source: ``THnBase::GetCalculateErrors``.
_NO_ERRORS = -1.0
_MAX_BITS = 64


def sparse_of(
    named_as: tuple[str, str],
    axes: Sequence[tuple[Record, Array]],
    contents: Array,
    squares: Array | None,
    n_entries: float,
) -> Record:
    """Return a THnSparseD.

    named_as: name and title. axes: for each dimension a ``TAxis``, and the centres of its bins.
    contents, squares: sums of weights and of their squares by bin, with those below and above each axis; n_entries: how
        often it was filled.

    Raises: UnsupportedError if the numbers of a bin do not fit into 64 bits together.
    """
    filled = np.nonzero((contents != 0) | (False if squares is None else squares != 0))
    coordinates, n_bytes = _packed(filled, contents.shape)
    values = contents[filled]
    errors = None if squares is None else squares[filled]
    chunks = []
    for start in range(0, len(values), _CHUNK_BINS):
        part = slice(start, start + _CHUNK_BINS)
        packed = coordinates[part].reshape(-1)
        members = _object() | {
            "fSingleCoordinateSize": n_bytes,
            "fCoordinatesSize": len(packed),
            "fCoordinates": packed,
            "fContent": _filled_up(values[part]),
            "fSumw2": None if errors is None else _filled_up(errors[part]),
        }
        chunks.append(record_of("THnSparseArrayChunk", members))
    members = named(*named_as) | {
        "fNdimensions": len(axes),
        "fAxes": _array_of([axis for axis, _ in axes]),
        "fEntries": n_entries,
        **_sums(filled, values, errors, [centres for _, centres in axes]),
        "fChunkSize": _CHUNK_BINS,
        "fFilledBins": len(values),
        "fBinContent": _array_of(chunks),
    }
    return record_of("THnSparseT<TArrayD>", members, ("THnSparse", "THnBase", "TNamed"))


def _packed(
    indices: tuple[npt.NDArray[np.int64], ...], shape: tuple[int, ...]
) -> tuple[npt.NDArray[np.int8], int]:
    """Return the numbers of each bin, packed, shape (n_bins, n_bytes), and n_bytes.

    Source: ``THnSparseCoordCompression`` (ROOT 6.40), which has a bit more than needed where a power of two is.
    """
    total = np.zeros(len(indices[0]), np.uint64)
    shift = 0
    for index, n_bins in zip(indices, shape, strict=True):
        total += index.astype(np.uint64) << np.uint64(shift)
        shift += int(n_bins).bit_length()
        if shift > _MAX_BITS:
            raise UnsupportedError(
                "a histogram of so many dimensions and bins that their numbers take more than 64 bits"
            )
    n_bytes = (shift + 7) // 8
    packed = total.astype("<u8").view(np.int8).reshape(-1, 8)[:, :n_bytes]
    return packed, n_bytes


def _filled_up(values: Array) -> Array:
    """Return the values of a chunk: ROOT, which goes on filling it, expects the whole of it."""
    return np.concatenate([values, np.zeros(_CHUNK_BINS - len(values))])


def _sums(
    indices: tuple[npt.NDArray[np.int64], ...], values: Array, errors: Array | None, centres: Sequence[Array]
) -> dict[str, Any]:
    """Return the sums over all bins, and over those in range of each axis. Source: ``THnBase::Fill`` (ROOT 6.40)."""
    if errors is None:
        return {"fTsumw": 0.0, "fTsumw2": _NO_ERRORS, "fTsumwx": np.zeros(0), "fTsumwx2": np.zeros(0)}
    first, second = [], []
    for index, middle in zip(indices, centres, strict=True):
        x = np.concatenate([[0.0], middle, [0.0]])[index]
        first.append((values * x).sum())
        second.append((values * x**2).sum())
    return {
        "fTsumw": float(values.sum()),
        "fTsumw2": float(errors.sum()),
        "fTsumwx": np.array(first),
        "fTsumwx2": np.array(second),
    }


def _object() -> dict[str, Any]:
    return {"fUniqueID": 0, "fBits": 0}


def _array_of(items: list[Record]) -> Record:
    return record_of("TObjArray", _object() | {"fName": "", "fObjects": items, "fLowerBound": 0})
