"""`arrowroot config`: the options of the storage in force, and who set them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import arrowroot
from arrowroot import _terminal as terminal
from arrowroot import split_url
from arrowroot._render import clip, printable, text_table, width_of
from arrowroot.cli.target import storage_options

if TYPE_CHECKING:
    import argparse

JSON_FORM = "arrowroot.config/1"
_LEAST_ROOM = 20


def run(options: argparse.Namespace) -> None:
    """Show the options."""
    configuration = arrowroot.configuration(
        split_url(options.url)[0] if options.url else "", **storage_options(options)
    )
    if options.json:
        import json

        document = {
            "form": JSON_FORM,
            "url": configuration.url or None,
            "files": configuration.files,
            "variables": configuration.variables,
            "options": [option._asdict() for option in configuration.options],
        }
        print(json.dumps(document, indent=2))
        return
    style = terminal.Style(sys.stdout)
    if configuration.url:
        print(style.strong(printable(configuration.url)))
    rows = [["option", "value", "from", "what"]]
    rows += [
        [option.name, printable(option.text), printable(option.origin), option.meaning]
        for option in configuration.options
    ]
    # The meanings are cut, not left out, where there is little room.
    room = terminal.width() - sum(max(width_of(row[i]) for row in rows) + 2 for i in range(3))
    rows = [[*row[:3], clip(row[3], max(room, _LEAST_ROOM))] for row in rows]
    print(text_table(rows, right=[False] * 4, max_width=terminal.width()))
    print(f"\nconfiguration files: {', '.join(map(printable, configuration.files)) or 'none'}")
    if configuration.variables:
        print(f"set, and in force where no option is: {', '.join(configuration.variables)}")
