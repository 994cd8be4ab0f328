"""The cost of a pass over data: one value, from one tree or from many."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from arrowroot._cost import accounts as _accounts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arrowroot import _native
    from arrowroot._cost.accounts import Account
    from arrowroot._cost.plan import LogicalRead, PhysicalRead, Read, ScanStats


class Cost(NamedTuple):
    """The cost of a pass so far; with the reads only if they were asked for.

    It outlives the pass, which holds the places of all baskets of its columns.
    """

    stats: ScanStats
    #: What passed each layer of the storage.
    accounts: list[Account]
    reads: list[Read]
    #: The baskets needed.
    logical: list[LogicalRead]
    #: The ranges that the store was asked for.
    physical: list[PhysicalRead]

    @classmethod
    def of_native(cls, scan: _native.Scan) -> Cost:
        """Return the cost of a scan of the engine."""
        from arrowroot._cost.plan import LogicalRead, PhysicalRead, Read, ScanStats

        return cls(
            ScanStats.of_native(scan.stats()),
            _accounts.of_native(scan.ledgers()),
            [Read(*read) for read in scan.trace()],
            [LogicalRead(*read) for read in scan.logical_reads()],
            [PhysicalRead(*read) for read in scan.physical_reads()],
        )

    @classmethod
    def joined(cls, parts: Iterable[Cost], *, side_by_side: bool = False) -> Cost:
        """Return the cost of several passes, one after the other or side by side over the same entries."""
        from arrowroot._cost.plan import ScanStats

        every = list(parts)
        return cls(
            ScanStats.joined((part.stats for part in every), side_by_side=side_by_side),
            _accounts.joined(part.accounts for part in every),
            [read for part in every for read in part.reads],
            [read for part in every for read in part.logical],
            [read for part in every for read in part.physical],
        )

    def moved(self, first_entry: int) -> Cost:
        """Return the same cost for a tree whose entry 0 has another number."""
        return self._replace(
            reads=[
                r._replace(first_entry=r.first_entry + first_entry, end_entry=r.end_entry + first_entry)
                for r in self.reads
            ],
            logical=[r._replace(first_entry=r.first_entry + first_entry) for r in self.logical],
        )

    def later(self, ns: int) -> Cost:
        """Return the same cost for a pass that began later than times count from."""
        return self._replace(
            reads=[r._replace(start_ns=r.start_ns + ns, end_ns=r.end_ns + ns) for r in self.reads],
            logical=[r._replace(asked_ns=r.asked_ns + ns) for r in self.logical],
            physical=[r._replace(start_ns=r.start_ns + ns, end_ns=r.end_ns + ns) for r in self.physical],
        )
