"""Threads for work that waits for a network."""

from __future__ import annotations

import queue
import threading
from collections import deque
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

    from typing_extensions import Self

T = TypeVar("T")
#: A signal that comes just before a lock is waited for does not end that wait: it is begun anew so often.
_LOOK_S = 0.1


def in_order(jobs: Iterable[Callable[[], T]], n_ahead: int) -> Iterator[T]:
    """Yield the results of ``jobs`` in their order; up to ``n_ahead`` of them run at a time.

    The threads are daemons, and the caller waits where signals reach it, so that Ctrl-C ends the waiting at once. No
    job begins after the error of a job was raised, or after the iterator was closed.
    """
    if n_ahead <= 1:
        for job in jobs:
            yield job()
        return
    from concurrent.futures import Future

    waiting = iter(jobs)
    running: deque[Future[T]] = deque()
    while True:
        while len(running) < n_ahead and (upcoming := next(waiting, None)) is not None:
            future: Future[T] = Future()
            running.append(future)
            begin(upcoming, future)
        if not running:
            return
        yield result_of(running.popleft())


class ThreadPool:
    """Daemon threads that are started before there is work.

    ``ThreadPoolExecutor`` is of no use here: the end of a block or of the process waits for its threads, however long
    these wait for a server.
    """

    def __init__(self, n_threads: int) -> None:
        """Start the threads."""
        self._n_threads = n_threads
        self._jobs: queue.SimpleQueue[tuple[Callable[[], object], Future[object]] | None] = (
            queue.SimpleQueue()
        )
        for _ in range(n_threads):
            threading.Thread(target=self._work, name="arrowroot-pool", daemon=True).start()

    def do(self, job: Callable[[], object], n_times: int) -> None:
        """Do a job ``n_times``, on all threads at once. Raises: what it raises."""
        from concurrent.futures import Future

        futures: list[Future[object]] = [Future() for _ in range(n_times)]
        for future in futures:
            self._jobs.put((job, future))
        try:
            for future in futures:
                result_of(future)
        except BaseException:
            # The jobs that have not begun are not done any more.
            for future in futures:
                future.cancel()
            raise

    def _work(self) -> None:
        while (given := self._jobs.get()) is not None:
            job, future = given
            if future.set_running_or_notify_cancel():
                run(job, future)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for _thread in range(self._n_threads):
            self._jobs.put(None)


def result_of(future: Future[T]) -> T:
    """Wait for a result where signals end the waiting. Raises: what the job raised."""
    from concurrent.futures import TimeoutError as TooEarly

    while not future.done():
        try:
            return future.result(_LOOK_S)
        except TooEarly:
            continue
    return future.result()


def begin(job: Callable[[], T], future: Future[T]) -> None:
    """Do a job in a thread of its own, which keeps no process from ending."""
    threading.Thread(target=run, args=(job, future), name="arrowroot-ahead", daemon=True).start()


def run(job: Callable[[], T], future: Future[T]) -> None:
    """Do a job here; its result or error is the future's."""
    try:
        future.set_result(job())
    except BaseException as error:  # noqa: BLE001 - it is raised where the result is asked for
        future.set_exception(error)
