"""`arrowroot merge`."""

from __future__ import annotations

import os
import shlex
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from arrowroot import InvalidRequestError
from arrowroot._converting.replaced import check_replaced
from arrowroot._merging.merge import merged, request_of
from arrowroot._merging.outputs import left_over
from arrowroot._progress import Progress
from arrowroot._render import printable, without_secrets
from arrowroot._sizes import counted, format_bytes
from arrowroot.cli import destinations
from arrowroot.cli.failures import EXIT_DONE, EXIT_SKIPPED
from arrowroot.cli.lines import may_be_input
from arrowroot.cli.target import storage_options

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from arrowroot import MergeReport
    from arrowroot._merging.merge import Check, MergedObject


def rules_of(options: argparse.Namespace) -> dict[str, str]:
    """Return the rules that were typed, of which the first of a pattern counts."""
    rules: dict[str, str] = {}
    for pattern, rule in options.rule:
        rules.setdefault(pattern, rule)
    return rules


def run(options: argparse.Namespace) -> int:
    """Merge files, and say what became of their objects."""
    rules = rules_of(options)
    storage = storage_options(options)
    request = request_of(
        options.output,
        options.inputs,
        options.columns,
        rules,
        options.on_bad_input,
        options.max_size,
        options.open_files,
        options.reproducible,
        options.rebasket,
        options.provenance,
        options.join,
    )
    destinations.check([("OUT", request.output)], {})
    # A glob without the name of an output before it would lose its first file.
    meant = f"; the first file is the output: arrowroot merge OUT {request.output} ... merges it with others"
    *others, last = request.inputs
    if others and not options.force and os.path.exists(request.output) and not may_be_input(last):  # noqa: PTH110 - text
        line = shlex.join(["arrowroot", "merge", last, request.output, *others])
        raise InvalidRequestError(f"merge: the output comes first: write {line}")
    check_replaced([(request.output, None)], is_forced=options.force, hint=meant)
    check: Check | None = None
    if options.verify:
        from arrowroot.cli.merge_check import Comparing

        check = Comparing(storage, request.join)
    with Progress("merging") as progress:
        report = merged(request, storage, progress, check)
    if options.json:
        import json

        print(json.dumps(_document(report, is_verified=options.verify), indent=2))
    else:
        _say(report, rebaskets=request.rebasket)
    for pattern in report.unused_rules:
        option = "--rule" if pattern in rules else "--join"
        print(f"arrowroot: {option} {printable(pattern)}: no object has this name or path", file=sys.stderr)
    for path in left_over(request.output, len(report.outputs)) if request.max_size is not None else ():
        print(
            f"arrowroot: {printable(path)} was there before and stays: it is no part of this merging",
            file=sys.stderr,
        )
    for name in more_than_once(request.inputs):
        print(
            f"arrowroot: {printable(without_secrets(name))} is among the inputs more than once",
            file=sys.stderr,
        )
    for left_out in report.left_out:
        error = without_secrets(" ".join(str(left_out.error).split()))
        print(f"arrowroot: {printable(left_out.path)} was left out: {printable(error)}", file=sys.stderr)
    return EXIT_SKIPPED if report.left_out else EXIT_DONE


def more_than_once(names: Iterable[str]) -> list[str]:
    """Return the names that come more than once: globs overlap, and entries would be counted twice."""
    return sorted(name for name, n_times in Counter(names).items() if n_times > 1)


def _document(report: MergeReport, *, is_verified: bool) -> dict[str, Any]:
    outputs = [
        {
            "path": without_secrets(output.path),
            "bytes": output.bytes,
            "n_inputs": output.n_inputs,
            "objects": [one._asdict() | {"notes": list(one.notes)} for one in output.objects],
        }
        for output in report.outputs
    ]
    left_out = [{"path": one.path, "error": without_secrets(str(one.error))} for one in report.left_out]
    return {
        "form": "arrowroot.merge/1",
        "outputs": outputs,
        "left_out": left_out,
        "unused_rules": list(report.unused_rules),
        "verified": is_verified,
    }


def _say(report: MergeReport, *, rebaskets: bool) -> None:
    for output in report.outputs:
        print(
            f"{printable(without_secrets(output.path))}: {counted(output.n_inputs, 'file')}, "
            f"{format_bytes(output.bytes)}"
        )
        tables = [one for one in output.objects if one.num_entries is not None]
        width = max((len(one.path) for one in tables), default=0)
        for one in tables:
            is_copied = not (rebaskets and _piece(one) == "basket")
            pieces = counted(one.n_baskets, _piece(one)) + (" copied" if is_copied else "")
            print(
                f"  {printable(one.path).ljust(width)}  {counted(one.num_entries or 0, 'entry', 'entries')} of "
                f"{counted(one.n_inputs, 'file')}, {'each row once' if one.rule == 'unique' else pieces}"
            )
        others: dict[str, int] = {}
        for one in output.objects:
            if one.num_entries is None:
                others[one.rule] = others.get(one.rule, 0) + 1
        for rule, number in others.items():
            print(f"  {counted(number, 'object')}: {rule}")
        for one in output.objects:
            for note in one.notes:
                print(f"arrowroot: {printable(one.path)}: {printable(note)}", file=sys.stderr)
            if one.n_small_baskets:
                saving = ""
                if rebaskets and _piece(one) == "basket":
                    saving = "; what can be put together has been"
                elif one.n_if_rebasketed < one.n_baskets:
                    saving = f"; --rebasket makes {one.n_if_rebasketed} of them, about"
                print(
                    f"arrowroot: {printable(one.path)}: {counted(one.n_small_baskets, _piece(one))} of {one.n_baskets} "
                    f"are smaller than 4 kB: whoever reads all columns makes up to {one.n_baskets} reads{saving}",
                    file=sys.stderr,
                )


def _piece(table: MergedObject) -> str:
    return "page" if "RNTuple" in table.class_name else "basket"
