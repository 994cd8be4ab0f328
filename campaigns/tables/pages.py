"""Where tables stand: between two marks of a page of the documents."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[2]
README = REPOSITORY / "README.md"
DOCS = REPOSITORY / "docs"


class Block(NamedTuple):
    """A text between the marks of a page, and the pictures beside the page that it shows."""

    page: Path
    mark: str
    text: str
    #: By file name.
    pictures: dict[str, bytes] = {}  # noqa: RUF012 - nobody changes it

    def put(self) -> None:
        """Replace what stands between the marks, and the pictures. Ends the program if the page has no such marks."""
        begin, end = f"<!-- {self.mark}:begin -->", f"<!-- {self.mark}:end -->"
        text = self.page.read_text(encoding="utf-8")
        if begin not in text or end not in text:
            sys.exit(f"{self.page.name} has no {begin} and {end}")
        before, _, rest = text.partition(begin)
        after = rest.partition(end)[2]
        self.page.write_text(f"{before}{begin}\n{self.text}\n{end}{after}", encoding="utf-8")
        for name, picture in self.pictures.items():
            self.page.with_name(name).write_bytes(picture)
