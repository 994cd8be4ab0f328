"""Errors that the user is told, and the exit codes of the command line."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .redaction import redacted, secrets_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

EXIT_DONE, EXIT_FAILED, EXIT_REQUEST, EXIT_MISSING, EXIT_INTERRUPTED = 0, 1, 2, 3, 130
#: Of ``check``, of places: 1 is a slower engine.
EXIT_SLOWER_PLACE, EXIT_SILENT, EXIT_UNKNOWN = 4, 5, 6


class LabError(Exception):
    """Something that the user is told in one sentence: what happened, where, and what can be done.

    What others say is told in it, programs and libraries: their text is told without secrets.
    """

    exit_code = EXIT_FAILED

    def __init__(self, text: str) -> None:
        super().__init__(told_to_people(text))


def told_to_people(text: str) -> str:
    """Return a text of whatever origin without secrets, those of the environment included."""
    return redacted(text, secrets_of())


def os_problem(error: OSError) -> str:
    """Return what the operating system refuses, for people: the file, and why."""
    problem = error.strerror or str(error)
    return problem if error.filename is None else f"{error.filename}: {problem}"


@contextmanager
def as_lab_errors() -> Iterator[None]:
    """Raise LabError for what the operating system refuses in the block, and for servers that end or do not start."""
    try:
        yield
    except OSError as error:
        raise LabError(os_problem(error)) from error
    except (RuntimeError, subprocess.SubprocessError) as error:
        raise LabError(str(error)) from error


class RequestError(LabError):
    """The request is at fault: options, names that are not there."""

    exit_code = EXIT_REQUEST


class NoDatabaseError(RequestError):
    """There is no database yet, where one is to be read."""


class CampaignError(RequestError):
    """The file of a campaign, or of a site, is at fault.

    Attributes:
        path: the file
        line: counted from 1; None where no line can be told
        key: the dotted key, such as ``storage.near.line.latency``
    """

    def __init__(self, path: Path | str, line: int | None, key: str, problem: str) -> None:
        self.path, self.line, self.key = str(path), line, key
        place = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{place}: {key}: {problem}" if key else f"{place}: {problem}")

    def with_others(self, others: Sequence[CampaignError], most: int) -> CampaignError:
        """Return this fault, whose text tells others after it, a line for each, ``most`` in all."""
        lines = [str(self), *map(str, others)]
        left = [f"and {len(lines) - most} more"] if len(lines) > most else []
        self.args = ("\n".join(lines[:most] + left),)
        return self


class DocumentError(RequestError):
    """A document is at fault: it is not a result, or not in the form that docs/lab/documents.md tells.

    Attributes:
        key: where, as ``samples[3].wall_ns``; empty if it is the document as a whole
    """

    def __init__(self, key: str, problem: str) -> None:
        self.key = key
        super().__init__(f"the document's {key}: {problem}" if key else f"the document: {problem}")


class RunnerError(LabError):
    """A runner ended without an answer, or with one that cannot be true."""


class TimedOutError(RunnerError):
    """A runner did not end in the time that it had."""


class SkippedError(LabError):
    """Nothing was tried: the engine cannot do it, or is not there. The reason is kept."""


class MissingError(SkippedError):
    """An engine, a program of a storage, or what makes a dataset was asked for and is not on this machine."""


class StoreError(LabError):
    """The database cannot be used, or a document cannot be stored."""


class KnownUuidError(StoreError):
    """Another document with the same UUID is stored; a result is never replaced."""


class RefusedError(LabError):
    """A measurement that would not be what it is called: a cold read from a tmpfs, say. The reason is kept."""
