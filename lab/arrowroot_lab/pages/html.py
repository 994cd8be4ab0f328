"""Templates, and what they share: names of pages, cells of tables, ages."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup, escape

from arrowroot_lab.canonical import key_of
from arrowroot_lab.figures.lettering import plain
from arrowroot_lab.mining.format import age_s, shown

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from arrowroot_lab.mining.table import ResultTable

_NUMBERS = ("time", "bytes", "count", "ratio", "share", "rate", "age")
#: Words that a table marks, by more than colour.
_WORDS = {
    "ok": "good",
    "better": "good",
    "holds": "good",
    "equal": "good",
    "worse": "bad",
    "failed": "bad",
    "FAILS": "bad",
    "timed out": "bad",
    "refused": "bad",
    "differs": "bad",
    "wrong": "bad",
}
#: Longer texts are broken into lines.
_LONG = 28
#: A table of more rows is folded.
MAX_ROWS = 40
_SIGNS = {"good": "\N{CHECK MARK}", "watch": "!", "bad": "\N{BALLOT X}"}


@dataclass(frozen=True)
class Linked:
    """A table for a page: its name there, and the links of its cells."""

    table: ResultTable
    #: The anchor, stable: it is a part of deep links.
    name: str
    #: (place of the row, key of the column) -> where it leads, from the root of the site.
    links: Mapping[tuple[int, str], str] = field(default_factory=dict)
    #: The same -> ``good``, ``watch`` or ``bad``: what no word of ``_WORDS`` says.
    looks: Mapping[tuple[int, str], str] = field(default_factory=dict)
    #: The same -> what is told below the value, smaller: a text, and a date, of which the age is told.
    more: Mapping[tuple[int, str], tuple[str, str]] = field(default_factory=dict)
    #: The moment to which ages are counted; None: now.
    at: datetime | None = None

    @property
    def is_long(self) -> bool:
        """True if it is folded, so that what follows is seen, too."""
        return len(self.table.rows) > MAX_ROWS


def slug(name: str) -> str:
    """Return the part of an address that stands for a name; different names have different ones."""
    simple = re.sub(r"[^a-z0-9.]+", "-", name.lower())[:60].strip("-.")
    return simple if simple and simple == name else f"{simple}-{key_of(name)[:6]}".lstrip("-")


def table_html(linked: Linked, root: str, *, has_caption: bool = True) -> Markup:
    """Return a table as HTML: made here and not by a template, as most of a site is cells.

    A number is in a ``data`` element with its raw value, so that scripts can read the pages, too.
    """
    table = linked.table
    notes = [f'<p class="note">{escape(plain(note))}</p>' for note in table.notes]
    if not table.columns:
        return Markup("".join(notes))  # noqa: S704 - escaped above
    title = escape(plain(table.title))
    name = escape(linked.name)
    # The script shows it where it is so.
    parts = [
        '<p class="note sideways" hidden>\N{LEFT RIGHT ARROW} This table is wider than its place: it scrolls.</p>'
    ]
    parts.append(f'<div class="scroll" tabindex="0" role="region" aria-label="{title}" id="{name}">')
    parts.append(f'<table data-table="{name}">')
    if has_caption:
        parts.append(f"<caption>{title}</caption>")
    heads = (
        f'<th scope="col" data-key="{escape(column.key)}"{_look(column.form, "")}>{escape(plain(column.title))}</th>'
        for column in table.columns
    )
    parts.append(f"<thead><tr>{''.join(heads)}</tr></thead><tbody>")
    for place, row in enumerate(table.rows):
        parts.append("<tr>")
        for column, value in zip(table.columns, row, strict=True):
            at = place, column.key
            parts.append(_cell(linked, at, value, column.form, root))
        parts.append("</tr>")
    if not table.rows:
        parts.append(f'<tr><td colspan="{max(len(table.columns), 1)}">none</td></tr>')
    parts.append("</tbody></table></div>")
    return Markup("".join(parts + notes))  # noqa: S704 - all that came from outside is escaped above


def _cell(linked: Linked, at: tuple[int, str], value: Any, form: str, root: str) -> str:
    whole = plain(shown(value, form))
    href, below = linked.links.get(at), linked.more.get(at)
    look = linked.looks.get(at) or (_WORDS.get(whole, "") if form == "text" else "")
    text: str = escape(whole)
    if value is not None and not isinstance(value, str):
        text = f'<data value="{value!r}"{" data-age" if form == "age" else ""}>{text}</data>'
    if look:
        text = f'<span aria-hidden="true">{_SIGNS[look]} </span>{text}'
    if href:
        text = f'<a href="{escape(root + href)}">{text}</a>'
    if below:
        told, date = below
        old = f'<time datetime="{escape(date)}" data-age>{shown(age_s(date, linked.at), "age")}</time>'
        text += f' <span class="more">{escape(plain(told))}{"; " if told else ""}{old}</span>'
    if len(whole) > _LONG and form not in (*_NUMBERS, "cell"):
        look = f"{look} long".strip()
    return f"<td{_look(form, look)}>{text}</td>"


def _look(form: str, look: str) -> str:
    kind = "number" if form in _NUMBERS else "cell" if form == "cell" else ""
    look = f"{kind} {look}".strip()
    return f' class="{look}"' if look else ""


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("arrowroot_lab.pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        shown=lambda value, form="text": plain(shown(value, form)), slug=slug, age_s=age_s, plain=plain
    )
    environment.globals["table"] = table_html
    return environment


def render(template: str, context: Mapping[str, Any]) -> str:
    """Return a page. All that is not marked as HTML is escaped."""
    return _environment().get_template(template).render(**context)
