"""A TTreePerfStats of a reading: ROOT prints and draws ours without a warning, and its own is reported as ours."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from arrowroot.cli import main
from tests.judge import root

from . import with_perfstat
from .compare import written

of_root = written(with_perfstat.write, complaints_but=())


def numbers(text: str) -> dict[str, float]:
    """The numbers that ROOT prints, by the names before them."""
    return {
        name.strip(): float(value)
        for name, value in re.findall(r"^(\w[\w ]*?)\s*= *([-\d.e+]+)", text, re.MULTILINE)
    }


def test_root_prints_and_draws_what_perf_saves(of_root, tmp_path, capsys):
    path = tmp_path / "ours.root"
    assert main(["perf", f"{of_root / 'tree.root'}:T", "--save", str(path), "--json", "--threads", "1"]) == 0
    report = json.loads(capsys.readouterr().out)["first"]
    text, shown = root.run(with_perfstat.show, tmp_path, path, complaints_but=())
    printed = numbers(text)
    assert shown["class"] == "TTreePerfStats"
    assert shown["title"] == f"{of_root / 'tree.root'}/T"
    assert "arrowroot" in shown["host"]
    assert shown["n"] == report["read_calls"] > 0
    assert round(sum(shown["lengths"]) * 1e9) == report["read_total_bytes"]
    assert np.all(np.diff(shown["times"]) >= 0)
    assert max(shown["entries"]) < 5000
    expected = {
        "N leaves": report["n_leaves"],
        "ReadTotal": report["read_total_bytes"] / 1e6,
        "ReadUnZip": report["read_unzip_bytes"] / 1e6,
        "ReadCalls": report["read_calls"],
        "ReadSize": report["read_size_bytes"] / 1e3,
        "Readextra": report["read_extra_percent"],
        "Real Time": report["real_time_ns"] / 1e9,
        "CPU  Time": report["cpu_time_ns"] / 1e9,
        "Disk Time": report["disk_time_ns"] / 1e9,
        "UnzipTime": report["decompress_ns"] / 1e9,
    }
    for name, value in expected.items():
        assert printed[name] == pytest.approx(value, rel=1e-4, abs=6e-4), name
    assert (tmp_path / "drawn.png").stat().st_size > 2000


def test_what_root_saved_is_reported_as_our_own(of_root, capsys):
    printed = numbers((of_root / "printed.txt").read_text())
    assert main(["perf", "--from", str(of_root / "perfstat.root"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    found = document["first"]
    assert (document["form"], document["name"]) == ("arrowroot.perf/3", "ioperf")
    assert document["title"].endswith("tree.root/T")
    for name, key, factor in (
        ("N leaves", "n_leaves", 1),
        ("ReadTotal", "read_total_bytes", 1e6),
        ("ReadCalls", "read_calls", 1),
        ("ReadSize", "read_size_bytes", 1e3),
        ("Readextra", "read_extra_percent", 1),
        ("Real Time", "real_time_ns", 1e9),
        ("CPU  Time", "cpu_time_ns", 1e9),
        ("Disk Time", "disk_time_ns", 1e9),
        ("UnzipTime", "decompress_ns", 1e9),
    ):
        assert (found[key] or 0) / factor == pytest.approx(printed[name], rel=1e-3, abs=6e-4), name
    # Exact, where ROOT prints an estimate: 8 columns of 5,000 doubles, and what the heads of the baskets take.
    assert 320_000 <= found["read_unzip_bytes"] + 1000 <= printed["ReadUnZip"] * 1e6
    assert sum(n_bytes for _, _, n_bytes in document["physical_reads"]) > 0
    assert main(["perf", "--from", f"{of_root / 'perfstat.root'}:ioperf"]) == 0
    text = capsys.readouterr().out
    assert f"ReadCalls = {int(printed['ReadCalls']):,}" in text
    assert "CPU efficiency" in text


def test_what_is_no_perfstat_is_said(of_root, capsys):
    assert main(["perf", "--from", str(of_root / "tree.root")]) == 2
    assert "no TTreePerfStats" in capsys.readouterr().err
    assert main(["perf", "--from", f"{of_root / 'tree.root'}:T"]) == 2
    assert "is a TTree, not a TTreePerfStats" in capsys.readouterr().err
    assert main(["perf", str(of_root / "tree.root"), "--from", str(of_root / "perfstat.root")]) == 2
    assert "is not read then" in capsys.readouterr().err
    saved = str(of_root / "perfstat.root")
    assert main(["perf", "--from", saved, "--plot", "x.png", "-c", "x", "--batch-size", "1 MB"]) == 2
    assert "reads nothing: leave out --columns, --batch-size, --plot" in capsys.readouterr().err
    tree = of_root / "tree.root"
    assert main(["perf", str(tree), "--save", str(tree)]) == 2
    assert "would be overwritten" in capsys.readouterr().err
