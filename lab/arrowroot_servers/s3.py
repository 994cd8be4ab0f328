"""A real S3 server: versitygw, built through Go's module proxy."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import http.client
import os
import re
from typing import TYPE_CHECKING

from .access import Request
from .process import CACHE, NotInstalledError, Server, whole_lines

if TYPE_CHECKING:
    from pathlib import Path

VERSION = "v1.8.0"
REGION, BUCKET = "eu-test-1", "bucket"
#: It clears as much for each request: with its default of 1 MiB that is half of what a request of some KB costs it.
IO_BUFFER_BYTES = 64 << 10
#: Per cent of the memory in use after which Go collects garbage. A server that does nothing else has a few MB in use:
#: with the default of 100 it collects after every forty requests, which costs a quarter of its time.
GARBAGE_PERCENT = 1000

_COLOUR = re.compile("\x1b\\[[0-9;]*m")
_HEADER = re.compile(r"^│ ?(?P<name>[\w-]+) *: (?P<value>.*?) *│$")
_ENDED = re.compile(r"^\S+ \| vgw \| (?P<status>\d+) \| [^|]* \| [^|]* \| (?P<method>\w+) \| (?P<path>\S+)")


class S3(Server):
    """One bucket, empty at first; ``put`` fills it, ``link`` shows a file that is there.

    The credentials are ``access_key`` and ``secret_key``; ``environment`` has them as the AWS tools take them.
    trace: keeps the headers of all requests, which ``requests`` needs; it costs time.
    """

    scheme = "s3"

    def __init__(
        self,
        *,
        access_key: str = "key-of-tests",
        secret_key: str = "secret-of-tests",  # noqa: S107 - of a server for a test, on the loopback
        trace: bool = True,
    ) -> None:
        program = self.program()
        super().__init__("s3")
        self.access_key, self.secret_key = access_key, secret_key
        store, metadata = self.directory / "store", self.directory / "metadata"
        for directory in (store, metadata):
            directory.mkdir()
        self._bucket = store / BUCKET
        settings = {
            "ROOT_ACCESS_KEY": access_key, "ROOT_SECRET_KEY": secret_key, "GOGC": str(GARBAGE_PERCENT),
        }  # fmt: skip

        def command() -> list[str]:
            return [
                program, "--port", f"127.0.0.1:{self.port}", "--region", REGION, "--keep-alive",
                *(("--log-level", "debug") if trace else ("--quiet",)),
                "posix", "--sidecar", str(metadata), "--io-buffer-size", str(IO_BUFFER_BYTES), str(store),
            ]  # fmt: skip

        self.start(command, env=os.environ | settings)
        self._call("PUT", f"/{BUCKET}")

    @staticmethod
    def program() -> str:
        """Return its program. Raises: NotInstalledError."""
        program = CACHE / f"versitygw-{VERSION}" / "versitygw"
        if not program.exists():
            raise NotInstalledError(
                f"versitygw {VERSION} is not in {program.parent}: in a clone, tools/versitygw.sh builds it (Go)"
            )
        return str(program)

    @property
    def environment(self) -> dict[str, str]:
        """Variables that a client finds in its environment."""
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": REGION,
            "AWS_ENDPOINT_URL": self.endpoint(),
        }

    def endpoint(self, port: int | None = None) -> str:
        """Where it listens, or a relay before it."""
        return f"http://127.0.0.1:{port or self.port}"

    def url(self, path: str, port: int | None = None) -> str:  # noqa: ARG002 - the endpoint says where
        """Return the URL of an object."""
        return f"s3://{BUCKET}/{path}"

    def path(self, path: str) -> str:
        """Return the path of an object at the endpoint."""
        return f"/{BUCKET}/{path}"

    def put(self, path: str, content: bytes) -> None:
        """Write an object, over the protocol."""
        self._call("PUT", self.path(path), content)

    def link(self, path: str, file: Path) -> None:
        """Show a file as an object without copying it; it has no ETag then."""
        (self._bucket / path).symlink_to(file)

    def requests(self) -> list[Request]:
        """Requests for objects so far: their lines come before the answers. Its log tells no connections."""
        return parse_log(whole_lines(self.output))

    def n_requests(self, path: str) -> int:
        """Requests for an object so far: those, too, whose line in the log another one was written into."""
        # With its query it is the URL, which the log has besides.
        line = re.compile(rf"/{BUCKET}/{re.escape(path)}(?![?\w.])")
        return len(line.findall("\n".join(whole_lines(self.output))))

    def _call(self, method: str, path: str, content: bytes = b"") -> None:
        """One signed request (AWS Signature Version 4)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            host = f"127.0.0.1:{self.port}"
            headers = signed(
                method, path, content, host=host, access_key=self.access_key, secret_key=self.secret_key
            )
            connection.request(method, path, content, headers)
            answer = connection.getresponse()
            if answer.status != 200:
                raise RuntimeError(f"S3: {method} {path}: {answer.status} {answer.read()[:500]!r}")
        finally:
            connection.close()


def signed(
    method: str, path: str, content: bytes, *, host: str, access_key: str, secret_key: str
) -> dict[str, str]:
    """Headers of a request without a query, as the AWS documentation has it (Signature Version 4)."""
    now = dt.datetime.now(tz=dt.timezone.utc)
    moment, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    digest = hashlib.sha256(content).hexdigest()
    headers = {"host": host, "x-amz-content-sha256": digest, "x-amz-date": moment}
    names = ";".join(headers)
    lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
    request = f"{method}\n{path}\n\n{lines}\n{names}\n{digest}"
    scope = f"{day}/{REGION}/s3/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = f"AWS4{secret_key}".encode()
    for part in (*scope.split("/"), text):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    authorization = (
        f"AWS4-HMAC-SHA256 Credential={access_key}/{scope}, SignedHeaders={names}, Signature={key.hex()}"
    )
    return {**headers, "Authorization": authorization}


def parse_log(lines: list[str]) -> list[Request]:
    """Requests for objects in the output with headers; the server's access log has neither ranges nor bytes sent."""
    requests = []
    headers: dict[str, str] = {}
    for line in (_COLOUR.sub("", line) for line in lines):
        if line.startswith("[URL]"):
            headers = {}
        elif header := _HEADER.match(line):
            headers[header["name"].lower()] = header["value"].strip()
        elif ended := _ENDED.match(line):
            path = ended["path"]
            if path.count("/") < 2 or ended["method"] not in ("GET", "HEAD"):
                continue  # of a bucket, or our own writing
            range_ = headers.get("range")
            n_bytes = int(headers.get("content-length", 0)) if ended["method"] == "GET" else 0
            asked = range_ and range_.removeprefix("bytes=").replace(" ", "")
            requests.append(Request(ended["method"], path, asked, n_bytes, None, int(ended["status"])))
    return requests
