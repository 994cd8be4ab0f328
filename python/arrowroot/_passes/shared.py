"""An iterator for several threads."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator

    from typing_extensions import Self

T = TypeVar("T")


class Shared(Generic[T]):
    """An iterator that threads share: each item goes to one of them, and the others wait meanwhile.

    A generator alone raises an error while another thread has it make an item.
    """

    def __init__(self, generator: Generator[T, None, None]) -> None:
        self._generator = generator
        # The thread that has it may come back, by a signal's handler say, and gets the generator's own error.
        self._lock = threading.RLock()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        with self._lock:
            return next(self._generator)

    def close(self) -> None:
        """End the generator, once no thread waits for its next item."""
        with self._lock:
            self._generator.close()
