"""What a run tells while it goes on."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .subject import Subject


class State(NamedTuple):
    """How far a run is."""

    #: Samples.
    n_taken: int
    n_left: int
    #: None before there is a sample to tell it from.
    left_s: float | None


class Tell(Protocol):
    """Takes what happens: a kind of event, what it is about, and a sentence."""

    def __call__(self, kind: str, about: str, text: str) -> None:
        """Kinds: dataset, waiting, rehearsal, sample, disturbed, retry, case, predicted, gap, left."""


@dataclass
class Progress:
    """How many samples are taken and left, and how long those take."""

    #: Kind, about, text, and how far the run is.
    show: Callable[[str, str, str, State], None]
    subjects: list[Subject] = field(default_factory=list)
    _started: float = field(default_factory=time.monotonic)
    _n_before: int = 0

    def begin(self, subjects: list[Subject]) -> None:
        """Say which cases are to be measured; samples that they have already took no time of this run."""
        self.subjects, self._started = subjects, time.monotonic()
        self._n_before = _n_taken(subjects)

    def __call__(self, kind: str, about: str, text: str) -> None:
        """Tell an event, with the progress."""
        taken = _n_taken(self.subjects)
        left = sum(max(0, one.n_wanted - one.n_counted) for one in self.subjects if not one.is_over)
        self.show(kind, about, text, State(taken, left, self.left_s()))

    def left_s(self) -> float | None:
        """The time that the samples left will take, as those of the same cases took; None before there are any."""
        n = _n_taken(self.subjects) - self._n_before
        if n <= 0:
            return None
        of_all = (time.monotonic() - self._started) / n
        return sum(
            max(0, one.n_wanted - one.n_counted)
            * (sum(one.took_ns) / len(one.took_ns) / 1e9 if one.took_ns else of_all)
            for one in self.subjects
            if not one.is_over
        )


def _n_taken(subjects: Iterable[Subject]) -> int:
    return sum(len(one.result.samples) for one in subjects)
