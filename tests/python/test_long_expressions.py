"""Expressions that programs write: chains of thousands of terms are one operation, and nesting stays bounded."""

import functools
import sys
import tracemalloc

import numpy as np
import pytest

import arrowroot as ar
from arrowroot._expressions import nodes

N = 50
N_TERMS = 3000
X = np.arange(N) / 4
V = [[float(k) for k in range(i % 4)] for i in range(N)]


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    path = tmp_path_factory.mktemp("long") / "long.root"
    ar.write(f"{path}:t", {"x": X, "i": np.arange(N), "v": V})
    return ar.open(path)["t"]


def computed(tree, text):
    return tree.to_arrow(["y"], define={"y": text})["y"].to_pylist()


def terms(form, between):
    return between.join(form.replace("K", str(k)) for k in range(N_TERMS))


def chosen(x):
    return next((k + 0.5 for k in range(N_TERMS) if x < k / 100), -1)


CHAINS = {
    "sum": (terms("K * (i == K)", " + "), lambda i: i),
    "differences": (terms("x", " - "), lambda i: X[i] * (2 - N_TERMS)),
    "product": (terms("(1 + 1e-9 * x)", " * "), lambda i: (1 + 1e-9 * X[i]) ** N_TERMS),
    "several operators": (terms("2 * i", " + "), lambda i: 2 * i * N_TERMS),
    "or": (terms("i == 2 * K", " || "), lambda i: i % 2 == 0),
    "and": (terms("i != 2 * K", " and "), lambda i: i % 2 == 1),
    "bits": (terms("(i & K)", " | "), lambda i: i),
    "shifts": (f"({terms('0', ' << ')}) + i", lambda i: i),
    "choices": (terms("x < K / 100 ? K + 0.5", " : ") + " : -1", lambda i: chosen(X[i])),
    "choices in a choice": (
        f"i < 25 ? ({terms('i == K ? -K', ' : ')} : 7) : i",
        lambda i: -i if i < 25 else i,
    ),
    "iterations": (f"Sum$({terms('v * (Iteration$ < 2)', ' + ')})", lambda i: N_TERMS * sum(V[i][:2])),
    "functions": (terms("abs(x - K)", " + "), lambda i: sum(abs(X[i] - k) for k in range(N_TERMS))),
}


@pytest.mark.parametrize(("text", "plain"), CHAINS.values(), ids=CHAINS)
def test_a_chain_of_thousands_of_terms_is_computed_as_term_by_term(tree, text, plain):
    assert computed(tree, text) == pytest.approx([plain(i) for i in range(N)])


def test_a_filter_and_weights_may_be_long(tree):
    text = terms("i == 7 * K", " || ")
    assert tree.to_arrow("i", filter=text)["i"].to_pylist() == list(range(0, N, 7))
    weight = terms("(i == K) * K", " + ")
    made = tree.scan().hist({"h": ar.Hist((1, -1, 1000), x="i", weight=weight, where=text)})
    assert made["h"].sum().value == sum(range(0, N, 7))


def test_what_chains_share_is_computed_once(tree, monkeypatch):
    from arrowroot._expressions import numbers

    first = terms("x * 2", " + ")
    expected = tree.to_arrow(["y"], define={"y": first})["y"].to_numpy()
    counted = []
    arithmetic = numbers.arithmetic

    def count(operator, left, right):
        counted.append(operator)
        return arithmetic(operator, left, right)

    monkeypatch.setattr(numbers, "arithmetic", count)
    scan = tree.scan(["a", "b"], define={"a": f"{first} + 1", "b": f"{first} + 2"})
    assert scan.schema.names == ["a", "b"]
    counted.clear()
    found = scan.to_arrow()
    assert counted.count("+") == N_TERMS + 1
    assert found["a"].to_numpy().tolist() == (expected + 1).tolist()
    assert found["b"].to_numpy().tolist() == (expected + 2).tolist()


def nested(n, opened, closed, inside):
    return opened * n + inside + closed * n


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (nested(200, "(", ")", "x"), "more than 50 parentheses inside each other"),
        (nested(200, "x + (", ")", "x"), "more than 50 parentheses inside each other"),
        (nested(200, "(x > 1 ? ", " : 2)", "x"), "more than 50 parentheses inside each other"),
        (nested(200, "-", "", "x"), "more than 100 operations inside each other"),
        (nested(200, "x ** ", "", "x"), "more than 50 powers inside each other"),
        (nested(200, "", "[0]", "v"), "more than 100 operations inside each other"),
        ("x" + " + 1" * 300_000, "an expression of 1,200,001 characters; at most 1,000,000 are read"),
    ],
    ids=range(7),
)
def test_nesting_stays_bounded(tree, text, message):
    with pytest.raises(ar.FilterError, match=message):
        tree.scan(define={"y": text})


@pytest.mark.parametrize("between", ["+", "&&", "||", "?"])
def test_the_deepest_nesting_that_is_read_is_computed(tree, between):
    text = "x > 1"
    for k in range(49):
        if between == "?":
            text = f"i == {k} ? {k} : ({text})"
        else:
            text = f"x > {k} {between} ({text})" if between != "+" else f"1 + ({text})"
    assert len(computed(tree, text)) == N


def test_an_alias_of_a_file_is_no_longer_than_before(tmp_path):
    with ar.create(tmp_path / "a.root") as new:
        new.tree("t", aliases={"long": "x" + " + 1" * 30_000}).append({"x": [1.0]})
    with pytest.raises(ar.FilterError, match="at most 100,000 are read"):
        ar.open(tmp_path / "a.root")["t"].to_arrow(["long"])


def test_a_part_with_which_a_chain_goes_on_is_no_deeper():
    from arrowroot._expressions.grammar import parse

    assert parse("a + b * c - d").depth == 2
    assert parse("a ? b : c ? d : e").depth == parse("a ? b : c").depth == 1
    assert parse("a ? (b ? c : d) : e").depth == 2
    assert (
        nodes.depth_of(
            functools.reduce(
                lambda node, _: nodes.Binary("+", node, node.right, node.place, 0), range(9), parse("a + b")
            )
        )
        == 1
    )


@pytest.mark.parametrize("n", [60, 1000])
def test_definitions_may_use_each_other_in_a_long_row(tree, n):
    """Each weight times the next correction, as programs write them."""
    define = {"w0": "x", **{f"w{k}": f"w{k - 1} + (i == {k % N}) * w0" for k in range(1, n)}}
    last = f"w{n - 1}"
    expected = [X[i] * (1 + sum(k % N == i for k in range(1, n))) for i in range(N)]
    scan = tree.scan([last], define=define)
    assert not scan.schema.field(last).nullable
    assert scan.to_arrow()[last].to_pylist() == pytest.approx(expected)
    found = tree.to_arrow(["i"], define=define, filter=f"{last} > 2")["i"].to_pylist()
    assert found == [i for i in range(N) if expected[i] > 2]
    cuts = {"some": "i % 2 == 0", "more": f"w{n // 2} > 1"}
    made = tree.scan(define=define).hist({"h": ar.Hist((1, 0, 1e9), x=last, cut="more")}, cuts=cuts)
    half = [X[i] * (1 + sum(k % N == i for k in range(1, n // 2 + 1))) for i in range(N)]
    assert made["h"].sum() == sum(i % 2 == 0 and half[i] > 1 for i in range(N))


def cost_of_row(tree, n):
    """Return how many calls and bytes it takes to bind a row of definitions, and to tell the types of all."""
    define = {"w0": "x", **{f"w{k}": f"w{k - 1} + x" for k in range(1, n)}}
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event == "call"

    tracemalloc.start()
    sys.setprofile(count)
    try:
        scan = tree.scan(define=define, filter=f"w{n - 1} > 0")
        assert len(scan.schema) == n + 3
    finally:
        sys.setprofile(None)
        n_bytes = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
    return np.array([calls, n_bytes])


def test_a_long_row_of_definitions_takes_calls_and_memory_by_its_length(tree):
    cost_of_row(tree, 10)  # what is made once
    assert (cost_of_row(tree, 300) < 2.3 * cost_of_row(tree, 150)).all()
