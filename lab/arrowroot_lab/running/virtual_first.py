"""The mode "virtual first": all cells are predicted; only corners, and what lies beside surprises, are measured."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from arrowroot_lab.campaign.matrix import corners
from arrowroot_lab.documents import Outcome
from arrowroot_lab.quantities import time_text

from .predicting import SCHEMES, gap, local_trace, predict

if TYPE_CHECKING:
    from collections.abc import Collection

    from arrowroot_lab.campaign.model import Case

    from .session import Session
    from .subject import Subject


def at_corners(chosen: list[Case]) -> set[str]:
    """Return the labels of the corners of cases."""
    return {case.label() for case, is_corner in zip(chosen, corners(chosen), strict=True) if is_corner}


def measure(session: Session, subjects: list[Subject], at_ends: Collection[str]) -> None:
    """Predict all; measure the corners; then what shares engine and storage with a surprise, until there is none.

    What cannot be predicted is measured. The others end as skipped, with their predictions. ``at_ends``: labels of the
    corners.
    """
    for subject in subjects:
        session.guarded(subject, lambda one: _predict(session, one))
    to_do = [
        one for one in subjects if not one.is_over and (one.label in at_ends or not one.result.predictions)
    ]
    while to_do:
        session.in_turns(to_do)
        surprising = {_neighbourhood(one) for one in to_do if _is_surprise(one)}
        to_do = [one for one in subjects if not one.is_over and _neighbourhood(one) in surprising]
    for subject in subjects:
        if subject.is_stored or subject.is_over:
            continue
        subject.end(
            Outcome.SKIPPED, "predicted only: it is no corner, and no measurement beside it was a surprise"
        )
        session.keep_unless_known(subject)


def _predict(session: Session, subject: Subject) -> None:
    """Predict a case without its storage, where the campaign says what its line is."""
    storage = subject.case.storage
    if storage.line is None or subject.is_over or subject.case.workload.kind != "read":
        return
    timeout_s = session.campaign.limits.timeout_s
    trace = local_trace(subject, session.directory, timeout_s)
    scheme = SCHEMES.get(storage.kind, "file")
    told = predict(subject, trace and trace.path, storage.figures(storage.line), scheme, timeout_s)
    if told and "wall_ns" in told:
        subject.result.predictions.append(told)
        session.progress("predicted", subject.label, f"predicted: {time_text(told['wall_ns'])}")


def _neighbourhood(subject: Subject) -> tuple[str, str, str]:
    return subject.case.dataset.name, subject.case.engine.called(), subject.case.storage.name


def _is_surprise(subject: Subject) -> bool:
    counted = [sample.wall_ns for sample in subject.result.counted() if sample.wall_ns is not None]
    if not counted:
        return False
    return any(gap(one, statistics.median(counted)) is not None for one in subject.result.predictions)
