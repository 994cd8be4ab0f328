"""Axes as boost-histogram and hist have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot._objects.axis import GROWING, TRUTH_LABELS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    import numpy.typing as npt

    from arrowroot._objects.axis import Axis


def boost_axis(
    axis: Axis, filled: npt.NDArray[np.intp], kinds: Any, names: Mapping[str, str]
) -> tuple[Any, npt.NDArray[np.intp]]:
    """Return an axis of boost-histogram or hist, and the bins of ours that it has, in its order: 0 is the underflow.

    filled: the bins that hold anything: an axis without one of them is not made. kinds: the module with the classes of
        axes. names: name and label, where the classes take them.
    """
    import numpy as np

    *better, plain = _candidates(axis, kinds, names)
    for made in better:
        below, above = int(made.traits.underflow), int(made.traits.overflow)
        indices = np.concatenate(
            [np.arange(1 - below, len(made) + 1), np.full(above, axis.n_bins + 1)], dtype=np.intp
        )
        if np.isin(filled, indices).all():
            return made, indices
    return plain, np.arange(axis.n_bins + 2)


def _candidates(axis: Axis, kinds: Any, names: Mapping[str, str]) -> Iterator[Any]:
    """Yield axes, the one that tells most first; the last has all bins."""
    if (categories := axis.categories) is not None:
        yield from _of_categories(axis, categories, kinds, names)
    for options in ({"growth": True}, {}) if axis.can_extend else ({},):
        if not axis.is_regular:
            yield kinds.Variable(axis.edges(), **options, **names)
            continue
        if axis.is_integer and axis.low.is_integer() and axis.high - axis.low == axis.n_bins:
            yield kinds.Integer(int(axis.low), int(axis.high), **options, **names)
        yield kinds.Regular(axis.n_bins, axis.low, axis.high, **options, **names)


def _of_categories(axis: Axis, labels: list[str], kinds: Any, names: Mapping[str, str]) -> Iterator[Any]:
    kind, categories = kinds.StrCategory, list[Any](labels)
    if axis.is_integer and labels == TRUTH_LABELS:
        yield kinds.Boolean(**names)
    elif axis.is_integer and all(label.removeprefix("-").isdecimal() for label in labels):
        kind, categories = kinds.IntCategory, [int(label) for label in labels]
    if axis.record.integer_of("fUniqueID") == GROWING:
        yield kind(categories, growth=True, **names)
    yield kind(categories, **names)
