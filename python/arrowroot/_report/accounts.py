"""The accounting report: layers and operations as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot._sizes import format_bytes, format_count, format_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arrowroot._cost.accounts import Account


def rows(accounts: Sequence[Account]) -> list[list[str]]:
    """Return a table to print, the header first."""
    table = [["layer", "operation", "attempted", "successful", "bytes", "total", "min", "max"]]
    for account in accounts:
        times = (account.total_ns, account.min_ns, account.max_ns)
        table.append(
            [
                account.layer,
                account.operation,
                format_count(account.n_attempted),
                format_count(account.n_successful),
                format_bytes(account.bytes),
                *(format_seconds(ns / 1e9) for ns in times),
            ]
        )
    return table
