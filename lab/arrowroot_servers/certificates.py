"""A certificate authority for one test run, with a server's and a client's certificate; made by openssl."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

from .process import find_program

if TYPE_CHECKING:
    from pathlib import Path


class Certificates:
    """PEM files in a directory: ``authority``, ``server``, ``server_key``, ``client``, ``client_key``, ``stranger``.

    The server's certificate is for 127.0.0.1 and localhost. ``stranger`` is a client's of another authority. Keys are
    of RSA if that is asked for: the grid's security of XRootD knows no others.
    """

    def __init__(self, directory: Path, *, is_rsa: bool = False) -> None:
        self._openssl = find_program("openssl", "openssl")
        self._directory = directory
        self._new_key = ["rsa:2048"] if is_rsa else ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        self.authority, self._authority_key = self._authority("authority")
        self.server, self.server_key = self._issue("server", "IP:127.0.0.1,DNS:localhost", "serverAuth")
        self.client, self.client_key = self._issue("client", "DNS:client", "clientAuth")
        self.other_authority, self._authority_key = self._authority("other")
        self.stranger, self.stranger_key = self._issue("stranger", "DNS:stranger", "clientAuth")

    def _run(self, *arguments: str | Path) -> None:
        done = subprocess.run(
            [self._openssl, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60
        )
        if done.returncode != 0:
            raise RuntimeError(f"openssl {arguments[0]}: {done.stderr}")

    def _authority(self, name: str) -> tuple[Path, Path]:
        certificate, key = self._directory / f"{name}.pem", self._directory / f"{name}.key"
        self._run(
            "req", "-x509", "-newkey", *self._new_key, "-nodes", "-days", "2",
            "-subj", f"/CN=arrowroot test {name}", "-keyout", key, "-out", certificate,
            "-addext", "keyUsage=critical,keyCertSign,cRLSign",
        )  # fmt: skip
        self._issuer = certificate
        return certificate, key

    def _issue(self, name: str, names: str, usage: str) -> tuple[Path, Path]:
        extensions = (
            f"subjectAltName={names}\nextendedKeyUsage={usage}\nbasicConstraints=CA:FALSE\n"
            "keyUsage=critical,digitalSignature\n"
        )
        issuer = (self._issuer, self._authority_key)
        return self._signed(name, f"/CN=arrowroot test {name}", extensions, issuer)

    def _signed(
        self, name: str, subject: str, extensions: str, issuer: tuple[Path, Path]
    ) -> tuple[Path, Path]:
        certificate, key = self._directory / f"{name}.pem", self._directory / f"{name}.key"
        request, extensions_file = self._directory / f"{name}.csr", self._directory / f"{name}.ext"
        self._run(
            "req", "-new", "-newkey", *self._new_key, "-nodes", "-subj", subject, "-keyout", key, "-out", request,
        )  # fmt: skip
        extensions_file.write_text(extensions)
        self._run(
            "x509", "-req", "-in", request, "-CA", issuer[0], "-CAkey", issuer[1],
            "-CAcreateserial", "-days", "2", "-extfile", extensions_file, "-out", certificate,
        )  # fmt: skip
        key.chmod(0o600)
        return certificate, key

    def proxy(self) -> Path:
        """Return the file of a proxy of the client (RFC 3820): it, its key, and the certificate that signed it."""
        extensions = "keyUsage=critical,digitalSignature\nproxyCertInfo=critical,language:id-ppl-inheritAll\n"
        subject = "/CN=arrowroot test client/CN=1234"
        certificate, key = self._signed("proxy", subject, extensions, (self.client, self.client_key))
        whole = self._directory / "whole-proxy.pem"
        whole.write_bytes(b"".join(part.read_bytes() for part in (certificate, key, self.client)))
        whole.chmod(0o600)
        return whole

    def hashed(self) -> Path:
        """Return a directory of the authority's certificate under its hash, as OpenSSL and the grid look for it."""
        directory = self._directory / "authorities"
        directory.mkdir(exist_ok=True)
        shutil.copy(self.authority, directory)
        self._run("rehash", directory)
        return directory
