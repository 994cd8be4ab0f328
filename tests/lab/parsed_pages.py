"""Pages as tests read them, and a classic that is made for them."""

from __future__ import annotations

from datetime import datetime, timezone
from html.parser import HTMLParser

from arrowroot_lab.classics.classic import Classic
from arrowroot_lab.classics.results import Claim
from arrowroot_lab.figures.curves import Point, Series, curves
from arrowroot_lab.figures.headlines import Headline, Pair
from arrowroot_lab.mining.table import Column, ResultTable

#: When the sites of tests are published.
NOW = datetime(2026, 10, 25, 12, tzinfo=timezone.utc)
VOID = ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")


class Page(HTMLParser):
    """One page: its tables, links, identifiers, attributes and text."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.path = path
        self.tables, self.links, self.identifiers, self.tags, self.attributes = {}, [], [], [], []
        self.text, self.open = [], []
        self._table = self._cell = None
        source = path.read_text(encoding="utf-8")
        self.source = source
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attributes):
        told = dict(attributes)
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attributes]
        if tag not in VOID:
            self.open.append(tag)
        if "id" in told:
            self.identifiers.append(told["id"])
        for name in ("href", "src"):
            if name in told:
                self.links.append((tag, told[name]))
        if tag == "table":
            self._table = self.tables[told["data-table"]] = {"keys": [], "rows": []}
        elif tag == "th" and self._table is not None:
            self._table["keys"].append(told["data-key"])
        elif tag == "tr" and self._table is not None and self._table["keys"]:
            self._table["rows"].append([])
        elif tag == "td":
            self._cell = {"text": "", "value": None, "href": None}
            self._table["rows"][-1].append(self._cell)
        elif tag == "data" and self._cell is not None:
            self._cell["value"] = told["value"]
        elif tag == "a" and self._cell is not None:
            self._cell["href"] = told["href"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, (self.path, tag)
        if tag == "td":
            self._cell = None
        elif tag == "table":
            self._table = None

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_data(self, data):
        if self._cell is not None:
            self._cell["text"] += data
        self.text.append(data)

    def records(self, name):
        """The rows of a table: numbers as numbers, all else as it is written."""
        told = self.tables[name]
        rows = [row for row in told["rows"] if len(row) == len(told["keys"])]
        return [{key: self._value(cell) for key, cell in zip(told["keys"], row, strict=True)} for row in rows]

    def hrefs(self, name, key):
        told = self.tables[name]
        return [row[told["keys"].index(key)]["href"] for row in told["rows"]]

    def words(self):
        return " ".join("".join(self.text).split())

    @staticmethod
    def _value(cell):
        if cell["value"] is not None:
            return (
                {"True": True, "False": False}.get(cell["value"])
                if cell["value"] in ("True", "False")
                else float(cell["value"])
            )
        text = cell["text"].replace("✓ ", "").replace("✗ ", "").strip()
        return None if text == "-" else text


def a_classic():
    line = Series("published", (Point(4096, 1e9), Point(1e6, 2e9)), is_published=True)
    columns = (Column("buffer_bytes", "Buffer", "bytes"), Column("n_bytes", "Read", "bytes"))
    return Classic(
        name="liverpool-2008",
        title="Liverpool 2008: the read-ahead buffer",
        answer="A larger buffer read more then, and does so now.",
        headline=Headline(
            "Bytes moved",
            "bytes",
            (Pair("buffer of 10 MiB", 174e9, 159e9, is_given=True), Pair("no buffer", None, 1e9)),
            "Fitted to the published bytes.",
        ),
        figures=(curves("Bytes", "By buffer.", [line], *columns, is_log_x=True, is_log_y=True),),
        tables=(
            ResultTable("Both", columns, ((4096, 1e9),)),
            ResultTable("Many", columns, tuple((n, 1e9) for n in range(41)), ("All are alike.",)),
        ),
        claims=(
            Claim("The bytes are as published.", holds=True, is_given=True),
            Claim("A larger buffer moves more.", holds=True),
            Claim("It never falls.", holds=False),
        ),
        scale=("Full scale, in virtual time.",),
        same=("The peak.", "The fall."),
        differs=("The layout is unknown.",),
        today=("The same job with auto.",),
        command="arrowroot lab classics liverpool-2008",
        real_command="arrowroot lab run campaigns/classics/liverpool-2008.toml",
        sources=("Liverpool, 2008", "https://far.example/" + "a-long-address/" * 8),
    )
