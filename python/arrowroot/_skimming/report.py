"""The report of a skim: its outputs, its inputs, and the cut flow."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot._render import printable, text_table
from arrowroot._select.cuts import Cut
from arrowroot._sizes import counted, format_count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arrowroot._cost.writing import WritingCost
    from arrowroot._select.events import Id
    from arrowroot._skimming.carrying import PickedReport
    from arrowroot._writing.file import WritableFile

#: Inputs that a table shows.
_N_SHOWN = 20


class SkimmedInput(NamedTuple):
    """An input: how many of its entries passed each cut, and the sums of columns of its other trees by their names."""

    url: str
    #: None if no tree was skimmed: all were taken whole.
    cuts: list[Cut]
    #: The entries that went to each output.
    of_outputs: list[Cut]
    sums: dict[str, float]


class Copied(NamedTuple):
    """The clusters of an output, and the bytes of their baskets or pages: copied packed, or written anew."""

    n_packed_clusters: int
    packed_bytes: int
    n_new_clusters: int
    new_bytes: int


def copied_of(file: WritableFile, picked: Iterable[PickedReport]) -> Copied:
    """Return how the tables of a file were written, which are closed; ``picked``: others, copied as their bytes are."""
    sums = {
        name: sum(table.written[name] for table in file.tables if table.written is not None)
        for name in ("n_packed_clusters", "packed_bytes", "n_clusters", "stored_bytes")
    }
    n_packed, packed_bytes, n_all, all_bytes = sums.values()
    written = Copied(n_packed, packed_bytes, n_all - n_packed, all_bytes - packed_bytes)
    return Copied(*map(sum, zip(written, *((*one.packed, *one.made) for one in picked), strict=True)))


class SkimmedOutput(NamedTuple):
    """A file that was written; the number of its entries, and the sum of their weights if they have some."""

    path: str
    num_entries: int
    sum_of_weights: float | None
    n_bytes: int
    #: The cost of writing it.
    cost: WritingCost
    copied: Copied


class Skimmed(NamedTuple):
    """The report of a skim.

    >>> made = ar.skim("run*.root", "new.root", tree="Events", filter="MET_pt > 20")
    >>> made.outputs[0].num_entries, [one.num_entries for one in made.cuts]
    (118, [200, 118])
    """

    outputs: list[SkimmedOutput]
    inputs: list[SkimmedInput]
    #: Inputs that were left out, and why.
    bad_inputs: list[tuple[str, str]]
    #: Tables that were carried, with the number of their entries.
    carried: dict[str, int]
    #: Objects that were carried.
    objects: list[str]
    #: Columns and objects that cannot be read or written, and why.
    left_out: list[tuple[str, str]]
    #: Ids of the events of ``pick`` that are in no input.
    missing_events: list[Id]
    #: Notes of trees (aliases, an index, friends, ...) that do not go along, and why.
    notes_left_out: list[tuple[str, str]]
    #: Trees, and what is otherwise in them than in the inputs.
    remarks: list[tuple[str, str]]
    #: Patterns of ``rules`` that no object has.
    unused_rules: list[str]

    @property
    def cuts(self) -> list[Cut]:
        """The cut flow of all inputs together."""
        return together(one.cuts for one in self.inputs)

    @property
    def sums(self) -> dict[str, float]:
        """The sums of columns of other trees, of all inputs that have them together."""
        names = dict.fromkeys(name for one in self.inputs for name in one.sums)
        return {name: sum(one.sums[name] for one in self.inputs if name in one.sums) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON has it.

        >>> ar.skim("events.root", "new.root", carry=False).to_dict()["cuts"]
        [{'name': 'all', 'num_entries': 100, 'sum_of_weights': None}]
        """

        def of(cuts: list[Cut]) -> list[dict[str, Any]]:
            return [cut._asdict() for cut in cuts]

        return {
            "form": "arrowroot.skim/1",
            "outputs": [
                {k: v for k, v in one._asdict().items() if k not in {"cost", "copied"}} | one.copied._asdict()
                for one in self.outputs
            ],
            "cuts": of(self.cuts),
            "sums": self.sums,
            "inputs": [
                {"url": one.url, "cuts": of(one.cuts), "outputs": of(one.of_outputs), "sums": one.sums}
                for one in self.inputs
            ],
            "bad_inputs": [{"url": url, "reason": reason} for url, reason in self.bad_inputs],
            "carried": [{"name": name, "num_entries": n} for name, n in self.carried.items()],
            "objects": self.objects,
            "left_out": [{"path": path, "reason": reason} for path, reason in self.left_out],
            "missing_events": [list(event) for event in self.missing_events],
            "notes_left_out": [{"path": path, "reason": reason} for path, reason in self.notes_left_out],
            "remarks": [{"path": path, "remark": remark} for path, remark in self.remarks],
            "unused_rules": self.unused_rules,
        }

    def __str__(self) -> str:
        """Return the cut flow as a table, and one of the inputs if there are several."""
        if not self.cuts:
            return ""
        parts = [_flow_table(self.cuts, self.outputs if len(self.outputs) > 1 else [])]
        parts += [f"{printable(name)}: {_number(total)}" for name, total in self.sums.items()]
        if len(self.inputs) > 1:
            parts.append(_input_table(self.inputs))
        return "\n".join(parts)


def together(flows: Iterable[list[Cut]]) -> list[Cut]:
    """Return the cuts of several inputs as those of one."""
    return [reduce(Cut.plus, cuts) for cuts in zip(*flows, strict=True)]


def _flow_table(cuts: list[Cut], outputs: list[SkimmedOutput]) -> str:
    """One line for each cut, and each output: entries, their share of those before it and of all, weights."""
    has_weights = bool(cuts) and cuts[0].sum_of_weights is not None
    lines = [["cut", "entries", "of those before", "of all", *(["weights"] if has_weights else [])]]
    of_outputs = [Cut(one.path, one.num_entries, one.sum_of_weights) for one in outputs]
    before = [*cuts[:1], *cuts, *[cuts[-1]] * len(outputs)]
    for number, (cut, one_before) in enumerate(zip([*cuts, *of_outputs], before, strict=False)):
        n_all = [one_before.num_entries, cuts[0].num_entries]
        lines.append(
            [
                printable(cut.name),
                format_count(cut.num_entries),
                *(_share(cut.num_entries, of) if number else "" for of in n_all),
                *([_number(cut.sum_of_weights)] if cut.sum_of_weights is not None else []),
            ]
        )
    return text_table(lines, right=[False, *[True] * (len(lines[0]) - 1)])


def _input_table(inputs: list[SkimmedInput]) -> str:
    """One line for each input: entries, those behind the last cut, weights of both, sums."""
    has_weights = inputs[0].cuts[0].sum_of_weights is not None
    names = list(dict.fromkeys(name for one in inputs for name in one.sums))
    labels = [printable(name.rpartition(":")[2]) for name in names]
    lines = [["input", "entries", "last cut", *(["weights", "last cut"] if has_weights else []), *labels]]
    for one in inputs[:_N_SHOWN]:
        first, last = one.cuts[0], one.cuts[-1]
        weights = [first.sum_of_weights, last.sum_of_weights] if has_weights else []
        lines.append(
            [
                printable(one.url),
                format_count(first.num_entries),
                format_count(last.num_entries),
                *(_number(weight or 0) for weight in weights),
                *(_number(one.sums[name]) if name in one.sums else "" for name in names),
            ]
        )
    text = text_table(lines, right=[False, *[True] * (len(lines[0]) - 1)])
    left = len(inputs) - _N_SHOWN
    return text + (f"\n... {counted(left, 'more input')}" if left > 0 else "")


def _share(n: int, of: int) -> str:
    return f"{100 * n / of:.1f} %" if of else ""


def _number(value: float) -> str:
    return format_count(value) if isinstance(value, int) else f"{value:.6g}"
