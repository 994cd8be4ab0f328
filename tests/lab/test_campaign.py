"""Campaigns: what a file may say, what is said of one that is at fault, and the cases that it makes."""

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
from tests.recorded import session

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


@pytest.mark.usefixtures("site_with_storages")
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
    session("keys-of-campaigns", tmp_path, {"reads": reads, "cases": cases, "SMALL": SMALL})


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


def test_faults_are_told_at_once_each_with_its_line_and_key_and_what_was_expected(faults, tmp_path):
    names = {"faults": lambda text: "\n".join(faults(text)), "SMALL": SMALL, "Path": Path, "read": read}
    session("campaigns", tmp_path, names)


def test_names_of_other_scripts_do(reads):
    campaign = reads(SMALL.replace("workload.all", 'workload."вся 全部 é 1 %"'))
    assert cases(campaign)[0].label() == "a / local / arrowroot / вся 全部 é 1 % / auto"


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
