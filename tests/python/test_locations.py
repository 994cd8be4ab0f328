"""Files whose names are not text."""

import os
from pathlib import Path

import pytest

import arrowroot as ar

from .conftest import N_ENTRIES, write_tree


@pytest.fixture
def odd_name(tmp_path):
    write_tree(tmp_path / "text.root")
    named = tmp_path / os.fsdecode(b"caf\xe9.root")
    try:
        (tmp_path / "text.root").rename(named)
    except OSError:
        pytest.skip("this file system has names in UTF-8 only")
    return named


def test_a_name_of_any_bytes_is_opened(odd_name):
    for location in (odd_name, str(odd_name), bytes(odd_name)):
        with ar.open(location) as file:
            assert file["Events"].num_entries == N_ENTRIES
            assert "caf\ufffd.root" in file.url
            repr(file).encode()  # may be printed


def test_chains_and_globs_find_it(odd_name):
    pattern = str(odd_name.parent / "*.root")
    for location in (odd_name, bytes(odd_name), pattern, [odd_name, f"{odd_name}:Events"]):
        scan = ar.scan(location, columns=["run"])
        assert scan.num_entries in (N_ENTRIES, 2 * N_ENTRIES)
        assert scan.read_all().num_rows == scan.num_entries


def test_the_command_opens_it(odd_name, arrowroot_command):
    assert "caf\ufffd.root" in arrowroot_command("ls", odd_name).stdout


def test_a_file_url_may_name_this_host(sample):
    with ar.open(f"file://localhost{sample[0]}") as there, ar.open(f"file://{sample[0]}") as here:
        assert there.size_bytes == here.size_bytes
    with pytest.raises(ar.InvalidRequestError, match='"localhostile" stands where the host does'):
        ar.open(f"file://localhostile{sample[0]}")


def test_file_urls_may_be_encoded(sample, tmp_path):
    path = tmp_path / "with space, 100%25 ä.root"
    path.write_bytes(sample[0].read_bytes())
    for url in (path.as_uri(), f"file://{path}"):
        with ar.open(url) as file:
            assert file["Events"].num_entries == N_ENTRIES


def test_the_home_directory_may_be_a_tilde(sample, tmp_path, monkeypatch, arrowroot_command):
    (tmp_path / "x1.root").write_bytes(sample[0].read_bytes())
    monkeypatch.setenv("HOME", str(tmp_path))
    for location in ("~/x1.root", Path("~/x1.root"), b"~/x1.root"):
        with ar.open(location) as file:
            assert file.url == str(tmp_path / "x1.root")
    for paths in ("~/x*.root", "~/x1.root:Events", Path("~/x1.root"), {"~/x1.root": "Events"}):
        assert ar.scan(paths, columns="run").num_entries == N_ENTRIES
    assert "1,000 of 1,000" in arrowroot_command("perf", "~/x1.root:Events", "-c", "run").stdout
    monkeypatch.chdir(tmp_path)
    (tmp_path / "~").mkdir()
    (tmp_path / "~/x1.root").write_bytes(b"")
    with pytest.raises(ar.CorruptFileError, match=r"^~/x1\.root"):
        ar.open("~/x1.root")
    with pytest.raises(ar.NoSuchFileError, match="~nobody-of-that-name"):
        ar.open("~nobody-of-that-name/x.root")


def test_a_pattern_that_is_opened_says_what_takes_patterns(sample, arrowroot_command):
    pattern = f"{sample[0].parent}/s?mple.root"
    with pytest.raises(ar.NoSuchFileError, match=r"a pattern: arrowroot\.scan reads"):
        ar.open(pattern)
    assert "arrowroot.scan" in arrowroot_command("perf", pattern, check=False).stderr
    with pytest.raises(ar.NoSuchFileError) as caught:
        ar.open(f"{sample[0].parent}/none.root")
    assert "scan" not in str(caught.value)


def test_what_is_no_location_is_refused():
    for wrong in (3, None, [3]):
        with pytest.raises(ar.InvalidRequestError, match="path or URL"):
            ar.open(wrong)
    with pytest.raises(ar.InvalidRequestError, match="path or URL"):
        ar.scan([3])
