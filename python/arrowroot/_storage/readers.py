"""Files that are read through Python: any file system of fsspec, and XRootD through its own client."""

from __future__ import annotations

import math
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from arrowroot import _native
from arrowroot._errors import (
    AccessDeniedError,
    InvalidRequestError,
    NoSuchFileError,
    StorageError,
    UnsupportedError,
    missing_library,
    warn_whole_copy,
)
from arrowroot._sizes import format_bytes
from arrowroot._storage.url import meant_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from arrowroot._storage.config import Setting
    from arrowroot._storage.in_hand import Content, FileObject

#: The schemes that the engine reads itself.
NATIVE_SCHEMES = ("file", "http", "https", "s3", "s3+http", "s3+https", "root", "roots", "xroot", "xroots")

Range = tuple[int, int]


#: What is read by HTTP.
_SCHEMES_OF_HTTP = ("http", "https", "s3", "s3+http", "s3+https")
#: The most remote files that are opened at a time.
_N_OPENED_AHEAD = 24
#: Layer and operation of a file that was copied whole when it was opened.
_COPY = ("http", "stage-in")


class Opening(NamedTuple):
    """All that it takes to open a file, again and again. It has credentials, which must not be in messages."""

    #: Replicas of one file; that of a file in hand is a name alone.
    urls: Sequence[str]
    settings: Sequence[Setting] = ()
    #: What reads a file in hand.
    reader: Content | FileObject | None = None

    def __repr__(self) -> str:
        return f"Opening({[_native.redacted(url) for url in self.urls]})"

    def open(self) -> _native.File:
        """Open the file. Raises: as :func:`open_native`."""
        if self.reader is not None:
            return _native.open_reader(self.reader, self.settings)
        try:
            return open_native(self.urls, self.settings)
        except StorageError as error:
            pattern = next((url for url in self.urls if "://" in url and "*" in url.partition("?")[0]), None)
            if pattern is not None:
                error.args = (
                    f"{error}; stores list nothing, so a URL is no pattern: name each file",
                    *error.args[1:],
                )
            raise


def open_native(urls: Sequence[str], options: Sequence[tuple[str, str, str]]) -> _native.File:
    """Open what URLs name with the engine's own stores, or through fsspec where it has none.

    ``urls``: replicas of one file; the first that can be is opened. ``options``: name, text and where it was set.
    """
    native = _open_some(urls, options)
    if scheme_of(native.url) in _SCHEMES_OF_HTTP:
        copied = [entry for entry in native.ledgers() if (entry["layer"], entry["operation"]) == _COPY]
        if any(entry["n_successful"] for entry in copied):
            warn_whole_copy(f"{native.url}: all {format_bytes(native.size_bytes)}")
    return native


def _open_some(urls: Sequence[str], options: Sequence[tuple[str, str, str]]) -> _native.File:
    if len(urls) == 1:
        return _open_one(urls[0], options)
    if all(scheme_of(url) in NATIVE_SCHEMES for url in urls):
        try:
            return _native.open_file(urls, options)
        except AccessDeniedError:
            if not any(_is_xrootd(url) for url in urls):
                raise
            # One by one: XRootD's own client may know the authentication that a server wants.
    _native.check_options(options)  # what is wrong with these is wrong with every replica
    failures: list[tuple[str, Exception]] = []
    for url in urls:
        try:
            return _open_one(url, options)
        except (StorageError, UnsupportedError, InvalidRequestError, ImportError) as error:
            failures.append((_native.redacted(url), error))
    raise no_replica(failures)


def no_replica(failures: Sequence[tuple[str, Exception]]) -> Exception:
    """Return the error of a file of which no replica can be opened, as the engine makes it for its own stores.

    ``failures``: URL and error of each. Its class is that of the one which says most of what can be done.
    """
    told = _native.told([(url, str(error)) for url, error in failures])
    message = f"none of {len(failures)} replicas can be opened: {told}"
    telling = min((error for _, error in failures), key=_rank)
    return type(telling)(message)


def _rank(error: Exception) -> int:
    """Return the rank of an error: the lower, the more it tells. "No such file" counts only if all replicas say so."""
    if isinstance(error, NoSuchFileError):
        return 4
    kinds = (AccessDeniedError, StorageError, InvalidRequestError)
    return next((index for index, kind in enumerate(kinds) if isinstance(error, kind)), len(kinds))


def _open_one(url: str, options: Sequence[tuple[str, str, str]]) -> _native.File:
    scheme = scheme_of(url)
    if scheme not in NATIVE_SCHEMES:
        _refuse_unnamed(url, options)
        return _native.open_reader(FsspecReader(url), options)
    try:
        return _native.open_file([url], options)
    except AccessDeniedError as error:
        # XRootD's own client shows a server the credentials that it finds.
        if not _is_xrootd(url) or not _native.may_see_credentials(url, options):
            raise
        # XRootD's own client may know the authentication that the server wants.
        try:
            deadline_s = float(dict(_native.check_options(options))["deadline"] or 0)
            reader = XrootdReader(url, {name: text for name, text, _ in options}, deadline_s)
        except ImportError as missing:
            raise AccessDeniedError(f"{error} ({missing})") from None
        return _native.open_reader(reader, options)
    except StorageError as error:
        # A file that is there was meant; there may be no descriptor left to import by.
        if scheme == "file" and not os.path.isfile(url):  # noqa: PTH113 - text, perhaps of bytes that are no UTF-8
            from arrowroot._storage.meant import meant_file

            error.args = (f"{error}{meant_url(url) or meant_file(url)}",)
        raise


def _refuse_unnamed(url: str, options: Sequence[tuple[str, str, str]]) -> None:
    """Raise AccessDeniedError if a file system would get credentials for a URL that nobody named."""
    if _native.may_see_credentials(url, options):
        return
    shown = _native.redacted(url)
    raise AccessDeniedError(
        f"{shown}: a file names this place, and fsspec cannot be kept from sending credentials there; open it yourself "
        f'by arrowroot.open, or say credentials_for=["{scheme_of(shown)}://HOST"]'
    )


def _is_xrootd(url: str) -> bool:
    return scheme_of(url) in ("root", "roots", "xroot", "xroots")


def scheme_of(url: str) -> str:
    """Return the scheme of a URL in lower case, "file" for a path."""
    scheme, separator, _ = url.partition("://")
    return scheme.lower() if separator else "file"


def n_opened_ahead(locations: Iterable[str]) -> int:
    """Return how many files to open at a time."""
    return 1 if all(scheme_of(location) == "file" for location in locations) else _N_OPENED_AHEAD


#: Schemes that some tools have for HTTP.
_BY_HTTP = {"dav": "http", "davs": "https"}


class FsspecReader:
    """A file of an fsspec file system, as ``_native.open_reader`` wants it."""

    #: The remedy if access is denied.
    hint = "look at the credentials of its fsspec file system"

    def __init__(self, url: str) -> None:
        """Open ``url``, which may be chained as fsspec has it ("zip://in.root::memory://archive").

        Raises: UnsupportedError if fsspec or what it needs for the scheme is not installed; StorageError if there is
        no such file.
        """
        try:
            import fsspec
        except ImportError as error:
            raise missing_library("fsspec", f"{scheme_of(_native.redacted(url))}://") from error
        self.url = _native.redacted(url)
        self._said = _Said(url)
        try:
            self._file_system, self._path = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            by_http = _BY_HTTP.get(scheme_of(self.url))
            hint = f"; servers of WebDAV are read by {by_http}://" if by_http else ""
            raise UnsupportedError(f"{self.url}: {self._said.by(error)}{hint}") from self._said.cause(error)
        except Exception as error:  # noqa: BLE001 - some connect here: what libraries raise for that is anything
            what = f"cannot be opened: {self._said.by(error)}"
            raise StorageError(f"{self.url}: {what}") from self._said.cause(error)
        try:
            size = self._file_system.size(self._path)
        except FileNotFoundError as error:
            what = f"no such file: {self._said.by(error)}"
            raise NoSuchFileError(f"{self.url}: {what}") from self._said.cause(error)
        except Exception as error:  # noqa: BLE001 - as above
            what = f"cannot be opened: {self._said.by(error)}"
            raise StorageError(f"{self.url}: {what}") from self._said.cause(error)
        if size is None:
            raise UnsupportedError(f"{self.url}: its file system does not say how large the file is")
        self.size_bytes = int(size)

    def read_ranges(self, ranges: Sequence[Range]) -> list[bytes]:
        """Return the bytes of each (offset, length), in one request where the file system can."""
        starts = [start for start, _ in ranges]
        ends = [start + length for start, length in ranges]
        paths = [self._path] * len(ranges)
        try:
            answers: list[Any] = self._file_system.cat_ranges(paths, starts, ends, on_error="raise")
        except Exception as error:  # noqa: BLE001 - as above
            # The engine treats these two apart from the others, and shows the text.
            kinds = (FileNotFoundError, PermissionError)
            kind = next((kind for kind in kinds if isinstance(error, kind)), StorageError)
            raise kind(self._said.by(error)) from self._said.cause(error)
        return [bytes(answer) for answer in answers]


class _Said:
    """Messages of libraries about a URL, without its credentials."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._has_secrets = _native.redacted(url) != url

    def by(self, error: Exception) -> str:
        """Return the message of an error, or its name if it has none."""
        # The engine takes no text with bytes that are not UTF-8.
        text = str(error).encode(errors="replace").decode() or type(error).__name__
        return _native.scrubbed(text, self._url)

    def cause(self, error: Exception) -> Exception | None:
        """Return the cause to show for our error: none whose own text may have credentials."""
        return None if self._has_secrets else error


#: XRootD's own defaults, where a server does not say (readv_ior_max, readv_iov_max).
_MAX_RANGE_BYTES, _MAX_RANGES = 2_097_136, 1024
#: The most bytes of one vector read: servers refuse 2 GB, and memory is held for all of it.
_MAX_REQUEST_BYTES = 64 << 20


#: The client takes 16 bits of seconds; 0 is its own default.
_MAX_TIMEOUT_S = (1 << 16) - 1
#: XrdCl's errAuthFailed, and what servers answer: kXR_NotAuthorized, kXR_NotFound.
_AUTHENTICATION_FAILED = 204
_BY_SERVER_ERROR = {3010: AccessDeniedError, 3011: NoSuchFileError}


@contextmanager
def _authorities(directory: str) -> Iterator[None]:
    """Name a directory of authorities in the environment, in the block alone: no other server is trusted for it."""
    if not (directory and os.path.isdir(directory)):  # noqa: PTH112 - text
        yield
        return
    before = os.environ.get("X509_CERT_DIR")
    os.environ["X509_CERT_DIR"] = directory
    try:
        yield
    finally:
        if before is None:
            del os.environ["X509_CERT_DIR"]
        else:
            os.environ["X509_CERT_DIR"] = before


class XrootdReader:
    """A file read by XRootD's own client, which knows authentication that ours does not (X.509, Kerberos)."""

    #: The remedy if access is denied.
    hint = "see that who your credentials name may read it (options certificate and authorities; kinit)"

    def __init__(self, url: str, options: Mapping[str, str], deadline_s: float) -> None:
        """Open ``url``. ``options``: a ``certificate`` among them is a proxy with its key, unless there is a ``key``.

        ``deadline_s``: so long may each call of the client take.

        A certificate whose key is in another file is not shown: XRootD 6.2, told to make no proxy of one, crashes where
        it has none. The client takes the directory of ``authorities`` from the environment, where it looks once.

        Raises: UnsupportedError if the client is not installed; AccessDeniedError, NoSuchFileError or StorageError
        with the client's words.
        """
        try:
            from XRootD import client
        except ImportError as error:
            raise missing_library("xrootd", "X.509 and Kerberos authentication of root://") from error
        self.url = _native.redacted(url)
        self._given = url
        self._timeout = min(max(1, math.ceil(deadline_s)), _MAX_TIMEOUT_S)
        self._file = client.File()
        proxy = options.get("certificate", "")
        credentials = f"xrd.gsiusrpxy={proxy}" if proxy and "key" not in options else ""
        if credentials:
            url += ("&" if "?" in url else "?") + credentials
        with _authorities(options.get("authorities", "")):
            self._check(self._file.open(url, timeout=self._timeout)[0], "cannot be opened")
        status, info = self._file.stat(timeout=self._timeout)
        self._check(status, "cannot be asked for its size")
        self.size_bytes = int(info.size)
        self._max_range_bytes, self._max_ranges = self._limits(client, url, credentials)

    def _check(self, status: Any, what: str) -> None:
        if status.ok:
            return
        said = _native.scrubbed(status.message.strip(), self._given)
        message = f"{self.url}: {what} by XRootD's own client: {said}"
        if status.code == _AUTHENTICATION_FAILED:
            hint = (
                "for X.509 it needs a proxy (option certificate, X509_USER_PROXY), as voms-proxy-init or xrdgsiproxy "
                "makes of a certificate and its key, and a directory of authorities (option, X509_CERT_DIR)"
            )
            raise AccessDeniedError(f"{message} ({hint})")
        raise _BY_SERVER_ERROR.get(status.errno, StorageError)(message)

    def _limits(self, client: Any, url: str, credentials: str) -> tuple[int, int]:
        server = self._file.get_property("DataServer") or url.split("://", 1)[1].split("/", 1)[0]
        from XRootD.client.flags import QueryCode

        # The credentials are part of the key of its connections: without them it would make another one.
        place = f"root://{server}/" + (f"?{credentials}" if credentials else "")
        status, answer = client.FileSystem(place).query(
            QueryCode.CONFIG, "readv_ior_max readv_iov_max", timeout=self._timeout
        )
        found = answer.replace(b"\x00", b"").split() if status.ok and answer else []
        numbers = [int(word) for word in found if word.isdigit() and int(word) > 0]
        return (numbers[0], numbers[1]) if len(numbers) == 2 else (_MAX_RANGE_BYTES, _MAX_RANGES)

    def read_ranges(self, ranges: Sequence[Range]) -> list[bytes]:
        """Return the bytes of each (offset, length), in vector reads within the server's limits."""
        pieces = [
            (number, start + done, min(self._max_range_bytes, length - done))
            for number, (start, length) in enumerate(ranges)
            for done in range(0, length, self._max_range_bytes)
        ]
        answers = [bytearray() for _ in ranges]
        while pieces:
            n_bytes, n_pieces = 0, 0
            while n_pieces < min(len(pieces), self._max_ranges):
                if n_pieces and n_bytes + pieces[n_pieces][2] > _MAX_REQUEST_BYTES:
                    break
                n_bytes += pieces[n_pieces][2]
                n_pieces += 1
            request, pieces = pieces[:n_pieces], pieces[n_pieces:]
            chunks = [(start, length) for _, start, length in request]
            status, answer = self._file.vector_read(chunks=chunks, timeout=self._timeout)
            self._check(status, f"cannot read {n_bytes} bytes in {n_pieces} ranges")
            for (number, _, _), chunk in zip(request, answer.chunks, strict=True):
                answers[number] += chunk.buffer
        return [bytes(answer) for answer in answers]
