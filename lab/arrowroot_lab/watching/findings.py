"""The findings of a check: each is one change of one quantity of one case."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from arrowroot_lab.errors import EXIT_DONE, EXIT_FAILED, EXIT_SLOWER_PLACE

#: Values of a finding.
Value = str | int | float | None


class Kind(str, Enum):
    """The quantity that changed."""

    #: A case that was measured in the baseline fails, or was not measured.
    OUTCOME = "outcome"
    #: The checksum of the values that were read.
    VALUES = "values"
    COUNTER = "counter"
    MEMORY = "memory"
    TIME = "time"


class FindingState(str, Enum):
    """The meaning of a finding for whoever asked; the alarming first."""

    #: It fails the check.
    ALARM = "alarm"
    #: A time that is longer with the same engine, also when it was measured again; it fails the check, too.
    SLOWER_PLACE = "slower place"
    #: A time that may be worse, and that nobody could confirm.
    SUSPECT = "suspect"
    #: Not looked at, and why.
    UNCHECKED = "not checked"
    ACCEPTED = "accepted"
    #: A time that pairs did not confirm.
    CLEARED = "cleared"


@dataclass(frozen=True)
class Finding:
    """One change between the result of a case in the baseline and its result now."""

    kind: Kind
    #: As ``store.n_reads``, ``peak_rss_bytes``, ``wall_ns``, ``checksum.run``, ``outcome``.
    name: str
    state: FindingState
    series_id: str
    #: For people: what was read, from where, by what, and how; and the same by axis.
    label: str
    axes: dict[str, str]
    before: Value
    now: Value
    #: How the values are shown: see ``mining.format.shown``.
    form: str
    #: Other things that changed, as ``versions.zstd``: the value before, and now.
    changed: dict[str, tuple[Value, Value]]
    uuid_before: str
    uuid_now: str | None
    #: Now over before, where that says something.
    ratio: float | None = None
    #: The bound of the ratio that a confirming run gave.
    ratio_low: float | None = None
    #: Why it is in this state.
    note: str = ""

    def document(self) -> dict[str, Any]:
        """Return it for JSON."""
        told = {key: getattr(self, key) for key in _PLAIN if getattr(self, key) is not None}
        changed = {key: list(values) for key, values in self.changed.items()}
        return {"state": self.state.value, "kind": self.kind.value, **told, "changed": changed}


_PLAIN = (
    "name", "label", "axes", "series_id", "before", "now", "ratio", "ratio_low", "note", "uuid_before", "uuid_now",
)  # fmt: skip


@dataclass
class Checked:
    """The answer of a check."""

    #: UUIDs of the runs; ``run`` is None if the newest result of each case was taken.
    baseline: str
    run: str | None
    #: Labels of the cases that were compared.
    compared: list[str] = field(default_factory=list)
    #: Alarming ones first.
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def of(self, state: FindingState) -> list[Finding]:
        """Return the findings in a state."""
        return [one for one in self.findings if one.state is state]

    @property
    def is_alarm(self) -> bool:
        """True if the check fails."""
        return self.exit_code != EXIT_DONE

    @property
    def exit_code(self) -> int:
        """The code that a command ends with."""
        if self.of(FindingState.ALARM):
            return EXIT_FAILED
        return EXIT_SLOWER_PLACE if self.of(FindingState.SLOWER_PLACE) else EXIT_DONE
