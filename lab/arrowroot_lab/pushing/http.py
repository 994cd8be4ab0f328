"""Files of HTTP, WebDAV and S3 servers, by ``curl``, which knows their redirects, certificates and signatures."""

from __future__ import annotations

import base64
import binascii
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from arrowroot_lab.location import Location
from arrowroot_servers import NotInstalledError, find_program

from .digests import digests_of, digests_of_pieces
from .programs import output_of, pieces_of
from .target import PushError, Stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .target import PushTarget

#: A server that does not move its files says so by one of these.
_CANNOT_MOVE = (400, 403, 405, 501)
_MISSING = (404, 410)
#: S3 takes no more at once.
_MAX_S3_BYTES = 5 * 10**9
_MD5 = re.compile(r"[0-9a-f]{32}")
#: Nothing moves for so long: the server is given up.
_STALL_S = 60


class HttpTarget:
    """An ``http``, ``https``, ``dav`` or ``davs`` URL."""

    def __init__(self, url: str) -> None:
        self.url = Location(url)
        #: As curl is told it.
        self._address = Location(_as_http(self.url))

    def part(self) -> HttpTarget | None:
        """See ``Target``."""
        parts = urlsplit(self.url.whole())
        return HttpTarget(parts._replace(path=f"{parts.path}.part").geturl())

    def stored(self) -> Stored | None:
        """See ``Target``. Servers are asked for a checksum (RFC 3230), as dCache, XRootD and others tell one."""
        status, headers = self._headers(["head", _header("Want-Digest", "adler32;q=1, md5;q=0.5")])
        if status in _MISSING:
            return None
        self._check(status, "it is not shown")
        length = headers.get("content-length", "")
        if not length.isdigit():
            raise PushError(f"{self.url}: the server does not tell its size")
        tag = headers.get("etag") or headers.get("last-modified")
        return Stored(int(length), self._checksums(headers), tag)

    def put(self, file: Path, moved: Callable[[int], None]) -> None:
        """See ``Target``: always the whole file, as HTTP cannot go on with one."""
        lines = [_line("upload-file", str(file)), _header("Content-Type", "application/octet-stream")]
        status, _ = self._headers(lines, moved, file)
        self._check(status, "it is not taken")

    def publish(self, final: PushTarget) -> bool:
        """See ``Target``: by MOVE of WebDAV."""
        lines = [
            _line("request", "MOVE"),
            _header("Destination", _as_http(final.url)),
            _header("Overwrite", "T"),
        ]
        status, _ = self._headers(lines)
        if status in _CANNOT_MOVE:
            return False
        self._check(status, "it is not moved")
        return True

    def remove(self) -> None:
        """See ``Target``."""
        status, _ = self._headers([_line("request", "DELETE")])
        if status not in _MISSING:
            self._check(status, "it is not removed")

    def pieces(self) -> Iterator[bytes]:
        """See ``Target``."""
        return pieces_of([_program(), "-q", "--config", "-"], self.url, self._config(["fail"]))

    def _checksums(self, headers: Mapping[str, str]) -> dict[str, str]:
        found = {}
        for one in headers.get("digest", "").split(","):
            kind, _, value = one.strip().partition("=")
            if kind.lower() == "adler32":
                found["adler32"] = value.lower().rjust(8, "0")
            elif kind.lower() == "md5":
                try:
                    found["md5"] = base64.b64decode(value, validate=True).hex()
                except binascii.Error:
                    continue
        return found

    def _credentials(self, _file: Path | None) -> list[str]:
        """A token or a certificate, as grid tools find them; nothing of it goes over a line that is not encrypted."""
        if not self._address.startswith("https://"):
            return []
        lines = []
        if (token := _token()) is not None:
            lines.append(_header("Authorization", f"Bearer {token}"))
        certificate = os.environ.get("X509_USER_PROXY") or os.environ.get("X509_USER_CERT")
        if certificate:
            key = os.environ.get("X509_USER_PROXY") or os.environ.get("X509_USER_KEY") or certificate
            lines += [_line("cert", certificate), _line("key", key)]
        if authorities := os.environ.get("X509_CERT_DIR"):
            lines.append(_line("capath", authorities))
        return lines

    def _config(self, lines: list[str], file: Path | None = None) -> str:
        """The configuration that curl gets for a request. file: that it uploads."""
        common = [
            _line("url", self._address.whole()), "silent", "show-error", "globoff", "path-as-is",
            "connect-timeout = 30", "speed-limit = 1", f"speed-time = {_STALL_S}",
        ]  # fmt: skip
        return "\n".join([*common, *self._redirects(), *self._credentials(file), *lines, ""])

    def _redirects(self) -> list[str]:
        """Where curl may be sent on to: from a line that is encrypted to no other."""
        return ["location", *(['proto-redir = "=https"'] if self._address.startswith("https://") else [])]

    def _headers(
        self, lines: list[str], moved: Callable[[int], None] = lambda _: None, file: Path | None = None
    ) -> tuple[int, dict[str, str]]:
        """Make a request; return the status and the headers of the last answer, of which nothing else is looked at."""
        config = self._config([*lines, _line("dump-header", "-"), _line("output", os.devnull)], file)
        told = output_of([_program(), "-q", "--config", "-"], self.url, config, moved)
        answer = re.split(r"^HTTP/", told, flags=re.MULTILINE)[-1].splitlines()
        words = answer[0].split() if answer else []
        if len(words) < 2 or not words[1].isdigit():
            raise PushError(f"{self.url}: this is no answer of HTTP: {told[:100]!r}")
        pairs = (line.partition(":") for line in answer[1:])
        return int(words[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}

    def _check(self, status: int, problem: str) -> None:
        if not 200 <= status < 300:
            raise PushError(f"{self.url}: {problem}: status {status}")


class S3Target(HttpTarget):
    """An ``s3`` URL, with the credentials and the endpoint of ``AWS_*``: an object appears when it is whole."""

    def __init__(self, url: str, environment: Mapping[str, str]) -> None:
        super().__init__(url)
        self._environment = environment
        bucket, _, key = self.url.whole().removeprefix("s3://").partition("/")
        self._region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or "us-east-1"
        names = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "ARROWROOT_S3_ENDPOINT")
        endpoint = next((environment[name] for name in names if environment.get(name)), None)
        host = f"https://{bucket}.s3.{self._region}.amazonaws.com"
        self._address = Location(f"{endpoint.rstrip('/')}/{bucket}/{key}" if endpoint else f"{host}/{key}")

    def part(self) -> None:
        """See ``Target``."""
        return

    def _redirects(self) -> list[str]:
        # A signature is of one host; to another one curl would send the token of the session, in a header of S3's.
        return []

    def _check(self, status: int, problem: str) -> None:
        if 300 <= status < 400:
            raise PushError(
                f"{self.url}: {problem}: the server sends on to another (status {status}), as for a bucket of another "
                f"region than {self._region}; set AWS_REGION, or AWS_ENDPOINT_URL"
            )
        super()._check(status, problem)

    def _checksums(self, headers: Mapping[str, str]) -> dict[str, str]:
        # The ETag of an object that came in several parts is another hash, with a dash.
        etag = headers.get("etag", "").strip('"').lower()
        return {"md5": etag} if _MD5.fullmatch(etag) else {}

    def _credentials(self, file: Path | None) -> list[str]:
        user, secret = (
            self._environment.get(name, "") for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
        )
        found = digests_of(file) if file is not None else digests_of_pieces([])
        if found.n_bytes > _MAX_S3_BYTES:
            raise PushError(f"{self.url}: S3 takes at most 5 GB at once; make several files of the dataset")
        lines = [
            _line("user", f"{user}:{secret}"),
            _line("aws-sigv4", f"aws:amz:{self._region}:s3"),
            _header("x-amz-content-sha256", found.sha256),
        ]
        if token := self._environment.get("AWS_SESSION_TOKEN"):
            lines.append(_header("x-amz-security-token", token))
        return lines


def _as_http(url: Location) -> str:
    return re.sub(r"^dav(s?)://", r"http\1://", url.whole())


def _line(name: str, value: str) -> str:
    """A line of a configuration of curl."""
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{name} = "{quoted}"'


def _header(name: str, value: str) -> str:
    return _line("header", f"{name}: {value}")


def _program() -> str:
    try:
        return find_program("curl", "curl")
    except NotInstalledError as error:
        raise PushError(str(error)) from None


def _token() -> str | None:
    """The bearer token, where WLCG's tools look for it."""
    if told := os.environ.get("BEARER_TOKEN"):
        return told
    name = f"bt_u{os.geteuid()}"
    directories = (os.environ.get("XDG_RUNTIME_DIR"), "/tmp")  # noqa: S108 - WLCG's rule
    places = [os.environ.get("BEARER_TOKEN_FILE"), *(f"{one}/{name}" for one in directories if one)]
    for place in places:
        if place and Path(place).is_file():
            return Path(place).read_text(encoding="ascii").strip()
    return None
