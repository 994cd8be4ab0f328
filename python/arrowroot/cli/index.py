"""`arrowroot index`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import arrowroot
from arrowroot import _terminal as terminal
from arrowroot._progress import bar
from arrowroot._render import clip, printable, without_secrets
from arrowroot._sizes import counted, format_bytes
from arrowroot.cli import destinations
from arrowroot.cli.target import column_texts, storage_options

if TYPE_CHECKING:
    import argparse

_BAR_WIDTH = 20


def run(options: argparse.Namespace) -> None:
    """Make an index, or bring it up to date, and say what was done."""
    destinations.check([("-o", options.output)], {})
    shows = sys.stderr.isatty()
    try:
        made = arrowroot.index(
            options.urls,
            options.output,
            options.tree,
            column_texts(options.columns),
            lumi_mask=options.lumi_mask,
            progress=_show if shows else None,
            **storage_options(options),
        )
    finally:
        if shows:
            sys.stderr.write("\r\x1b[K")
    events = made.events
    n_bytes = Path(options.output).stat().st_size
    if options.json:
        import json

        document = {
            "form": "arrowroot.index-made/1",
            "path": without_secrets(str(options.output)),
            "columns": list(events.columns),
            "num_entries": events.num_entries,
            "bytes": n_bytes,
            "n_reused": made.n_reused,
            "n_read": made.n_read,
            "files": [file._asdict() for file in events.files],
        }
        print(json.dumps(document, indent=2))
        return
    print(
        f"{printable(without_secrets(str(options.output)))}: {counted(events.num_entries, 'event')} in "
        f"{counted(len(events.files), 'tree')} by {printable(', '.join(events.columns))}, {format_bytes(n_bytes)}; "
        f"{counted(made.n_read, 'tree')} read, {counted(made.n_reused, 'tree')} as before"
    )


def _show(n_done: int, n_all: int, url: str) -> None:
    text = f"indexing {bar(n_done / max(1, n_all), _BAR_WIDTH)} {n_done}/{n_all}  {printable(url)}"
    sys.stderr.write(f"\r{clip(text, terminal.width(sys.stderr) - 1)}\x1b[K")
    sys.stderr.flush()
