"""Storages: where data are read from, the servers that are started for it, and the line before them."""

from .opening import opened
from .place import Place

__all__ = ["Place", "opened"]
