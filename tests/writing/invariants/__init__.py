"""What a ROOT file must be, checked by a reader of its own that knows nothing of arrowroot.

The rules are those of root-io-spec (spec/99-appendix/WriterInvariants.md) and of RNTuple's specification; each has a
short name, such as ``image-copy``. ROOT itself notices few of them.

    python -m tests.writing.invariants FILE...
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from .container import Container
from .histograms import check_graph, check_histogram
from .ntuples import check_ntuple
from .objects import Objects
from .reading import DamagedError, Findings, Violation
from .trees import check_tree

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from .container import Key

#: What reading stumbles over where a file is not what it says.
STUMBLES = (DamagedError, LookupError, OverflowError, ValueError, struct.error)

__all__ = ["Violation", "assert_sound", "violations"]


def violations(path: Path) -> list[Violation]:
    """All that is wrong with a file; empty if nothing is. ``damaged`` is what cannot be read on from."""
    findings = Findings()
    try:
        container = Container(path, findings)
        objects = Objects(container, findings)
    except STUMBLES as error:
        findings.add("damaged", path.name, repr(error))
        return findings.violations
    for directory in container.directories:
        for key in directory.keys:
            where = f"{directory.path}/{key.name};{key.cycle}".lstrip("/")
            try:
                _object(container, objects, findings, key, where)
            except STUMBLES as error:
                rule = str(error).partition(":")[0]
                findings.add(rule if rule.replace("-", "").isalpha() else "damaged", where, repr(error))
    container.unreached()
    return findings.violations


def assert_sound(path: Path, *, but: Iterable[str] = ()) -> None:
    """Fail if a file breaks a rule that is not one of ``but``."""
    found = [one for one in violations(path) if one.rule not in set(but)]
    shown = "\n  ".join(str(one) for one in found[:20])
    assert not found, f"{path.name} breaks {len(found)} rules of the format:\n  {shown}"


def _object(container: Container, objects: Objects, findings: Findings, key: Key, where: str) -> None:
    kind = key.class_name
    if key.is_directory:
        return
    if kind in ("ROOT::RNTuple", "ROOT::Experimental::RNTuple"):
        check_ntuple(container, findings, key, where)
        return
    found = objects.read(container.payload(key), key.key_bytes, kind)
    if kind in ("TTree", "TNtuple", "TNtupleD"):
        check_tree(container, findings, found, where)
    elif kind.startswith(("TH1", "TH2", "TH3", "TProfile")):
        check_histogram(findings, found, where)
    elif kind.startswith("TGraph"):
        check_graph(findings, found, where)
