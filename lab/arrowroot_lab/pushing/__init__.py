"""Puts datasets onto storages that others run, and proves that they are there: by well-kept clients, not by our own."""

from .push import Pushed, names_of, push

__all__ = ["Pushed", "names_of", "push"]
