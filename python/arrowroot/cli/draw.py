"""`arrowroot draw`."""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import arrowroot
from arrowroot import InvalidRequestError, NoSuchColumnError, split_url
from arrowroot import _terminal as terminal
from arrowroot._histograms.filling import is_text, refusal
from arrowroot._histograms.texts import decoded
from arrowroot._histograms.wanted import axis_of_texts, coordinates, is_condition
from arrowroot._render import printable
from arrowroot._storage.filesets import fileset
from arrowroot.cli import art, destinations
from arrowroot.cli.arguments import bins_and_ranges, definitions_of
from arrowroot.cli.failures import EXIT_DONE
from arrowroot.cli.lines import has_object
from arrowroot.cli.target import storage_options

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from arrowroot import Histogram

_COORDINATES = ("x", "y")
#: A word by which TTree::Draw is told to draw: "colz", "hist", "e1p".
_LOOK = (
    r"(?i)(colz?|hist|same|goff|lego\d?|surf\d?|cont\d?|box\d?|text\d*|scat|candle\w*|violin|arr|prof\w?"
    r"|norm|e\d?|p|l|c){1,3}"
)
#: The columns of a picture that goes into a file or a pipe.
_PIPED_WIDTH = 80
#: Bins of one dimension, and of each of two.
_N_BINS = (50, 20)
#: The most texts that have bins.
_MAX_TEXTS = 200


class _Drawn(NamedTuple):
    """The expressions of the axes, and the one of which there are means; None: entries are counted."""

    axes: Sequence[str]
    mean: str | None

    @classmethod
    def of(cls, options: argparse.Namespace) -> _Drawn:
        """Return what is to be drawn. Raises: InvalidRequestError for too much."""
        for text in options.expressions:
            _refuse_named(options.url, text)
        _refuse_order_of_root(options)
        expressions = [part for text in options.expressions for part in coordinates(text)]
        drawn = cls(expressions[:-1], expressions[-1]) if options.profile else cls(expressions, None)
        has_axes = all(expressions) and 0 < len(drawn.axes) <= len(_COORDINATES)
        if not has_axes or len(options.range) > len(drawn.axes):
            more = ", and one more for --profile," if options.profile else ""
            raise InvalidRequestError(
                f"draw: write one expression for x, or two for x and y{more} and a range for each axis at most"
            )
        return drawn

    def __str__(self) -> str:
        axes = (
            self.axes[0] if len(self.axes) == 1 else f"{self.axes[1]} (y) : {self.axes[0]} (x)"
        )  # as ROOT has them
        return axes if self.mean is None else f"mean of {self.mean} in bins of {axes}"


def _refuse_named(url: str, text: str) -> None:
    """Raise InvalidRequestError, with the line to write, for bins as TTree::Draw takes them, and several columns.

    Such are "x>>h(10,0,100)", and "x, y" and "Muon_*".
    """
    if re.fullmatch(r"[\w.]+\s*([,;]\s*[\w.]+\s*)+", text):
        line = shlex.join(["arrowroot", "draw", url, *re.split(r"\s*[,;]\s*", text.strip())])
        raise InvalidRequestError(f"draw: {text}: each axis is one expression: write {line}")
    if re.fullmatch(r"[\w.]*\*", text):
        line = shlex.join(["arrowroot", "ls", url, "-c", text])
        raise InvalidRequestError(
            f"draw: {text}: each axis is one expression: write {line}, which lists those"
        )
    found = re.fullmatch(r"(.*?)\s*>>\s*\+?\s*\w*\s*\(([^()]*,[^()]*)\)\s*", text)
    if found is None:
        return
    numbers = [number.strip() for number in found[2].split(",")]
    bins, said = bins_and_ranges(numbers)
    line = " ".join(["arrowroot draw", shlex.quote(url), shlex.quote(found[1]), bins])
    raise InvalidRequestError(f"draw: {text}: bins and ranges are options{said}: write {line}")


def _refuse_order_of_root(options: argparse.Namespace) -> None:
    """Raise InvalidRequestError, with the line to write, for a cut and options of TTree::Draw behind the axes."""
    behind = options.expressions[1:]
    if len(behind) == 3 and all(re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", text) for text in behind):
        words = [word for word in options.words[1:] if word not in behind]
        line = f"{shlex.join(['arrowroot', 'draw', *words])} {bins_and_ranges(behind)[0]}"
        raise InvalidRequestError(f"draw: bins and ranges are options: write {line}")
    # The mean of a condition is an efficiency.
    cut = next(
        (text for text in behind[:1] if not text.strip() or (is_condition(text) and not options.profile)),
        None,
    )
    left = behind[0 if cut is None else 1 :]
    looks = [text for text in left if _is_look(text) and not _is_known(options, text)]
    if cut is None and not looks:
        return
    words = list(options.words[1:])
    for text in [*([] if cut is None else [cut]), *looks]:
        words.remove(text)
    said = []
    if any("prof" in text.lower() for text in looks):
        words.append("--profile")
    elif looks:
        said.append(f"{' '.join(looks)} is not needed")
    if cut is not None and cut.strip():
        said.append("a condition is an option")
        if options.filter is not None:
            cut = f"({options.filter}) && ({cut})"  # the last --filter counts
        words += ["--filter", cut]
    raise InvalidRequestError(
        f"draw: {'; '.join(said) or 'options have names'}: write {shlex.join(['arrowroot', 'draw', *words])}"
    )


def _settle_tree(options: argparse.Namespace) -> None:
    """Take "FILE TREE EXPR" for "FILE:TREE EXPR", as other commands do.

    Raises: InvalidRequestError, with the line to write, for another object in the place of an expression.
    """
    files = [text for text in options.expressions if Path(split_url(text)[0]).is_file()]
    if files:
        rest = [word for word in options.words[1:] if word != options.url and word not in files]
        listed = f"printf '%s\\n' {shlex.join([options.url, *files])} > files.txt"
        line = shlex.join(["arrowroot", "draw", "@files.txt", *rest])
        raise InvalidRequestError(f"draw: several files are a list of them: write {listed}, then {line}")
    (url, tree), (name, *others) = split_url(options.url), options.expressions
    if not has_object(url, tree or name) or (tree is None and _is_known(options, name)):
        return
    place = f"{url}:{tree or name}"
    if not isinstance(arrowroot.open(url)[tree or name], arrowroot.Tree):
        raise InvalidRequestError(
            f"draw: {tree or name} has no columns: write arrowroot show {shlex.quote(place)}"
        )
    if others and tree is None:
        options.url, options.expressions = place, others


def _is_look(text: str) -> bool:
    """Return whether a text tells TTree::Draw how to draw."""
    words = text.split()
    return bool(words) and all(re.fullmatch(_LOOK, word) for word in words)


def _is_known(options: argparse.Namespace, text: str) -> bool:
    """Return whether a text is an expression of the columns that there are."""
    try:
        _scan(options, [f"({text})"])
    except (InvalidRequestError, NoSuchColumnError):
        return False
    return True


def run(options: argparse.Namespace) -> int:
    """Fill a histogram, or one for each file or sample, and show it."""
    _settle_tree(options)
    what = _Drawn.of(options)
    if options.log and not options.plot:
        raise InvalidRequestError("draw: --log is of a picture: write --log --plot FILE.png")
    if options.plot:
        from arrowroot._pictures import style

        style.check(options.plot)
        destinations.check([("--plot", options.plot)], {})
    axes = _axes(options, what.axes)
    scan = _scan(options, [])
    of_axes: dict[str, Any] = dict(zip(_COORDINATES, what.axes, strict=False))
    wanted = arrowroot.Hist(*axes, **of_axes, mean=what.mean, weight=options.weight)
    filled = scan.hist({"h": wanted}, by_sample=options.by is not None)["h"]
    each = [("", filled)] if options.by is None else [(name, filled[name, ...]) for name in scan.samples]
    if options.by == "file":
        each = [(Path(name).name, one) for name, one in each]
    drawn = [(name, one, _as_of_root(one)) for name, one in each]
    for name, one, of_root in drawn:
        _show(options, what, name, one, of_root)
    if options.plot:
        from arrowroot._pictures import drawn as pictures

        title = options.url if options.filter is None else f"{options.url}, {options.filter}"
        labels = [*what.axes, *([f"mean of {what.mean}"] if what.mean is not None else [])]
        each_of_root = [(name, of_root) for name, _, of_root in drawn]
        pictures.draw(options.plot, title, each_of_root, labels, is_log=options.log)
    return EXIT_DONE


def _scan(options: argparse.Namespace, columns: list[str] | None) -> arrowroot.Scan:
    files: Any = options.url
    if options.by == "file":
        # Each file is a sample of its name.
        files = {
            file: {"files": [file if tree is None else f"{file}:{tree}"]}
            for file, tree in fileset(options.url, options.tree).files
        }
    storage: Any = storage_options(options)
    return arrowroot.scan(
        files,
        options.tree,
        columns,
        filter=options.filter,
        define=definitions_of(options),
        **storage,
    )


def _axes(options: argparse.Namespace, expressions: Sequence[str]) -> list[Any]:
    """Return number of bins and ends of each axis; without a range, of all values: they are read for it.

    That of texts is an axis of ``hist``, with a bin for each.
    """
    n_bins = options.bins or _N_BINS[len(expressions) - 1]
    given: list[tuple[float, float] | None] = [
        *options.range,
        *[None] * (len(expressions) - len(options.range)),
    ]
    of_range = [text for text, one in zip(expressions, given, strict=True) if one is not None]
    if of_range:
        of_texts = _of_texts(_scan(options, [f"({text})" for text in dict.fromkeys(of_range)]), options.url)
        if of_texts:
            raise InvalidRequestError(
                f"draw: {of_texts[0][1:-1]} is a text, of which each has a bin: leave --range out"
            )
    # Axes may be of one expression, which is one column.
    left = [*dict.fromkeys(text for text, one in zip(expressions, given, strict=True) if one is None)]
    of_left = _ends(_scan(options, [f"({text})" for text in left]), options.url) if left else []
    found = dict(zip(left, of_left, strict=True))
    axes: list[Any] = []
    for text, one in zip(expressions, given, strict=True):
        ends = found[text] if one is None else _Ends(*one)
        if ends.texts:
            if options.bins is not None:
                raise InvalidRequestError(
                    f"draw: {text} is a text, of which each has a bin: leave --bins out"
                )
            axes.append(axis_of_texts(ends.texts))
            continue
        low, high = ends.low, ends.high
        if ends.is_integer and options.bins is None and high - low < n_bins:
            axes.append((int(high - low) + 1, low - 0.5, high + 0.5))  # a bin for each
        elif one is None and low == high:
            axes.append((n_bins, low - 0.5, high + 0.5))
        else:
            # The largest value belongs to the last bin, which does not have its upper end.
            axes.append((n_bins, low, high if one is not None else high + 1e-6 * (high - low)))
    return axes


class _Ends(NamedTuple):
    """The smallest and largest of some values, and whether they are integers; ``texts``: those that there are."""

    low: float = 0
    high: float = 0
    is_integer: bool = False
    texts: tuple[str, ...] = ()


def _of_texts(scan: arrowroot.Scan, url: str) -> list[str]:
    """Return the columns of texts. Raises: InvalidRequestError for neither numbers nor texts. ``url``: the files."""
    found = []
    for field in scan.schema:
        if is_text(field.type):
            found.append(field.name)
        elif (why := refusal(field.type, field.name[1:-1])) is not None:
            raise InvalidRequestError(f"{url}: draw: {why}")
    return found


def _ends(scan: arrowroot.Scan, url: str) -> list[_Ends]:
    """Return the ends of the finite values of each column.

    url: the files, for messages.

    Raises: InvalidRequestError if there are none, or neither numbers nor texts.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    texts: dict[str, dict[str, None]] = {name: {} for name in _of_texts(scan, url)}
    found: dict[str, tuple[float, float]] = {}
    integers: set[str] = set()
    for batch in scan:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            while pa.types.is_nested(column.type):
                column = column.flatten()  # noqa: PLW2901 - the items of a list, in lists too
            if name in texts:
                texts[name].update(dict.fromkeys(decoded(column.drop_null().unique())))
                if len(texts[name]) > _MAX_TEXTS:
                    raise InvalidRequestError(
                        f"draw: {name[1:-1]}: more than {_MAX_TEXTS} different texts: choose some, "
                        f'--filter \'{name[1:-1]} in ("a", "b")\''
                    )
                continue
            if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
                column = column.cast(pa.uint8())  # noqa: PLW2901 - truth values, as numbers that have ends
            if pa.types.is_integer(column.type):
                integers.add(name)
            ends = pc.min_max(column.filter(pc.is_finite(column))).as_py()
            if ends["min"] is not None:
                low, high = found.get(name, (ends["min"], ends["max"]))
                found[name] = min(low, ends["min"]), max(high, ends["max"])
    missing = next((name for name in scan.column_names if not texts.get(name) and name not in found), None)
    if missing is not None:
        raise InvalidRequestError(f"draw: {missing[1:-1]}: there is no value to draw")
    return [
        _Ends(texts=tuple(texts[name])) if name in texts else _Ends(*found[name], name in integers)
        for name in scan.column_names
    ]


def _show(options: argparse.Namespace, what: _Drawn, name: str, filled: Any, of_root: Histogram) -> None:
    total: Any = filled.sum(flow=True)
    if what.mean is not None:
        total = total.count if options.weight is None else total.sum_of_weights
    said = f"{getattr(total, 'value', total):,.6g} filled"
    if options.filter is not None:
        said += f", for which {printable(options.filter)}"
    if name:
        said += f", of {printable(name)}"
    print(terminal.Style(sys.stdout).headed(printable(str(what)), said))
    print("\n".join(art.histogram(of_root, terminal.width(piped=_PIPED_WIDTH))))


def _as_of_root(filled: Any) -> Histogram:
    """Return a histogram as a file of ROOT has it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "drawn.root"
        with arrowroot.create(path) as new:
            new["h"] = filled
        found: Histogram = arrowroot.open(path)["h"]
    return found
