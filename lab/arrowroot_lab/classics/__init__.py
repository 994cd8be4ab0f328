"""The classics: published experiments, done again in virtual time, and published figures beside ours."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

    from .classic import Classic
    from .results import Claim, Results

#: Each is a package of this room with ``measure``, and ``real_rows`` if campaigns do it for real; its page is what
#: the class of ``found`` tells of results (of cms-2010 ``Cms2010Results``), ``statements.STATEMENTS``, and the files
#: that ``study.py`` names.
NAMES = ("liverpool-2008", "root-2009", "cms-2010", "atlas-2012", "cms-2017")


def module(name: str, part: str = "") -> ModuleType:
    """Return the package of a classic, or a part of it."""
    return import_module(f"{__name__}.{name.replace('-', '_')}{part and '.'}{part}")


def _study(results: Results) -> Any:
    """Return what tells of the results of a classic."""
    name = "".join(part.capitalize() for part in results.name.split("-"))
    return getattr(module(results.name, "found"), f"{name}Results")(results.document)


def claims(results: Results) -> list[Claim]:
    """Return what the page of a classic states, each with whether its results bear it out."""
    from .study import stated

    return stated(_study(results), module(results.name, "statements").STATEMENTS)


def page(results: Results) -> Classic:
    """Return the page of a classic."""
    made: Classic = _study(results).page(claims(results))
    return made


def pages() -> list[Classic]:
    """Return the pages of all classics, from the results that are kept here."""
    from . import results

    return [page(results.stored(name)) for name in NAMES]
