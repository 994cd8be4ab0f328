"""Graphs: TGraph, TGraph2D and those with errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot._errors import CorruptFileError, InvalidRequestError
from arrowroot._objects.record import Record
from arrowroot._objects.simple import Named
from arrowroot._sizes import counted

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: Members with the errors below and above, of each class of graph that has them.
_BELOW = {"x": ("fEXlow", "fExL", "fEX"), "y": ("fEYlow", "fEY"), "z": ("fEZlow", "fEZ")}
_ABOVE = {"x": ("fEXhigh", "fExH", "fEX"), "y": ("fEYhigh", "fEY"), "z": ("fEZhigh", "fEZ")}


class Graph(Named):
    """Points in two or three dimensions, with or without errors.

    >>> graph = objects["graph"]
    >>> graph.num_points, graph.x, graph.y
    (3, array([1., 2., 3.]), array([2., 4., 8.]))
    """

    @property
    def num_points(self) -> int:
        """Number of points."""
        return max(0, self.integer_of("fNpoints"))

    def _coordinates(self, name: str) -> npt.NDArray[np.float64]:
        """Return one number for each point."""
        array = self.array_of(name)
        if len(array) < self.num_points:
            raise CorruptFileError(
                f"{self.class_name} {self.name!r}: {name} has {len(array)} values for "
                f"{self.num_points} points"
            )
        copied: npt.NDArray[np.float64] = array[: self.num_points].copy()
        return copied

    @property
    def x(self) -> npt.NDArray[np.float64]:
        """Coordinates in x, shape (n_points,)."""
        return self._coordinates("fX")

    @property
    def y(self) -> npt.NDArray[np.float64]:
        """Coordinates in y, shape (n_points,)."""
        return self._coordinates("fY")

    @property
    def z(self) -> npt.NDArray[np.float64]:
        """Coordinates in z of a ``TGraph2D``, shape (n_points,)."""
        return self._coordinates("fZ")

    @property
    def n_dimensions(self) -> int:
        """2, or 3 for a ``TGraph2D``."""
        return 3 if "fZ" in self._as_root else 2

    @property
    def functions(self) -> list[Any]:
        """Objects attached to it, such as fitted functions."""
        found = self._root_member("fFunctions")
        return list(found) if isinstance(found, Record) else []

    def errors(self, axis: str = "y") -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None:
        """Return the errors below and above of a coordinate, each of shape (n_points,); None if there are none.

        axis: "x", "y" or "z". Errors of both sides are the same where one is stored for both. Of a
        ``TGraphMultiErrors`` these are its first errors; the others are in members fEyL and fEyH.

            >>> objects["graph"].errors()
            (array([0.5, 0.5, 1. ]), array([0.5, 0.5, 1. ]))
        """
        if axis not in _BELOW:
            raise InvalidRequestError(f"axis={axis!r}: expected 'x', 'y' or 'z'")
        if axis == "y" and "fEyL" in self._as_root:
            sides = [self._as_root[name] for name in ("fEyL", "fEyH")]
            if not all(isinstance(side, list) and side for side in sides):
                return None
            below, above = (side[0][: self.num_points] for side in sides)
            return below.copy(), above.copy()
        low = next((name for name in _BELOW[axis] if name in self._as_root), None)
        high = next((name for name in _ABOVE[axis] if name in self._as_root), None)
        return (self._coordinates(low), self._coordinates(high)) if low and high else None

    def to_numpy(self) -> tuple[npt.NDArray[np.float64], ...]:
        """Return (x, y), or (x, y, z) of a ``TGraph2D``.

        >>> objects["graph"].to_numpy()
        (array([1., 2., 3.]), array([2., 4., 8.]))
        """
        return (self.x, self.y, self.z) if self.n_dimensions == 3 else (self.x, self.y)

    def summary(self) -> str:
        """Return the number of points, and whether they have errors."""
        points = counted(self.num_points, "point")
        errors = [axis for axis in "xyz"[: self.n_dimensions] if self.errors(axis) is not None]
        return points + (f", errors in {' and '.join(errors)}" if errors else "")

    def _repr_html_(self) -> str:
        from arrowroot._objects.histogram import with_picture
        from arrowroot._objects.picture import of_graph

        return with_picture(self, of_graph(self))

    def __repr__(self) -> str:
        return self._repr_with_own()
