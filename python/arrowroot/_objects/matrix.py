"""Vectors and matrices of numbers: TVectorT, TMatrixT and TMatrixTSym."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot._errors import CorruptFileError
from arrowroot._objects.record import Record
from arrowroot._sizes import counted

if TYPE_CHECKING:
    import numpy.typing as npt


class Matrix(Record):
    """A vector or a matrix; ``to_numpy()`` gives its elements.

    >>> matrix = objects["matrix"]
    >>> matrix.shape, matrix.to_numpy()
    ((2, 2), array([[1., 2.],
           [3., 4.]]))
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns, or the length of a vector."""
        if self._is_of("TVectorT<"):
            return (self.integer_of("fNrows"),)
        return self.integer_of("fNrows"), self.integer_of("fNcols")

    def _is_of(self, template: str) -> bool:
        return any(name.startswith(template) for name in (self.class_name, *self.bases))

    def to_numpy(self) -> npt.NDArray[Any]:
        """Return the elements, of shape ``shape``. A symmetric matrix, which is half stored, is returned whole."""
        import numpy as np

        stored = self.array_of("fElements")
        shape = self.shape
        is_symmetric = self._is_of("TMatrixTSym<")
        n_stored = shape[0] * (shape[0] + 1) // 2 if is_symmetric else int(np.prod(shape))
        if min(shape) < 0 or len(stored) != n_stored or (is_symmetric and shape[0] != shape[1]):
            raise CorruptFileError(f"{self.class_name} of shape {shape} with {len(stored)} elements")
        if not is_symmetric:
            return stored.reshape(shape)
        full = np.zeros(shape, stored.dtype)
        rows, columns = np.triu_indices(shape[0])
        full[rows, columns] = full[columns, rows] = stored
        return full

    def summary(self) -> str:
        """Return rows and columns, or the length."""
        return " x ".join(map(str, self.shape)) if len(self.shape) > 1 else counted(self.shape[0], "element")
