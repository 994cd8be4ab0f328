"""Values of properties that answer where they are called: they are methods in other libraries."""

from __future__ import annotations

from typing import NoReturn

from arrowroot._errors import WrongTypeError


def refuse_call(name: str, what: str) -> NoReturn:
    """Raise WrongTypeError for a property that was called. ``what``: it is."""
    raise WrongTypeError(f"{name} is {what}, no method: write it without ()")


class NumEntries(int):
    """A number of entries. It is an ``int`` wherever it goes, also out of a pickle."""

    __slots__ = ()

    def __call__(self) -> NoReturn:
        refuse_call("num_entries", "a number")

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)
