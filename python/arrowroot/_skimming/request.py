"""The request for a skim, checked as far as that is possible before an input is open."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot._api.unified import Differing
from arrowroot._errors import InvalidRequestError
from arrowroot._layout.settings import BUFFERS
from arrowroot._options import BATCH_SIZE, Options, definitions_of
from arrowroot._render import shown
from arrowroot._saving.rules import checked_rules
from arrowroot._select.events import EventList
from arrowroot._select.lumi import LumiMask
from arrowroot._select.origins import OfRow
from arrowroot._sizes import checked_count, parse_size
from arrowroot._skimming.carrying import NANOAOD_SUMS, Rule
from arrowroot._skimming.inputs import check_outputs
from arrowroot._skimming.outputs import OutputOptions
from arrowroot._skimming.tables import Style
from arrowroot._storage.filesets import fileset
from arrowroot._storage.url import split_url
from arrowroot._writing.location import path_of_root
from arrowroot._writing.options import CheckedOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa

    from arrowroot._expressions.scope import Alias
    from arrowroot._filter.bind import FilterLike
    from arrowroot._options import Define
    from arrowroot._select.columns import Columns
    from arrowroot._storage.filesets import Fileset
    from arrowroot._storage.url import Location

#: The form of what a digest is made of.
_FORM = "arrowroot.skim-part/4"


class Request(NamedTuple):
    """All that is asked for."""

    files: list[tuple[str, str | None]]
    #: Path, name of the table if it gets another, and condition of each output.
    outputs: list[tuple[str, str | None, FilterLike]]
    columns: Columns
    define: Define
    #: Named conditions, one after the other.
    cuts: list[tuple[str, FilterLike]]
    #: The entries that are looked at, of the only input.
    entries: slice | range | None
    lumi_mask: LumiMask | None
    pick: EventList | None
    weight: str | None
    sums: Sequence[str]
    rule: Rule
    #: What becomes of objects of several inputs.
    rules: Mapping[str, str]
    differing: Differing
    skips_bad: bool
    read: Options
    write: OutputOptions
    storage: Mapping[str, Any]
    #: The sample of each file, by where it is; a file of several has none.
    samples: Mapping[str, str]
    given: Fileset
    #: The columns that inputs which differ deliver of the skimmed tree; None: they may not differ.
    of_all: pa.Schema | None = None
    #: Their aliases.
    aliases: Mapping[str, Alias] | None = None
    #: As of ``OfRow``: what names of origins mean in all inputs.
    origins: frozenset[str] | None = None

    def of_row(self, location: str) -> OfRow:
        """Return what a file has of all that are skimmed."""
        return OfRow(self.samples.get(location, ""), bool(self.samples), self.origins)

    @property
    def conditions(self) -> list[FilterLike]:
        """All conditions, of cuts and outputs."""
        every = [*(one for _, one in self.cuts), *(one for _, _, one in self.outputs)]
        return [one for one in every if one is not None]

    @property
    def chooses(self) -> bool:
        """True if some entries may be left out."""
        has_own = any(condition is not None for _, _, condition in self.outputs)
        return any(
            (self.cuts, self.entries is not None, self.lumi_mask is not None, self.pick is not None, has_own)
        )

    @property
    def is_of_one_tree(self) -> bool:
        """True if something is asked of one tree. Else files of several, or of none, go whole."""
        has_name = any(name is not None for _, name, _ in self.outputs)
        asked = (self.columns is not None, self.define, self.weight is not None, self.may_differ, has_name)
        return self.chooses or any(asked) or self.rule.takes_none

    @property
    def may_differ(self) -> bool:
        """True if the columns of the inputs may differ."""
        return self.differing != Differing("raise", promote=False)

    def digest(self) -> str:
        """Return a digest of all that decides what is wanted of an input. How it is written is nothing of that."""
        wanted = [
            _FORM,
            repr(self.columns),
            None if self.define is None else list(self.define.items()),
            [(name, str(condition)) for name, condition in self.cuts],
            [(path, str(condition)) for path, _, condition in self.outputs],
            repr(self.entries),
            None if self.lumi_mask is None else self.lumi_mask.ranges,
            None if self.pick is None else (self.pick.columns, self.pick.ids),
            self.weight,
            self.rule.text,
            None if self.of_all is None else self.of_all.to_string(show_field_metadata=False),
            None if self.aliases is None else {name: alias.text for name, alias in self.aliases.items()},
            None if self.origins is None else sorted(self.origins),
        ]
        return hashlib.sha256(json.dumps(wanted).encode("utf-8", "surrogateescape")).hexdigest()


def request_of(inputs: Any, given: Mapping[str, Any], storage: Mapping[str, Any]) -> Request:
    """Return the request of somebody who gave arguments of ``arrowroot.skim``, all by name but the first.

    Raises: InvalidRequestError for what makes no sense.
    """
    style = Style(**{name: given[name] for name in Style._fields if name in given})
    CheckedOptions.of(style.options())
    n_threads = checked_count(given.get("n_threads", 0), "n_threads")
    on_bad_input = given.get("on_bad_input", "fail")
    if on_bad_input not in ("fail", "skip"):
        raise InvalidRequestError(f"on_bad_input: expected 'fail' or 'skip', got {shown(on_bad_input)}")
    lumi_mask, pick, sums, condition = (given.get(name) for name in ("lumi_mask", "pick", "sums", "filter"))
    found = fileset(inputs, given.get("tree"))
    files = found.files
    request = Request(
        files,
        _outputs_of(given.get("output"), given.get("outputs")),
        given.get("columns"),
        definitions_of(given.get("define")) or None,
        [*([("filter", condition)] if condition is not None else []), *_named(given.get("cuts"))],
        _entries_of(given.get("entries"), len(files)),
        None if lumi_mask is None else LumiMask.of(lumi_mask),
        pick if isinstance(pick, EventList) or pick is None else EventList(pick),
        given.get("weight"),
        NANOAOD_SUMS if sums is None else list(sums),
        Rule(given.get("carry", True)),
        checked_rules(given.get("rules")),
        Differing.of({"missing": given.get("missing", "raise"), "promote": given.get("promote", False)}),
        on_bad_input == "skip",
        Options.of({"n_threads": n_threads, "batch_size": given.get("batch_size", BATCH_SIZE)}),
        OutputOptions(
            style,
            bool(given.get("reproducible")),
            n_threads,
            parse_size(given.get("buffers", BUFFERS), "buffers"),
        ),
        storage,
        _samples_of(found),
        found,
    )
    check_outputs([path for path, _, _ in request.outputs], request.files)
    return request


def _samples_of(found: Fileset) -> dict[str, str]:
    """Return the sample of each file, by where it is."""
    samples: dict[str, set[str]] = {}
    for (location, _), sample in zip(found.files, found.samples, strict=True):
        samples.setdefault(location, set()).add(sample)
    return {location: names.pop() for location, names in samples.items() if len(names) == 1 and any(names)}


def _entries_of(entries: Any, n_files: int) -> slice | range | None:
    """Return a range of entries. Raises: InvalidRequestError for what is none, and for entries of several inputs."""
    if entries is None:
        return None
    if not isinstance(entries, slice | range) or entries.step not in (None, 1):
        raise InvalidRequestError(
            f"entries: expected a slice or a range without steps, got {shown(entries)}; filter chooses others"
        )
    check_one_input(n_files)
    return entries


def check_one_input(n_inputs: int) -> None:
    """Raise InvalidRequestError if a range of entries would be that of several inputs."""
    if n_inputs > 1:
        raise InvalidRequestError(f"entries: they are those of one input, and there are {n_inputs}")


def _named(cuts: Mapping[str, FilterLike] | None) -> list[tuple[str, FilterLike]]:
    """Return named conditions. Raises: InvalidRequestError for what is none."""
    if cuts is None:
        return []
    if not hasattr(cuts, "items"):
        raise InvalidRequestError(
            f'cuts: expected conditions by their names, {{"two muons": "nMuon >= 2"}}, got {shown(cuts)}'
        )
    return list(cuts.items())


def _outputs_of(
    output: Location | None, outputs: Mapping[str, FilterLike] | None
) -> list[tuple[str, str | None, FilterLike]]:
    """Return path, name of the table and condition of each output. Raises: InvalidRequestError."""
    if (output is None) == (outputs is None):
        raise InvalidRequestError("skim: which output? give output, or outputs with their conditions")
    if outputs is not None and not (hasattr(outputs, "items") and outputs):
        raise InvalidRequestError(
            f'outputs: expected conditions by files, {{"muons.root": "nMuon >= 2"}}, got {shown(outputs)}'
        )
    given: Iterable[tuple[Any, FilterLike]] = [(output, None)] if outputs is None else outputs.items()
    found = []
    for place, condition in given:
        file, name = split_url(place) if isinstance(place, str) else (place, None)
        found.append((path_of_root(file), name, condition))
    return found
