"""Storages: where data are read from, the servers that are started for it, and the line before them."""

from .opening import check_here, opened
from .place import Place

__all__ = ["Place", "check_here", "opened"]
