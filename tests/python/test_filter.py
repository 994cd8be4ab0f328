"""A filter selects what its text says, reads its columns once, and of the others what has selected entries."""

import contextlib
import math
import operator
import pickle
import random

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import uproot

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
    "!good & npt > 1": lambda r: not r["good"] and r["npt"] > 1,
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
    batches = list(tree.scan(["weight", "pt"], filter=text, batch_size=3000, n_threads=2))
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
    assert found.plan.n_entries == whole.filter(expression).num_rows
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
    for batch_size in (500, "1 MB"):
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
        2,
    )
    alone = tree.scan("run", filter="run == 7301")
    alone.drain()
    assert alone.stats.n_baskets == baskets("run")
    assert tree.scan([], filter="run > 7700").read_all().num_rows == 299
    nothing = tree.scan("weight", filter="run == 1")
    assert nothing.read_all().schema.names == ["weight"]
    assert nothing.stats.n_baskets == baskets("run")


def test_a_trace_has_the_reads_of_both_passes(tree):
    scan = tree.scan(["weight"], filter="run > 7500", batch_size=1500, trace=True)
    stats = scan.drain()
    reads = scan.trace()
    assert len(reads) == stats.read_calls
    assert sum(read.n_bytes for read in reads) == stats.read_bytes
    assert {read.column for read in scan.logical_reads()} == {"run", "weight"}
    assert sum(account.bytes for account in scan.accounts if account.layer == "store") == stats.read_bytes
    assert max(read.end_ns for read in reads if read.first_entry > 600) > min(read.end_ns for read in reads)


def test_every_pass_filters_anew_and_can_be_left_early(tree, whole):
    scan = tree.scan(["weight"], filter="good", batch_size=400)
    first = next(iter(scan))
    assert 0 < first.num_rows < scan.num_entries
    assert scan.read_all() == scan.read_all()
    assert scan.num_entries == pc.sum(whole["good"]).as_py()
    scan = tree.scan(["weight"], filter="good", batch_size=400)
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
        tmp_path / "run*.root", tree="Events", columns=["npt"], filter=text, batch_size=100, n_threads=2
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


WRONG = {
    "npt >": "expected where the filter ends",
    "pt > 1": "a list for each entry",
    "npt = 2": 'write "=="',
    "0 < npt < 3": "comparison of a comparison",
    "npt and good": 'write "&&"',
    "pt[0": "']' is expected",
    "foo(npt)": "there is no function 'foo'",
    "Max$(pt, 1)": "takes 1, not 2",
    "max()": "takes 1 or more, not 0",
    "run & 1 == 1": "binds less than a comparison",
    "any(npt)": "is of a list",
    "npt[0] == 1": "is no list",
    "pt[0.5] == 1": "one integer",
    "npt == 'a'": "text cannot be compared",
    "__import__('os').system('id')": "there is no function",
    "1 + 1": "names no column",
    "": "the filter is empty",
    "npt @ 2": "unexpected '@'",
    "12npt": "a number that goes on as a name",
    "npt == 99999999999999999999": "64 bits",
    "!" * 200 + "npt": "more than 100 operations",
    "(" * 200 + "npt" + ")" * 200: "more than 50 parentheses",
    "count(pt) > 1": "count() is of conditions",
    "'open": "not closed",
    r"'\q' == npt": "no escape",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_said_with_its_place_before_anything_is_read(tree, text):
    with pytest.raises(ar.FilterError) as caught:
        tree.scan(filter=text)
    assert WRONG[text] in str(caught.value)
    if text:
        assert str(caught.value).splitlines()[-1].strip(" ~") == "^"
    assert isinstance(caught.value, ar.InvalidRequestError)


def test_the_place_is_that_of_the_mistake(tree):
    with pytest.raises(ar.NoSuchColumnError, match="did you mean 'npt'") as caught:
        tree.scan(filter="weight > 0 && npts > 3")
    assert str(caught.value).splitlines()[1:] == ["    weight > 0 && npts > 3", " " * 18 + "^~~~"]
    assert caught.value.nearest[0] == "npt"
    with pytest.raises(ar.FilterError, match=r"does not fit into 64 bits.* in entry 0") as caught:
        tree.to_arrow("npt", filter="run * 9223372036854775807 > 0")
    assert (caught.value.start, caught.value.end) == (0, 25)


@pytest.mark.parametrize("wrong", [5, ["npt > 1"], True, b"npt > 1"])
def test_what_is_no_filter_is_an_error(tree, wrong):
    with pytest.raises(ar.InvalidRequestError, match="limit"):
        tree.entries_where("good", limit=-1)
    with pytest.raises(ar.InvalidRequestError, match="expected text or an expression"):
        tree.scan(filter=wrong)


def test_expressions_that_cannot_be_bound_are_errors(tree):
    for wrong in (pc.field("npt") + 1, pc.field(0) > 1, pc.scalar(value=True)):
        with pytest.raises(ar.InvalidRequestError, match="filter"):
            tree.scan(filter=wrong)
    with pytest.raises(ar.NoSuchColumnError, match="filter: no branch 'nptt'; did you mean 'npt'"):
        tree.scan(filter=pc.field("nptt") > 1)


def test_names_that_are_more_than_a_name_are_suggested_as_a_filter_has_them(tmp_path):
    with uproot.recreate(tmp_path / "f.root") as file:
        file.mktree("T", {"x[2]": np.dtype((np.int32, 2)), "y-z": np.int32}).extend(
            {"x[2]": np.arange(8, dtype=np.int32).reshape(4, 2), "y-z": np.arange(4, dtype=np.int32)}
        )
    tree = ar.open(tmp_path / "f.root")["T"]
    with pytest.raises(ar.NoSuchColumnError, match=r"no branch 'y_z'; did you mean `y-z`\?") as caught:
        tree.scan(filter="y_z > 1")
    assert caught.value.nearest == ["y-z"]
    # "x" is what ROOT calls it.
    assert tree.entries_where("x[1] > 3").tolist() == tree.entries_where("`x[2]`[1] > 3").tolist() == [2, 3]
    assert tree.to_arrow(["!x"]).column_names == ["y-z"]
    assert tree.to_arrow(["x"])["x[2]"].to_pylist() == [[0, 1], [2, 3], [4, 5], [6, 7]]


# Random expressions, against the plainest evaluation there is: entry by entry, with Python's own arithmetic.

ROWS = pa.table(
    {
        "i": pa.array([0, 1, -3, 7, 2**31 - 1, 5], pa.int32()),
        "u": pa.array([0, 2**64 - 1, 3, 2**63, 1, 12], pa.uint64()),
        "x": pa.array([0.0, 1.5, -2.25, 1e30, 0.1, 3.0], pa.float64()),
        "f": pa.array([0.1, -1.5, 0.0, 2.0, 7.25, 1e-3], pa.float32()),
        "b": pa.array([True, False, True, True, False, False]),
        "n": pa.array([1, None, 3, None, 0, 7], pa.int64()),
        "l": pa.array([[1, 2], [], [3], [-1, 0, 5], [2], []], pa.list_(pa.int16())),
        "o": pa.array([[1, -2], None, [], [7], None, [0, 3]], pa.list_(pa.int32())),
        "p": pa.array([[3, 4], [9, 9], [], [1], [], [5, 2]], pa.list_(pa.int64())),
        "m": pa.array([[0.5, -2.0], [], [9.0], [1.0, 1.0, 0.0], [2.5], []], pa.list_(pa.float32())),
        "s": pa.array(["a", "", None, "ab", "é", "b"]),
        "k": pa.array([[[1], []], [], [[2, 3]], [[], []], [[4]], []], pa.list_(pa.list_(pa.int32()))),
    }
)


class Branch:
    is_group = is_part = False
    unsupported = None
    type_name = ""
    depth = 0

    def __init__(self, name):
        self.path = self.name = name


def mask_of(text):
    from arrowroot._filter.bind import bind

    bound = bind(
        text, [Branch(name) for name in ROWS.column_names], lambda names: ROWS.select(names).schema, "t"
    )
    batch = ROWS.select(bound.columns).combine_chunks().to_batches()[0]
    return bound.mask(batch, lambda row: row).tolist()


def null_if(function):
    """Return the function with null for null arguments."""
    return lambda *values: None if any(value is None for value in values) else function(*values)


def either(left, right):
    known = [value for value in (left, right) if value is not None]
    return True if any(known) else None if len(known) < 2 else False


def both(left, right):
    known = [value for value in (left, right) if value is not None]
    return False if not all(known) else None if len(known) < 2 else True


def at(values, index):
    return values[index] if None not in (values, index) and 0 <= index < len(values) else None


def leaf(name):
    return name, lambda row: row[name], 9


numbers = st.deferred(
    lambda: st.one_of(
        st.sampled_from(["i", "u", "x", "f", "n"]).map(leaf),
        st.integers(-5, 9).map(lambda v: (str(v), lambda _: v, 9 if v >= 0 else 8)),
        st.floats(-9, 9).map(lambda v: (repr(v), lambda _: v, 9 if not str(v).startswith("-") else 8)),
        st.tuples(lists, st.integers(0, 3)).map(
            lambda t: (f"{t[0][0]}[{t[1]}]", lambda r: at(t[0][1](r), t[1]), 9)
        ),
        lists.map(lambda t: (f"len({t[0]})", lambda r: null_if(len)(t[1](r)), 9)),
        lists.map(lambda t: (f"max({t[0]})", lambda r: max(t[1](r) or [], default=None), 9)),
        lists.map(lambda t: (f"sum({t[0]})", lambda r: null_if(sum)(t[1](r)), 9)),
        numbers.map(lambda t: (f"abs({t[0]})", lambda r: null_if(abs)(t[1](r)), 9)),
        st.integers(-3, 3).map(lambda v: (f"i % {v}", lambda r: int(math.fmod(r["i"], v)) if v else None, 7)),
        st.integers(-3, 3).map(lambda v: (f"u % {v}", lambda r: r["u"] % abs(v) if v else None, 7)),
        numbers.map(lambda t: (f"-{wrapped(t, 9)}", lambda r: null_if(lambda v: -v)(t[1](r)), 8)),
        binary(numbers, "+", lambda a, b: a + b, 6),
        binary(numbers, "-", lambda a, b: a - b, 6),
        binary(numbers, "*", lambda a, b: a * b, 7),
    )
)
lists = st.one_of(
    st.sampled_from(["l", "m", "o"]).map(leaf),
    st.integers(0, 2).map(lambda i: (f"k[{i}]", lambda r: at(r["k"], i), 9)),
)
conditions = st.deferred(
    lambda: st.one_of(
        leaf_conditions,
        binary(conditions, "||", either, 1, nulls=True),
        binary(conditions, "&&", both, 2, nulls=True),
        conditions.map(lambda t: (f"!{wrapped(t, 8)}", lambda r: null_if(lambda v: not v)(t[1](r)), 8)),
        *(binary(numbers, sign, COMPARISONS[sign], 5, above=True) for sign in COMPARISONS),
        st.sampled_from(["<", ">="]).flatmap(
            lambda sign: st.tuples(lists, st.integers(-2, 4)).map(
                lambda t: (
                    f"any({t[0][0]} {sign} {t[1]})",
                    lambda r: null_if(lambda vs: any(COMPARISONS[sign](v, t[1]) for v in vs))(t[0][1](r)),
                    9,
                )
            )
        ),
        lists.map(
            lambda t: (f"all({t[0]} > 0)", lambda r: null_if(lambda vs: all(v > 0 for v in vs))(t[1](r)), 9)
        ),
    )
)


def compared(function):
    """Return a comparison that compares an integer with a double as doubles."""
    return lambda a, b: function(float(a), float(b)) if float in (type(a), type(b)) else function(a, b)


COMPARISONS = {
    "==": compared(operator.eq),
    "!=": compared(operator.ne),
    "<": compared(operator.lt),
    "<=": compared(operator.le),
    ">": compared(operator.gt),
    ">=": compared(operator.ge),
}
leaf_conditions = st.one_of(
    st.just(leaf("b")),
    # Integers with and without a sign compare as the numbers that they are.
    st.tuples(st.sampled_from(sorted(COMPARISONS)), st.sampled_from([-1, 0, 3, 2**63, 2**64 - 1])).map(
        lambda t: (f"u {t[0]} {t[1]}", lambda r: COMPARISONS[t[0]](r["u"], t[1]), 5)
    ),
)


def wrapped(part, strength):
    """Return the text of an operand, in parentheses if it binds less than what is around it."""
    return part[0] if part[2] >= strength else f"({part[0]})"


def binary(operands, sign, function, strength, *, nulls=False, above=False):
    compute = function if nulls else null_if(function)
    return st.tuples(operands, operands).map(
        lambda t: (
            f"{wrapped(t[0], strength + above)} {sign} {wrapped(t[1], strength + 1)}",
            lambda r: compute(t[0][1](r), t[1][1](r)),
            strength,
        )
    )


def test_extremes_of_draw_pass_over_what_is_not_a_number_but_for_the_first():
    from arrowroot._filter import lists as _lists

    nan = float("nan")
    lists = pa.array([[1, nan, 3], [nan, 1], [2, nan], [nan], []], pa.list_(pa.float32()))
    found = {
        name: _lists.reduce(name, _lists.of_arrow(lists)).data for name in ("Max$", "Min$", "max", "min")
    }
    assert np.array_equal(found["Max$"][:4], [3, nan, 2, nan], equal_nan=True)
    assert np.array_equal(found["Min$"][:4], [1, nan, 2, nan], equal_nan=True)
    assert np.isnan(found["max"][:4]).all()
    assert np.isnan(found["min"][:4]).all()


@hypothesis.given(conditions)
@hypothesis.settings(max_examples=500)
def test_random_expressions_are_computed_as_entry_by_entry(expression):
    text, plain, _ = expression
    expected = ("names no column", "inside each other", "does not fit into 64 bits")
    try:
        found = mask_of(text)
    except ar.FilterError as error:
        if not any(part in str(error) for part in expected):
            raise
        hypothesis.reject()
    values = [plain(row) for row in ROWS.to_pylist()]
    assert found == [value is not None and bool(value) for value in values], text


# fmt: off
PIECES = st.sampled_from([
    *"()[],.!<>+-*/%&|=^?`'\"\\@#$ \n\t\0", *"iuxfbnlm", "&&", "||", "==", "any(", "len(", "1", "2.5", "1e", "0x",
    "nothing", "true", "'a'", "é", "\ud800", "9" * 30, "isin(", "l[", "0]",
])
# fmt: on


@hypothesis.given(st.one_of(st.lists(PIECES, max_size=30).map("".join), st.text(max_size=40)))
@hypothesis.settings(max_examples=500)
def test_any_text_is_a_filter_or_an_error_of_ours(text):
    try:
        found = mask_of(text)
    except (ar.FilterError, ar.NoSuchColumnError):
        return
    assert len(found) == ROWS.num_rows


def compound(inside):
    from arrowroot._filter.grammar import FUNCTIONS

    operators = ["+", "-", "*", "/", "%", "&", "|", "&&", "||", "==", "!=", "<", "<=", ">", ">="]
    return st.one_of(
        st.tuples(inside, st.sampled_from(operators), inside).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from("!-+"), inside).map("".join),
        st.tuples(inside, inside).map(lambda t: f"{t[0]}[{t[1]}]"),
        st.tuples(st.sampled_from(sorted(FUNCTIONS)), st.lists(inside, min_size=1, max_size=3)).map(
            lambda t: f"{t[0]}({', '.join(t[1])})"
        ),
    )


LEAVES = st.sampled_from(
    [*"iuxfbnlm", "0", "1", "-1", "2.5", "true", "'a'", "18446744073709551615", "(5 % 0)", "s", "k"]
)


@hypothesis.given(st.recursive(LEAVES, compound, max_leaves=8))
@hypothesis.example("(abs((5 % 0)) + i)")
@hypothesis.example("isin((5 % 0), (5 % 0), k)")
@hypothesis.example("((i == f) * (u - i)) > 0")
@hypothesis.settings(max_examples=1000)
def test_any_expression_is_computed_or_an_error_of_ours(text):
    try:
        found = mask_of(text)
    except ar.FilterError:
        return
    assert len(found) == ROWS.num_rows


def test_a_filter_error_survives_the_way_between_processes():
    error = ar.FilterError("wrong", "a + b", 4, 5)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert str(again) == str(error)
    assert (again.start, again.end) == (4, 5)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("x.y > 1", "'y': it is a number, not a record"),
        ("any(l.y > 1)", "'y': it is a number, not a record"),
        ("s.x == 'a'", "'x': it is text, not a record"),
        ("(x > 1).y", "'y': it is a condition, not a record"),
    ],
)
def test_members_of_what_is_no_record_are_errors_with_a_place(text, what):
    with pytest.raises(ar.FilterError, match=what):
        mask_of(text)


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("tuple_int32_string.0 == 2", [1]),
        ("pair_int32_string.1 == 'three'", [2]),
        ("pair_int32_string.0 > 2 && tuple_int32_string.1 != 'four'", [2, 4]),
        ("(pair_int32_string).0 * .5 == 2.", [3]),
        ("vector_tuple_int32_string[3].0 == 4", [3, 4]),
        ("any(vector_tuple_int32_string.1 == 'five')", [4]),
    ],
)
def test_members_of_tuples_go_by_their_numbers(conformance, text, entries):
    file = ar.open(conformance / "skhep/test_stl_containers_rntuple_v1-0-0-0.root")
    assert file["ntuple"].entries_where(text).tolist() == entries


@pytest.mark.parametrize("text", ["x.0", "l[0].1e5 > 0", "x .5 > 0", "x.0.5 > 0", "i 0.5", "x[0]..1 > 0"])
def test_numbers_behind_what_is_no_tuple_are_errors(text):
    with pytest.raises(ar.FilterError):
        mask_of(text)


def test_integers_are_computed_exactly_up_to_64_bits():
    assert mask_of("u % 2 == 1") == [False, True, True, False, True, False]
    assert mask_of("abs(u) * 1 == 9223372036854775808") == [False, False, False, True, False, False]
    assert mask_of("min(u, i) == i") == [True, True, True, True, False, True]
    # With a sign and without in one column, whatever else is read with it.
    assert mask_of("u - 5 == 18446744073709551610 || u - 5 < 0") == [True, True, True, False, True, False]
    assert mask_of("(i | u) == 18446744073709551615") == [False, True, True, False, False, False]
    with pytest.raises(ar.FilterError, match="does not fit into 64 bits"):
        mask_of("u + 1 > 0")


def test_a_list_that_is_null_makes_null_of_any_other():
    assert mask_of("any(o > p)") == [False, False, False, True, False, True]
    assert mask_of("any(p > o) || b") == [True, False, True, True, False, True]
    assert mask_of("any(o > p) || true") == [True] * 6
    assert mask_of("len(p[o > 0]) >= 0") == [True, False, True, True, False, True]
    assert mask_of("sum(o * p) != 99") == [True, False, True, True, False, True]


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


def test_what_an_error_shows_of_names_and_filters_drives_no_terminal(tmp_path):
    path = tmp_path / "a\x1b[31m\n b.root"
    write_tree(path, n_entries=3)
    tree = ar.open(path)["Events"]
    letters = [
        "run",
        "é",
        " ",
        ">",
        "1",
        "\n",
        "\r",
        "\x1b",
        "\u2028",
        "`",
        "'",
        "(",
        ")",
        ".",
        "&&",
        "\x85",
        "\x0b",
    ]
    chance = random.Random(1)
    shown = set()
    for _ in range(2000):
        text = "".join(chance.choices(letters, k=chance.randrange(1, 9)))
        with contextlib.suppress(ar.FilterError, ar.NoSuchColumnError):
            tree.scan(filter=text)
            continue
        with pytest.raises((ar.FilterError, ar.NoSuchColumnError)) as caught:
            tree.scan(filter=text)
        shown.add(str(caught.value))
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301 - of our own
    for text in shown:
        lines = text.split("\n")
        assert len(lines) in (1, 3), text
        assert all(line.isprintable() for line in lines), text
    assert len(shown) > 100
    with pytest.raises(ar.NoSuchColumnError) as caught:
        tree.to_arrow("nowhere")
    assert str(caught.value).isprintable()


def test_what_an_error_and_an_index_show_of_its_path_drives_no_terminal(tmp_path):
    path = tmp_path / "a\x1b[31m\n b.parquet"
    for content in (None, b"nothing"):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(ar.ArrowrootError) as caught:
            ar.EventIndex(path)
        assert str(caught.value).isprintable()
    path.unlink()
    write_tree(tmp_path / "a.root", n_entries=3)
    ar.index(tmp_path / "a.root", path, "Events", columns=["run"])
    index = ar.EventIndex(path)
    assert repr(index).isprintable()
    events = ar.EventList([(10**9,)], index=index)
    assert repr(events).isprintable()
    tree = ar.open(tmp_path / "a.root")["Events"]
    write_tree(tmp_path / "b.root", n_entries=4)
    for read in (lambda: tree.to_arrow(entries=events), lambda: ar.pick(index, [(10**9,)])):
        with pytest.raises(ar.MissingEventsError) as caught:
            read()
        assert str(caught.value).isprintable()
    for ids, one in (([(1, 2)], tree), ([(1,)], ar.open(tmp_path / "b.root")["Events"])):
        with pytest.raises(ar.InvalidRequestError, match="x1b") as caught:
            one.to_arrow(entries=ar.EventList(ids, index=index))
        assert str(caught.value).isprintable()
