"""A PostgreSQL server of one's own, on a socket in a directory, for tests."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

from tests.lab.running import PATIENCE_S

#: Where Debian has them, newest first; elsewhere they are on the PATH.
_DEBIAN = Path("/usr/lib/postgresql")


def program(name):
    """Where a program of PostgreSQL is; None if it is not installed."""
    for directory in sorted(_DEBIAN.glob("*/bin"), reverse=True):
        if (directory / name).exists():
            return str(directory / name)
    return shutil.which(name)


@contextmanager
def postgresql(directory):
    """A server with an empty database; yields its URL. It listens on no port, and is gone afterwards."""
    data, user = directory / "data", None
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        user = "postgres" if any(one.pw_name == "postgres" for one in pwd.getpwall()) else "nobody"
        shutil.chown(directory, user)
        for parent in (directory, *directory.parents[:-1]):
            if parent.stat().st_uid == 0 and not parent.stat().st_mode & 0o001:
                parent.chmod(parent.stat().st_mode | 0o011)

    def run(name, *arguments):
        command = [program(name), *arguments]
        done = subprocess.run(
            command,
            user=user,
            cwd=directory,
            capture_output=True,
            text=True,
            check=False,
            env={"LC_ALL": "C", "PGCTLTIMEOUT": str(PATIENCE_S)},
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"

    run("initdb", "-D", str(data), "-U", "lab", "-A", "trust", "-E", "UTF8", "--no-sync")
    options = f"-k {directory} -c listen_addresses='' -c fsync=off -c authentication_timeout={PATIENCE_S}"
    run("pg_ctl", "-D", str(data), "-w", "-o", options, "-l", str(directory / "log"), "start")
    try:
        run("createdb", "-h", str(directory), "-U", "lab", "results")
        yield f"postgresql://lab@/results?host={directory}"
    finally:
        run("pg_ctl", "-D", str(data), "-m", "immediate", "-w", "stop")
