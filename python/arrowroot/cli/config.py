"""`arrowroot config`: the options of the storage in force, and who set them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import arrowroot
from arrowroot import _terminal as terminal
from arrowroot import split_url
from arrowroot._render import printable, text_table
from arrowroot.cli.target import storage_options

if TYPE_CHECKING:
    import argparse

    from arrowroot import Option

JSON_FORM = "arrowroot.config/1"


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
        [option.name, printable(_value(option)), printable(option.origin), option.meaning]
        for option in configuration.options
    ]
    print(text_table(rows, right=[False] * 4, max_width=terminal.width()))
    print(f"\nconfiguration files: {', '.join(map(printable, configuration.files)) or 'none'}")
    if configuration.variables:
        print(f"set, and in force where no option is: {', '.join(configuration.variables)}")


def _value(option: Option) -> str:
    if option.is_secret:
        return "not set" if option.origin == "default" else "(hidden)"
    return "not set" if option.value is None else option.value
