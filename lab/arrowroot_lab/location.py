"""Texts that may hold secrets: shown without them wherever they are shown, and whole for whoever asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from .redaction import hidden_between, redacted, shown_place

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")


class Guarded(str):
    """A text as people may see it: printed, formatted, logged, hashed and written as JSON it has no secret.

    What is made of it, by ``replace`` or ``+``, has none either. ``whole()`` is for whoever connects.
    """

    __slots__ = ("_whole",)
    _whole: str

    def __new__(cls, text: str, shown: str | None = None) -> Self:
        """Make one of a text; ``shown``: what people may see of it, where that is known."""
        full = text.whole() if isinstance(text, Guarded) else text
        made = super().__new__(cls, cls._shown(full) if shown is None else shown)
        made._whole = full
        return made

    @staticmethod
    def _shown(text: str) -> str:
        return redacted(text)

    def whole(self) -> str:
        """Return the text with its secrets."""
        return self._whole


class Location(Guarded):
    """A path, a URL, or how to connect to a database."""

    __slots__ = ()

    @staticmethod
    def _shown(text: str) -> str:
        # It may have spaces, and is one all the same.
        return redacted(shown_place(text))

    @property
    def is_url(self) -> bool:
        """True if it is a URL, or was meant to be one."""
        return "://" in self._whole or self != self._whole

    def of_file(self, name: str) -> Self:
        """Return the place of one file: ``{file}`` is its name."""
        return type(self)(self._whole.replace("{file}", name))


def guarded(told: T) -> T:
    """Return plain values whose texts are guarded where they hold a secret."""
    return _guarded(told, redacted(told))  # type: ignore[no-any-return]


def whole(told: T) -> T:
    """Return plain values whose guarded texts are whole."""
    found: Any = told
    if isinstance(told, Guarded):
        found = told.whole()
    elif isinstance(told, dict):
        found = {key: whole(value) for key, value in told.items()}
    elif isinstance(told, list | tuple):
        found = type(told)(map(whole, told))
    return found  # type: ignore[no-any-return]


def hidden_in(told: Any) -> set[str]:
    """Return the words that guarded texts of plain values hide."""
    if isinstance(told, Guarded):
        return hidden_between(told.whole(), str(told))
    if isinstance(told, dict):
        told = list(told.values())
    return set().union(*map(hidden_in, told)) if isinstance(told, list | tuple) else set()


def _guarded(told: Any, shown: Any) -> Any:
    if isinstance(told, dict) and isinstance(shown, dict):
        return {key: _guarded(value, shown.get(key, value)) for key, value in told.items()}
    if isinstance(told, list | tuple) and isinstance(shown, list | tuple):
        return type(told)(_guarded(*pair) for pair in zip(told, shown, strict=True))
    return Guarded(told, shown) if isinstance(told, str) and told != shown else told
