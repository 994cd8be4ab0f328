"""nginx: files with range requests, over TLS with client certificates, behind a bearer token."""

from __future__ import annotations

import getpass
import http.client
import os
from contextlib import closing
from typing import TYPE_CHECKING

from .access import Request
from .process import Server, find_program, free_port, whole_lines

if TYPE_CHECKING:
    from pathlib import Path

    from .certificates import Certificates

CONFIGURATION = """
{user}
daemon off;
worker_processes 1;
pid {run}/nginx.pid;
error_log {run}/error.log;
events {{ worker_connections 512; }}
http {{
  log_format fields '$request_method\t$uri\t$http_range\t$body_bytes_sent\t$connection\t$status';
  access_log {run}/access.log fields;
  types {{ }}
  default_type application/octet-stream;
  sendfile on;
  tcp_nopush on;
  keepalive_timeout 65;
  keepalive_requests 100000;
  {max_ranges}
  {long_headers}
  {zone}
  client_body_temp_path {run}/t1;
  proxy_temp_path {run}/t2;
  fastcgi_temp_path {run}/t3;
  uwsgi_temp_path {run}/t4;
  scgi_temp_path {run}/t5;
  server {{
    listen 127.0.0.1:{port}{ssl};
    {tls}
    root {root};
    location / {{ {token} {writing} {rates} }}
    {redirect}
  }}
  server {{
    listen 127.0.0.1:{mark_port};
    access_log off;
    return 204;
  }}
}}
"""


class Nginx(Server):
    """Serves the files below a directory.

    max_ranges: ranges answered in one response: with 1 a request for more gets the whole file, with 0 any request does;
    None as nginx comes (no limit). certificates: TLS; a certificate of the authority is demanded unless a token is.
    token: demanded as a bearer token. redirect_to: requests below /redirect/ are sent there (307).
    long_headers: takes headers of 64 KiB, as uproot sends for many ranges; nginx as it comes takes 8. writing: the
    methods of WebDAV besides reading, as ``PUT DELETE MOVE``. bytes_per_s: of each connection. requests_per_s: of each
    client; those that are more wait.
    """

    def __init__(
        self,
        root: Path,
        *,
        max_ranges: int | None = None,
        certificates: Certificates | None = None,
        token: str | None = None,
        redirect_to: str | None = None,
        long_headers: bool = False,
        writing: str = "",
        bytes_per_s: int | None = None,
        requests_per_s: int | None = None,
    ) -> None:
        super().__init__("nginx")
        program = self.program()
        if certificates:
            self.scheme = "https"
        tls = certificates and (
            f"ssl_certificate {certificates.server}; ssl_certificate_key {certificates.server_key}; "
            f"ssl_client_certificate {certificates.authority}; ssl_verify_client {'off' if token else 'on'};"
        )
        rates = f"limit_rate {bytes_per_s};" if bytes_per_s else ""
        if requests_per_s:
            rates += " limit_req zone=clients burst=10000;"
        configuration = self.directory / "nginx.conf"

        def command() -> list[str]:
            self._mark_port = free_port()
            text = CONFIGURATION.format(
                mark_port=self._mark_port,
                user=f"user {getpass.getuser()};" if os.geteuid() == 0 else "",
                run=self.directory,
                port=self.port,
                root=root,
                max_ranges="" if max_ranges is None else f"max_ranges {max_ranges};",
                long_headers="large_client_header_buffers 8 64k;" if long_headers else "",
                zone=f"limit_req_zone $binary_remote_addr zone=clients:1m rate={requests_per_s}r/s;"
                if requests_per_s
                else "",
                rates=rates,
                ssl=" ssl" if tls else "",
                tls=tls or "",
                token=f'if ($http_authorization != "Bearer {token}") {{ return 401 "who are you?"; }}'
                if token
                else "",
                writing=f"dav_methods {writing}; create_full_put_path on; client_max_body_size 0;"
                if writing
                else "",
                redirect=f"rewrite ^/redirect/(.*)$ {redirect_to}$1; " if redirect_to else "",
            )
            configuration.write_text(text)
            return [program, "-c", str(configuration), "-e", str(self.directory / "error.log")]

        self.start(command)

    @staticmethod
    def program() -> str:
        """Return its program. Raises: NotInstalledError."""
        return find_program("nginx", "nginx-light")

    def logs(self) -> list[Path]:
        """The requests, and complaints."""
        return [self.output, *(self.directory / name for name in ("access.log", "error.log"))]

    def requests(self) -> list[Request]:
        """All requests that have been answered, as they ended.

        nginx writes a request's line after its last byte, before it looks at anything else: it has one worker. So once
        that has answered a mark, which comes after them, the lines are there.
        """
        with closing(http.client.HTTPConnection("127.0.0.1", self._mark_port, timeout=60)) as mark:
            mark.request("GET", "/")
            mark.getresponse().read()
        requests = []
        for line in whole_lines(self.directory / "access.log"):
            method, path, range_, n_bytes, connection, status = line.split("\t")
            if method == "-":
                continue  # a connection that asked for nothing, or broke off
            asked = None if range_ == "-" else range_.removeprefix("bytes=").replace(" ", "")
            requests.append(Request(method, path, asked, int(n_bytes), int(connection), int(status)))
        return requests
