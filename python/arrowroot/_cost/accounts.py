"""Accounts of the layers of the storage, by kind of operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class Account(NamedTuple):
    """The operations of one kind that one layer was asked for. Times are sums over threads, in ns.

    >>> scan = tree.scan(["MET_pt"])
    >>> _ = scan.drain()
    >>> [(account.layer, account.operation, account.n_successful) for account in scan.accounts]
    [('store', 'read', 1), ('engine', 'read', 1)]
    """

    #: The layer that was asked: "store" is where the bytes live.
    layer: str
    #: open, redirect (being sent on to another place), stat, read, readv (several ranges in one request), prefetch,
    #: cache-hit, stage-in, write, sync, publish, close.
    operation: str
    n_attempted: int
    n_successful: int
    #: Bytes that they brought or wrote.
    bytes: int
    total_ns: int
    #: Times of the fastest and slowest successful one; 0 if there was none.
    min_ns: int
    max_ns: int


def of_native(ledgers: Iterable[Mapping[str, Any]]) -> list[Account]:
    """Return the engine's ledgers, without the operations that never happened."""
    every = (Account(**{name: entry[name] for name in Account._fields}) for entry in ledgers)
    return [account for account in every if account.n_attempted]


def joined(parts: Iterable[Sequence[Account]]) -> list[Account]:
    """Return the sums over several passes, layer by layer and operation by operation."""
    sums: dict[tuple[str, str], Account] = {}
    for account in (account for part in parts for account in part):
        key = (account.layer, account.operation)
        before = sums.get(key)
        sums[key] = account if before is None else _added(before, account)
    return list(sums.values())


def _added(one: Account, other: Account) -> Account:
    # A kind without a success has no fastest.
    fastest = [account.min_ns for account in (one, other) if account.n_successful]
    return Account(
        one.layer,
        one.operation,
        one.n_attempted + other.n_attempted,
        one.n_successful + other.n_successful,
        one.bytes + other.bytes,
        one.total_ns + other.total_ns,
        min(fastest, default=0),
        max(one.max_ns, other.max_ns),
    )
