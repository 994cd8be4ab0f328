"""`arrowroot model`: predicts the time of a job's reads from its report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from arrowroot import InvalidRequestError
from arrowroot import _terminal as terminal
from arrowroot._render import printable, text_table
from arrowroot._report import fjr, model
from arrowroot._sizes import format_rate, format_seconds

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from arrowroot._report.model import Figure, Prediction

JSON_FORM = "arrowroot.model/1"
_TRACES = (".parquet", ".arrow")


def run(options: argparse.Namespace) -> None:
    """Print a prediction for each summary of each file."""
    predictions = list(_predictions(options))
    if options.json:
        import json

        document = {
            "form": JSON_FORM,
            "latency_s": options.latency,
            "bytes_per_s": options.bandwidth,
            "predictions": [{"report": name, **_data(prediction)} for name, prediction in predictions],
        }
        print(json.dumps(document, indent=2))
        return
    print(f"at {format_seconds(options.latency)} for each read and {format_rate(options.bandwidth)}\n")
    rows = [["predicted", "reads", "megabytes", "waiting", "transfer", "counters", "report"]]
    for name, prediction in predictions:
        reads, megabytes = prediction.reads, prediction.megabytes
        rows.append(
            [
                _seconds(prediction.predicted_s),
                f"{reads.value:,.0f}",
                f"{megabytes.value:,.6g}",
                _seconds(prediction.waiting_s),
                _seconds(prediction.transfer_s),
                _sources(reads, megabytes),
                printable(name),
            ]
        )
    print(text_table(rows, right=[*[True] * 5, False, False], max_width=terminal.width()))


def _predictions(options: argparse.Namespace) -> Iterator[tuple[str, Prediction]]:
    megabytes_per_s = options.bandwidth / 1e6
    for file in options.files:
        if Path(file).suffix.lower() in _TRACES:
            if options.reads or options.megabytes:
                raise InvalidRequestError(f"model: {file} is a trace, which has no counters to choose")
            from arrowroot._report import trace

            log = trace.read(file)
            reads = model.Figure(float(log.n_requests), ["trace"])
            # Here a megabyte is what we write everywhere: 10^6 bytes.
            megabytes = model.Figure(log.physical_bytes / 1e6, ["trace"])
            yield file, model.Prediction(reads, megabytes, options.latency, megabytes_per_s)
            continue
        reports = fjr.read(file)
        for report in reports:
            name = f"{file}, line {report.line}" if len(reports) > 1 else file
            prediction = model.predict(
                report,
                options.latency,
                megabytes_per_s,
                reads=options.reads,
                megabytes=options.megabytes,
            )
            yield name, prediction


def _seconds(seconds: float) -> str:
    # Whole seconds of long times, their fraction dropped as the CMS page that has the model does.
    return f"{int(seconds):,} s" if seconds >= 10 else format_seconds(seconds)


def _sources(reads: Figure, megabytes: Figure) -> str:
    of_reads, of_megabytes = ", ".join(reads.sources), ", ".join(megabytes.sources)
    return printable(of_reads if of_reads == of_megabytes else f"{of_reads}; megabytes: {of_megabytes}")


def _data(prediction: Prediction) -> dict[str, Any]:
    return {
        "n_reads": prediction.reads.value,
        "reads_from": prediction.reads.sources,
        "megabytes": prediction.megabytes.value,
        "megabytes_from": prediction.megabytes.sources,
        "waiting_s": prediction.waiting_s,
        "transfer_s": prediction.transfer_s,
        "predicted_s": prediction.predicted_s,
    }
