"""Where entries come from: their sample, file, tree and number there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from arrowroot._errors import InvalidRequestError
from arrowroot._render import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from arrowroot._select.events import Member as TreeInARow

#: The names that there are.
Origin: TypeAlias = Literal["sample", "file", "tree", "entry"]
NAMES: tuple[Origin, ...] = ("sample", "file", "tree", "entry")
SAMPLE: Origin = "sample"
ENTRY: Origin = "entry"


class OfRow(NamedTuple):
    """Notes of a tree that is read alone on the row of files that it is a part of.

    sample: "" for none. has_samples: the files are of samples. origins: names that say where entries come from in the
    whole row, whatever columns this tree has; None: those that no column here has.
    """

    sample: str = ""
    has_samples: bool = False
    origins: frozenset[str] | None = None


def chosen(given: Any) -> tuple[Origin, ...]:
    """Return the names of the columns of origin that a user wants. Raises: InvalidRequestError."""
    if given is None:
        return ()
    is_several = isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping)
    names: list[Any] = list(given) if is_several else [given]
    wrong = [name for name in names if not isinstance(name, str) or name not in NAMES]
    if wrong or len(set(names)) < len(names):
        raise InvalidRequestError(
            f"origin: expected some of {', '.join(map(repr, NAMES))}, each once, got {shown(given)}"
        )
    return tuple(names)


class Origins:
    """The trees in a row, and which of them entries are of."""

    def __init__(self, members: Sequence[TreeInARow], samples: Sequence[str]) -> None:
        """``samples``: of each member, "" for none."""
        import numpy as np

        self._members = members
        self._samples = samples
        self._starts = np.array([member.first_entry for member in members], dtype=np.int64)
        self._texts: dict[str, tuple[list[str], npt.NDArray[np.int32]]] = {}

    def numbers_of(self, entries: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the numbers of the trees that have entries."""
        import numpy as np

        # An empty file begins where the next one does; the last of these has the entry.
        return np.searchsorted(self._starts, entries, side="right") - 1

    def entries_in(
        self, entries: npt.NDArray[np.int64], trees: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return the numbers of entries in their trees."""
        return entries - self._starts[trees]

    def texts(self, name: Origin) -> tuple[list[str], npt.NDArray[np.int32]]:
        """Return the texts that all trees have, each once, and which of them each has."""
        import numpy as np

        if name not in self._texts:
            texts = self._samples if name == SAMPLE else [_text_of(name, member) for member in self._members]
            numbers: dict[str, int] = {}
            codes = [numbers.setdefault(text, len(numbers)) for text in texts]
            self._texts[name] = list(numbers), np.array(codes, dtype=np.int32)
        return self._texts[name]


def _text_of(name: Origin, member: TreeInARow) -> str:
    return member.url if name == "file" else member.path
