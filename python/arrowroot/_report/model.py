"""The cost model: so much for each read, and so much for each byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from arrowroot._errors import InvalidRequestError, nearest
from arrowroot._report.fjr import is_protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arrowroot._report.fjr import Counter, Report

#: ROOT's file: what it counts, the storage below it has counted already, if it counts.
_ABOVE_STORAGE = "tstoragefile"
_READS = ("read", "readv")
#: In reports of before 2012, and as metrics since then.
_ACTUAL = tuple(
    f"{_ABOVE_STORAGE}/{name}" for name in ("read-actual", "readv-actual", "readActual", "readvActual")
)


class Figure(NamedTuple):
    """A sum for the model, and the counters that it comes from."""

    value: float
    sources: list[str]


class Prediction(NamedTuple):
    """How long the reads take. The two parts add up: no read overlaps with another."""

    reads: Figure
    #: Megabytes as the job report counts them.
    megabytes: Figure
    latency_s: float
    megabytes_per_s: float

    @property
    def waiting_s(self) -> float:
        """Time of the reads whatever their size."""
        return self.reads.value * self.latency_s

    @property
    def transfer_s(self) -> float:
        """Time of the bytes."""
        return self.megabytes.value / self.megabytes_per_s

    @property
    def predicted_s(self) -> float:
        """Both together."""
        return self.waiting_s + self.transfer_s


def physical_counters(report: Report) -> list[Counter]:
    """Return the counters of what was actually asked of the storage.

    Those are ``read`` and ``readv`` of the subsystems that are protocols; where none was counted, what ROOT's
    file passed on (``read-actual`` and ``readv-actual``, in reports since 2012 ``readActual`` and ``readvActual``),
    and else all that it read.
    """
    of_storage = [
        counter for counter in report.counters if counter.name in _READS and is_protocol(counter.subsystem)
    ]
    if any(counter.n_operations for counter in of_storage):
        return [counter for counter in of_storage if counter.n_operations]
    for names in (_ACTUAL, (f"{_ABOVE_STORAGE}/read",)):
        found = [counter for counter in report.counters if counter.path in names and counter.n_operations]
        if found:
            return found
    raise InvalidRequestError("the report counts no reads; say which counter with --reads and --megabytes")


def predict(
    report: Report,
    latency_s: float,
    megabytes_per_s: float,
    *,
    reads: Sequence[str] = (),
    megabytes: Sequence[str] = (),
) -> Prediction:
    """Return the time that a job's reads would take.

    reads, megabytes: counters ("rfio/read") whose operations or megabytes are summed, or numbers; if not
        given, those of :func:`physical_counters`.

    Raises: InvalidRequestError for a counter that is not in the report, with the nearest names.
    """
    physical = [] if reads and megabytes else physical_counters(report)
    return Prediction(
        _figure(report, reads, physical, "n_operations"),
        _figure(report, megabytes, physical, "megabytes"),
        latency_s,
        megabytes_per_s,
    )


def _figure(report: Report, chosen: Sequence[str], physical: Sequence[Counter], field: str) -> Figure:
    total = 0.0
    sources = []
    for text in chosen or [counter.path for counter in physical]:
        counter = report.find(text)
        if counter is not None:
            total += getattr(counter, field)
            sources.append(text)
            continue
        try:
            number = float(text)
        except ValueError:
            paths = [counter.path for counter in report.counters]
            close = nearest(text, paths)
            hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(paths)}"
            raise InvalidRequestError(f"no counter {text!r} in the report; {hint}") from None
        if not 0 <= number < 1e18:
            raise InvalidRequestError(f"{text!r}: expected a number from 0 on")
        total += number
        sources.append("given")
    return Figure(total, sources)
