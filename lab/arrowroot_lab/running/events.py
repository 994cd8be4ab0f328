"""Events that a run tells while it goes on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .subject import Subject


class RunProgress(NamedTuple):
    """How far a run is."""

    #: Samples.
    n_taken: int
    n_left: int
    #: None before there is a sample to tell it from.
    left_s: float | None


class Tell(Protocol):
    """Takes what happens: a kind of event, what it is about, and a sentence."""

    def __call__(self, kind: str, about: str, text: str, /) -> None:
        """Kinds: dataset, waiting, rehearsal, sample, disturbed, retry, case, predicted, gap, left."""


@dataclass
class Progress:
    """How many samples are taken and left, and how long those take."""

    #: Kind, about, text, and how far the run is.
    show: Callable[[str, str, str, RunProgress], None]
    subjects: list[Subject] = field(default_factory=list)

    def begin(self, subjects: list[Subject]) -> None:
        """Say which cases are to be measured."""
        self.subjects = subjects

    def __call__(self, kind: str, about: str, text: str) -> None:
        """Tell an event, with the progress."""
        taken = _n_taken(self.subjects)
        left = sum(_n_left(one) for one in self.subjects)
        self.show(kind, about, text, RunProgress(taken, left, self.left_s()))

    def left_s(self) -> float | None:
        """The time that the samples left will take, as those of the same cases took; None before there are any."""
        every = [ns for one in self.subjects for ns in one.took_ns]
        if not every:
            return None
        of_all = sum(every) / len(every)
        times = (sum(one.took_ns) / len(one.took_ns) if one.took_ns else of_all for one in self.subjects)
        return sum(_n_left(one) * ns for one, ns in zip(self.subjects, times, strict=True)) / 1e9


def _n_left(subject: Subject) -> int:
    return 0 if subject.is_over else max(0, subject.n_wanted - subject.n_counted)


def _n_taken(subjects: Iterable[Subject]) -> int:
    return sum(len(one.result.samples) for one in subjects)
