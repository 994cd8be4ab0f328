"""Events that a run reports while it goes on, with how far it is."""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from arrowroot_lab.documents import Outcome
from arrowroot_lab.quantities import time_text

from . import estimating
from .predicting import gap

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from arrowroot_lab.documents import Result

    from .subject import Subject

#: Of a case of which nobody can say how long it takes, before any other has taken some time.
_UNKNOWN_NS = 1e9
_FIRST = 4


class RunProgress(NamedTuple):
    """How far a run is."""

    #: From 0 to 1, and never less than before; None before it is known what is to be done.
    share: float | None
    left_s: float | None = None


class Tell(Protocol):
    """Takes what happens: a kind of event, what it is about, and a sentence."""

    def __call__(self, kind: str, about: str, text: str, /) -> None:
        """Steps: waiting (for what is made once), turn, case, failed, left, retry, busy (most samples do not count).

        Within steps: dataset, rehearsal, sample, disturbed, predicted, pause.
        """


@dataclass(frozen=True)
class _Cost:
    """What a case is estimated to take, in ns: all before its samples, one sample with all around it, a prediction."""

    begin_ns: float
    sample_ns: float
    prediction_ns: float
    #: What is before its samples was done by a run that was ended.
    is_resumed: bool


@dataclass
class Progress:
    """Which share of the time of a run is over, and how long the rest takes."""

    #: Kind, about, text, and how far the run is.
    show: Callable[[str, str, str, RunProgress], None]
    _costs: list[tuple[Subject, _Cost]] = field(default_factory=list)
    #: Labels of cases that are measured in any case; of others it is known only when they are.
    _measured: Collection[str] = ()
    #: Labels -> what of them differs from case to case.
    _names: dict[str, str] = field(default_factory=dict)
    _began: float = 0.0
    _share: float | None = None

    def begin(self, subjects: list[Subject], measured: Collection[str]) -> None:
        """Take the cases of a run, and the labels of those that are measured, not only predicted."""
        self._costs, self._measured = [(one, _cost_of(one)) for one in subjects], measured
        self._began, self._share = time.monotonic(), 0.0
        names = [one.case.names() for one in subjects]
        axes = [axis for axis in names[0] if len({one[axis] for one in names}) > 1]
        self._names = {
            one.label: " / ".join(called[axis] for axis in axes) or one.label
            for one, called in zip(subjects, names, strict=True)
        }

    def __call__(self, kind: str, about: str, text: str) -> None:
        """Report an event, with the progress."""
        self.show(kind, self._names.get(about, about), text, self._now())

    def _now(self) -> RunProgress:
        if self._share is None:
            return RunProgress(None)
        left_ns = self._left_ns(1e9 * (time.monotonic() - self._began))
        self._share = 1.0 if left_ns == 0 else max(self._share, self._done())
        # Before the rehearsal is over the rest is an estimate that nothing was held against.
        is_known = all(
            one.is_rehearsed or one.is_over for one, _ in self._costs if one.label in self._measured
        )
        return RunProgress(self._share, left_ns / 1e9 if is_known else None)

    def _done(self) -> float:
        """The share of the work, as it was estimated: it grows with each step, whatever that takes."""
        done = whole = 0.0
        for one, cost in self._costs:
            if one.label not in self._measured and not one.is_rehearsed:
                whole += cost.prediction_ns
                done += cost.prediction_ns if one.is_over or one.result.predictions else 0.0
                continue
            samples_ns = one.n_wanted * cost.sample_ns
            part = max(one.n_counted / one.n_wanted, len(one.result.samples) / one.n_most)
            whole += cost.begin_ns + samples_ns
            done += (cost.begin_ns if one.is_rehearsed or one.is_over else 0.0) + samples_ns * (
                1.0 if one.is_over else part
            )
        return done / whole if whole else 0.0

    def _left_ns(self, elapsed_ns: float) -> float:
        """The time of the rest: as samples of the same case took it, else as estimated, and as wrongly as so far."""
        taken_ns = sum(ns for one, cost in self._costs if cost.sample_ns for ns in one.took_ns)
        begun_ns = sum(cost.begin_ns for one, cost in self._costs if one.is_rehearsed and not cost.is_resumed)
        sampled_ns = sum(cost.sample_ns * len(one.took_ns) for one, cost in self._costs)
        of_begin = (elapsed_ns - taken_ns) / begun_ns if begun_ns else 1.0
        # Before any sample: what is before them has checks by other engines, too, which no estimate knows.
        of_samples = taken_ns / sampled_ns if sampled_ns else math.sqrt(of_begin)
        n_samples = sum(len(one.result.samples) for one, _ in self._costs)
        n_counted = sum(one.n_counted for one, _ in self._costs)
        # So many samples are taken for one that counts; the first ones of a run do not tell it yet.
        tries = (n_samples + _FIRST) / (n_counted + _FIRST)
        left = 0.0
        for one, cost in self._costs:
            if one.is_over or one.is_stored:
                continue
            if one.label not in self._measured and not one.is_rehearsed:
                left += 0.0 if one.result.predictions else cost.prediction_ns * of_begin
                continue
            n_left = min((one.n_wanted - one.n_counted) * tries, one.n_most - len(one.result.samples))
            sample_ns = sum(one.took_ns) / len(one.took_ns) if one.took_ns else cost.sample_ns * of_samples
            left += n_left * sample_ns + (0.0 if one.is_rehearsed else cost.begin_ns * of_begin)
        return left


def ended(result: Result) -> tuple[str, str]:
    """Return how a case has ended: the kind of its event, and the sentence."""
    if result.outcome is not Outcome.OK:
        kind = "failed" if result.outcome in (Outcome.FAILED, Outcome.TIMED_OUT) else "case"
        return kind, f"{result.outcome.value}: {result.reason or 'no reason given'}"
    walls = [sample.wall_ns for sample in result.counted() if sample.wall_ns is not None]
    if not walls:
        return "case", f"no time: {result.reason}"
    measured = statistics.median(walls)
    told = [time_text(measured)]
    told += [
        f"not the {time_text(one['wall_ns'])} of {one['by']}"
        for one in result.predictions
        if gap(one, measured) is not None
    ]
    told += [result.reason] if result.reason else []
    return "case", "; ".join(told)


def _cost_of(subject: Subject) -> _Cost:
    case, found = subject.case, subject.found
    sample_ns = estimating.sample_ns(case, found)
    if sample_ns is None:
        sample_ns = _UNKNOWN_NS
    begin_ns = estimating.case_ns(case, found, 0, sample_ns)
    return _Cost(
        begin_ns,
        estimating.case_ns(case, found, 1, sample_ns) - begin_ns,
        estimating.prediction_ns(case, found) or 0.0,
        subject.is_rehearsed,
    )
