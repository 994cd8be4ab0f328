"""XCache: xrootd as a proxy with a file cache on disk (libXrdPss, libXrdPfc), before an origin."""

from __future__ import annotations

import os
import shutil
import time
from typing import TYPE_CHECKING

from .process import Server
from .xrootd import XRootD, as_nobody, find_plugin, preloaded

if TYPE_CHECKING:
    from pathlib import Path

CONFIGURATION = """
xrd.port {port}
xrd.network nodnr
all.export /
all.adminpath {run}
all.pidpath {run}
oss.localroot {run}/cache
ofs.osslib libXrdPss.so
pss.origin 127.0.0.1:{origin}
pss.cachelib libXrdPfc.so
pfc.blocksize {block_bytes}
pfc.prefetch {prefetch}
pfc.ram 1g
pfc.diskusage {watermarks}
pfc.writequeue 16 2
"""
#: Bytes that it may fill the disk up to, whatever else is on it: nothing that a test or campaign needs is purged.
SPARE_BYTES = 256 << 20


class XCache(Server):
    """Reads files from an origin on this host when they are asked for, and keeps their blocks; reading only.

    origin_port: an xrootd's, or a relay's before it. block_bytes: what it asks the origin for at a time, and keeps.
    prefetch: blocks of an open file that it reads ahead, 0: none.
    """

    scheme = "root"

    def __init__(self, origin_port: int, *, block_bytes: int = 1 << 20, prefetch: int = 0) -> None:
        program = self.program()
        super().__init__("xcache")
        self.data.mkdir()
        path = self.directory / "xrootd.cfg"
        disk = shutil.disk_usage(self.directory)
        # Purging keeps to marks of the whole disk's use: they lie above all that is free now.
        top = disk.total - min(SPARE_BYTES, disk.free // 4)
        watermarks = f"{(top >> 20) - 64}m {top >> 20}m"

        def command() -> list[str]:
            path.write_text(
                CONFIGURATION.format(
                    port=self.port,
                    run=self.directory,
                    origin=origin_port,
                    block_bytes=block_bytes,
                    prefetch=prefetch,
                    watermarks=watermarks,
                )
            )
            command = [program, "-c", str(path), "-I", "v4", "-l", str(self.directory / "xrootd.log")]
            return as_nobody(self.directory, command) if os.geteuid() == 0 else command

        self._command = command
        self._begin()

    @staticmethod
    def program() -> str:
        """Return its program. Raises: NotInstalledError, also without a plug-in that it needs."""
        for name in ("libXrdPss-5.so", "libXrdPfc-5.so"):
            find_plugin(name)
        return XRootD.program()

    def _begin(self) -> None:
        environment = os.environ | {"LD_PRELOAD": str(preloaded("loopback"))}
        self.start(self._command, env=environment, cwd=self.directory)

    def _answers(self) -> bool:
        """It listens before its plug-ins have said whether they can do their work."""
        while super()._answers():
            said = self.said()
            if " initialization completed.\n" in said.rpartition("------ xrootd ")[2]:
                return True
            if "------ xrootd " in said:
                return False
            time.sleep(0.02)
        return False

    @property
    def data(self) -> Path:
        """Where the cache is: each file under its path, with ``.cinfo`` beside it, which says what blocks are there."""
        return self.directory / "cache"

    def empty(self) -> None:
        """Forget all that was read, on the disk and in memory: it is another process then, on another port."""
        self._end_process()
        for path in self.directory.iterdir():
            # Pipes of the process that has ended, too: below a directory of root's the next one may not look at them.
            if path.is_dir():
                shutil.rmtree(path)
            elif path not in self.logs():
                path.unlink()
        self.data.mkdir()
        self._begin()

    def cached_bytes(self, path: str) -> int:
        """Return the bytes of a file's blocks that are on the disk."""
        try:
            return (self.data / path).stat().st_blocks * 512
        except FileNotFoundError:
            return 0

    def url(self, path: str, port: int | None = None) -> str:
        """Return the URL of a file; the second slash makes the path absolute."""
        return super().url(f"/{path}", port)

    def logs(self) -> list[Path]:
        """Its log."""
        return [self.output, self.directory / "xrootd.log"]
