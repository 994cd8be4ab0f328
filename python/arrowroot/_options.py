"""How to read: sizes, threads and the form of text, as users give them and as the engine takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypedDict

from arrowroot._errors import InvalidRequestError
from arrowroot._sizes import checked_count, format_bytes, parse_size

if TYPE_CHECKING:
    from typing import Literal

    #: Text as Arrow strings, an error if it is not UTF-8 or with U+FFFD for what is not; or as bytes.
    Strings = Literal["utf8", "replace", "binary"]

#: Default size of a batch's values, and bound on the memory of a pass, in bytes.
BATCH_SIZE = "64 MB"
MEMORY_BUDGET = "512 MB"


class EngineOptions(TypedDict):
    """The keyword arguments of a scan of the engine, besides columns and entries."""

    batch_bytes: int | None
    memory_budget_bytes: int
    n_threads: int
    trace: bool
    strings: Strings
    verify_checksums: bool
    raw: bool


class Options(NamedTuple):
    """How to read, checked. ``batch_bytes`` None: all in one batch."""

    batch_bytes: int | None
    memory_budget_bytes: int
    n_threads: int
    trace: bool
    strings: Strings
    verify_checksums: bool
    assemble: bool = False
    raw: bool = False

    @classmethod
    def checked(
        cls,
        *,
        batch_size: int | str | None,
        memory_budget: int | str,
        n_threads: int,
        strings: Strings,
        trace: bool = False,
        verify_checksums: bool = True,
        assemble: bool = False,
        raw: bool = False,
    ) -> Options:
        """Return the options that a user gave; ``batch_size`` None: all in one batch.

        Raises: InvalidRequestError, which names the option.
        """
        if strings not in ("utf8", "replace", "binary"):
            raise InvalidRequestError(f"strings: expected 'utf8', 'replace' or 'binary', got {strings!r}")
        switches: dict[str, object] = {
            "trace": trace,
            "verify_checksums": verify_checksums,
            "assemble": assemble,
            "raw": raw,
        }
        for name, value in switches.items():
            if not isinstance(value, bool) and str(getattr(value, "dtype", "")) != "bool":
                raise InvalidRequestError(f"{name}: expected True or False, got {value!r}")
        if assemble and raw:
            raise InvalidRequestError("assemble and raw: bytes are of single branches, not of whole objects")
        batch_bytes = None if batch_size is None else parse_size(batch_size, "batch_size")
        budget_bytes = parse_size(memory_budget, "memory_budget")
        # Smaller budgets are for what is fetched: batches of the default size are not to be made smaller for them.
        if batch_bytes is not None and batch_bytes > max(budget_bytes, parse_size(BATCH_SIZE, "batch_size")):
            raise InvalidRequestError(
                f"batch_size: batches of {format_bytes(batch_bytes)} do not fit a memory_budget of "
                f"{format_bytes(budget_bytes)}: make that larger, too"
            )
        return cls(
            batch_bytes,
            budget_bytes,
            checked_count(n_threads, "n_threads"),
            bool(trace),
            strings,
            bool(verify_checksums),
            bool(assemble),
            bool(raw),
        )

    def is_of_branches(self, *, with_others: bool) -> bool:
        """Return whether whole objects or bytes are asked for, as no filter and no friend knows them.

        Raises: InvalidRequestError if they are, ``with_others``: a filter or friends.
        """
        if with_others and (self.assemble or self.raw):
            raise InvalidRequestError("assemble and raw: not with a filter, nor with friends")
        return self.assemble or self.raw

    @classmethod
    def default(cls) -> Options:
        """Return the options of one who gave none."""
        return cls.checked(batch_size=BATCH_SIZE, memory_budget=MEMORY_BUDGET, n_threads=0, strings="utf8")

    def engine(self) -> EngineOptions:
        """Return the options as keyword arguments of the engine."""
        return {
            "batch_bytes": self.batch_bytes,
            "memory_budget_bytes": self.memory_budget_bytes,
            "n_threads": self.n_threads,
            "trace": self.trace,
            "strings": self.strings,
            "verify_checksums": self.verify_checksums,
            "raw": self.raw,
        }

    def shared_by(self, n_parts: int) -> Options:
        """Return the options of each of several passes that run side by side."""
        batch_bytes = None if self.batch_bytes is None else max(1, self.batch_bytes // n_parts)
        return self._replace(
            batch_bytes=batch_bytes, memory_budget_bytes=max(1, self.memory_budget_bytes // n_parts)
        )
