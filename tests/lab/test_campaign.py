"""Campaigns: what a file may say, what is said of one that is at fault, and the cases that it makes."""

# ruff: noqa: E501 - a fault and what is said of it stand on one line

from __future__ import annotations

import json
import random
import string
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from arrowroot_lab.campaign import choice
from arrowroot_lab.campaign.identity import Identity
from arrowroot_lab.campaign.matrix import case_document, cases, corners, server_of
from arrowroot_lab.campaign.model import Line, Workload
from arrowroot_lab.campaign.places import dotted, lines_of
from arrowroot_lab.campaign.read import read
from arrowroot_lab.canonical import canonical
from arrowroot_lab.documents import case_id
from arrowroot_lab.errors import CampaignError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CAMPAIGNS = Path(__file__).resolve().parents[2] / "campaigns"
SMALL = """
[dataset.a]
sample = { size = "1 MB" }
[storage.local]
kind = "local"
[engine.arrowroot]
[workload.all]
"""
IDENTITY = Identity("v" * 32, "l" * 16, "f" * 64, 1000, 500, ("run", "Muon_pt", "Muon_eta", "odd[name]"))


@pytest.fixture
def reads(tmp_path):
    """Read a campaign from its text."""

    def read_text(text, **options):
        path = tmp_path / "c.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read(path, **options)

    return read_text


@pytest.fixture
def faults(reads):
    """Return what is told of a text that is at fault, without the path: ``line: key: problem``."""

    def told(text, **options):
        with pytest.raises(CampaignError) as info:
            reads(text, **options)
        lines = str(info.value).split("\n")
        return [line.partition("c.toml:")[2].strip() or line for line in lines]

    return told


# Texts that are right.


@pytest.mark.parametrize("path", sorted(CAMPAIGNS.glob("*.toml")), ids=lambda path: path.stem)
def test_our_own_campaigns_are_right_and_make_cases(path):
    campaign = read(path)
    labels = [case.label() for case in cases(campaign)]
    assert labels
    assert len(set(labels)) == len(labels)


def test_quick_needs_neither_root_nor_a_server():
    campaign = read(CAMPAIGNS / "quick.toml")
    assert {engine.name for engine in campaign.engines} == {"arrowroot"}
    assert {storage.kind for storage in campaign.storages} <= {"local", "simulated"}


def test_storages_has_all_places_and_engines_that_it_promises():
    campaign = read(CAMPAIGNS / "storages.toml")
    assert {engine.name for engine in campaign.engines} == {"arrowroot", "root", "uproot"}
    far = {
        storage.kind
        for storage in campaign.storages
        if storage.line and storage.line.latency_ns == 50_000_000
    }
    near = {storage.kind for storage in campaign.storages if not storage.line}
    assert far == {"xrootd", "http", "s3"}
    assert near == {"local", "xrootd", "http", "s3", "xcache"}
    caches = [storage for storage in campaign.storages if storage.kind == "xcache"]
    assert {storage.is_cache_warm for storage in caches} == {False, True}
    assert all(storage.origin_line == Line(50_000_000, 100e6) for storage in caches)


def test_every_key_is_read(reads, tmp_path):
    (tmp_path / "make.py").write_text("")
    (tmp_path / "picked.txt").write_text("3\n5\n\n8\n")
    campaign = reads("""
        title = "All of it"
        repeats = 7
        mode = "virtual first"
        [limits]
        timeout = "2 min"
        check = "5 s"
        total = "1 h"
        disk = "3 GB"
        [dataset.files]
        files = "data/*.root"
        table = "dir/Events"
        [dataset.made]
        sample = { kind = "aod", entries = 50, seed = 3, layout = "rntuple", compression = "lz4", page_size = "64 KiB" }
        table = "T"
        [dataset.script]
        script = "make.py"
        arguments = ["--n", "5"]
        table = "T"
        [storage.local]
        kind = "local"
        cold = true
        directory = "/data/scratch"
        [storage.site]
        kind = "url"
        url = "root://host.example:1094//store/{file}"
        [storage.cache]
        kind = "xcache"
        cache = "warm"
        block = "128 KiB"
        prefetch = 4
        line = { latency = "1 ms" }
        origin_line = { latency = "50 ms", bandwidth = "1 Gbit/s" }
        [storage.disk]
        kind = "simulated"
        line = { latency = "8 ms", bandwidth = "100 MB/s" }
        disk_read_ahead = "128 KiB"
        [engine.arrowroot]
        versions = ["HEAD", "v1.0"]
        [engine.six]
        engine = "root"
        [engine.mine]
        command = ["python3", "mine.py"]
        [workload.some]
        columns = ["Muon_*", "run"]
        column_share = "2 %"
        entry_list = "picked.txt"
        threads = 2
        seed = 9
        [workload.events]
        order = "entry"
        work_per_entry = "20 us"
        workers = 4
        [workload.copy]
        kind = "write"
        settings = { layout = "rntuple", compression = "zstd:5" }
        [workload.theirs]
        kind = "program"
        command = ["cmsRun", "cfg.py", "{url}", "--report={report}", "{{braces}}"]
        report = "fjr"
        [strategy.auto]
        [strategy.ahead]
        strategy = "readahead"
        cache = ["4 kB", "1 MiB"]
        options = { learn_entries = 0, quiet = true }
    """)
    assert (campaign.name, campaign.title, campaign.repeats, campaign.mode) == (
        "c",
        "All of it",
        7,
        "virtual first",
    )
    assert vars(campaign.limits) == {
        "timeout_s": 120.0,
        "check_s": 5.0,
        "total_s": 3600.0,
        "disk_bytes": 3_000_000_000,
    }
    files, made, script = campaign.datasets
    assert (files.files, files.table) == ("data/*.root", "dir/Events")
    assert made.recipe.arguments == (
        "aod", "--seed", "3", "--entries", "50", "--layout=rntuple", "--compression=lz4", "--page-size=64 KiB",
    )  # fmt: skip
    assert script.recipe.arguments == ("make.py", "--n", "5")
    local, site, cache, disk = campaign.storages
    assert local.is_cold
    assert local.options == {"directory": "/data/scratch"}
    assert site.url.endswith("{file}")
    assert cache.is_cache_warm
    assert cache.options == {"block_bytes": 131072, "prefetch": 4}
    assert (cache.line, cache.origin_line) == (Line(1_000_000, 0.0), Line(50_000_000, 125e6))
    assert disk.disk_read_ahead_bytes == 131072
    assert [engine.called() for engine in campaign.engines] == [
        "arrowroot@HEAD",
        "arrowroot@v1.0",
        "root",
        "mine",
    ]
    assert campaign.engines[-1].command == ("python3", "mine.py")
    some, events, copy, theirs = campaign.workloads
    assert (some.column_share, some.threads, some.seed) == (0.02, 2, 9)
    assert some.entry_list_hash
    assert some.n_listed == 3
    assert (events.order, events.work_ns_per_entry, events.workers) == ("entry", 20_000, 4)
    assert copy.settings == {"layout": "rntuple", "compression": "zstd:5"}
    assert theirs.report == "fjr"
    told = [(strategy.called(), strategy.name, strategy.cache_bytes) for strategy in campaign.strategies]
    assert told == [
        ("auto", "auto", None),
        ("ahead 4 kB", "readahead", 4000),
        ("ahead 1 MiB", "readahead", 1 << 20),
    ]


def test_without_a_strategy_there_is_auto(reads):
    campaign = reads(SMALL)
    assert [case.label() for case in cases(campaign)] == ["a / local / arrowroot / all / auto"]
    assert campaign.repeats >= 5


# The matrix.

MATRIX = """
[dataset.a]
sample = { size = "1 MB" }
[dataset.b]
sample = { size = "2 MB" }
[storage.near]
kind = "xrootd"
[storage.middle]
kind = "xrootd"
line = { latency = "5 ms" }
[storage.far]
kind = "xrootd"
line = { latency = "50 ms" }
[engine.arrowroot]
versions = ["v1", "v2"]
[engine.uproot]
[workload.all]
[workload.some]
columns = "run"
"""


def test_an_include_keeps_what_matches_one_of_them(reads):
    campaign = reads(
        MATRIX + '[[include]]\ndataset = "a"\nstorage = ["near", "f*"]\n[[include]]\nengine = "uproot"\n'
    )
    kept = cases(campaign)
    for case in kept:
        assert (
            case.dataset.name == "a" and case.storage.name in ("near", "far")
        ) or case.engine.name == "uproot"
    # 1 x 2 storages x 3 engines x 2 workloads, and of uproot those that are not among them: 2 x 3 x 2 - 1 x 2 x 2.
    assert len(kept) == 12 + 8


def test_an_exclude_wins_over_an_include_and_a_glob_of_an_engine_means_all_its_versions(reads):
    campaign = reads(MATRIX + '[[include]]\nstorage = "near"\n[[exclude]]\nengine = "arrowroot"\n')
    assert {case.engine.called() for case in cases(campaign)} == {"uproot"}
    campaign = reads(MATRIX + '[[exclude]]\nengine = "arrowroot@v1"\n')
    assert {case.engine.called() for case in cases(campaign)} == {"arrowroot@v2", "uproot"}


def test_corners_are_the_ends_of_the_axes_with_an_order_for_each_dataset_and_engine(reads):
    campaign = reads(MATRIX + '[[exclude]]\nstorage = "far"\nengine = "uproot"\n')
    chosen = cases(campaign)
    found = [case for case, is_corner in zip(chosen, corners(chosen), strict=True) if is_corner]
    assert {case.storage.name for case in found if case.engine.name == "arrowroot"} == {"near", "far"}
    # An excluded cell encloses nothing.
    assert {case.storage.name for case in found if case.engine.name == "uproot"} == {"near", "middle"}
    assert {case.engine.called() for case in found} == {"arrowroot@v1", "arrowroot@v2", "uproot"}


def test_the_order_of_cases_is_that_of_the_file(reads):
    labels = [case.label() for case in cases(reads(MATRIX))]
    assert labels[:2] == ["a / near / arrowroot@v1 / all / auto", "a / near / arrowroot@v1 / some / auto"]
    assert labels[-1] == "b / far / uproot / some / auto"


# Names and keys of cases.


def test_the_key_of_a_case_knows_neither_names_nor_places_nor_versions(reads):
    text = (
        MATRIX + '[[include]]\ndataset = "a"\nstorage = "far"\nengine = "arrowroot@v1"\nworkload = "some"\n'
    )
    (before,) = cases(reads(text))
    renamed = (
        text.replace("dataset.a]", "dataset.z]").replace('dataset = "a"', 'dataset = "z"')
        .replace("storage.far]", 'storage."over there"]').replace('storage = "far"', 'storage = "over *"')
        .replace("workload.some]", "workload.one]").replace('workload = "some"', 'workload = "one"')
        .replace("v1", "v3")
    )  # fmt: skip
    (after,) = cases(reads(renamed))
    assert after.label() != before.label()
    assert case_id(case_document(after, IDENTITY)) == case_id(case_document(before, IDENTITY))


def test_the_key_of_a_case_knows_all_that_is_asked(reads):
    (case,) = cases(reads(SMALL))
    base = case_id(case_document(case, IDENTITY))
    changed = [
        SMALL.replace('"local"', '"local"\ncold = true'),
        SMALL.replace('"local"', '"xrootd"'),
        SMALL.replace('"local"', '"xrootd"\nline = { latency = "1 ms" }'),
        SMALL.replace('"local"', '"xcache"'),
        SMALL.replace('"local"', '"xcache"\ncache = "warm"'),
        SMALL.replace('"local"', '"xcache"\norigin_line = { latency = "1 ms" }'),
        SMALL.replace('"local"', '"url"\nurl = "root://a//{file}"'),
        SMALL.replace('"local"', '"url"\nurl = "root://b//{file}"'),
        *(SMALL + line for line in (
            'columns = "run"', "column_share = 0.1", 'entry_share = "1 %"', 'entry_share = "1 %"\nseed = 2',
            'order = "entry"', 'work_per_entry = "1 us"', "threads = 2", "workers = 2", 'kind = "write"',
            "[strategy.direct]", '[strategy.auto]\ncache = "1 MB"', "[strategy.auto]\noptions = { a = 1 }",
        )),
    ]  # fmt: skip
    keys = [case_id(case_document(cases(reads(text))[0], IDENTITY)) for text in changed]
    assert len({base, *keys}) == len(changed) + 1
    json.loads(canonical(case_document(case, IDENTITY)))


def test_a_seed_that_draws_nothing_and_a_copy_elsewhere_ask_the_same(reads):
    keys = {
        case_id(case_document(cases(reads(text))[0], IDENTITY))
        for text in (SMALL, SMALL + "seed = 5\n", SMALL.replace('"local"', '"local"\ndirectory = "/tmp"'))
    }
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("kind", "places"),
    [
        ("local", ['directory = "/data/a"', 'directory = "/data/b"', ""]),
        ("url", ['url = "root://me@host//a/{file}"', 'url = "root://host//b/{file}"']),
    ],
)
def test_storages_that_differ_by_their_place_alone_are_several_cases(reads, kind, places):
    def keys(*told):
        storages = "".join(f"[storage.s{place}]\nkind = '{kind}'\n{one}\n" for place, one in enumerate(told))
        found = cases(reads(SMALL.replace('[storage.local]\nkind = "local"\n', storages)))
        return [case_id(case_document(one, IDENTITY)) for one in found]

    together = keys(*places)
    assert len(set(together)) == len(places)
    assert keys(*reversed(places)) == list(reversed(together))
    # One that is alone asks what it has asked since ever, wherever it is.
    assert len({key for one in places for key in keys(one)}) == 1
    assert (keys(places[-1]) == together[-1:]) is (kind == "local")
    with pytest.raises(CampaignError, match=r"storage\.s1: it is what storage 's0' is"):
        keys(places[0], places[0])


def test_a_server_is_told_without_credentials():
    assert server_of("root://me:secret@host:1094//a/{file}") == "root://host:1094"
    assert server_of("https://host/x") == "https://host"


# The choice of a workload.


def _found():
    return SimpleNamespace(identity=IDENTITY, dataset=SimpleNamespace(name="a"))


def test_a_line_whose_connections_cost_a_round_trip_is_another_one(reads):
    line = 'line = { latency = "5 ms"%s }\n[storage.x]\nkind = "http"\n'
    text = SMALL.replace("[engine", line % "" + line % ", handshake = true" + "[engine")
    text = text.replace('kind = "local"', 'kind = "http"').replace("[storage.x]", "[storage.y]", 1)
    plain, shaking, _ = reads(text).storages
    assert (plain.line, shaking.line) == (Line(5_000_000, 0.0), Line(5_000_000, 0.0, has_handshake=True))
    keys = [canonical(case_document(one, IDENTITY)) for one in cases(reads(text))]
    assert len(set(keys)) == 3


def test_each_number_of_threads_is_a_workload(reads):
    found = reads(SMALL + "threads = [1, 2, 4]\n").workloads
    assert [(one.name, one.threads) for one in found] == [
        ("all", 1),
        ("all, 2 threads", 2),
        ("all, 4 threads", 4),
    ]


def test_columns_are_names_and_globs_in_the_order_of_the_dataset(reads):
    campaign = reads(SMALL)
    assert choice.columns(campaign, Workload("w"), _found()) is None
    told = choice.columns(campaign, Workload("w", columns=("odd[name]", "Muon_*")), _found())
    assert told == ["Muon_pt", "Muon_eta", "odd[name]"]
    with pytest.raises(
        CampaignError, match=r"workload\.w\.columns: dataset a has no column 'Muon_p'; did you mean 'Muon_pt'"
    ):
        choice.columns(campaign, Workload("w", columns=("Muon_p",)), _found())


def test_a_share_is_drawn_by_the_seed_the_same_each_time_and_everywhere(reads, tmp_path):
    campaign = reads(SMALL)
    out = tmp_path / "entries"
    assert choice.write_entries(campaign, Workload("w"), 500, out) is None
    one = choice.write_entries(campaign, Workload("w", entry_share=0.02), 500, out).read_text()
    numbers = [int(line) for line in one.splitlines()]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 10
    # Pinned: what was drawn once is drawn on every machine, by every Python.
    assert numbers == [13, 91, 124, 125, 179, 257, 281, 387, 464, 467]
    other = choice.write_entries(campaign, Workload("w", entry_share=0.02, seed=2), 500, out).read_text()
    assert other != one
    assert (
        choice.write_entries(campaign, Workload("w", entry_share=1e-9), 500, out).read_text().count("\n") == 1
    )
    assert len(choice.columns(campaign, Workload("w", column_share=0.5), _found())) == 2


def test_a_list_must_be_of_entries_that_are_there(reads, tmp_path):
    (tmp_path / "l").write_text("1\n499\n")
    campaign = reads(SMALL + 'entry_list = "l"\n')
    out = tmp_path / "entries"
    assert choice.write_entries(campaign, campaign.workloads[0], 500, out).read_text() == "1\n499\n"
    with pytest.raises(CampaignError, match="entry 499 is not there"):
        choice.write_entries(campaign, campaign.workloads[0], 499, out)


# Faults.


def test_all_faults_are_told_at_once_each_with_its_line_and_key(faults):
    told = faults("""title = 5
repeats = 0
[dataset.a]
sample = { size = "1 MB", kin = "aod" }
[storage.near]
kind = "xrotd"
[storage.far]
kind = "xrootd"
line = { latency = "50" }
[engine.arrowrot]
[workload.all]
[[exclude]]
storage = "middle"
""")  # fmt: skip
    assert [line.split(": ")[:2] for line in told] == [
        ["1", "title"], ["2", "repeats"], ["4", "dataset.a.sample.kin"], ["6", "storage.near.kind"],
        ["9", "storage.far.line.latency"], ["10", "engine.arrowrot"], ["13", "exclude[0].storage"],
    ]  # fmt: skip
    assert "expected a text, not a whole number" in told[0]
    assert "did you mean 'kind'?" in told[2]
    assert "'xrootd'" in told[3]
    assert "'50 ms'" in told[4]
    assert "did you mean 'arrowroot'" in told[5]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("", None, "dataset: a campaign needs at least one [dataset.NAME]"),
        ("a = [", 1, "this is not TOML"),
        ("\n\nb = 1\nb = 2", 4, "this is not TOML: Cannot overwrite a value"),
        (SMALL + "[engine.arrowroot]", 8, "this is not TOML"),
        (b"a = 1\n\xff", 2, "this is not UTF-8"),
        ("dataset = 3\n" + SMALL.replace("dataset", "datasets"), 1, "dataset: expected a table, not a whole number"),
        (SMALL + "[stroage.x]\n", 8, "stroage: this key is not known here; did you mean 'storage'"),
        (SMALL + "columns = []\n", 8, "workload.all.columns: expected a list that is not empty"),
        (SMALL + "columns = [1]\n", 8, "workload.all.columns[0]: expected a text that is not empty, not a whole number"),
        (SMALL + 'columns = ["a", "b\\u0000"]\n', 8, "workload.all.columns[1]: expected a text that is not empty"),
        (SMALL + "threads = true\n", 8, "workload.all.threads: expected a whole number, not true or false"),
        (SMALL + "threads = [1, true]\n", 8, "workload.all.threads: expected whole numbers from 0 to 1024, not [1, True]"),
        (SMALL + "threads = [2, 2]\n", 7, "workload.all: 'all, 2 threads' is there more than once"),
        (SMALL + "threads = 1e99\n", 8, "workload.all.threads: expected a whole number, not a number"),
        (SMALL + "threads = 99999999999999999999\n", 8, "workload.all.threads: expected a whole number from 0 to 1024"),
        (SMALL + "entry_share = nan\n", 8, "workload.all.entry_share: expected a share"),
        (SMALL + "entry_share = 1.5\n", 8, "workload.all.entry_share: expected a share"),
        (SMALL + 'entry_share = "0 %"\n', 8, "workload.all.entry_share: expected a share"),
        (SMALL + "entry_share = 2020-01-01\n", 8, "workload.all.entry_share: expected a share such as '1 %', not a date"),
        (SMALL + 'command = ["a"]\n', 8, 'only workloads of the kind "program"'),
        (SMALL + 'kind = "program"\ncommand = "rm -rf x"\n', 9, "no shell splits it"),
        (SMALL + 'kind = "program"\ncommand = ["a", "{uri}"]\n', 9, "{uri} is not known, but url"),
        (SMALL + 'kind = "program"\ncommand = ["a", "{"]\n', 9, "workload.all.command"),
        (SMALL + 'kind = "program"\n', 7, "workload.all.command: this key is missing"),
        (SMALL + 'entry_list = "/etc/passwd"\n', 8, "expected a path below the campaign's directory"),
        (SMALL + 'entry_list = "../x"\n', 8, "expected a path below the campaign's directory"),
        (SMALL + 'entry_list = "missing"\n', 8, "there is no file"),
        (SMALL + 'entry_list = "c.toml"\n', 8, "expected a number of an entry"),
        (SMALL + '[strategy.auto]\ncache = "10 MW"\n', 9, "strategy.auto.cache[0]: expected a number and a unit"),
        (SMALL + "[strategy.auto]\noptions = { a = [1] }\n", 9, "strategy.auto.options.a: expected a text, a number"),
        (SMALL + '[strategy.auto]\n[strategy.b]\nstrategy = "b"\ncache = ["1 MB", "1 MB"]\n', 9, "'b 1 MB' is there more than once"),
        (SMALL + "[limits]\ntimeout = 5\n", 9, "limits.timeout: expected a number and a unit"),
        (SMALL + '[limits]\ntotal = "0 s"\n', 9, "limits.total: expected more than 0"),
        (SMALL + '[limits]\ndisk = "99999999999 TB"\n', 9, "limits.disk: '99999999999 TB' is too much"),
        (SMALL + "[[include]]\n", 8, "include[0]: tell at least one of dataset, storage"),
        (SMALL + "[[include]]\nstroage = 'a'\n", 9, "include[0].stroage: this key is not known here; did you mean 'storage'"),
        (SMALL + "[include]\nengine = 'a'\n", 8, "include: expected a list, not a table"),
        (SMALL + "[[exclude]]\nengine = 'arrow*'\n", None, "no cell of its matrix is left"),
        (SMALL.replace('sample = { size = "1 MB" }', ""), 2, "dataset.a: tell one of files, sample, script"),
        (SMALL.replace('size = "1 MB"', 'size = "1 MB", entries = 5'), 3, "tell the size or the number of entries"),
        (SMALL.replace('size = "1 MB"', 'size = "--help"'), 3, "dataset.a.sample.size: expected a number and a unit"),
        (SMALL.replace('sample = { size = "1 MB" }', 'files = "*.root"'), 2, "dataset.a.table: this key is missing"),
        (SMALL.replace("sample =", 'files = "x"\nsample ='), 2, "tell one of files, sample, script, not files and sample"),
        (SMALL.replace('sample = { size = "1 MB" }', 'script = "../m.py"\ntable = "T"'), 3, "expected a path below"),
        (SMALL.replace('"local"', '"xrootd"\ncold = true'), 6, "storages of kind 'xrootd' have no such key; they have line"),
        (SMALL.replace('"local"', '"simulated"'), 4, "storage.local.line: this key is missing"),
        (SMALL.replace('"local"', '"url"'), 4, "storage.local.url: this key is missing"),
        (SMALL.replace('"local"', '"url"\nurl = "file.root"'), 6, "storage.local.url: expected a URL with {file}"),
        (SMALL.replace('"local"', '"xcache"\nblock = "5 B"'), 6, "storage.local.block: expected a multiple of 4 KiB"),
        (SMALL.replace('"local"', '"xrootd"\nline = {}'), 6, "storage.local.line: tell latency, bandwidth or both"),
        (SMALL.replace('"local"', '"xrootd"\nline = { latency = "2 h" }'), 6, "at most a minute"),
        (SMALL.replace('"local"', '"xrootd"\nline = { bandwidth = "1 B/s" }'), 6, "expected at least 1 kB/s"),
        (SMALL.replace('kind = "local"', ""), 4, "storage.local.kind: this key is missing"),
        (SMALL.replace("[engine.arrowroot]", '[engine.arrowroot]\nversions = ["--upload-pack=x"]'), 7, "is neither a commit"),
        (SMALL.replace("[engine.arrowroot]", '[engine."a/b"]'), 6, "but not '/'"),
        (SMALL.replace("[engine.arrowroot]", '[engine."..x"]'), 6, "begins with neither a dot nor a dash"),
        (SMALL.replace("[engine.arrowroot]", '[engine."a\\u202Eb"]'), 6, "a name has letters, digits"),
        (SMALL.replace("[engine.arrowroot]", f'[engine.{"x" * 61}]'), 6, "a name has 1 to 60 characters"),
        (SMALL + "[workload.ALL]\n", 8, "this name is hard to tell from 'all'"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_its_line_and_what_was_expected(faults, text, line, problem):
    told = [one for one in faults(text) if problem in one]
    assert told, faults(text)
    # A fault of the whole file has no line.
    assert told[0].partition(":")[0] == str(line) if line else not told[0][0].isdigit()


def test_names_of_other_scripts_do(reads):
    campaign = reads(SMALL.replace("workload.all", 'workload."вся 全部 é 1 %"'))
    assert cases(campaign)[0].label() == "a / local / arrowroot / вся 全部 é 1 % / auto"


def test_two_spellings_of_one_letter_are_one_name(faults):
    told = faults(SMALL + '[workload."caf\u00e9"]\n[workload."cafe\u0301"]\n')
    assert any("a name has letters" in line or "hard to tell" in line for line in told)


def test_a_link_that_leaves_the_directory_is_refused(faults, tmp_path):
    (tmp_path / "l").symlink_to("/etc/passwd")
    assert "leaves the campaign's directory" in faults(SMALL + 'entry_list = "l"\n')[0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = " + "[" * 100_000, "nested too deeply"),
        ("a = " + "{a=" * 50_000, "nested too deeply"),
        (f"[a.{'.'.join('a' * 50_000)}]\nb = 1", "nested too deeply"),
        ("a = " + "9" * 5000, "more than 1024 bits"),
        ("a = 0x" + "f" * 50_000, "more than 1024 bits"),
        ("#" * (1 << 20) + "\n#", "a campaign has at most 1 MiB"),
        (SMALL + "".join(f"[workload.w{i}]\n" for i in range(150)) + "".join(f"[strategy.s{i}]\n" for i in range(150)), "cells"),
    ],
    ids=["arrays", "tables", "dots", "digits", "hexadecimal", "long", "cells"],
)  # fmt: skip
def test_what_is_huge_is_refused_at_once(faults, text, problem):
    assert problem in "\n".join(faults(text))


def test_a_thousand_faults_are_told_by_the_first_twenty(faults):
    told = faults(SMALL + "".join(f"unknown_{i} = 1\n" for i in range(1000)))
    assert len(told) == 21
    assert told[-1].endswith("and 980 more")


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(CampaignError, match="it cannot be read: No such file"):
        read(tmp_path / "none.toml")
    with pytest.raises(CampaignError, match="it cannot be read: Is a directory"):
        read(tmp_path)


def test_a_campaign_whose_bytes_were_changed_by_chance_is_read_or_refused(reads):
    """Whatever stands in a file, it is a campaign or at fault: nothing else is raised."""
    text = (CAMPAIGNS / "storages.toml").read_text()
    draw = random.Random(3)
    n_read = 0
    for _ in range(300):
        changed = list(text)
        for _ in range(draw.randrange(1, 4)):
            at = draw.randrange(len(changed))
            changed[at : at + draw.randrange(3)] = draw.choice(
                [*string.printable, "[[x]]", "'''", '"""', "\u0000", "é"]
            )
        try:
            reads("".join(changed))
            n_read += 1
        except CampaignError:
            continue
    assert 0 < n_read < 300


# Where keys stand.


def test_the_line_of_every_key_is_known():
    text = '''# a comment with [brackets] = "and quotes
top = """
[not.a.table]
x = 1 """" # two quotes belong to it
"quoted.key" . b = 'it "is'
[a."b c"]
list = [ # a comment ]
  1, [2,
  3], { x = "}", y = 4 },
]
[[rows]]
n = 1
[[rows]]
n = 2
[rows.sub]
n = 3
[[rows.deep]]
n = 4
'''
    tomllib.loads(text)
    lines = lines_of(text)
    assert {dotted(key): line for key, line in lines.items()} == {
        "top": 2, '"quoted.key"': 5, '"quoted.key".b': 5, "a": 6, 'a."b c"': 6, 'a."b c".list': 7,
        'a."b c".list[0]': 8, 'a."b c".list[1]': 8, 'a."b c".list[1][0]': 8, 'a."b c".list[1][1]': 9,
        'a."b c".list[2]': 9, 'a."b c".list[2].x': 9, 'a."b c".list[2].y': 9,
        "rows": 11, "rows[0]": 11, "rows[0].n": 12, "rows[1]": 13, "rows[1].n": 14,
        "rows[1].sub": 15, "rows[1].sub.n": 16, "rows[1].deep": 17, "rows[1].deep[0]": 17, "rows[1].deep[0].n": 18,
    }  # fmt: skip


# Quantities.
