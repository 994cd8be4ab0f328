"""A filter selects what its text says, reads its columns once, and of the others what has selected entries."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import arrowroot as ar

from .conftest import N_ENTRIES, write_tree


@pytest.fixture(scope="module")
def tree(sample):
    return ar.open(sample[0])["Events"]


@pytest.fixture(scope="module")
def whole(tree):
    return tree.to_arrow()


def selected(whole, rows):
    return whole.filter(pa.array(np.asarray(rows, dtype=bool)))


TEXTS = {
    "npt >= 2 && pt[0] > 0": lambda r: r["npt"] >= 2 and r["pt"][0] > 0,
    "pt[3] > 0": lambda r: len(r["pt"]) > 3 and r["pt"][3] > 0,
    "npt == 0 || pt[0] < 0": lambda r: r["npt"] == 0 or r["pt"][0] < 0,
    "!(pt[0] < 0)": lambda r: bool(r["pt"]) and not r["pt"][0] < 0,
    "any(pt > 1.5)": lambda r: any(x > 1.5 for x in r["pt"]),
    "all(pt > -1)": lambda r: all(x > -1 for x in r["pt"]),
    "count(pt > 0 && pt < 1) == 2": lambda r: sum(0 < x < 1 for x in r["pt"]) == 2,
    "len(pt) == npt && max(pt) > 1": lambda r: max(r["pt"], default=-9) > 1,
    "sum(pt * pt) > 2 * weight": lambda r: sum(x * x for x in r["pt"]) > 2 * r["weight"],
    "max(pt[pt < 0]) > -0.5": lambda r: max((x for x in r["pt"] if x < 0), default=-9) > -0.5,
    "good": lambda r: r["good"],
    "!good & (npt > 1)": lambda r: not r["good"] and r["npt"] > 1,
    "run % 7 == 3": lambda r: r["run"] % 7 == 3,
    "(run & 5) == 5": lambda r: r["run"] & 5 == 5,
    "abs(weight) < 0.1": lambda r: abs(r["weight"]) < 0.1,
    "isin(run, 7003, 7999, 1)": lambda r: r["run"] in (7003, 7999),
    "run / 2 == 3501.5": lambda r: r["run"] == 7003,
    "pt[npt - 1] > 1": lambda r: bool(r["pt"]) and r["pt"][-1] > 1,
    "any(pt > weight)": lambda r: any(x > r["weight"] for x in r["pt"]),
    "(pt + 5 % 0)[0] > -9": lambda _: False,
    "any(pt + 5 % 0 > -9) || npt == 0": lambda r: r["npt"] == 0,
    "pt[run % 0] > -9 || 5 % 0 == 0": lambda _: False,
    "max(pt[pt > 7 % 0]) > -9": lambda _: False,
    "min(npt, 2 + 1 % 0) > -9": lambda _: False,
    "any((5 % 0 == 5 % 0) || pt > -1e9)": lambda r: len(r["pt"]) > 0,
    "npt > 99": lambda _: False,
    "npt < 99": lambda _: True,
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_selects_what_it_says(tree, whole, text):
    wanted = selected(whole, [TEXTS[text](row) for row in whole.to_pylist()])
    assert tree.to_arrow(filter=text).equals(wanted)
    batches = list(tree.scan(["weight", "pt"], filter=text, batch_size="3000 B", n_threads=2))
    assert all(batch.num_rows for batch in batches)
    assert pa.Table.from_batches(batches, wanted.select(["weight", "pt"]).schema).equals(
        wanted.select(["weight", "pt"])
    )


def test_the_other_sign_of_zero_is_told_from_zero(tree):
    everything = list(range(N_ENTRIES))
    assert tree.entries_where("1 / -(0 * weight * weight) < 0").tolist() == everything
    assert tree.entries_where("1 / (0 * weight * weight) > 0").tolist() == everything


EXPRESSIONS = [
    (pc.field("npt") >= 3, ["npt"]),
    ((pc.field("npt") >= 3) & (pc.field("weight") < 0) | ~pc.field("good"), ["npt", "weight", "good"]),
    (pc.list_value_length(pc.field("pt")) == 1, ["pt"]),
    (pc.field("run").isin([7001, 7500]), ["run"]),
]


@pytest.mark.parametrize(("expression", "columns"), EXPRESSIONS, ids=str)
def test_an_expression_of_pyarrow_selects_as_in_pyarrow(tree, whole, expression, columns):
    found = tree.scan(filter=expression)
    assert found.read_all().equals(whole.filter(expression))
    assert found.num_selected == whole.filter(expression).num_rows
    # It is not known to pyarrow's users which columns an expression has; it reads no others.
    first = tree.scan("run", filter=expression, trace=True)
    first.drain()
    assert {read.column for read in first.logical_reads()} == {"run", *columns}


@pytest.mark.parametrize(
    "entries", [slice(100, 700), slice(None, None, 7), [999, 5, 5, 300, 0, 301], slice(3, 3)], ids=str
)
@pytest.mark.parametrize("text", ["good", "npt > 1 && any(pt > 0)", "run < 7400"])
def test_entries_are_chosen_first_and_keep_their_order(tree, whole, entries, text):
    numbers = np.arange(N_ENTRIES)[entries]
    part = whole.take(pa.array(numbers))
    rows = [TEXTS.get(text, _MORE.get(text))(row) for row in part.to_pylist()]
    wanted = selected(part, rows)
    for batch_size in ("500 B", "1 MB"):
        found = pa.table(tree.scan(filter=text, entries=entries, batch_size=batch_size))
        assert found.equals(wanted)
    assert tree.to_arrow(["pt", "good"], filter=text, entries=entries).equals(wanted.select(["pt", "good"]))
    assert tree.entries_where(text, entries=entries).tolist() == numbers[np.array(rows, dtype=bool)].tolist()


_MORE = {
    "npt > 1 && any(pt > 0)": lambda r: r["npt"] > 1 and any(x > 0 for x in r["pt"]),
    "run < 7400": lambda r: r["run"] < 7400,
}


def test_columns_of_the_filter_are_read_once_and_others_where_something_is_selected(tree):
    def baskets(columns, entries=None):
        return tree.scan(columns, entries=entries).plan.n_baskets

    scan = tree.scan(["run", "weight", "pt"], filter="run == 7301 || run == 7302")
    before = scan.plan
    assert before.filter == "run == 7301 || run == 7302"
    assert before.n_baskets == baskets("run")
    assert before.at_most.n_baskets == baskets(["weight", "pt"])
    assert "at most" in repr(before)
    table = scan.read_all()
    assert table["run"].to_pylist() == [7301, 7302]
    stats = scan.stats
    assert stats.n_baskets == baskets("run") + baskets(["weight", "pt"], entries=[301, 302])
    assert (stats.n_entries, stats.n_looked_at) == (2, N_ENTRIES)
    after = scan.plan
    assert after.at_most is None
    assert (after.n_reads, after.read_bytes, after.n_baskets, after.n_entries) == (
        stats.read_calls,
        stats.read_bytes,
        stats.n_baskets,
        before.n_entries,
    )
    alone = tree.scan("run", filter="run == 7301")
    alone.drain()
    assert alone.stats.n_baskets == baskets("run")
    assert tree.scan([], filter="run > 7700").read_all().num_rows == 299
    nothing = tree.scan("weight", filter="run == 1")
    assert nothing.read_all().schema.names == ["weight"]
    assert nothing.stats.n_baskets == baskets("run")


def test_a_trace_has_the_reads_of_both_passes(tree):
    scan = tree.scan(["weight"], filter="run > 7500", batch_size="1500 B", trace=True)
    stats = scan.drain()
    reads = scan.trace()
    assert len(reads) == stats.read_calls
    assert sum(read.n_bytes for read in reads) == stats.read_bytes
    assert {read.column for read in scan.logical_reads()} == {"run", "weight"}
    assert sum(account.bytes for account in scan.accounts if account.layer == "store") == stats.read_bytes
    assert max(read.end_ns for read in reads if read.first_entry > 600) > min(read.end_ns for read in reads)


def test_every_pass_filters_anew_and_can_be_left_early(tree, whole):
    scan = tree.scan(["weight"], filter="good", batch_size="400 B")
    assert (scan.num_entries, scan.num_selected) == (N_ENTRIES, None)
    first = next(iter(scan))
    assert 0 < first.num_rows < scan.num_entries
    assert scan.num_selected is None
    assert scan.read_all() == scan.read_all()
    # Two figures have two names, before a pass and after it.
    assert (scan.num_entries, scan.num_selected) == (N_ENTRIES, pc.sum(whole["good"]).as_py())
    assert tree.scan(["weight"]).num_selected == N_ENTRIES
    scan = tree.scan(["weight"], filter="good", batch_size="400 B")
    batches = iter(scan)
    next(batches)
    scan.cancel()
    with pytest.raises(ar.ArrowrootError, match="cancelled"):
        next(batches)


def test_files_in_a_row_are_filtered_as_one(tmp_path):
    parts = [write_tree(tmp_path / f"run{i}.root", n_entries=400 + i, seed=i) for i in (1, 2, 3)]
    runs = np.concatenate([part["run"] for part in parts])
    weights = np.concatenate([part["weight"] for part in parts])
    wanted = weights[(weights > 0) & (runs % 2 == 0)]
    text = "weight > 0 && run % 2 == 0"
    chain = ar.scan(tmp_path / "run*.root", tree="Events", columns=["weight", "run"], filter=text)
    assert chain.read_all()["weight"].to_pylist() == wanted.tolist()
    small = ar.scan(
        tmp_path / "run*.root", tree="Events", columns=["npt"], filter=text, batch_size="100 B", n_threads=2
    )
    assert sum(batch.num_rows for batch in small) == len(wanted) == small.stats.n_entries
    order = np.random.default_rng(5).permutation(len(runs))
    mixed = ar.scan(tmp_path / "run*.root", tree="Events", columns="weight", filter=text, entries=order)
    kept = order[(weights[order] > 0) & (runs[order] % 2 == 0)]
    assert mixed.read_all()["weight"].to_pylist() == weights[kept].tolist()
    write_tree(tmp_path / "run4.root", n_entries=10, more=np.zeros(10))
    with pytest.raises(ar.SchemaMismatchError, match=r"run4\.root: column 'more' is not in .*run1\.root"):
        ar.scan(tmp_path / "run*.root", tree="Events", columns="npt", filter="more > 0")
    with pytest.raises(ar.SchemaMismatchError, match="more"):
        ar.scan(
            [tmp_path / "run4.root", tmp_path / "run1.root"], tree="Events", columns="npt", filter="more > 0"
        )


def test_columns_of_friends_filter_and_are_filtered(sample, tmp_path):
    extra = write_tree(tmp_path / "friend.root", seed=8, extra=np.arange(N_ENTRIES) * 0.5)
    tree = ar.open(sample[0])["Events"]
    tree.add_friend(ar.open(tmp_path / "friend.root")["Events"], "f")
    both = (extra["extra"] < 100) & (sample[1]["npt"] > 1) & extra["good"]
    table = tree.to_arrow(["weight", "f.pt", "extra"], filter="extra < 100 && npt > 1 && f.good")
    assert table["weight"].to_pylist() == sample[1]["weight"][both].tolist()
    assert table["f.pt"].to_pylist() == extra["pt"][both].tolist()
    assert table["extra"].to_pylist() == extra["extra"][both].tolist()


def test_an_expression_of_pyarrow_tells_columns_of_friends_from_those_of_the_tree(sample, tmp_path):
    extra = write_tree(tmp_path / "friend.root", seed=8)
    tree = ar.open(sample[0])["Events"]
    tree.add_friend(ar.open(tmp_path / "friend.root")["Events"], "f")
    both = (extra["weight"] > 0) & (sample[1]["weight"] < 0)
    found = tree.to_arrow(["run", "f.run"], filter=(pc.field("f.weight") > 0) & (pc.field("weight") < 0))
    assert found["run"].to_pylist() == sample[1]["run"][both].tolist()
    assert found["f.run"].to_pylist() == extra["run"][both].tolist()


@pytest.mark.parametrize("entries", [None, slice(100, 900), np.arange(0, N_ENTRIES, 3)])
@pytest.mark.parametrize("columns", [["weight", "pt"], ["run"]])
def test_what_is_passed_ends_with_the_last_entry_delivered(tree, entries, columns):
    text = "run % 50 == 10"
    numbers = np.arange(N_ENTRIES)[slice(None) if entries is None else entries]
    selected = tree.entries_where(text, entries=entries)
    scan = tree.scan(columns, filter=text, entries=entries, batch_size="20 B")
    done = []
    stats = scan.drain(lambda stats: done.append((stats.n_entries, stats.n_passed)))
    assert len(done) > 1 or columns == ["run"]
    assert [numbers[n_passed - 1] for _, n_passed in done] == [selected[n - 1] for n, _ in done]
    assert stats.n_passed == stats.n_looked_at == len(numbers)
    assert tree.scan(columns).drain().n_passed == 0


@pytest.mark.parametrize(
    "look", [lambda scan: scan.stats, lambda scan: scan.accounts], ids=["stats", "accounts"]
)
def test_a_pass_is_looked_at_while_it_ends_in_another_thread(sample, monkeypatch, look):
    scan = ar.open(sample[0])["Events"].scan(["weight"], filter="run % 2 == 0", batch_size="800 B")
    next(iter(scan))
    running = scan._source._second
    assert running is not None
    looks = iter([running])
    # It is there at the first look and gone at the next.
    monkeypatch.setattr(type(scan._source), "_second", property(lambda _: next(looks, None)), raising=False)
    assert look(scan)
