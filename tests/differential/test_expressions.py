"""Expressions mean what they mean to TTree::Draw and RDataFrame, but for what is listed."""

import pytest

import arrowroot as ar

from . import drawn_texts
from .compare import written
from .with_expressions import VALUES, write

expressions = written(write)


@pytest.mark.parametrize("kind", ["drawn", "random"])
def test_draw_selects_the_same_but_for_what_is_listed(expressions, kind):
    tree = ar.open(expressions / "selections.root")["T"]
    refused, otherwise = set(), set()
    for text, entries in expressions.expected[kind]:
        assert entries != [-1], text  # TTree::Draw takes all of them
        try:
            found = tree.entries_where(text).tolist()
        except ar.ArrowrootError:
            refused.add(text)
            continue
        if found != entries:
            otherwise.add(text)
    texts = {text for text, _ in expressions.expected[kind]}
    assert refused == texts & set(drawn_texts.REFUSED)
    assert otherwise == texts & set(drawn_texts.OTHERWISE)
    assert len(expressions.expected[kind]) == {"drawn": 203, "random": 400}[kind]


@pytest.mark.parametrize("name", ["T", "N"])
def test_values_are_those_of_rdataframe(expressions, name):
    tree = ar.open(expressions / "selections.root")[name]
    for (_, ours), expected in zip(VALUES, expressions.expected["values"], strict=True):
        found = tree.to_arrow(["f"], define={"d": "1.0 * v", "a": "sin(d)", "f": ours}, filter="n >= 2")[
            "f"
        ].to_pylist()
        for mine, theirs in zip(found, expected, strict=True):
            # The root of the difference of squares loses digits.
            is_close = pytest.approx(theirs, rel=1e-9, abs=1e-5, nan_ok=True)
            assert (mine if isinstance(mine, list) else [mine]) == is_close, ours


@pytest.mark.parametrize("name", ["T", "N"])
def test_histograms_are_those_of_rdataframe(expressions, name, tmp_path):
    tree = ar.open(expressions / "selections.root")[name]
    made = tree.scan(define={"p": "x * y", "sign": "n % 2 == 1 ? 1 : n > 2 ? -1 : 0"}).hist(
        {
            "x": ar.Hist((20, -3, 3), x="x"),
            "list": ar.Hist((10, -5, 5), x="v"),
            "weighted": ar.Hist((10, -5, 5), x="v", weight="y"),
            "cut": ar.Hist(
                (10, -5, 5), x="p", weight="y", cut="two", variations={"up": {"weight": "1.1 * y"}}
            ),
            "plane": ar.Hist((4, -2, 2), (3, 0, 6), x="x", y="y", weight="u"),
            "profile": ar.Hist((20, -3, 3), x="x", mean="y"),
            "profile with signs": ar.Hist((10, -5, 5), x="v", mean="y", weight="sign"),
            "profile plane": ar.Hist((4, -2, 2), (3, 0, 6), x="x", y="y", mean="p", cut="two"),
        },
        cuts={"some": "n > 0", "two": "n >= 2"},
    )
    made["up"] = made["cut"]["up", :]
    made["cut"] = made["cut"]["nominal", :]
    with ar.create(tmp_path / "made.root") as file:
        for which, filled in made.items():
            file[which] = filled
    saved = ar.open(tmp_path / "made.root")
    for which, (contents, errors) in expressions.expected["histograms"].items():
        if which.startswith("profile"):
            profile = saved[which]
            assert profile.class_name == ("TProfile2D" if "plane" in which else "TProfile")
            assert made[which].values().tolist() == profile.values().tolist()
            # Spreads are small differences of large sums.
            close = {"rel": 1e-9, "abs": 1e-9, "nan_ok": True}
            assert profile.values(flow=True).flatten(order="F").tolist() == pytest.approx(contents, **close)
            assert profile.errors(flow=True).flatten(order="F").tolist() == pytest.approx(errors, **close)
            continue
        # ROOT's bins go along the first axis first.
        found = made[which].values(flow=True).flatten(order="F")
        variances = made[which].variances(flow=True).flatten(order="F")
        assert found.tolist() == pytest.approx(contents, rel=1e-12), which
        assert (variances**0.5).tolist() == pytest.approx(errors, rel=1e-12), which
    entries = [tree.num_entries, len(tree.entries_where("n > 0")), len(tree.entries_where("n >= 2"))]
    assert [cut.num_entries for cut in made.cuts] == entries
