"""Files of an XRootD server, by XRootD's own clients: ``xrdcp`` and ``xrdfs``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from arrowroot_lab.location import Location
from arrowroot_servers import NotInstalledError, find_program

from .programs import output_of, pieces_of
from .target import PushError, Stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from .target import PushTarget

#: kXR_NotFound, as xrdfs tells it.
_MISSING = "[3011]"
_FIELD = re.compile(r"^(Size|MTime):\s*(.+?)\s*$", re.MULTILINE)


class XRootDTarget:
    """A ``root://`` or ``roots://`` URL."""

    def __init__(self, url: str) -> None:
        self.url = Location(url)
        parts = urlsplit(self.url.whole())
        self._query = f"?{parts.query}" if parts.query else ""
        self._server = f"{parts.scheme}://{parts.netloc}"
        self._path = f"/{parts.path.lstrip('/')}"
        self._address = Location(f"{self._server}/{self._path}{self._query}")

    def part(self) -> XRootDTarget:
        """See ``Target``."""
        return XRootDTarget(f"{self._server}/{self._path}.part{self._query}")

    def stored(self) -> Stored | None:
        """See ``Target``. A server that computes checksums tells its own; many tell none."""
        try:
            told = dict(_FIELD.findall(self._asked("stat", self._path)))
        except PushError as error:
            if _MISSING in str(error):
                return None
            raise
        try:
            words = self._asked("query", "checksum", f"{self._path}{self._query}").split()
        except PushError:
            words = []
        checksums = {words[0]: words[1].lower().rjust(8, "0")} if len(words) == 2 else {}
        return Stored(int(told["Size"]), checksums, told.get("MTime"))

    def put(self, file: Path, moved: Callable[[int], None]) -> None:
        """See ``Target``: always the whole file, as xrdcp goes on with local files alone."""
        command = [
            _program("xrdcp"),
            "--silent",
            "--force",
            str(file),
            self._address.whole(),
        ]
        output_of(command, self.url, moved=moved)

    def publish(self, final: PushTarget) -> bool:
        """See ``Target``: xrdfs gives no file a name that another one has."""
        final.remove()
        self._asked("mv", self._path, f"/{urlsplit(final.url.whole()).path.lstrip('/')}")
        return True

    def remove(self) -> None:
        """See ``Target``."""
        try:
            self._asked("rm", self._path)
        except PushError as error:
            if _MISSING not in str(error):
                raise

    def pieces(self) -> Iterator[bytes]:
        """See ``Target``."""
        return pieces_of([_program("xrdcp"), "--silent", "--nopbar", self._address.whole(), "-"], self.url)

    def _asked(self, *words: str) -> str:
        return output_of([_program("xrdfs"), self._server, *words], self.url)


def _program(name: str) -> str:
    try:
        return find_program(name, "xrootd-client")
    except NotInstalledError as error:
        raise PushError(str(error)) from None
