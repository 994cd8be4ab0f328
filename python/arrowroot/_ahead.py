"""Work that waits for a network, begun before its result is asked for."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

T = TypeVar("T")


def in_order(jobs: Iterable[Callable[[], T]], n_ahead: int) -> Iterator[T]:
    """Yield the results of ``jobs`` in their order; up to ``n_ahead`` of them run at a time.

    The threads are daemons, and the one that asks waits where signals reach it: Ctrl-C ends the waiting at once. No job
    begins after the first that fails has been reached, or after the iterator was closed.
    """
    if n_ahead <= 1:
        for job in jobs:
            yield job()
        return
    from concurrent.futures import Future  # noqa: PLC0415 - not needed to import arrowroot

    waiting = iter(jobs)
    running: deque[Future[T]] = deque()
    while True:
        while len(running) < n_ahead and (begun := next(waiting, None)) is not None:
            future: Future[T] = Future()
            running.append(future)
            threading.Thread(target=_run, args=(begun, future), name="arrowroot-ahead", daemon=True).start()
        if not running:
            return
        yield running.popleft().result()


def _run(job: Callable[[], T], future: Future[T]) -> None:
    try:
        future.set_result(job())
    except BaseException as error:  # noqa: BLE001 - it is raised where the result is asked for
        future.set_exception(error)
