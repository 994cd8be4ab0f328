"""A histogram to be filled: its axes, and the expressions of its values, weights and variations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot._errors import InvalidRequestError, missing_library
from arrowroot._render import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

NOMINAL = "nominal"
_COORDINATES = ("x", "y", "z")


class Hist:
    """A histogram to be filled by ``Scan.hist``.

    axes: one for each of ``x``, ``y`` and ``z`` that is given: (n, low, high), a list of edges, or an axis of ``hist``
        or ``boost_histogram``.
    x, y, z: expressions, as among the columns of :meth:`Tree.scan`. Of lists every item is filled; a value of the entry
        meets each. What is null is not filled.
    weight: an expression; errors are the roots of sums of squares then.
    cut: the name of one of the cuts: entries that pass it and all before it are filled. None: all entries.
    variations: other expressions by the names of variations: ``{"up": {"weight": "1.1*w"}, "jes": {"x": "1.02*pt"}}``;
        the histogram gets an axis "variation" in front, whose first bin is "nominal".

        >>> ar.Hist((20, 0, 100), x="Muon_pt", weight="0.5*MET_pt")
        Hist((20, 0, 100), x='Muon_pt', weight='0.5*MET_pt')
    """

    def __init__(
        self,
        *axes: Any,
        x: str,
        y: str | None = None,
        z: str | None = None,
        weight: str | None = None,
        cut: str | None = None,
        variations: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        """Raises: InvalidRequestError if there are not as many axes as expressions, and for unknown variations."""
        given: dict[str, object] = {"x": x, "y": y, "z": z, "weight": weight}
        wrong = [one for one in given.values() if not isinstance(one, str | None)]
        if wrong:
            raise InvalidRequestError(f"Hist: expected an expression in text, got {shown(wrong[0])}")
        self.axes = axes
        self.expressions = {name: text for name, text in given.items() if isinstance(text, str)}
        self.cut = cut
        self.variations = dict(variations or {})
        if len(axes) != len(self.coordinates):
            raise InvalidRequestError(
                f"Hist: {len(axes)} axes for {', '.join(self.coordinates)}: give one each, as (n, low, high)"
            )
        for name, changed in self.variations.items():
            unknown = [one for one in changed if one not in self.expressions]
            if unknown or name == NOMINAL:
                raise InvalidRequestError(
                    f"Hist: variation {name!r} is of {unknown or 'nothing'}, which it is not of"
                )

    @property
    def coordinates(self) -> list[str]:
        """Those of x, y and z that it has."""
        return [name for name in _COORDINATES if name in self.expressions]

    def fills(self) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Yield each variation, the nominal one first, and its expressions."""
        yield NOMINAL, self.expressions
        for name, changed in self.variations.items():
            yield name, {**self.expressions, **changed}

    def made(self, samples: Sequence[str] | None) -> Any:
        """Return the empty histogram. ``samples``: of its axis of that name; None: it has none.

        Raises: MissingLibraryError without the package hist.
        """
        try:
            import hist
        except ImportError:
            raise missing_library("hist", "filling histograms") from None
        axes = []
        if samples is not None:
            axes.append(hist.axis.StrCategory(list(samples), name="dataset"))
        if self.variations:
            axes.append(hist.axis.StrCategory([name for name, _ in self.fills()], name="variation"))
        axes += [
            _axis(hist, axis, name, self.expressions[name])
            for axis, name in zip(self.axes, self.coordinates, strict=True)
        ]
        storage = hist.storage.Weight() if "weight" in self.expressions else hist.storage.Double()
        return hist.Hist(*axes, storage=storage)

    def __repr__(self) -> str:
        parts = [repr(axis) for axis in self.axes] + [
            f"{name}={text!r}" for name, text in self.expressions.items()
        ]
        parts += [f"cut={self.cut!r}"] if self.cut is not None else []
        parts += [f"variations={self.variations!r}"] if self.variations else []
        return f"Hist({', '.join(parts)})"


def _axis(hist: Any, given: Any, name: str, label: str) -> Any:
    """Return an axis of hist for what a user gave. Raises: InvalidRequestError."""
    if hasattr(given, "traits"):
        return given
    try:
        if isinstance(given, tuple) and len(given) == 3 and isinstance(given[0], int):
            return hist.axis.Regular(*given, name=name, label=label)
        return hist.axis.Variable([float(edge) for edge in given], name=name, label=label)
    except (TypeError, ValueError) as error:
        raise InvalidRequestError(
            f"Hist: {shown(given)}: {error}: an axis is (n, low, high), a list of edges, or one of hist"
        ) from None
