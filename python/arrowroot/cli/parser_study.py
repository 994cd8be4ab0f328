"""The commands that study what reading and writing cost: layout, fjr, stalls, model, replay, tune, stress."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arrowroot.cli.arguments import (
    JSON_HELP,
    URL_HELP,
    Command,
    add_columns,
    add_storage,
    budget,
    count,
    duration,
    entry_range,
    latency,
    positive,
    rate,
)

if TYPE_CHECKING:
    import argparse

_LAYOUT = """\
Shows how a tree or RNTuple lies in its file, from metadata alone: its clusters, its baskets or pages, how far apart
those are that one entry needs (its span), which part of the file which entries need, and the sizes that ROOT's
TTree::OptimizeBaskets would give the baskets.

examples:
  arrowroot layout run7.root:Events
  arrowroot layout root://host//run7.root:Events -c 'Muon_*'
  arrowroot layout run7.root:Events --json | jq .entry.span_bytes.median
"""

_FJR = """\
Prints the storage-timing-summary of CMS framework job reports (written by cmsRun -j, or by arrowroot perf --fjr), or
of a job's log that has some in its text, with what follows from it: mean size and time of an operation, and MB/s.

examples:
  arrowroot fjr FrameworkJobReport.xml
  arrowroot fjr FrameworkJobReport.xml --json | jq '.reports[].counters[]'
"""

_MODEL = """\
Predicts how long the reads of a job take where each costs a latency and all share a bandwidth: the number of reads
times the one, plus their megabytes over the other. Counts are those of the job report: what was actually asked of the
storage (read and readv of rfio, dcap, root, ...), or the counters named. Megabytes are the report's. Of a
trace, its physical requests are taken.

examples:
  arrowroot model FrameworkJobReport.xml --latency 5ms --bandwidth 12MB/s
  arrowroot model report.xml --reads tstoragefile/read
  arrowroot model reads.parquet --latency 50ms --bandwidth 100MB/s
"""

_REPLAY = """\
Replays the logical reads of a trace (arrowroot perf --trace) under other strategies, against a simulated store in
virtual time: counts and bytes are exact, and the same each time. Requests are made by the planning of the store that
the trace was recorded at, within the limits that it had.

examples:
  arrowroot replay reads.parquet --strategy all --latency 5ms --bandwidth 12MB/s
  arrowroot replay reads.parquet --store s3 --strategy treecache --strategy auto
  arrowroot replay reads.parquet --strategy treecache -O learn_entries=0
  arrowroot replay reads.parquet --sweep readahead=4k..128M --plot sweep.png
"""

_STALLS = """\
Says who waited for the output, how often and how long: as the table of CMSSW's StallMonitor, as JSON, and as a picture
of what each stream did when. FILE is what WritableFile.stalls().save(...) wrote, a file of CMSSW's StallMonitor, or a
log of its Tracer with printTimestamps. Times of the StallMonitor are taken as the microseconds that they are, and as
milliseconds in files of before February 2018, whose header has no transitions.

examples:
  arrowroot stalls stalls.json
  arrowroot stalls stallMonitor.log --plot stalls.png
  arrowroot stalls tracer.log --threshold 500ms --plot stalls.png
"""

_TUNE = """\
Finds how to read a file where it is: measures the store (latency, bandwidth, parallel requests), plans the reads,
simulates the strategies, runs the best few, and prints them ranked with the setting to export.

examples:
  arrowroot tune root://host//run7.root:Events -c 'Muon_*'
  arrowroot tune https://host/run7.root --budget-seconds 20 --json
"""

_STRESS = """\
Measures small, fixed work of each kind (decoding by codec, reading columns, opening, writing, indexing, remote
reading in virtual time), and says in one number how fast this machine and this version are: the reference that comes
with arrowroot has 1,000, twice as fast is 2,000. It takes about a minute, and needs no network.

examples:
  arrowroot stress
  arrowroot stress --save-reference here.json      of this machine
  arrowroot stress --reference here.json           against it, after an update
  arrowroot stress --json | jq .marks
"""


def _layout(layout: argparse.ArgumentParser) -> None:
    layout.add_argument("urls", metavar="URL[:TREE]", nargs="+", help=URL_HELP)
    add_columns(layout, "show only these, and what is inside of them")
    layout.add_argument(
        "--basket-memory",
        metavar="SIZE",
        default="10 MB",
        help="for OptimizeBaskets: of the baskets of all branches together (default: 10 MB, as ROOT's)",
    )
    layout.add_argument("-l", "--long", action="store_true", help="all branches whose baskets would change")
    layout.add_argument("--json", action="store_true", help=JSON_HELP)
    add_storage(layout)


def _fjr(fjr: argparse.ArgumentParser) -> None:
    fjr.add_argument(
        "file", metavar="FILE", help="a job report, or a log with storage-timing-summaries in it"
    )
    fjr.add_argument("--json", action="store_true", help="as JSON")


def _stalls(stalls: argparse.ArgumentParser) -> None:
    stalls.add_argument("file", metavar="FILE", help="stalls of arrowroot, StallMonitor or Tracer")
    stalls.add_argument(
        "--threshold",
        metavar="TIME",
        type=duration,
        default=0.1,
        help="a wait of so long is a stall, as 100ms (default: 0.1 s; our own files have theirs)",
    )
    stalls.add_argument("--plot", metavar="FILE", help="draw it, as .png, .svg or .pdf; needs matplotlib")
    stalls.add_argument(
        "--writers",
        metavar="GLOBS",
        help="CMSSW's modules that write, as 'RAW*,out' (default: names with output, out, and write*)",
    )
    stalls.add_argument("--json", action="store_true", help="as JSON")
    stalls.add_argument(
        "--intervals", action="store_true", help="with --json: what each stream does when, too"
    )


def _model(model: argparse.ArgumentParser) -> None:
    model.add_argument("files", metavar="FILE", nargs="+", help="job reports, or traces (.parquet, .arrow)")
    _add_network(model)
    for name, what in (("reads", "operations"), ("megabytes", "megabytes")):
        model.add_argument(
            f"--{name}",
            metavar="COUNTER",
            action="append",
            default=[],
            help=f"take the {what} of this counter (rfio/read), or this number; may be repeated",
        )
    model.add_argument("--json", action="store_true", help="as JSON")


def _replay(replay: argparse.ArgumentParser) -> None:
    replay.add_argument("trace", metavar="TRACE", help="of arrowroot perf --trace: .parquet or .arrow")
    replay.add_argument(
        "--strategy",
        metavar="NAME",
        action="append",
        help="may be repeated; all: each of them (default: auto)",
    )
    _add_network(replay)
    replay.add_argument(
        "--store",
        metavar="KIND",
        choices=("http", "s3", "xrootd", "disk"),
        help="make requests as of such a store: http, s3 or xrootd (default: as when the trace was recorded); or "
        "disk: a local disk, whose seeks take the latency",
    )
    replay.add_argument(
        "--kernel-read-ahead",
        metavar="SIZE",
        help="of a disk: how far the kernel reads ahead (default: 128 KiB, as Linux does)",
    )
    replay.add_argument(
        "--warm",
        action="store_true",
        help="of a disk: the page cache has the whole file, as once it was read",
    )
    replay.add_argument(
        "--order",
        choices=("recorded", "entry"),
        default="recorded",
        help="entry: as if baskets were needed one entry after the other (default: as they were)",
    )
    replay.add_argument(
        "--streams",
        metavar="N",
        type=positive,
        help="requests under way at a time, which share the bandwidth (default: as many as are made to such a "
        "store; 1 to a local file)",
    )
    replay.add_argument(
        "--open-requests",
        metavar="N",
        type=count,
        default=0,
        help="round trips of the opening, before the first read (default: 0)",
    )
    replay.add_argument("--no-think", action="store_true", help="as if decoding took no time")
    replay.add_argument(
        "--sweep",
        metavar="NAME=A..B",
        help="a strategy and its cache size in powers of two: readahead=4k..128M",
    )
    replay.add_argument(
        "--plot", metavar="FILE", help="draw the sweep: .png, .svg or .pdf (needs matplotlib)"
    )
    replay.add_argument("--json", action="store_true", help="as JSON")
    add_storage(replay, with_strategy=False)


def _tune(tune: argparse.ArgumentParser) -> None:
    tune.add_argument("urls", metavar="URL[:TREE]", nargs="+", help=URL_HELP)
    add_columns(tune, "read only these columns")
    tune.add_argument(
        "--budget-seconds",
        metavar="S",
        type=budget,
        default=60.0,
        help="begin no run after this time (default: 60)",
    )
    tune.add_argument("--entries", metavar="A:B", type=entry_range, help="only these: 0:1000")
    tune.add_argument("--verify", metavar="N", type=positive, default=3, help="run the best N (default: 3)")
    tune.add_argument("--threads", metavar="N", type=count, default=0, help="0: as many as cores (default)")
    tune.add_argument("--json", action="store_true", help=JSON_HELP)
    add_storage(tune, with_strategy=False)


def _stress(stress: argparse.ArgumentParser) -> None:
    reference = stress.add_mutually_exclusive_group()
    reference.add_argument(
        "--reference", metavar="FILE", help="compare with this one (default: arrowroot's own)"
    )
    reference.add_argument("--save-reference", metavar="FILE", help="write the times as a reference, as JSON")
    stress.add_argument("--json", action="store_true", help="as JSON")


def _add_network(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--latency", metavar="TIME", type=latency, default=0.005, help="of each request (default: 5ms)"
    )
    command.add_argument(
        "--bandwidth", metavar="RATE", type=rate, default=12e6, help="of all together (default: 12MB/s)"
    )


COMMANDS = (
    Command("layout", _LAYOUT, "how a tree lies in its file", _layout),
    Command("fjr", _FJR, "read a CMS framework job report", _fjr),
    Command("stalls", _STALLS, "who waited for the output, as table and picture", _stalls),
    Command("model", _MODEL, "predict the time of a job's reads", _model),
    Command("replay", _REPLAY, "replay a trace under other strategies", _replay),
    Command("tune", _TUNE, "find the best strategy for a file where it is", _tune),
    Command("stress", _STRESS, "one number: how fast this machine and this version are", _stress),
)
