"""`arrowroot skim`."""

from __future__ import annotations

import re
import shlex
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import arrowroot
from arrowroot import (
    CorruptFileError,
    EventList,
    InvalidRequestError,
    NoSuchFileError,
    StorageError,
)
from arrowroot._converting import compare
from arrowroot._converting.replaced import check_replaced
from arrowroot._progress import Progress
from arrowroot._render import printable, without_secrets
from arrowroot._sizes import counted, format_bytes, format_count, format_seconds, parse_digits
from arrowroot._skimming.planning import plans_of
from arrowroot._skimming.request import request_of
from arrowroot._skimming.skim import is_begun, skimmed
from arrowroot.cli import destinations, writing_report
from arrowroot.cli.arguments import definitions_of
from arrowroot.cli.beside import as_options, is_condition, is_file
from arrowroot.cli.convert import check_verifiable
from arrowroot.cli.convert import plan as show_plan
from arrowroot.cli.failures import EXIT_DONE, EXIT_SKIPPED, EXIT_UNSUPPORTED
from arrowroot.cli.lines import may_be_input
from arrowroot.cli.merge import more_than_once, rules_of
from arrowroot.cli.target import column_texts, storage_options

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from arrowroot import Skimmed
    from arrowroot._skimming.outputs import Portion, WrittenFile
    from arrowroot._skimming.report import Copied
    from arrowroot._skimming.request import Request

_STYLE = ("layout", "compression", "flush", "basket_size", "page_size")
#: Numbers of an event in a list: run, block, event.
_N_IDS = (2, 3)
#: Digits of 2^64.
_N_DIGITS = 20


def run(options: argparse.Namespace) -> int:
    """Skim, and say what was written and the cut flow."""
    started = time.perf_counter_ns()
    inputs, output, outputs = _files_of(options)
    request = request_of(inputs, _given(options, output, outputs), storage_options(options))
    places = [("OUT", path) for path, _, _ in request.outputs]
    read = {url: "an input" for url, _ in request.files}
    destinations.check([*places, ("--fjr", options.fjr)], read)
    if options.fjr and len(places) > 1:
        raise InvalidRequestError("--fjr: a job report is of one output")
    if options.plan:
        show_plan(options, plans_of(request))
        return EXIT_DONE
    if options.verify:
        check_verifiable(request.write.style.whole())
    _check_replaced(options, request)
    check = _check if options.verify else None
    with Progress("skimming") as shown:

        def follow(share_done: Callable[[], float]) -> None:
            shown.follow(lambda: (share_done(), 0))

        made = skimmed(request, resume=options.resume, follow=follow, check=check)
    if options.fjr:
        n_entries = made.outputs[0].num_entries + sum(made.carried.values())
        writing_report.write_fjr(options.fjr, made.outputs[0].path, made.outputs[0].cost, n_entries)
    _say(options, made, time.perf_counter_ns() - started)
    if made.bad_inputs:
        return EXIT_SKIPPED
    return EXIT_UNSUPPORTED if made.left_out else EXIT_DONE


def _check_replaced(options: argparse.Namespace, request: Request) -> None:
    """Raise InvalidRequestError if an output is there, unless that was asked for or a skim to it goes on."""
    outputs = [(path, name) for path, name, _ in request.outputs]
    hint = ""
    if not options.output:
        inputs = shlex.join(options.files)
        hint = f"; the last file is the output: arrowroot skim {inputs} OUT skims all of them"
    # Killed in its last moments, it has put some outputs in their places already.
    is_forced = options.force or (options.resume and is_begun(request))
    check_replaced(outputs, is_forced=is_forced, hint=hint)


def _given(
    options: argparse.Namespace, output: str | None, outputs: Mapping[str, str | None] | None
) -> dict[str, Any]:
    """Return what was typed as the arguments of ``arrowroot.skim``."""
    return {
        "output": output,
        "outputs": outputs,
        "tree": options.tree,
        "columns": column_texts(options.columns),
        "filter": options.filter,
        "define": definitions_of(options),
        "cuts": _cuts_of(options.cut),
        "entries": options.entries,
        "lumi_mask": options.lumi_mask,
        "pick": None if options.pick is None else _events_of(options.pick),
        "weight": options.weight,
        "sums": options.sum,
        "carry": _carried(options.carry),
        "rules": rules_of(options),
        "missing": options.missing,
        "promote": options.promote,
        "on_bad_input": options.on_bad_input,
        "reproducible": options.reproducible,
        "batch_size": options.batch_size,
        "n_threads": options.threads,
        **_style_of(options),
    }


def _check(portions: Iterable[Portion], files: Sequence[WrittenFile]) -> None:
    """Raise CorruptFileError if the outputs do not have what is read once more."""
    with ExitStack() as stack:
        read: dict[tuple[int, str], compare.Comparison] = {}
        for number, written in enumerate(files):
            file = stack.enter_context(arrowroot.open(written.beside))
            for path, (name, schema) in written.tables.items():
                scan = file[name].scan(schema.names)
                read[number, path] = compare.Comparison(schema, scan.schema, scan)
        for table, batch, output, _ in portions:
            for number in range(len(files)) if output is None else [output]:
                if batch is not None:
                    one = read[number, table.path]
                    one.add(batch.select(one.names))
        for (number, path), one in read.items():
            if (found := one.end()) is not None:
                raise CorruptFileError(
                    f"{files[number].path} was not written: {path!r} read back is not what was read: {found}"
                )


def _files_of(options: argparse.Namespace) -> tuple[list[str], str | None, dict[str, str | None] | None]:
    """Return inputs, and the one output or several with their conditions."""
    files: list[str] = options.files
    _refuse_columns(options)
    if options.output:
        outputs = dict(options.output)
        if len(outputs) < len(options.output):
            raise InvalidRequestError("--output: two outputs of one name")
        return files, None, outputs
    if len(files) < 2:
        raise InvalidRequestError(f"skim: which output? write arrowroot skim {files[0]} skim.root")
    return files[:-1], files[-1], None


def _refuse_columns(options: argparse.Namespace) -> None:
    """Raise InvalidRequestError, with the line to write, for columns and conditions among the files."""
    behind = [one for one in options.files[1:] if not is_file(one) and "/" not in one]
    # A name without a suffix may be that of the output, which is the last one.
    has_output = any(".root" in one and not may_be_input(one) for one in options.files[1:])
    if any(map(is_condition, behind)) or (behind and has_output and not options.output):
        words = [word for word in options.words if word not in behind]
        words += ["skim.root"] if len(options.files) - len(behind) == 1 and not options.output else []
        line = shlex.join(["arrowroot", *as_options(words, behind, options)])
        raise InvalidRequestError(f"skim: columns and conditions are options: write {line}")


def _cuts_of(cuts: Sequence[tuple[str, str]]) -> dict[str, str] | None:
    named = dict(cuts)
    if len(named) < len(cuts):
        raise InvalidRequestError("--cut: two cuts of one name")
    return named or None


def _carried(texts: list[str] | None) -> bool | list[str]:
    names = column_texts(texts)
    return True if names is None else False if names == ["none"] else names


def _style_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of writing that were typed."""
    style = {name: value for name, value in vars(options).items() if name in _STYLE}
    codec = style.get("compression")
    if isinstance(codec, str) and codec.isdecimal():
        style["compression"] = parse_digits(codec)
    return style


def _events_of(path: str) -> EventList:
    """Return the events that a file lists, one a line; "#" begins a remark."""
    try:
        lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        raise NoSuchFileError(f"{path}: there is no such list of events") from None
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}") from error
    ids = []
    for number, line in enumerate(lines, 1):
        words = [word for word in re.split(r"[\s:,*]+", line.partition("#")[0]) if word]
        if not words:
            continue
        if len(words) not in _N_IDS or not all(word.isdecimal() for word in words):
            raise InvalidRequestError(
                f"{path}: line {number}: expected run:lumi:event, got {line.strip()[:80]!r}"
            )
        digits = [word.lstrip("0") or "0" for word in words]
        # Python reads no thousands of digits.
        beyond = next((word for word in digits if len(word) > _N_DIGITS or int(word) >= 2**64), None)
        if beyond is not None:
            raise InvalidRequestError(
                f"{path}: line {number}: {beyond[:80]} is no number of a run, a lumi or an event: they are below 2^64"
            )
        ids.append([int(word) for word in digits])
    return EventList(ids, missing="warn")


def _copied(copied: Copied) -> str:
    packed = f"{counted(copied.n_packed_clusters, 'cluster')} copied packed"
    return f"{packed}, {format_count(copied.n_new_clusters)} written anew"


def _say(options: argparse.Namespace, made: Skimmed, wall_ns: int) -> None:
    for url, reason in made.bad_inputs:
        print(
            f"arrowroot: {printable(url)} was left out: {printable(without_secrets(reason))}", file=sys.stderr
        )
    for url in more_than_once([one.url for one in made.inputs]):
        print(f"arrowroot: {printable(url)} is among the inputs more than once", file=sys.stderr)
    for pattern in made.unused_rules:
        print(f"arrowroot: --rule {printable(pattern)}: no object has this name or path", file=sys.stderr)
    for path, reason in [*made.left_out, *made.notes_left_out]:
        print(
            f"arrowroot: {printable(path)} was left out: {printable(without_secrets(reason))}",
            file=sys.stderr,
        )
    for path, remark in made.remarks:
        print(f"arrowroot: {printable(path)}: {printable(without_secrets(remark))}", file=sys.stderr)
    for one in made.outputs[:1]:
        writing_report.say_names(one.path)
    if options.json:
        import json

        document = {**made.to_dict(), "verified": True if options.verify else None, "wall_ns": wall_ns}
        for told, one in zip(document["outputs"], made.outputs, strict=True):
            told["cost"] = one.cost.as_dict() if options.cost else None
        print(json.dumps(document, indent=2))
        return
    if made.cuts:
        print(made)
    for one in made.outputs:
        more = [counted(n, "entry", "entries") + f" of {printable(name)}" for name, n in made.carried.items()]
        parts = [*([counted(one.num_entries, "entry", "entries")] if made.cuts else []), *more]
        if made.objects:
            parts.append(counted(len(made.objects), "object"))
        if one.copied.n_packed_clusters:
            parts.append(_copied(one.copied))
        parts += [format_bytes(one.n_bytes), format_seconds(wall_ns / 1e9)]
        parts += ["read back: the same"] if options.verify else []
        print(f"{printable(without_secrets(one.path))}: {', '.join(parts)}")
        if options.cost:
            writing_report.print_text(one.cost)
