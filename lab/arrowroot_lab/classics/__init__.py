"""The classics: published experiments, done again in virtual time, and published figures beside ours."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from .classic import Classic

#: Each is a module of this room, with ``measure``, ``claims`` and ``page``; and ``real_rows`` if campaigns do it for
#: real.
NAMES = ("liverpool-2008", "root-2009", "cms-2010", "atlas-2012", "cms-2017")


def module(name: str) -> ModuleType:
    """Return the module of a classic."""
    return import_module(f"{__name__}.{name.replace('-', '_')}")


def pages() -> list[Classic]:
    """Return the pages of all classics, from the results that are kept here."""
    from . import results

    return [module(name).page(results.stored(name)) for name in NAMES]
