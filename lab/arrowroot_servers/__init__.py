"""Real servers on loopback ports, and a relay that makes a network of the way to them; for tests and benchmarks."""

from .access import Request
from .certificates import Certificates
from .connect_proxy import ConnectProxy
from .nginx import Nginx
from .process import NotInstalledError, Server, find_program, home
from .relay import Relay, relay_program
from .s3 import S3
from .single import Single
from .xcache import XCache
from .xrootd import XRootD

__all__ = [
    "S3",
    "Certificates",
    "ConnectProxy",
    "Nginx",
    "NotInstalledError",
    "Relay",
    "Request",
    "Server",
    "Single",
    "XCache",
    "XRootD",
    "find_program",
    "home",
    "relay_program",
]
