"""Expressions, random ones too, against the plainest evaluation there is: by entry, with Python's own arithmetic."""

import math
import operator

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest

import arrowroot as ar
from tests.recorded import session

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


def mask_of(text, rows=ROWS):
    from arrowroot._expressions.scope import Scope
    from arrowroot._filter.bind import bind

    branches = [Branch(name) for name in rows.column_names]
    bound = bind(text, Scope(branches, lambda names: rows.select(names).schema, "t"))
    batch = rows.select(bound.columns).combine_chunks().to_batches()[0]
    return bound.mask(batch, lambda row: row).tolist()


def test_a_definition_does_not_have_the_name_of_a_group():
    from arrowroot._expressions.scope import Scope

    group = Branch("x")
    group.is_group = True
    scope = Scope([group], lambda names: ROWS.select(names).schema, "t", lambda name: name)
    with pytest.raises(ar.InvalidRequestError, match="t has a column 'x': choose another name"):
        scope.define({"x": "1"})


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
    return values[index] if None not in (values, index) and -len(values) <= index < len(values) else None


def leaf(name):
    return name, lambda row: row[name], 9


numbers = st.deferred(
    lambda: st.one_of(
        st.sampled_from(["i", "u", "x", "f", "n"]).map(leaf),
        st.integers(-5, 9).map(lambda v: (str(v), lambda _: v, 9 if v >= 0 else 8)),
        st.floats(-9, 9).map(lambda v: (repr(v), lambda _: v, 9 if not str(v).startswith("-") else 8)),
        st.tuples(lists, st.integers(-4, 3)).map(
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
    st.integers(-3, 2).map(lambda i: (f"k[{i}]", lambda r: at(r["k"], i), 9)),
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


@pytest.mark.parametrize("name", ["i", "u", "x", "f", "b", "n", "l", "o", "m", "s"])
def test_values_that_are_looked_up_together_are_those_that_compare_equal_one_by_one(name):
    numbers = ["-1", "18446744073709551615", "9223372036854775808", "1.5", "0.1", "true", "0", "7", "2", "3"]
    texts = ["'ab'", "'é'", "''"]
    constants = texts if name == "s" else numbers
    for last in ([], ["s" if name == "s" else "i"]):
        values = constants + last
        looked_up = f"isin({name}, {', '.join(values)})"
        one_by_one = " || ".join(f"{name} == {value}" for value in values)
        if name in "lom":
            looked_up, one_by_one = f"any({looked_up})", f"any({one_by_one})"
        assert mask_of(looked_up) == mask_of(one_by_one), (looked_up, one_by_one)


def test_many_values_are_looked_up_at_once(monkeypatch):
    from arrowroot._expressions import choices

    calls = []
    monkeypatch.setattr(choices, "compare", lambda *given: calls.append(given))
    assert mask_of(f"i in ({', '.join(map(str, range(2000)))})") == [True, True, False, True, False, True]
    assert calls == []


def test_extremes_of_draw_pass_over_what_is_not_a_number_but_for_the_first():
    from arrowroot._expressions import lists as _lists

    nan = float("nan")
    lists = pa.array([[1, nan, 3], [nan, 1], [2, nan], [nan], []], pa.list_(pa.float32()))
    found = {
        name: _lists.reduce(name, _lists.of_arrow(lists)).data for name in ("Max$", "Min$", "max", "min")
    }
    assert np.array_equal(found["Max$"][:4], [3, nan, 2, nan], equal_nan=True)
    assert np.array_equal(found["Min$"][:4], [1, nan, 2, nan], equal_nan=True)


def test_what_is_not_a_number_is_an_extreme_of_nothing_else_alone():
    from arrowroot._expressions import lists as _lists
    from arrowroot._expressions import orders

    nan = float("nan")
    lists = _lists.of_arrow(
        pa.array([[1, nan, 3], [nan, 1, 1], [2, nan], [nan, nan], []], pa.list_(pa.float32()))
    )
    assert np.array_equal(_lists.reduce("max", lists).data[:4], [3, 1, 2, nan], equal_nan=True)
    assert np.array_equal(_lists.reduce("min", lists).data[:4], [1, 1, 2, nan], equal_nan=True)
    assert orders.extreme_index("argmax", lists).data[:4].tolist() == [2, 1, 0, 0]
    assert orders.extreme_index("argmin", lists).data[:4].tolist() == [0, 1, 0, 0]
    assert orders.order("argsort", lists).data.tolist() == [0, 2, 1, 1, 2, 0, 0, 1, 0, 1]


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
    from arrowroot._expressions.functions import FUNCTIONS

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


def test_members_of_what_has_none_are_errors_with_a_place(tmp_path):
    session("members", tmp_path, {"mask_of": mask_of})


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


def test_integers_are_computed_exactly_up_to_64_bits():
    assert mask_of("u % 2 == 1") == [False, True, True, False, True, False]
    assert mask_of("abs(u) * 1 == 9223372036854775808") == [False, False, False, True, False, False]
    assert mask_of("min(u, i) == i") == [True, True, True, True, False, True]
    # With a sign and without in one column, whatever else is read with it.
    assert mask_of("u - 5 == 18446744073709551610 || u - 5 < 0") == [True, True, True, False, True, False]
    assert mask_of("(i | u) == 18446744073709551615") == [False, True, True, False, False, False]


def test_a_list_that_is_null_makes_null_of_any_other():
    assert mask_of("any(o > p)") == [False, False, False, True, False, True]
    assert mask_of("any(p > o) || b") == [True, False, True, True, False, True]
    assert mask_of("any(o > p) || true") == [True] * 6
    assert mask_of("len(p[o > 0]) >= 0") == [True, False, True, True, False, True]
    assert mask_of("sum(o * p) != 99") == [True, False, True, True, False, True]
    for text, (first, third, fourth, last) in {
        "len(first(o))": (1, 0, 0, 1),
        "len(second(o, 3))": (0, 0, 0, 0),
        "len(first(o, p))": (4, 0, 1, 4),
        "len(second(p, o))": (4, 0, 1, 4),
        "sum(second(p, o))": (-2, 0, 7, 6),
        "sum(len(per(o, p)))": (4, 0, 1, 4),
        "len(sum(per(p, o)))": (2, 0, 1, 2),
        "len(per(p, o)[0])": (2, None, 1, 2),
        "len(Concatenate(o, p))": (4, 0, 2, 4),
        "sum(Concatenate(p, o))": (6, 0, 8, 10),
    }.items():
        expected = [first, None, third, fourth, None, last]
        assert mask_of(f"is_null({text})") == [one is None for one in expected], text
        for n in (-2, 0, 1, 2, 4, 6, 7, 8, 10):
            assert mask_of(f"{text} == {n}") == [one == n for one in expected], text


def test_a_mean_passes_over_nulls():
    rows = pa.table({"l": [[1, None], [], [None], [3, None, 4]]})
    assert mask_of("mean(l) == 1", rows) == [True, False, False, False]
    assert mask_of("mean(l) == 3.5", rows) == [False, False, False, True]
    assert mask_of("is_null(mean(l))", rows) == [False, True, True, False]


#: Columns with names as those of flat CAF trees and of split objects, beside names that these begin with or go on as.
ODD = pa.table(
    {
        name: pa.array([number, 70], pa.int32())
        for number, name in enumerate(
            (
                "x",
                "x.",
                "rec.slc",
                "rec.slc..length",
                ".y",
                "1st",
                "$w",
                "@size",
                "ταυ~",
                "y",
                "K0::p:t",
                "n",
                "n-1",
            )
        )
    }
    | {"rec": pa.array([{"y": 30, "": 31}, {"y": 7, "": 7}]), "rec.": pa.array([[40, 41], [7]])}
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((f"{name} == {number}", [True, False]) for number, name in enumerate(ODD.column_names[:11])),
        ("rec.slc..length==3&&x.==1 && .y*2 == 8", [True, False]),
        ("x + x. == 1 && abs(x.) == 1 && -x. < 0", [True, False]),
        ("rec.[1] == 41 && rec.[-1] == 41 && len(rec.) == 2", [True, False]),
        # What was valid without these names means the same.
        ("n-1 == 10", [True, False]),
        ("rec.y == 30 && rec . y == 30 && rec. y == 30 && rec.`y` == 30", [True, False]),
        ("x.5 == 1", None),
        ("x..y == 1", None),
        ("rec.slc..lengths == 3", None),
        ("2nd == 1", None),
        ("$ == 1", None),
        ("x == .5.y", None),
    ],
)
def test_the_longest_name_that_is_a_column_is_meant(text, expected):
    if expected is None:
        with pytest.raises((ar.FilterError, ar.NoSuchColumnError, ar.InvalidRequestError)):
            mask_of(text, ODD)
    else:
        assert mask_of(text, ODD) == expected
