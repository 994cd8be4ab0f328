"""A certificate authority for one test run, with a server's and a client's certificate; made by openssl."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from .process import find_program

if TYPE_CHECKING:
    from pathlib import Path


class Certificates:
    """PEM files in a directory: ``authority``, ``server``, ``server_key``, ``client``, ``client_key``, ``stranger``.

    The server's certificate is for 127.0.0.1 and localhost. ``stranger`` is a client's of another authority.
    """

    def __init__(self, directory: Path) -> None:
        self._openssl = find_program("openssl", "openssl")
        self._directory = directory
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
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", f"/CN=arrowroot test {name}", "-keyout", key, "-out", certificate,
            "-addext", "keyUsage=critical,keyCertSign,cRLSign",
        )  # fmt: skip
        self._issuer = certificate
        return certificate, key

    def _issue(self, name: str, names: str, usage: str) -> tuple[Path, Path]:
        certificate, key = self._directory / f"{name}.pem", self._directory / f"{name}.key"
        request, extensions = self._directory / f"{name}.csr", self._directory / f"{name}.ext"
        self._run(
            "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-subj", f"/CN=arrowroot test {name}", "-keyout", key, "-out", request,
        )  # fmt: skip
        extensions.write_text(
            f"subjectAltName={names}\nextendedKeyUsage={usage}\nbasicConstraints=CA:FALSE\n"
            "keyUsage=critical,digitalSignature\n"
        )
        self._run(
            "x509", "-req", "-in", request, "-CA", self._issuer, "-CAkey", self._authority_key,
            "-CAcreateserial", "-days", "2", "-extfile", extensions, "-out", certificate,
        )  # fmt: skip
        key.chmod(0o600)
        return certificate, key
