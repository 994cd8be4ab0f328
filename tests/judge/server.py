"""The process that imports ROOT and forks a child for each job: ``python -m tests.judge.server SOCKET``.

A message is the length of a pickled job in eight bytes, with the socket for its answers, and the job: function,
directory, arguments, and True if ROOT is to say more than errors. The child sends ``("returned", value)``,
``("raised", text)`` or ``("no compiler", text)``, and the server ``("ended", status, output)`` when the child is dead.
A job whose socket the client closes is killed, and all are when the client is gone.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import selectors
import signal
import socket
import sys
import tempfile
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import BinaryIO

from .macros import NoCompilerError

LENGTH_BYTES = 8


def start_root() -> None:
    """Import ROOT, which then says errors only, draws on no screen, and calls no debugger when it crashes."""
    import numpy as np  # noqa: F401 - most jobs want it
    import ROOT

    ROOT.gErrorIgnoreLevel = ROOT.kError
    ROOT.gROOT.SetBatch(True)
    ROOT.gEnv.SetValue("Root.Stacktrace", "no")
    # PyROOT's handler makes warnings of Python of ROOT's, which nobody shows.
    ROOT.gInterpreter.ProcessLine("SetErrorHandler(DefaultErrorHandler);")


@dataclass
class Job:
    """A child, the socket for its answers, and the file with what it prints."""

    child: int
    answers: socket.socket
    output: BinaryIO

    def kill(self) -> None:
        """End the child and the processes that it started."""
        try:
            os.killpg(self.child, signal.SIGKILL)
        except ProcessLookupError:  # it has not yet made its group
            os.kill(self.child, signal.SIGKILL)

    def end(self) -> None:
        """Wait for the child, and say how it ended."""
        self.kill()  # what it has left behind
        _, status = os.waitpid(self.child, 0)
        self.output.seek(0)
        text = self.output.read().decode(errors="replace")
        self.output.close()
        # Nobody may wait for it.
        with contextlib.suppress(ConnectionError), Connection(self.answers.detach()) as connection:
            connection.send_bytes(pickle.dumps(("ended", os.waitstatus_to_exitcode(status), text)))


def do(job: bytes, answers: socket.socket, output: BinaryIO) -> None:
    """Run a job in the child, and end it without an end of Python, at which ROOT's objects delete each other."""
    os.setsid()
    for descriptor in (1, 2):
        os.dup2(output.fileno(), descriptor)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        function, directory, arguments, says_all = pickle.loads(job)  # noqa: S301 - from the tests
        os.chdir(directory)
        if says_all:
            import ROOT

            ROOT.gErrorIgnoreLevel = ROOT.kPrint
        answer = pickle.dumps(("returned", function(*arguments)))
    except NoCompilerError as error:
        answer = pickle.dumps(("no compiler", str(error)))
    except BaseException:  # noqa: BLE001 - SystemExit, too, is an answer
        answer = pickle.dumps(("raised", traceback.format_exc()))
    sys.stdout.flush()
    sys.stderr.flush()
    ctypes.CDLL(None).fflush(None)
    with Connection(answers.detach()) as connection:
        connection.send_bytes(answer)
    os._exit(0)


def receive(control: socket.socket) -> tuple[bytes, socket.socket] | None:
    """Return the next job and the socket for its answers; None if the client is gone."""
    head, descriptors, _, _ = socket.recv_fds(control, LENGTH_BYTES, 1)
    if not head:
        return None
    job = b""
    while len(job) < int.from_bytes(head, "big"):
        job += control.recv(int.from_bytes(head, "big") - len(job))
    return job, socket.socket(fileno=descriptors[0])


def serve(control: socket.socket) -> None:
    """Start jobs, and say how they ended, until the client is gone."""
    jobs: dict[int, Job] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is control:
                    received = receive(control)
                    if received is None:
                        for job in jobs.values():
                            job.kill()
                        return
                    job = begin(*received, control)
                    death = os.pidfd_open(job.child)
                    jobs[death] = job
                    selector.register(death, selectors.EVENT_READ)
                    selector.register(job.answers, selectors.EVENT_READ, job)
                elif key.data is not None:  # the client has closed it
                    selector.unregister(key.fileobj)
                    key.data.kill()
                else:
                    job = jobs.pop(key.fd)
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    if job.answers in selector.get_map():
                        selector.unregister(job.answers)
                    job.end()


def begin(pickled: bytes, answers: socket.socket, control: socket.socket) -> Job:
    """Fork the child of a job."""
    output = tempfile.TemporaryFile()  # noqa: SIM115 - the job closes it
    child = os.fork()
    if child == 0:
        control.close()
        do(pickled, answers, output)
    return Job(child, answers, output)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the client says when it is over
    start_root()
    serve(socket.socket(fileno=int(sys.argv[1])))
