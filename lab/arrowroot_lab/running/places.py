"""The storages of a run: each opened once, at its first use, and measured before and after."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from arrowroot_lab.errors import LabError, MissingError, as_lab_errors
from arrowroot_lab.quantities import size_text
from arrowroot_lab.storages import opened

if TYPE_CHECKING:
    from typing_extensions import Self

    from arrowroot_lab.pushing.push import Show
    from arrowroot_lab.storages import Place

    from .events import Tell
    from .subject import Subject


class Places:
    """Opened storages, with the files of a dataset in each; all are closed with the ``with`` block."""

    def __init__(self, tell: Tell) -> None:
        """tell: takes how far files are that are put somewhere."""
        self._tell = tell
        self._stack = ExitStack()
        self._places: dict[tuple[str, str], Place | LabError] = {}
        self._before: dict[tuple[str, str], dict[str, float]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def open(self, subject: Subject) -> None:
        """Give a case its place, and note the place's versions and line.

        Raises: MissingError if a program is missing; LabError if a server does not start. Neither is tried twice.
        """
        key = _key(subject)
        if key not in self._places:
            try:
                with as_lab_errors():
                    self._places[key] = place = self._stack.enter_context(
                        opened(
                            subject.case.storage, subject.found.files, self._show(subject.case.storage.name)
                        )
                    )
                    self._before[key] = place.line_figures()
            except LabError as error:
                self._places[key] = error
        found = self._places[key]
        if isinstance(found, LabError):
            raise MissingError(str(found)) if isinstance(found, MissingError) else LabError(str(found))
        subject.place = found
        subject.result.versions.update(found.versions)
        subject.result.line.update(_named(self._before[key], "before"))

    def forget(self, subject: Subject) -> None:
        """Open the place of a case anew the next time: it could not be."""
        self._places.pop(_key(subject), None)

    def _show(self, storage: str) -> Show:
        return lambda name, n_bytes, of_bytes: self._tell(
            "dataset", storage, f"{name}: {size_text(n_bytes)} of {size_text(of_bytes)} are there"
        )

    def line_of(self, subject: Subject) -> dict[str, float]:
        """The figures of a case's line, as they were before."""
        return self._before.get(_key(subject), {})

    def measure_after(self, subject: Subject) -> None:
        """Note the line of a case's place as it is now. Raises: LabError."""
        if subject.place:
            with as_lab_errors():
                subject.result.line.update(_named(subject.place.line_figures(), "after"))


def _key(subject: Subject) -> tuple[str, str]:
    return subject.case.storage.name, subject.case.dataset.name


def _named(figures: dict[str, float], when: str) -> dict[str, float]:
    """``latency_before_ns``, ``bytes_per_s_before``: as the documents have them."""
    names = {"latency_ns": f"latency_{when}_ns", "bytes_per_s": f"bytes_per_s_{when}"}
    return {names.get(name, name): value for name, value in figures.items()}
