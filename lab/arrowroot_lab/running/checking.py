"""Are the values right? An independent engine reads the same columns and entries, once for each choice of a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arrowroot_lab.campaign.providers import registered
from arrowroot_lab.canonical import key_of
from arrowroot_lab.engines.ask import ask
from arrowroot_lab.errors import LabError, RunnerError, SkippedError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from arrowroot_lab.campaign.providers import Engine, FileKind
    from arrowroot_lab.engines.contract import Answer, Job

    from .subject import Subject

#: Checksums of so many columns are kept as they are; of more their hash is.
N_KEPT = 32


def references(kind: FileKind) -> list[Engine]:
    """Return the engines that are asked for the right values; the first that is here, and can do it, is believed."""
    of_kind = [one for one in registered().engines.values() if one.reference is not None and one.reads(kind)]
    return sorted(of_kind, key=lambda one: one.reference or 0)


class WrongValuesError(LabError):
    """An engine has read other values than an independent one."""


def check_number(subject: Subject, n_entries: int) -> None:
    """Raise WrongValuesError if an engine has read all entries, as it says, but other than the dataset has."""
    n_all = subject.found.identity.n_entries
    if subject.case.workload.kind == "read" and not subject.job.get("entries") and n_entries != n_all:
        raise WrongValuesError(f"wrong values: it read {n_entries} entries, and the dataset has {n_all}")


class Checker:
    """Compares checksums with those of an engine that shares no code with the one that told them."""

    def __init__(
        self,
        timeout_s: float,
        is_here: Callable[[str], bool],
        peers: Callable[[], Sequence[tuple[str, Sequence[str]]]] = tuple,
    ) -> None:
        """is_here: true of a registered engine that can be started. peers: names and commands of those for programs."""
        self._timeout_s, self._is_here, self._peers = timeout_s, is_here, peers
        #: Answers, or why there is none.
        self._known: dict[str, Answer | str] = {}
        #: Answers with what was asked of which engine.
        self._answered: list[tuple[str, Job, Answer]] = []

    def compare(
        self, subject: Subject, answers: Sequence[Answer], *, copies: Sequence[Path] = ()
    ) -> dict[str, Any] | None:
        """Compare what a rehearsal has read with what another engine reads of the dataset's own files.

        copies: the files that a rehearsal has written; what another engine reads of them is compared instead.

        Returns: ``by``, ``is_equal``, ``n_columns``; None where no independent engine can be asked.
        Raises: WrongValuesError with the first column that differs.
        """
        if not copies and "checksum" not in answers[0]:
            return None
        if subject.case.workload.kind == "program":
            return self._among_peers(subject, answers[0])
        wanted = self._reference(subject, [str(path) for path in subject.found.files], subject.job)
        if wanted is None:
            return None
        by, found = wanted[0], answers[0]
        if copies:
            written = self._reference(subject, [str(path) for path in copies], {}, is_kept=False)
            if written is None:
                return None
            found = written[1]
        n_compared, problem = difference(found, wanted[1], subject.job.get("columns") or [])
        if problem:
            raise WrongValuesError(f"wrong values, as {by} reads others: {problem}")
        return {"by": by, "is_equal": True, "n_columns": n_compared} if n_compared else None

    def _among_peers(self, subject: Subject, found: Answer) -> dict[str, Any] | None:
        """Compare what a program tells with what another engine of the campaign tells of the same command."""
        for name, command in self._peers():
            if name.partition("@")[0] == subject.engine.name:
                continue
            asked: Job = {**subject.job, "urls": [str(path) for path in subject.found.files]}
            asked["wants_checksum"] = True
            wanted = self._asked(name, command, asked)
            if isinstance(wanted, str):
                continue
            n_compared, problem = difference(found, wanted, list(wanted.get("checksum", {})))
            if problem:
                raise WrongValuesError(f"wrong values, as {name} has others: {problem}")
            return {"by": name, "is_equal": True, "n_columns": n_compared} if n_compared else None
        return None

    def _asked(self, name: str, command: Sequence[str], job: Job, *, is_kept: bool = True) -> Answer | str:
        """The answer of an engine, or why there is none; it is asked once."""
        key = key_of([name, job])
        answer = self._known.get(key)
        if answer is None:
            try:
                answer = ask(command, "run", job, timeout_s=self._timeout_s).answer
            except (RunnerError, SkippedError) as error:
                answer = str(error)
            if is_kept:
                self._known[key] = answer
                if not isinstance(answer, str):
                    self._answered.append((name, job, answer))
        return answer

    def _answered_for_more(self, names: Collection[str], job: Job) -> tuple[str, Answer] | None:
        """An answer of one of some engines for more columns of the same entries: some take seconds to start."""
        wanted, rest = {_name(name) for name in job.get("columns") or []}, {**job, "columns": None}
        for name, asked, answer in self._answered:
            if (
                name in names
                and {**asked, "columns": None} == rest
                and set() < wanted <= _by_name(answer).keys()
            ):
                return name, answer
        return None

    def _reference(
        self, subject: Subject, files: list[str], job: Job, *, is_kept: bool = True
    ) -> tuple[str, Answer] | None:
        asked: Job = {
            "kind": "read", "urls": files, "table": subject.job["table"], "columns": job.get("columns"),
            "entries": job.get("entries"), "order": "cluster", "threads": 1, "strategy": "auto",
            "wants_checksum": True,
        }  # fmt: skip
        engines = [
            one for one in references(subject.found.kind) if one.family.name != subject.engine.family.name
        ]
        if (known := self._answered_for_more({engine.name for engine in engines}, asked)) is not None:
            return known
        for engine in engines:
            if not self._is_here(engine.name):
                continue
            answer = self._asked(engine.name, engine.command(), asked, is_kept=is_kept)
            if not isinstance(answer, str):
                return engine.name, answer
        return None


def difference(found: Answer, wanted: Answer, columns: Sequence[str]) -> tuple[int, str | None]:
    """Return how many columns were compared, and why the content of one answer is not the other's; None: it is.

    columns: those that were asked for by name, of which none may be missing. Of "all columns" engines have different
    ideas, such as the counters of lists; those that both tell are compared.
    """
    if found.get("n_entries") != wanted.get("n_entries"):
        return 0, f"{found.get('n_entries')} entries, not {wanted.get('n_entries')}"
    have, want = (_by_name(answer) for answer in (found, wanted))
    unchecked = {
        _name(name) for answer in (found, wanted) for name in answer.get("details", {}).get("unchecked", [])
    }
    for name in map(_name, columns):
        if name in want and name not in have and name not in unchecked:
            return 0, f"column {name}: it was not read"
    both = [name for name in want if name in have]
    for name in both:
        for key in ("n", "sum", "order"):
            # Threads that take the entries in no order have none.
            if key in have[name] and key in want[name] and have[name][key] != want[name][key]:
                return 0, f"column {name}: {key} is {have[name][key]}, not {want[name][key]}"
    return len(both), None


def kept(checksum: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return what a result keeps of checksums: those of all columns, or of many their number and hash."""
    if len(checksum) <= N_KEPT:
        return checksum
    return {"all columns": {"n_columns": len(checksum), "hash": key_of(checksum)}}


def _by_name(answer: Answer) -> dict[str, dict[str, Any]]:
    return {_name(name): told for name, told in answer.get("checksum", {}).items()}


def _name(name: str) -> str:
    """Members of lists of records: ``jets.pt`` of Arrow is the branch ``jets_pt`` of a tree."""
    return name.replace(".", "_")
