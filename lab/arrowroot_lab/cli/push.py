"""``arrowroot lab push``: puts the datasets of a campaign onto its storages, and proves that they are there."""

from __future__ import annotations

import json
import sys
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from arrowroot_lab.errors import EXIT_DONE, EXIT_FAILED, LabError, RequestError
from arrowroot_lab.mining.writing import clean
from arrowroot_lab.quantities import size_text

from . import asking
from .screen import show_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from arrowroot_lab.campaign.model import Campaign, Dataset, Storage

JSON_FORM = "arrowroot-lab.push/1"
_DESCRIPTION = """\
Puts the datasets of a campaign onto each of its storages that may be written (push in [storage.NAME], of the campaign
or of the site): directories, XRootD, HTTP and WebDAV, S3. What is there already and identical stays. Each file is
proved to be identical, by the storage's own checksum or by reading it back. `arrowroot lab run` does the same before it
measures.

examples:
  arrowroot lab push grid.toml
  arrowroot lab push grid.toml --storage 'CERN*' --json

Exit codes: 0 all are there; 1 one could not be put, or proved; 2 the request or the campaign is at fault; 130
interrupted: the next push goes on with what was begun.
"""


def add_command(add: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = add("push", _DESCRIPTION)
    asking.add_campaign(parser)
    parser.add_argument(
        "--storage", action="append", default=[], metavar="GLOB", help="only storages whose names match"
    )
    asking.add_site(parser)
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(options: argparse.Namespace) -> int:
    """Push, and tell what is where."""
    from arrowroot_lab.campaign import datasets
    from arrowroot_lab.campaign.read import read
    from arrowroot_lab.campaign.site import choose
    from arrowroot_lab.pushing import push

    choose(options.site)
    campaign = read(options.campaign)
    pairs = _pairs(campaign, options.storage)
    told, failures = [], []
    found: dict[str, datasets.FoundDataset] = {}
    for dataset, storage in pairs:
        try:
            if dataset.name not in found:
                show_line(f"dataset {dataset.name}")
                found[dataset.name] = datasets.make(campaign, dataset)
            pushed = push(storage, found[dataset.name].files, show=_moved)
        except RequestError:
            raise
        except LabError as error:
            show_line("")
            failures.append(f"storage {storage.name}, dataset {dataset.name}: {error}")
            print(clean(f"failed: {failures[-1]}"), file=sys.stderr)
            continue
        show_line("")
        told += [{"dataset": dataset.name, **one.document()} for one in pushed]
        if not options.json:
            for one in pushed:
                how = "is there" if one.is_known else "put"
                print(clean(f"{storage.name}: {one.url}: {size_text(one.n_bytes)}, {how} ({one.proof})"))
    if options.json:
        document = {"form": JSON_FORM, "campaign": campaign.name, "files": told, "failures": failures}
        print(json.dumps(document, indent=2))
    return EXIT_FAILED if failures else EXIT_DONE


def _pairs(campaign: Campaign, globs: list[str]) -> list[tuple[Dataset, Storage]]:
    """The datasets and the storages that they are measured on, of those that may be written.

    Raises: RequestError if there are none.
    """
    from arrowroot_lab.campaign.matrix import cases

    pairs = {
        (case.dataset.name, case.storage.name): (case.dataset, case.storage)
        for case in cases(campaign)
        if case.storage.push is not None
        and (not globs or any(fnmatchcase(case.storage.name, glob) for glob in globs))
    }
    if not pairs:
        of_those = f" of those that match {' or '.join(globs)}" if globs else ""
        raise RequestError(
            f"{campaign.path}: no storage{of_those} may be written: tell push in [storage.NAME], of kind local or url"
        )
    return list(pairs.values())


def _moved(name: str, n_bytes: int, of_bytes: int) -> None:
    show_line(f"{name}: {size_text(n_bytes)} of {size_text(of_bytes)}")
