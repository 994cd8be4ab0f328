"""A histogram to be filled: its axes, and the expressions of its values, weights and variations."""

from __future__ import annotations

import itertools
from numbers import Integral
from typing import TYPE_CHECKING, Any

from arrowroot._arguments import takes
from arrowroot._errors import FilterError, InvalidRequestError, missing_library
from arrowroot._expressions.tokens import Cutter
from arrowroot._objects.profile import fill_means
from arrowroot._options import as_expression, named
from arrowroot._render import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

NOMINAL = "nominal"
_COORDINATES = ("x", "y", "z")
_FORM = 'expressions by what they change, {"weight": "1.1*w"}'
#: Sums that make means and their errors: of w, w*y, w*y*y.
N_SUMS = 3


class Hist:
    """A histogram to be filled by ``Scan.hist``.

    axes: one for each of ``x``, ``y`` and ``z`` that is given: (n, low, high), a list of edges, or an axis of ``hist``
        or ``boost_histogram``.
    x, y, z: expressions, as among the columns of :meth:`Tree.scan`. Of lists every item is filled; a value of the entry
        meets each. What is null is not filled. That of a ``StrCategory`` is a text, any other a number.
        One that grows gets 1,000,000 texts at most, its histogram 100,000,000 bins.
    mean: an expression, whose mean in each bin is wanted: a profile, with the storage ``Mean`` or ``WeightedMean``. A
        ``TProfile``, when it is written, has ROOT's errors; ``variances()`` divide by n - 1 where ROOT divides by n.
    weight: an expression; errors are the roots of sums of squares then.
    where: a condition of the entries, or of the items of a list, that are filled; it varies as the others do.
    cut: the name of one of the cuts: entries that pass it and all before it are filled. None: all entries.
    variations: other expressions by the names of variations: ``{"up": {"weight": "1.1*w"}, "jes": {"x": "1.02*pt"}}``;
        the histogram gets an axis "variation" in front, whose first bin is "nominal".

        >>> ar.Hist((20, 0, 100), x="Muon_pt", weight="0.5*MET_pt")
        Hist((20, 0, 100), x='Muon_pt', weight='0.5*MET_pt')
    """

    @takes()
    def __init__(
        self,
        *axes: Any,
        x: str,
        y: str | None = None,
        z: str | None = None,
        mean: str | None = None,
        weight: str | None = None,
        where: str | None = None,
        cut: str | None = None,
        variations: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        """Raises: InvalidRequestError if there are not as many axes as expressions, and for unknown variations."""
        given: dict[str, object] = {"x": x, "y": y, "z": z, "mean": mean, "weight": weight, "where": where}
        for name, one in [*given.items(), ("cut", cut)]:
            if not isinstance(one, str | None):
                example = as_expression(one) or "2*x"
                line = 'cut="two", one of cuts=' if name == "cut" else f'{name}="{example}"'
                raise InvalidRequestError(
                    f"Hist: {name}: expected an expression in text, got {shown(one)}: write {line}"
                )
        self.axes = axes
        self.expressions = {name: text for name, text in given.items() if isinstance(text, str)}
        self.cut = cut
        self.variations: dict[str, dict[str, Any]] = {
            name: named(changed, f"Hist: variations: {name}", _FORM)
            for name, changed in named(variations, "Hist: variations", f"for each name {_FORM}").items()
        }
        if len(axes) != len(self.coordinates):
            raise InvalidRequestError(
                f"Hist: {len(axes)} axes for {', '.join(self.coordinates)}: give one each, as (n, low, high)"
            )
        for name, changed in self.variations.items():
            wrong = [text for text in changed.values() if not isinstance(text, str)]
            if wrong:
                raise InvalidRequestError(
                    f"Hist: variation {name!r}: expected expressions in text, got {shown(wrong[0])}"
                )
            if name == NOMINAL:
                raise InvalidRequestError(
                    f"Hist: {name!r} is what is not varied: give the variation another name"
                )
            unknown = [one for one in changed if one not in self.expressions]
            if unknown:
                line = ': write weight="1" for it' if unknown == ["weight"] else ""
                raise InvalidRequestError(
                    f"Hist: variation {name!r} changes {shown(unknown[0])}, and the histogram has "
                    f"{', '.join(self.expressions)}{line}"
                )

    @property
    def coordinates(self) -> list[str]:
        """Those of x, y and z that it has."""
        return [name for name in _COORDINATES if name in self.expressions]

    @property
    def is_profile(self) -> bool:
        """True if means are wanted."""
        return "mean" in self.expressions

    @property
    def of_whole_numbers(self) -> dict[str, Any]:
        """The axes with a bin for each whole number, ``Integer``, ``IntCategory`` or ``Boolean``, by coordinate."""
        axes = zip(self.coordinates, self.axes, strict=True)
        return {
            name: axis
            for name, axis in axes
            if hasattr(axis, "traits") and not axis.traits.continuous and name not in self.of_texts
        }

    @property
    def of_texts(self) -> list[str]:
        """The coordinates whose axes have a bin for each text."""
        return [name for name, axis in zip(self.coordinates, self.axes, strict=True) if _is_of_texts(axis)]

    def fills(self) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Yield each variation, the nominal one first, and its expressions."""
        yield NOMINAL, self.expressions
        for name, changed in self.variations.items():
            yield name, {**self.expressions, **changed}

    def made(self, samples: Sequence[str] | None) -> Any:
        """Return the empty histogram. ``samples``: of its axis of that name; None: it has none.

        That of a mean has an axis more at the end, of three sums: ``finished`` makes means of them. Updating a mean, as
        boost-histogram does, divides by sums of weights, which may be 0 on the way.

        Raises: MissingLibraryError without the package hist; InvalidRequestError for axes of one name.
        """
        hist = _library()
        axes = []
        if samples is not None:
            axes.append(hist.axis.StrCategory(list(samples), name="dataset"))
        if self.variations:
            axes.append(hist.axis.StrCategory([name for name, _ in self.fills()], name="variation"))
        axes += [
            _axis(hist, axis, name, self.expressions[name])
            for axis, name in zip(self.axes, self.coordinates, strict=True)
        ]
        if self.is_profile:
            axes.append(hist.axis.Integer(0, N_SUMS, flow=False))
        names = [name for axis in axes if (name := getattr(axis, "name", ""))]
        if repeated := [name for index, name in enumerate(names) if name in names[:index]]:
            raise InvalidRequestError(
                f"two axes are called {repeated[0]!r}: give yours another name, "
                f"hist.axis.Regular(..., name={repeated[0] + '_'!r}); x, y and z are names, too, "
                "by_sample=True gives 'dataset' and variations 'variation'"
            )
        is_weighted = self.is_profile or "weight" in self.expressions
        return hist.Hist(*axes, storage=hist.storage.Weight() if is_weighted else hist.storage.Double())

    def finished(self, filled: Any) -> Any:
        """Return what was made, after it was filled, as it is delivered."""
        if not self.is_profile:
            return filled
        from hist import storage

        is_weighted = "weight" in self.expressions
        means = type(filled)(
            *list(filled.axes)[:-1], storage=storage.WeightedMean() if is_weighted else storage.Mean()
        )
        view = filled.view(flow=True)
        sums = [view["value"][..., number] for number in range(N_SUMS)]
        fill_means(means.view(flow=True), sums, view["variance"][..., 0] if is_weighted else None)
        return means

    def __repr__(self) -> str:
        parts = [repr(axis) for axis in self.axes] + [
            f"{name}={text!r}" for name, text in self.expressions.items()
        ]
        parts += [f"cut={self.cut!r}"] if self.cut is not None else []
        parts += [f"variations={self.variations!r}"] if self.variations else []
        return f"Hist({', '.join(parts)})"


def _library() -> Any:
    try:
        import hist
    except ImportError:
        raise missing_library("hist", "filling histograms") from None
    return hist


def axis_of_texts(texts: Sequence[str]) -> Any:
    """Return an axis with a bin for each text. Raises: MissingLibraryError without the package hist."""
    return _library().axis.StrCategory(list(texts))


def _is_of_texts(axis: Any) -> bool:
    # That of hist derives from that of boost_histogram, and a user who has one has imported it.
    return any(kind.__name__ == "StrCategory" for kind in type(axis).__mro__)


def _axis(hist: Any, given: Any, name: str, label: str) -> Any:
    """Return an axis of hist for what a user gave. Raises: InvalidRequestError."""
    if hasattr(given, "traits"):
        return given
    try:
        if isinstance(given, tuple) and len(given) == 3 and isinstance(given[0], Integral):
            return hist.axis.Regular(int(given[0]), *given[1:], name=name, label=label)
        return hist.axis.Variable([float(edge) for edge in given], name=name, label=label)
    except (TypeError, ValueError) as error:
        raise InvalidRequestError(
            f"Hist: {shown(given)}: {error}: an axis is (n, low, high), a list of edges, or one of hist"
        ) from None


def is_condition(text: str) -> bool:
    """Return whether an expression is a comparison, or several: no axis, but what TTree::Draw takes behind the axes."""
    from arrowroot._expressions import functions, grammar, nodes

    try:
        # A name that is not of the grammar may still be a column's: the signs around it count.
        node = grammar.parse(text, lambda _: False, "draw")
    except FilterError:
        return False
    if isinstance(node, nodes.Binary):
        return node.operator in functions.COMPARISONS
    if isinstance(node, nodes.Unary):
        return node.operator == "!"
    return isinstance(node, nodes.Logic) or (
        isinstance(node, nodes.Call) and node.function in ("any", "all", "isin")
    )


def coordinates(text: str) -> list[str]:
    """Return the expressions of a text as ``TTree::Draw`` takes it: of "y:x" x comes first, as axes do."""
    ends = [-1]
    depth = n_choices = 0
    try:
        for token in Cutter(text, lambda _: False, "draw").tokens():
            if token.kind != "operator":
                continue
            depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
            if token.text == "?":
                n_choices += 1
            elif token.text == ":" and n_choices:
                n_choices -= 1
            elif token.text == ":" and depth == 0:
                ends.append(token.place.start)
    except FilterError:
        return [text]  # an error of the expression, or a name that only those know who have the columns
    parts = [text[low + 1 : high].strip() for low, high in itertools.pairwise([*ends, len(text)])]
    return parts[::-1]
