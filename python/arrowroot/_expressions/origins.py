"""Where entries come from, as values of expressions."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from arrowroot._expressions.lists import Items

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

    from arrowroot._select.origins import Origins


class OriginOf:
    """The values of names of origin: trees are opened once there are entries."""

    def __init__(self, origins: Callable[[], Origins]) -> None:
        self._make = origins

    @cached_property
    def _origins(self) -> Origins:
        return self._make()

    def __call__(self, name: Any, entries: npt.NDArray[np.int64]) -> Items:
        """Return the values of a name for the numbers of entries."""
        if not len(entries):
            return Items(entries if name == "entry" else pa.array([], pa.string()))
        trees = self._origins.numbers_of(entries)
        if name == "entry":
            return Items(self._origins.entries_in(entries, trees))
        texts, codes = self._origins.texts(name)
        return Items(pc.take(pa.array(texts, pa.string()), pa.array(codes[trees])))
