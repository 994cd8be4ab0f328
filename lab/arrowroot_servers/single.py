"""Python's own HTTP server with single ranges, as desks have it: a program, and who starts it."""

from __future__ import annotations

import argparse
import http.server
import re
import sys
from pathlib import Path
from typing import Any

from .access import Request
from .process import Server, whole_lines

REPOSITORY = Path(__file__).resolve().parents[1]
RANGE = re.compile(r"(\d*)-(\d*)$")


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with one range of a file."""

    root = Path()
    #: The answer to several ranges: the "first" of them, the "whole" file, "refused", "broken" parts.
    several = "first"

    def log_message(self, *_: Any) -> None:
        """Write no log but that of the requests."""

    def do_GET(self) -> None:
        """Answer."""
        content = (self.root / self.path.lstrip("/").partition("?")[0]).read_bytes()
        asked = (self.headers.get("Range") or "").removeprefix("bytes=")
        status, body, headers = self._answer(content, asked)
        # Before the answer: whoever has it finds it in the log. In one piece: threads write at the same time.
        sys.stdout.write("\t".join(["GET", self.path, asked or "-", str(status)]) + "\n")
        sys.stdout.flush()
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _answer(self, content: bytes, asked: str) -> tuple[int, bytes, dict[str, str]]:
        """Return the status, the body, and headers beside its length."""
        ranges = asked.split(",")
        if len(ranges) > 1 and self.several == "refused":
            return 400, b"", {"Connection": "close"}
        if len(ranges) > 1 and self.several == "broken":
            body = b"--xx\r\nContent-Range: bytes"
            return 206, body, {"Content-Type": "multipart/byteranges; boundary=xx"}
        match = RANGE.match(ranges[0])
        if match is None or (len(ranges) > 1 and self.several == "whole"):
            return 200, content, {}
        size = len(content)
        first = int(match[1]) if match[1] else max(0, size - int(match[2]))
        last = min(int(match[2]), size - 1) if match[1] and match[2] else size - 1
        return 206, content[first : last + 1], {"Content-Range": f"bytes {first}-{last}/{size}"}


class Single(Server):
    """Python's server in a process of its own.

    version: of HTTP; 1.0 closes each connection after its answer. queue: connections that wait to be accepted.
    threads: False serves one connection after the other. several: see ``Handler``.
    """

    def __init__(
        self,
        root: Path,
        *,
        version: str = "HTTP/1.1",
        queue: int = 5,
        threads: bool = True,
        several: str = "first",
    ) -> None:
        super().__init__("single")
        settings = [version, str(queue), str(int(threads)), several]

        def command() -> list[str]:
            return [sys.executable, "-m", "arrowroot_servers.single", str(self.port), str(root), *settings]

        self.start(command, cwd=REPOSITORY)

    def requests(self) -> list[Request]:
        """All requests so far, in the order of their answers."""
        fields = [line.split("\t") for line in whole_lines(self.output) if line.startswith("GET\t")]
        return [
            Request(method, path, None if asked == "-" else asked, 0, None, int(status))
            for method, path, asked, status in fields
        ]


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser()
    for name in ("port", "root", "version", "queue", "threads", "several"):
        parser.add_argument(name)
    given = parser.parse_args()
    Handler.protocol_version, Handler.several, Handler.root = given.version, given.several, Path(given.root)
    has_threads = given.threads == "1"
    kind = http.server.ThreadingHTTPServer if has_threads else http.server.HTTPServer
    # Both are set on the class: they are read when it listens.
    chosen = type("Chosen", (kind,), {"request_queue_size": int(given.queue), "daemon_threads": True})
    chosen(("127.0.0.1", int(given.port)), Handler).serve_forever()


if __name__ == "__main__":
    main()
