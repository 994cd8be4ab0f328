"""The commands that write: convert, merge, sample."""

from __future__ import annotations

import argparse

from arrowroot._sizes import parse_size
from arrowroot.cli.arguments import (
    Command,
    add_columns,
    add_define,
    add_filter,
    add_storage,
    checked,
    count,
    entry_range,
    name_and_value,
    positive,
)

_CONVERT = """\
Converts trees and RNTuples to Parquet and Arrow IPC, these to a ROOT file or each other, and all to CSV and JSON lines.
The suffix of a name says the format: .root, .parquet, .arrow, .csv, .jsonl. Data pass through in batches, so memory
does not grow with the file; the output is there when it is whole, and an older file of its name is replaced then, a
ROOT file with --force alone.

A file of another format becomes the tree "Events" unless OUT names it. In CSV, lists are JSON in their cell. From ROOT
to ROOT, in another layout or codec or in part, is: arrowroot skim.

examples:
  arrowroot convert run7.root:Events run7.parquet
  arrowroot convert run7.root:Events run7.csv -c run,event,nMuon
  arrowroot convert run7.root:Events - --format jsonl | jq .Muon_pt
  arrowroot convert run7.parquet run7.root:Events --layout rntuple
  arrowroot convert run7.root:Events muons.arrow -c 'Muon_*' --verify
  arrowroot convert run7.parquet run7.root --layout aod-2011 --plan
"""

_MERGE = """\
Merges ROOT files into one. The baskets of trees are copied as they are, in any codec, and never compressed again;
histograms are added, and other objects are kept as the first input has them. OUT is there when it is whole; an older
file of its name is replaced then, with --force alone. An input that is damaged, was not closed, or does not fit to
those before is an error.

IN is a path, a URL or a glob, or @FILE, which names inputs, one a line. A rule is PATTERN=RULE: a pattern of names, or
of paths if it has a slash, and concatenate, add, first, unique, all, drop or fail. docs/merging.md has more.

Exit code 4: inputs were left out, as --on-bad-input skip says.

examples:
  arrowroot merge all.root run*.root
  arrowroot merge all.root @files.txt --on-bad-input skip
  arrowroot merge all.root run*.root --columns union --verify
  arrowroot merge all.root run*.root --rule 'h_*=add' --rule 'debug/*=drop'
  arrowroot merge all.root run*.root --max-size '4 GB'
"""

_SAMPLE = """\
Makes a file of events that look like those of an experiment: momenta that fall, lists of objects, trigger bits. They
mean nothing as physics. The same kind, seed and number of entries are the same data on every machine.

kinds:
  nanoaod   some 940 columns, as of CMS: counters, lists, trigger bits
  d3pd      some 430 columns, as of ATLAS: lists, and lists of lists
  aod       five lists of records, with a list in each record

examples:
  arrowroot sample nanoaod sample.root
  arrowroot sample nanoaod small.root --size '20 MB' --seed 7
  arrowroot sample d3pd d3pd.root:physics --layout rntuple --entries 10000
  arrowroot sample aod aod.root --layout aod-2011 --entries 20000
"""


def _convert(convert: argparse.ArgumentParser) -> None:
    convert.add_argument("input", metavar="IN[:TREE]", help="a ROOT file or URL, a Parquet or an Arrow file")
    convert.add_argument(
        "output",
        metavar="OUT[:TREE]",
        help="a file of this machine: .root, .parquet, .arrow, .csv or .jsonl; -: the standard output",
    )
    convert.add_argument(
        "--format",
        type=_format,
        choices=("root", "parquet", "ipc", "csv", "jsonl"),
        help="that of OUT, where its name does not say it; jsonl: JSON lines, an object for each entry",
    )
    add_columns(convert, "convert only these columns")
    add_filter(convert, "convert the entries for which this holds")
    add_define(convert)
    add_entries(convert, "convert only these entries")
    add_force(convert, "replace a ROOT file if it is there; other formats are replaced anyway")
    convert.add_argument("--json", action="store_true", help="say as JSON what was written")
    add_checks(convert)
    add_style(convert, "ROOT's: 101 for trees, 505 for RNTuples; zstd for other formats", "ROOT's")
    add_storage(convert)


def _sample(sample: argparse.ArgumentParser) -> None:
    sample.add_argument("kind", metavar="KIND", help="nanoaod, d3pd or aod")
    sample.add_argument("output", metavar="OUT[:TREE]", help="a ROOT file to write")
    size = sample.add_mutually_exclusive_group()
    size.add_argument(
        "--size",
        metavar="SIZE",
        type=_size,
        default=300_000_000,
        help="about, of a tree with the default compression (default: 300 MB); entries follow from it",
    )
    size.add_argument("--entries", metavar="N", type=positive, help="number of entries instead")
    sample.add_argument(
        "--seed", metavar="N", type=count, default=1, help="of the random numbers (default: 1)"
    )
    sample.add_argument("--keep", action="store_true", help="do nothing if the file is there")
    add_force(sample)
    sample.add_argument("--json", action="store_true", help="say as JSON what was written")
    add_style(sample, "zstd:5", "10 MB")


def _merge(merge: argparse.ArgumentParser) -> None:
    merge.add_argument("output", metavar="OUT", help="a ROOT file to write")
    merge.add_argument(
        "inputs", metavar="IN", nargs="+", help="a ROOT file, URL or glob, or @FILE that names them"
    )
    merge.add_argument(
        "--columns",
        choices=("strict", "union", "first"),
        default="strict",
        help="of trees. strict: all inputs have the same (default); union: those of all, with zeros and empty lists "
        "where an input has none; first: those of the first input",
    )
    add_rules(merge, "what becomes of objects")
    merge.add_argument(
        "--on-bad-input",
        choices=("fail", "skip"),
        default="fail",
        help="skip: leave it out, and say so; exit code 4",
    )
    merge.add_argument(
        "--max-size",
        metavar="SIZE",
        type=_size,
        help="begin another output behind the input that passes it: OUT_1.root, ...",
    )
    merge.add_argument(
        "--open-files", metavar="N", type=positive, default=24, help="inputs open at a time (default: 24)"
    )
    merge.add_argument(
        "--verify",
        action="store_true",
        help="read inputs and output before it is published, and compare all values",
    )
    merge.add_argument(
        "--rebasket",
        action="store_true",
        help="put baskets of less than 4 kB together to larger ones; others are copied as they are",
    )
    merge.add_argument(
        "--provenance",
        action="store_true",
        help="say which entries come from which input, and its UUID: in a tree NAME_inputs beside each tree, in the "
        "attribute set inputs of each RNTuple",
    )
    merge.add_argument(
        "--join",
        metavar="PATTERN",
        help="make one directory of those whose names match, as 'DF_*' of ALICE's data frames; columns of their trees "
        "that hold numbers of rows (fIndex...) number those of the output",
    )
    add_force(merge)
    merge.add_argument("--json", action="store_true", help="say as JSON what became of all objects")
    merge.add_argument(
        "--reproducible", action="store_true", help="the same bytes on any day: no UUID, no dates"
    )
    add_storage(merge)


def add_rules(command: argparse.ArgumentParser, what: str) -> None:
    """Add the rules of objects."""
    command.add_argument(
        "--rule",
        metavar="PATTERN=RULE",
        type=name_and_value,
        action="append",
        default=[],
        help=f"{what}; may be repeated, and the first that matches counts",
    )


def add_force(command: argparse.ArgumentParser, what: str = "replace OUT if it is there") -> None:
    """Add --force, without which no ROOT file that is there is replaced."""
    command.add_argument("-f", "--force", action="store_true", help=what)


def add_entries(command: argparse.ArgumentParser, what: str) -> None:
    """Add --entries, a range."""
    command.add_argument(
        "--entries",
        metavar="A:B",
        type=entry_range,
        help=f"{what}, from:to, as 0:1000, or with = before a minus: --entries=-500:",
    )


def add_checks(command: argparse.ArgumentParser) -> None:
    """Add what says more of an output, and the size of batches."""
    command.add_argument(
        "--verify", action="store_true", help="read the output back and compare types and values; exit code 1"
    )
    command.add_argument("--batch-size", metavar="SIZE", default="64 MB", help="default: 64 MB")
    command.add_argument(
        "--cost", action="store_true", help="report what writing a ROOT file cost, layer by layer"
    )
    command.add_argument("--fjr", metavar="FILE", help="write a CMS framework job report of the writing")


def add_style(command: argparse.ArgumentParser, compression: str, flush: str) -> None:
    """Add the options of writing; the defaults that are told are those of a plain tree or RNTuple."""
    style = command.add_argument_group("writing")
    style.add_argument(
        "--layout",
        metavar="NAME",
        default=argparse.SUPPRESS,
        help="ttree (default), rntuple, old-aod, aod-2011, esd-2011, d3pd, nanoaod, or a TOML file",
    )
    style.add_argument(
        "--compression",
        metavar="CODEC",
        default=argparse.SUPPRESS,
        help=f"zstd:5, lz4, 505, none, ..., or auto, which tries some (default: {compression})",
    )
    style.add_argument(
        "--flush",
        metavar="SIZE",
        type=_flush,
        default=argparse.SUPPRESS,
        help=f"end of clusters: '30 MB' compressed, a number of entries, or none (default: {flush})",
    )
    style.add_argument(
        "--basket-size",
        metavar="SIZE",
        default=argparse.SUPPRESS,
        help="of a tree; optimized: as ROOT gives them (default: fitted to the cluster)",
    )
    style.add_argument(
        "--page-size", metavar="SIZE", default=argparse.SUPPRESS, help="of an RNTuple (default: as ROOT's)"
    )
    style.add_argument(
        "--plan",
        action="store_true",
        help="tell what would be written, from the first entries, and write nothing",
    )
    style.add_argument(
        "--reproducible", action="store_true", help="the same bytes on any day: no UUID, no dates"
    )
    style.add_argument("--threads", metavar="N", type=count, default=0, help="0: as many as cores (default)")


def _format(text: str) -> str:
    if text in ("ttree", "rntuple"):
        raise argparse.ArgumentTypeError(f"{text} is a layout: write --layout {text}")
    return text


def _size(text: str) -> int:
    return checked(parse_size, text)


def _flush(text: str) -> str | int | None:
    if text.strip().isdecimal():
        return positive(text)
    if text.strip().lower() == "none":
        return None
    if text != "auto":
        checked(parse_size, text)
    return text


COMMANDS = (
    Command("convert", _CONVERT, "between ROOT and Parquet or Arrow IPC; to CSV and JSON lines", _convert),
    Command("merge", _MERGE, "many files into one, without compressing anew", _merge),
    Command("sample", _SAMPLE, "make a file of simulated events", _sample),
)
