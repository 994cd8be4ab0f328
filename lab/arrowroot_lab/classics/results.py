"""Results of classics: one JSON document each, small, kept beside the code that shows them."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arrowroot_lab.documents import now
from arrowroot_lab.errors import LabError

from . import virtual

if TYPE_CHECKING:
    from collections.abc import Iterable

FORM, FORM_VERSION = "arrowroot-lab/classic", 1
DIRECTORY = Path(__file__).parent / "results"

Row = virtual.Row


@dataclass(frozen=True)
class Claim:
    """Something that a page states, and whether the results bear it out."""

    text: str
    holds: bool
    #: What it says was published, put into the model, or fitted to what was published: it cannot fail unless the model
    #: is broken, and does not count among what is found.
    is_given: bool = False
    #: Below the original's size it may not hold: it compares what grows with the file to what does not, as a buffer, or
    #: is of so few that chance decides.
    needs_size: bool = False

    def verdict(self, scale: float) -> str:
        """Return the word for it at a scale: "holds", "given", "not at this scale", or "FAILS"."""
        if self.holds:
            return "given" if self.is_given else "holds"
        return "not at this scale" if self.needs_size and scale < 1 else "FAILS"


def counted(claims: Iterable[Claim], scale: float) -> str:
    """Return how many statements hold of those that could fail; those given, or not at this scale, are besides."""
    told = list(claims)
    found = [claim.verdict(scale) for claim in told if not claim.is_given]
    n_small = found.count("not at this scale")
    n_given = len(told) - len(found)
    others = [f"{n_given} more say what was given"] if n_given else []
    others += [f"{n_small} more cannot be told at this scale"] if n_small else []
    return "; ".join(
        [f"{found.count('holds')} of {len(found) - n_small} statements that could fail hold", *others]
    )


class Results:
    """The rows of a classic, by study and by what tells its rows apart."""

    def __init__(self, document: dict[str, Any]) -> None:
        if (document.get("form"), document.get("form_version")) != (FORM, FORM_VERSION):
            raise LabError(f"no results of a classic, but {document.get('form')!r}")
        self.document = document

    @property
    def name(self) -> str:
        """The name of the classic."""
        return str(self.document["classic"])

    @property
    def scale(self) -> float:
        """1 for as many baskets as the original had."""
        return float(self.document["scale"])

    @property
    def model(self) -> dict[str, Any]:
        """The numbers of the synthetic job: baskets, bytes, and the seed."""
        told: dict[str, Any] = self.document["model"]
        return told

    def measured(self) -> str:
        """When, with which version and at which commit it was measured, for people."""
        told = f"Measured {_when(self.document)} with arrowroot {self.document['arrowroot']}."
        others = {study: _when(of) for study, of in self.document.get("kept", {}).items()}
        for when in dict.fromkeys(others.values()):
            names = [study for study, other in others.items() if other == when]
            told += f" Kept from {when.removeprefix('on ')}: {', '.join(names)}."
        return told

    def rows(self, study: str, **wanted: Any) -> list[Row]:
        """Return the rows of a study that have these values."""
        return [
            row
            for row in self.document["rows"]
            if row["study"] == study and all(row.get(key) == value for key, value in wanted.items())
        ]

    def keyed(self, study: str, *keys: str, **wanted: Any) -> dict[Any, Row]:
        """Return the rows of a study that have these values by what they have of a key, or of several."""
        return {
            row[keys[0]] if len(keys) == 1 else tuple(row[key] for key in keys): row
            for row in self.rows(study, **wanted)
        }

    def row(self, study: str, **wanted: Any) -> Row:
        """Return the one row of a study that has these values."""
        found = self.rows(study, **wanted)
        if len(found) != 1:
            raise LabError(f"{study} {wanted}: {len(found)} rows of the results, not one")
        return found[0]


def document(name: str, scale: float, model: dict[str, Any], rows: list[Row]) -> dict[str, Any]:
    """Return the document of a classic that was measured just now."""
    return {
        "form": FORM,
        "form_version": FORM_VERSION,
        "classic": name,
        "measured_at": now(),
        "arrowroot": virtual.version(),
        "commit": _commit(),
        "scale": scale,
        "model": model,
        "rows": rows,
    }


def _commit() -> str | None:
    """Return the commit of the checkout that this is in, and whether it was changed since; None: it is in none."""
    here = Path(__file__).parent
    told = []
    for command in (["rev-parse", "--short=12", "HEAD"], ["status", "--porcelain", "--untracked-files=no"]):
        try:
            done = subprocess.run(
                ["git", "-C", str(here), *command], capture_output=True, text=True, check=False
            )
        except FileNotFoundError:
            return None
        if done.returncode:
            return None
        told.append(done.stdout.strip())
    commit, changes = told
    # The results themselves, and their pictures, are what a measurement changes.
    is_changed = any(
        not line.endswith((".json", "classics.svg", "classics-narrow.svg")) for line in changes.splitlines()
    )
    return f"{commit}, changed" if is_changed else commit


def stored(name: str) -> Results:
    """Return the results that are kept here."""
    return Results(json.loads((DIRECTORY / f"{name}.json").read_text(encoding="utf-8")))


def _when(of: dict[str, Any]) -> str:
    commit = of.get("commit")
    at = f" at commit {commit}" if commit else ""
    return f"on {str(of['measured_at'])[:10]}{at}"


def is_of_campaign(row: Row) -> bool:
    """True if a row is of a campaign's results, not of a replay."""
    study: str = row["study"]
    return study.startswith("real")


def keep(document: dict[str, Any], earlier: dict[str, Any] | None) -> None:
    """Take into a document what was measured for real earlier, of the studies that it has nothing of.

    earlier: another document of the same classic. When and at which commit its rows were measured comes along.
    """
    if earlier is None:
        return
    found = {row["study"] for row in document["rows"]}
    rows = [row for row in earlier["rows"] if is_of_campaign(row) and row["study"] not in found]
    document["rows"] += rows
    whole = {key: earlier[key] for key in ("measured_at", "commit") if key in earlier}
    if rows:
        studies = dict.fromkeys(row["study"] for row in rows)
        document["kept"] = {study: earlier.get("kept", {}).get(study, whole) for study in studies}


def text(document: dict[str, Any]) -> str:
    """Return a document as it is kept: a row on each line, so that a change is seen as one."""
    rows = ",\n".join("  " + json.dumps(row, sort_keys=True) for row in document["rows"])
    head = [
        f" {json.dumps(key)}: {json.dumps(document[key], sort_keys=True)}"
        for key in sorted(document)
        if key != "rows"
    ]
    return "{\n" + ",\n".join(head) + f',\n "rows": [\n{rows}\n ]\n}}\n'
