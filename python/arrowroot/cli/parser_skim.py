"""The options of `arrowroot skim`."""

from __future__ import annotations

import argparse
import re

from arrowroot.cli.arguments import (
    Command,
    add_columns,
    add_define,
    add_filter,
    add_storage,
    bins_and_ranges,
    positive,
)
from arrowroot.cli.parser_write import add_checks, add_entries, add_force, add_rules, add_style

_DRAW = """\
Fills a histogram of an expression, or of two, and draws it with characters; --plot makes a picture. Of lists every
item is filled. 'y:x', as TTree::Draw takes it, is x and then y. It needs the package hist.

examples:
  arrowroot draw run7.root:Events Muon_pt --filter 'nMuon >= 2'
  arrowroot draw run7.root:Events 'sum(Muon_pt)' MET_pt --range 0:200
  arrowroot draw run7.root:Events MET_pt:nMuon --profile
  arrowroot draw 'data/run*.root:Events' MET_pt --by file --plot met.png
  arrowroot draw @samples.json --tree Events MET_pt --by sample
"""

_SKIM = """\
Writes chosen entries and columns of many ROOT files to one file, in the order of the inputs, and counts what passes
each cut. Trees stay trees and RNTuples RNTuples, each column with its codec. The other trees of the inputs (Runs,
LuminosityBlocks, ...) go along whole, and all trees do if none is named and nothing is chosen. The output is there when
it is whole; an older file of its name is replaced then, with --force alone.

@FILE stands for the inputs that FILE lists, one a line. A damaged or unclosed input is an error, unless
--on-bad-input skip leaves it out; the exit code is 4 then.

examples:
  arrowroot skim run7.root:Events skim.root --filter 'nMuon >= 2' -c 'Muon_*'
  arrowroot skim 'data/*.root:Events' out.root --cut 'muons=nMuon >= 2' --json
  arrowroot skim @files.txt out.root --tree Events --weight genWeight
  arrowroot skim run7.root:Events --output 'mu.root=nMuon > 0' --output all.root
  arrowroot skim 'data/*.root:Events' out.root --lumi-mask Cert.json
  arrowroot skim 'data/*.root:Events' out.root --pick events.txt
  arrowroot skim @files.txt out.root --filter 'nMuon >= 2' --resume
  arrowroot skim old.root new.root --compression zstd:7 --verify
"""


def _skim(skim: argparse.ArgumentParser) -> None:
    skim.add_argument(
        "files",
        metavar="IN[:TREE]... OUT[:TREE]",
        nargs="+",
        help="ROOT files, URLs, globs or @LISTs; the last one is written, unless --output says what is",
    )
    skim.add_argument(
        "--tree",
        metavar="NAME",
        help="of the inputs that do not name one; those of a pattern, as 'DF_*/O2aod', become one",
    )
    add_columns(skim, "write only these columns, and what counts their lists")
    add_filter(skim, "keep the entries for which this holds")
    add_define(skim)
    skim.add_argument(
        "--cut",
        metavar="NAME=TEXT",
        action="append",
        default=[],
        type=_named,
        help="keep the entries for which this holds, too, and count them; may be repeated",
    )
    skim.add_argument(
        "-o",
        "--output",
        metavar="OUT=TEXT",
        action="append",
        default=[],
        type=_output,
        help="instead of OUT: write the entries for which this holds besides; may be repeated",
    )
    add_entries(skim, "of one input: keep only these entries")
    skim.add_argument(
        "--lumi-mask", metavar="FILE", help="keep the luminosity blocks of a good-run list, JSON"
    )
    skim.add_argument(
        "--pick", metavar="FILE", help="keep the events of a list: run:lumi:event, or with blanks, one a line"
    )
    skim.add_argument("--weight", metavar="NAME", help="a column of weights, to be summed up for each cut")
    skim.add_argument(
        "--sum",
        metavar="TREE:COLUMN",
        action="append",
        help="a column of another tree, to be summed up by input (default: genEventCount, genEventSumw of Runs)",
    )
    skim.add_argument(
        "--carry",
        metavar="NAMES",
        action="append",
        help="other trees and objects that go along: names or globs with commas, '!NAME' leaves out, none "
        "(default: all)",
    )
    add_rules(skim, "what becomes of objects of several inputs, as merge has it")
    skim.add_argument(
        "--missing",
        choices=("raise", "null", "common"),
        default="raise",
        help="null: a column that an input lacks is null there; common: globs choose among those that all have",
    )
    skim.add_argument(
        "--promote", action="store_true", help="numbers of several types get one that has all their values"
    )
    skim.add_argument(
        "--on-bad-input",
        choices=("fail", "skip"),
        default="fail",
        help="skip: leave out an input that cannot be read, with all its entries; exit code 4",
    )
    skim.add_argument(
        "--resume",
        action="store_true",
        help="keep what is wanted of each input in OUT.parts until OUT is there; the same command goes on from there",
    )
    add_force(skim)
    skim.add_argument("--json", action="store_true", help="say as JSON what was written, and the cut flow")
    add_checks(skim)
    add_style(skim, "as the input", "ROOT's")
    add_storage(skim)


def _draw(draw: argparse.ArgumentParser) -> None:
    draw.add_argument("url", metavar="FILE[:TREE]", help="a ROOT file, URL, glob, @LIST, or @SAMPLES in JSON")
    draw.add_argument(
        "expressions", metavar="EXPR", nargs="+", help="what is on the axis x, and on y: expressions"
    )
    add_filter(draw, "fill of the entries for which this holds")
    add_define(draw)
    draw.add_argument("--weight", metavar="TEXT", help="an expression")
    draw.add_argument("--bins", metavar="N", type=_bins, help="of each axis (default: 50, of two axes 20)")
    draw.add_argument(
        "--range",
        metavar="LOW:HIGH",
        action="append",
        default=[],
        type=_range,
        help="of the axis x, and once more of y; without, all values are read once before",
    )
    draw.add_argument(
        "--profile", action="store_true", help="the mean of the last expression in each bin of the others"
    )
    draw.add_argument("--by", choices=("file", "sample"), help="a histogram for each file, or sample")
    draw.add_argument("--tree", metavar="NAME", help="of the files that do not name one")
    draw.add_argument("--plot", metavar="FILE", help="write a picture: .png, .svg or .pdf")
    draw.add_argument(
        "--log", action="store_true", help="of the picture: counts, or means, by their logarithm"
    )
    add_storage(draw)


def _bins(text: str) -> int:
    """Return the number of bins; with their ends, as histograms of ROOT have them, the options to write."""
    numbers = [part.strip() for part in text.strip("()").split(",")]
    if len(numbers) in (3, 6):
        line, said = bins_and_ranges(numbers)
        raise argparse.ArgumentTypeError(f"ends are an option of their own{said}: write {line}")
    return positive(text)


def _range(text: str) -> tuple[float, float]:
    """Return both ends of LOW:HIGH."""
    try:
        low, high = (float(part) for part in text.split(":"))
    except ValueError:
        both = re.sub(r"\s*,\s*", ":", text) if "," in text else "0:100"
        raise argparse.ArgumentTypeError(f"{text!r} is no LOW:HIGH: write --range {both}") from None
    if not low < high < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}: the second end is not above the first one")
    return low, high


def _named(text: str) -> tuple[str, str]:
    """Return both of NAME=TEXT; the text of a condition without a name has its first = elsewhere."""
    name, equals, condition = (part.strip() for part in text.partition("="))
    if not (name and equals and condition) or name[-1] in "<>!" or condition.startswith("="):
        raise argparse.ArgumentTypeError(
            f"{text!r}: a cut that is counted has a name: write --cut 'NAME={text}', or --filter '{text}'"
        )
    return name, condition


def _output(text: str) -> tuple[str, str | None]:
    """Return both of OUT=TEXT; None: there is no condition."""
    file, mark, rest = text.partition(".root")
    name, equals, condition = rest.partition("=") if mark else text.partition("=")
    place = f"{file}{mark}{name}" if mark else name
    if not place.strip():
        raise argparse.ArgumentTypeError(f"{text!r} names no file, as 'muons.root=nMuon > 0' does")
    return place.strip(), condition.strip() or None if equals else None


COMMANDS = (
    Command("draw", _DRAW, "a histogram of expressions", _draw),
    Command("skim", _SKIM, "chosen entries and columns of many files, in one pass", _skim),
)
