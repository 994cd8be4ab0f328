"""Makes the subjects of a run: datasets found or made, engines identified, what is measured already left out."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from arrowroot_lab.campaign import choice, datasets
from arrowroot_lab.campaign.matrix import case_document, cases
from arrowroot_lab.campaign.model import EngineChoice
from arrowroot_lab.campaign.providers import filled
from arrowroot_lab.canonical import key_of
from arrowroot_lab.documents import Outcome, Result, case_id, from_json, to_json
from arrowroot_lab.engines.ask import ask
from arrowroot_lab.engines.builds import environment
from arrowroot_lab.engines.catalogue import engine_of, why_not
from arrowroot_lab.errors import (
    DocumentError,
    LabError,
    MissingError,
    RequestError,
    RunnerError,
    SkippedError,
)
from arrowroot_lab.location import whole
from arrowroot_lab.machine.fingerprint import coarse, fingerprint
from arrowroot_lab.storages import check_here

from .sparing import beyond_limits
from .subject import Subject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arrowroot_lab.campaign.datasets import FoundDataset
    from arrowroot_lab.campaign.model import Campaign, Case
    from arrowroot_lab.campaign.providers import FileKind
    from arrowroot_lab.documents import CaseDocument
    from arrowroot_lab.engines.builds import Environment
    from arrowroot_lab.engines.contract import Answer, Job

    from .events import Tell

#: Engines are asked what they are within this time.
_IDENTIFY_S = 120.0
#: The key of a case, or its beginning, and the version of the engine that was asked for.
_KEY = re.compile(r"([0-9a-f]{4,16})(?:@(.+))?")


class Known(Protocol):
    """Knows what is measured already: a store, or what was copied of one."""

    def has(self, asked: Result, outcomes: tuple[Outcome, ...] = ...) -> bool:
        """True if the case of a result is measured at its site, with its versions, on its file."""


@dataclass
class Engines:
    """The engines of a campaign: where they are, and what they say of themselves; each is asked once."""

    tell: Tell
    #: The one of the campaign's file.
    directory: Path
    timeout_s: float = _IDENTIFY_S
    #: The repository of commits; None: the one that the current directory or this package is in.
    checkout: Path | None = None
    _answers: dict[str, Answer | LabError] = field(default_factory=dict)
    _environments: dict[str, Environment | LabError] = field(default_factory=dict)

    def command(self, chosen: EngineChoice) -> list[str]:
        """Return what starts an engine; its environment is built first if a version of it is asked for."""
        engine = engine_of(chosen)
        if chosen.command:
            return by_this_python(beside(self.directory, chosen.command))
        if chosen.version is None:
            return engine.command()
        made = self._environment(chosen)
        return [*made.before, *engine.command(made.python)]

    def versions(self, chosen: EngineChoice) -> dict[str, str]:
        """Return the versions of an engine and its libraries; of a commit that was built the whole commit."""
        built = {} if chosen.version is None or chosen.command else self._environment(chosen).versions
        return {**self.identified(chosen)["versions"], **built}

    def _environment(self, chosen: EngineChoice) -> Environment:
        name = chosen.called()
        if name not in self._environments:
            self._environments[name] = self._made(chosen)
        made = self._environments[name]
        if isinstance(made, LabError):
            raise made
        return made

    def _made(self, chosen: EngineChoice) -> Environment | LabError:
        """Return the environment, or why there is none: a build takes minutes, and fails alike for each case."""
        try:
            return environment(
                chosen,
                checkout=self.checkout,
                tell=lambda text: self.tell("waiting", chosen.called(), text),
            )
        except LabError as error:
            return error

    def identified(self, chosen: EngineChoice) -> Answer:
        """Return what an engine says of itself. Raises: SkippedError if it is not here; LabError if it is broken."""
        name = chosen.called()
        if name not in self._answers:
            try:
                self._answers[name] = ask(self.command(chosen), "identify", timeout_s=self.timeout_s).answer
            except RunnerError as error:
                is_missing = "ModuleNotFoundError" in str(error)
                self._answers[name] = SkippedError(f"{name} is not here: {error}") if is_missing else error
            except LabError as error:
                self._answers[name] = error
        answer = self._answers[name]
        if isinstance(answer, LabError):
            raise answer
        return answer

    def is_here(self, name: str) -> bool:
        """True if a registered engine can be asked."""
        try:
            self.identified(EngineChoice(name))
        except LabError:
            return False
        return True

    def peers(self, choices: Sequence[EngineChoice]) -> list[tuple[str, list[str]]]:
        """Return names and commands of those that run programs and tell checksums: they can check each other."""
        found = []
        for chosen in choices:
            try:
                if {"program", "checksum"} <= set(self.identified(chosen)["can"]):
                    found.append((chosen.called(), self.command(chosen)))
            except LabError:
                continue
        return found


@dataclass
class Prepared:
    """The cases of a run."""

    #: All that are chosen, measured already or not.
    cases: list[Case] = field(default_factory=list)
    #: To be measured.
    subjects: list[Subject] = field(default_factory=list)
    #: Results without a measurement: what an engine cannot do, what is not here.
    decided: list[Subject] = field(default_factory=list)
    #: Cases that are measured already.
    n_known: int = 0
    #: Datasets that are not there, and why: their cases have no key yet.
    failures: list[str] = field(default_factory=list)
    #: Why cases cannot be measured on this machine -> how many.
    missing: Counter[str] = field(default_factory=Counter)


@dataclass
class Preparation:
    """Prepares the cases of a run; these values are all of theirs."""

    campaign: Campaign
    site: str
    run: str
    #: For lists of entries.
    directory: Path
    known: Known
    engines: Engines
    tell: Tell
    #: Globs of labels, or beginnings of keys with four digits or more, perhaps with ``@VERSION``.
    chosen: tuple[str, ...] = ()
    #: Measure what is measured already, too.
    is_again: bool = False
    #: Labels; None: all.
    only: frozenset[str] | None = None

    def prepare(self) -> Prepared:
        """Return the cases.

        Raises: CampaignError; RequestError if no case is chosen, or if a result of one could not be kept.
        """
        prepared = Prepared()
        found: dict[str, FoundDataset | LabError] = {}
        for case in cases(self.campaign):
            if (self.only is not None and case.label() not in self.only) or not self._may_be_chosen(case):
                continue
            name = case.dataset.name
            if name not in found:
                if datasets.find(self.campaign, case.dataset) is None:
                    self.tell("waiting", name, "the dataset is made or hashed, once")
                try:
                    found[name] = datasets.make(self.campaign, case.dataset)
                except RequestError:
                    raise
                except LabError as error:
                    found[name] = error
                    if not isinstance(error, MissingError):
                        prepared.failures.append(str(error))
            there = found[name]
            if isinstance(there, LabError):
                if isinstance(there, MissingError):
                    prepared.missing[str(there)] += 1
                continue
            document = case_document(case, there.identity)
            if self.chosen and not any(_is_chosen(case, document, glob) for glob in self.chosen):
                continue
            prepared.cases.append(case)
            self._add(prepared, case, there, document)
        if not (prepared.cases or prepared.failures or prepared.missing) and self.only is None:
            raise RequestError(
                f"{self.campaign.path}: no case is {' or '.join(self.chosen) or 'there'}; `lab plan` lists them"
            )
        return prepared

    def check_here(self, case: Case) -> None:
        """Raise MissingError if the engine of a case, or a program of its storage, is not here.

        Raises: SkippedError if the engine cannot do the case; LabError if it is broken.
        """
        self._check_engine(case, self._identified(case))
        self._check_machine(case)

    def _identified(self, case: Case) -> frozenset[str]:
        """What the engine of a case says that it can."""
        try:
            self.engines.versions(case.engine)
            return frozenset(self.engines.identified(case.engine)["can"])
        except SkippedError as error:
            raise MissingError(str(error)) from None

    def _check_engine(self, case: Case, can: frozenset[str]) -> None:
        reason = why_not(case.engine.called(), engine_of(case.engine).can or can, case) or beyond_limits(case)
        if reason:
            raise SkippedError(reason)

    def _check_machine(self, case: Case) -> None:
        datasets.check_needs(self.campaign, "the workload's command", case.workload.needs)
        if self.campaign.mode == "real":  # else a prediction may be all that is wanted
            check_here(case.storage)

    def _may_be_chosen(self, case: Case) -> bool:
        """True if a case may be one that is chosen: what is told by its dataset, its key, may be any."""
        return not self.chosen or any(
            fnmatchcase(case.label(), glob) or _KEY.fullmatch(glob) for glob in self.chosen
        )

    def _add(self, prepared: Prepared, case: Case, found: FoundDataset, document: CaseDocument) -> None:
        subject = self._subject(case, found, document)
        result = subject.result
        try:
            subject.can = self._identified(case)
            result.versions = self.engines.versions(case.engine)
            self._check_engine(case, subject.can)
            if not subject.engine.reads(found.kind):
                raise SkippedError(f"{case.engine.called()} reads no files of the kind {found.kind.name}")
            if subject.is_exact:
                subject.n_wanted = 1
            subject.command = self.engines.command(case.engine)
            subject.job = self._job(case, found)
            if self.is_again or not self.known.has(result):
                self._check_machine(case)
        except RequestError:
            raise
        except LabError as error:
            subject.end(Outcome.SKIPPED if isinstance(error, SkippedError) else Outcome.FAILED, str(error))
            subject.is_missing = isinstance(error, MissingError)
            if subject.is_missing:
                prepared.missing[str(error)] += 1
        try:
            from_json(to_json(result))
        except DocumentError as error:
            raise RequestError(
                f"{self.campaign.path}: {subject.label}: no result of it could be kept: {error}"
            ) from None
        # Measured; or once more decided in the same way. A failure is tried again.
        decided = () if result.outcome is Outcome.FAILED else (result.outcome,)
        if not self.is_again and self.known.has(result, decided):
            prepared.n_known += 1
        elif result.outcome is Outcome.OK:
            prepared.subjects.append(subject)
        else:
            prepared.decided.append(subject)

    def _subject(self, case: Case, found: FoundDataset, document: CaseDocument) -> Subject:
        engine = engine_of(case.engine)
        machine = fingerprint(_lies_on(case, found))
        kept_to = (
            {} if (most := case.storage.limits.connections) is None else {"limits": {"connections": most}}
        )
        # Nobody waits in virtual time.
        is_shared = self.campaign.is_shared and case.storage.kind != "simulated"
        result = Result(
            case=document,
            site=self.site,
            machine={**coarse(machine), "shared": True} if is_shared else coarse(machine),
            versions={},
            dataset=found.identity.document(case.dataset.name),
            campaign=dict(self._of_campaign),
            environment=machine | kept_to,
            runner=engine.program_hash(),
        )
        version = f"@{case.engine.version}" if case.engine.version else ""
        result.command = [
            "arrowroot-lab",
            "run",
            self.campaign.called(),
            "--case",
            f"{result.case_id}{version}",
            "--again",
        ]
        return Subject(case, found, engine, [], frozenset(), {}, result, self.campaign.repeats)

    @cached_property
    def _of_campaign(self) -> dict[str, Any]:
        """The campaign as its results keep it: the name, the place, the text's hash, the commit, and the run."""
        path, origin = self.campaign.path, self.campaign.origin
        told = {
            "name": self.campaign.name,
            "path": str(path),
            "hash": self.campaign.text_hash,
            "run": self.run,
        }
        if origin is not None:
            of_commit = {"path": origin.path, "commit": origin.name, "is_dirty": False}
            return {**told, **of_commit, "repository": str(origin.repository)}
        directory = path.resolve().parent
        commit = _git(directory, "rev-parse", "HEAD")
        if not commit:
            return told
        is_dirty = bool(_git(directory, "status", "--porcelain", "--", path.name))
        return {**told, "commit": commit, "is_dirty": is_dirty}

    def _job(self, case: Case, found: FoundDataset) -> Job:
        workload, strategy = case.workload, case.strategy
        n = found.identity.n_entries
        key = key_of([n, workload.entry_list, workload.entry_share, workload.seed])
        path = self.directory / f"entries-{key}.txt"
        entries = path if path.exists() else choice.write_entries(self.campaign, workload, n, path)
        job: Job = {
            "kind": workload.kind,
            "table": found.dataset.table,
            "columns": choice.columns(self.campaign, workload, found),
            "entries": str(entries) if entries else None,
            "order": workload.order,
            "work_ns_per_entry": workload.work_ns_per_entry,
            "threads": workload.threads,
            "strategy": strategy.name,
            "cache_bytes": strategy.cache_bytes,
            "options": strategy.options,
        }
        if (most := case.storage.limits.connections) is not None:
            job["connections"] = most // workload.workers
        if (warm_up := _warm_up(found.kind)) is not None:
            job["warm_up"] = warm_up
        if workload.kind == "program":
            command = beside(self.campaign.path.parent, workload.command)
            job |= {"command": command, "report": workload.report or "proc"}
        if workload.kind == "write":
            job["settings"] = workload.settings
        return job


def _warm_up(kind: FileKind) -> str | None:
    """A tiny file that engines read before the clock starts; None if nothing makes one here."""
    path = datasets.cache_directory() / f"tiny{kind.suffix}"
    if not path.exists():
        if not kind.warm_up:
            return None
        path.parent.mkdir(parents=True, exist_ok=True)
        made = path.with_suffix(f".{os.getpid()}{kind.suffix}")
        if subprocess.run(filled(kind.warm_up, out=str(made)), capture_output=True, check=False).returncode:
            return None
        made.replace(path)
    return str(path)


def _lies_on(case: Case, found: FoundDataset) -> Path:
    """The place of the files that are read; of a directory that is made later the one that it will be in."""
    told = case.storage.options.get("directory")
    if told is None:
        return found.files[0]
    place = Path(whole(told)).expanduser()
    return next(path for path in (place, *place.parents) if os.access(path, os.F_OK))


def beside(directory: Path, command: Sequence[str]) -> list[str]:
    """Return a command of a campaign: a word that begins with ``./`` is a file beside the campaign's own."""
    return [str(directory.resolve() / whole(word)[2:]) if word.startswith("./") else word for word in command]


def by_this_python(command: Sequence[str]) -> list[str]:
    """Return a command whose program was looked for beside this Python first, where ``python3`` has the laboratory."""
    own, usual = Path(sys.executable).parent, os.environ.get("PATH", os.defpath)
    program, *words = command
    return [shutil.which(whole(program), path=f"{own}{os.pathsep}{usual}") or program, *words]


def _is_chosen(case: Case, document: CaseDocument, glob: str) -> bool:
    if fnmatchcase(case.label(), glob):
        return True
    key = _KEY.fullmatch(glob)
    return key is not None and case_id(document).startswith(key[1]) and key[2] in (None, case.engine.version)


def _git(directory: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(directory), *arguments], capture_output=True, text=True, check=False
        )
    except OSError:  # no git
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
