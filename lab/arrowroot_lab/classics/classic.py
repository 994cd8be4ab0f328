"""The page of a classic: a published experiment, and what came of doing it again."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from arrowroot_lab.mining.table import Column, ResultTable

from .results import counted

if TYPE_CHECKING:
    from arrowroot_lab.figures.figure import Figure
    from arrowroot_lab.figures.headlines import Headline

    from .results import Claim


@dataclass(frozen=True)
class Classic:
    """One page, in the order in which it is read. Texts are plain; each of a tuple is one paragraph or point."""

    #: Stable, as it is the page's address: ``cms-2010``.
    name: str
    title: str
    #: The first sentence: what was found then, and what is found now.
    answer: str
    #: Some of the published figures and ours, for the first page of the classics and the README's picture.
    headline: Headline
    #: Published figures beside ours; the first figure is seen without scrolling.
    figures: tuple[Figure, ...]
    tables: tuple[ResultTable, ...]
    #: What the page states, given or found.
    claims: tuple[Claim, ...]
    #: At which scale it was done again: sizes, counts, the clock (real or virtual).
    scale: tuple[str, ...]
    #: What is the same as published.
    same: tuple[str, ...]
    #: What differs, and why.
    differs: tuple[str, ...]
    #: What it means today: the same job with ``auto``.
    today: tuple[str, ...]
    #: The one command that replays all of it.
    command: str
    #: What does its parts for real again, in a checkout, and puts them beside.
    real_command: str
    #: Where it was published.
    sources: tuple[str, ...] = field(default=())
    #: When its results were measured, and at which commit.
    measured: str = ""

    def counted(self, scale: float = 1.0) -> str:
        """Return how many statements hold of those that could fail, and how many do not count."""
        return counted(self.claims, scale)

    def statements(self) -> ResultTable:
        """Return what the page states, and of each whether it holds or was given: first what is found."""
        return ResultTable(
            "What is stated",
            (Column("text", "Statement"), Column("verdict", "It")),
            tuple(
                (claim.text, claim.verdict(1.0))
                for claim in sorted(self.claims, key=lambda one: one.is_given)
            ),
            (
                "given: published, put into the model, or fitted to what was published, so it shows nothing by itself.",
            ),
        )


def points(text: str) -> tuple[str, ...]:
    """Return the paragraphs of a text that is broken into lines; an empty line is between two of them."""
    return tuple(" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip()))
