"""Options of writing a table, as users give them and as they are checked, before any data come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, TypedDict, cast

from arrowroot._errors import InvalidRequestError, nearest
from arrowroot._layout.layout import OF_LAYOUT, Layout, layout_of
from arrowroot._render import shown
from arrowroot._sizes import checked_count
from arrowroot._writing.late import COLUMNS, FIXED
from arrowroot._writing.notes import Notes
from arrowroot._writing.texts import checked_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    from arrowroot._layout.layout import LayoutLike, Unsaid
    from arrowroot._layout.projections import ProjectionsLike
    from arrowroot._layout.settings import Codec, Compression, Flush
    from arrowroot._writing.contexts import QueueState
    from arrowroot._writing.late import Columns
    from arrowroot._writing.notes import Aliases, Friends, Index, UserInfo

#: The fields that calls that write take beside a layout.
SHORTHANDS = ("compression", "flush", "basket_size", "page_size", "projections", "types")
#: Buffers of a table that are filled or compressed at the same time, at most.
N_BUFFERS = 4
POLICIES = ("fullest", "fifo", "single")
ORDERS = ("free", "filled", "numbered")
#: What a fill does that would wait.
FULL = ("block", "refuse")


class ProducerOptions(TypedDict, total=False):
    """How several threads fill a table; :meth:`TableWriter.context` explains them."""

    policy: Literal["fullest", "fifo", "single"]
    buffers: int
    order: Literal["free", "filled", "numbered"]
    full: Literal["block", "refuse"]
    help: bool
    on_growth: Callable[[QueueState], object] | None


class ProducerRule(NamedTuple):
    """The same, complete and checked."""

    policy: str = "fullest"
    n_buffers: int = N_BUFFERS
    order: str = "free"
    full: str = "block"
    helps: bool = True
    on_growth: Callable[[QueueState], object] | None = None

    def check_number(self, number: int | None, where: str) -> None:
        """Raise InvalidRequestError if entries have no number where they are ordered by it, or have one elsewhere."""
        if (number is None) == (self.order == "numbered"):
            what = "say first_entry" if number is None else "first_entry has no meaning"
            raise InvalidRequestError(f"{where}: entries in the order {self.order!r}: {what}")


def producer_rule(given: object) -> ProducerRule:
    """Return how several threads fill a table. Raises: InvalidRequestError for what makes no sense."""
    if given is None:
        return ProducerRule()
    if not isinstance(given, dict):
        raise InvalidRequestError(
            f"producers={shown(given)}: expected options, as {{'policy': 'fullest', 'buffers': 4}}"
        )
    known = list(ProducerOptions.__annotations__)
    for name in given:
        if name not in known:
            near = nearest(str(name), known)
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(known)}"
            raise InvalidRequestError(f"producers: no option {name!r}{hint}")
    for name, choices in (("policy", POLICIES), ("order", ORDERS), ("full", FULL)):
        if name in given and given[name] not in choices:
            raise InvalidRequestError(
                f"producers: {name}={shown(given[name])}: expected {', '.join(map(repr, choices))}"
            )
    on_growth = given.get("on_growth")
    if on_growth is not None and not callable(on_growth):
        raise InvalidRequestError(f"producers: on_growth={shown(on_growth)} cannot be called")
    helps = given.get("help", True)
    if not isinstance(helps, bool):
        raise InvalidRequestError(f"producers: help={shown(helps)}: expected True or False")
    n_buffers = checked_count(given.get("buffers", N_BUFFERS), "producers: buffers")
    if n_buffers < 1:
        raise InvalidRequestError("producers: buffers=0: there is at least one")
    return ProducerRule(
        given.get("policy", "fullest"),
        n_buffers,
        given.get("order", "free"),
        given.get("full", "block"),
        helps,
        on_growth,
    )


class FileOptions(TypedDict, total=False):
    """The keyword arguments of :func:`arrowroot.create`, which explains them."""

    compression: Codec
    reproducible: bool
    n_threads: int
    buffers: int | str
    stall_threshold: float
    growth_threshold: float
    trace_stalls: bool


class TableOptions(TypedDict, total=False):
    """The keyword arguments of ``WritableFile.tree``; it and :func:`arrowroot.write` explain them."""

    layout: LayoutLike
    title: str
    titles: Mapping[str, str]
    columns: Columns
    compression: Compression | Unsaid
    flush: Flush | Unsaid
    basket_size: int | str | Unsaid | None
    page_size: int | str | Unsaid | None
    projections: ProjectionsLike | Unsaid
    types: Mapping[str, str] | Unsaid
    aliases: Aliases
    index: Index | None
    friends: Friends
    user_info: UserInfo
    entries_reshuffled: bool
    producers: ProducerOptions


class CheckedOptions(NamedTuple):
    """The options of a table: what is wrong with them is said before any data come."""

    layout: Layout
    title: str
    titles: dict[str, str]
    notes: Notes
    producers: ProducerRule
    columns: Columns

    @classmethod
    def of(cls, options: TableOptions) -> CheckedOptions:
        """Check all but names. Raises: InvalidRequestError; UnsupportedError for what a tree cannot record."""
        return cls(
            layout_with(options),
            checked_text(options.get("title", ""), "title"),
            _titles_of(options.get("titles", {})),
            Notes.of(options),
            producer_rule(options.get("producers")),
            _columns_of(options.get("columns", FIXED)),
        )


def layout_with(options: TableOptions) -> Layout:
    """Return the layout that options of writing say: what is said beside it counts more."""
    said = {name: options.get(name, OF_LAYOUT) for name in SHORTHANDS}
    layout = layout_of(options.get("layout", "ttree"))
    if all(value is OF_LAYOUT for value in said.values()):
        return layout
    return Layout(layout, **cast("Any", said))


def _columns_of(given: object) -> Columns:
    """Return how columns may differ. Raises: InvalidRequestError for what is none of the ways."""
    if given not in COLUMNS:
        raise InvalidRequestError(
            f"columns={shown(given)}: expected {', '.join(map(repr, COLUMNS))}; schema= says which there are"
        )
    return cast("Columns", given)


def _titles_of(given: object) -> dict[str, str]:
    """Return titles by column. Raises: InvalidRequestError for what is no mapping of texts."""
    if not isinstance(given, Mapping):
        raise InvalidRequestError(
            f"titles: expected texts by column, as {{'x': 'in GeV'}}, got {shown(given)}"
        )
    return {
        checked_text(name, "titles"): checked_text(title, f"titles[{name!r}]")
        for name, title in given.items()
    }
