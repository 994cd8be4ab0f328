"""Samples that a run has taken and not stored yet, on the disk after each: a run that is ended resumes from there."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from arrowroot_lab.documents import Result, Sample, from_json, to_json
from arrowroot_lab.errors import DocumentError, RequestError, StoreError

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Self


class Journal:
    """A file of JSON lines: results as they begin, their samples, and which are stored.

    One run has it at a time.

    Raises: RequestError if another run has it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise RequestError(
                f"{path}: another run of this campaign, for the same database and site, is under way: wait for its end"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if not self.left():  # nobody can have opened it meanwhile and got the lock
                self.path.unlink(missing_ok=True)
        finally:
            self.close()

    def close(self) -> None:
        """Let another run have it."""
        self._file.close()

    def begin(self, result: Result) -> None:
        """Note a result with its samples so far, instead of what was noted of it."""
        self._write({"result": to_json(result)})

    def add(self, result: Result, sample: Sample) -> None:
        """Note a sample."""
        (plain,) = to_json(replace(result, samples=[sample]))["samples"]
        self._write({"uuid": result.uuid, "sample": plain})

    def stored(self, uuid: str) -> None:
        """Note that a result is in the database, or is not wanted any more."""
        self._write({"uuid": uuid, "is_stored": True})

    def left(self) -> list[Result]:
        """Return the results that were begun, and not stored. A line that was cut short is passed over."""
        documents: dict[str, dict[str, Any]] = {}
        self._file.seek(0)
        for line in self._file:
            try:
                told = json.loads(line)
            except ValueError:
                continue
            if "result" in told:
                documents[told["result"]["uuid"]] = told["result"]
            elif told.get("is_stored"):
                documents.pop(told["uuid"], None)
            elif told.get("uuid") in documents:
                documents[told["uuid"]]["samples"].append(told["sample"])
        results = []
        for document in documents.values():
            try:
                results.append(from_json(document))
            except DocumentError:  # of an older laboratory
                continue
        return results

    def _write(self, told: dict[str, Any]) -> None:
        try:
            # A line that was cut short ends there.
            self._file.write("\n" + json.dumps(told, separators=(",", ":")) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise StoreError(
                f"{self.path}: {error.strerror}: the sample is not kept; make room, and run the campaign again"
            ) from None
