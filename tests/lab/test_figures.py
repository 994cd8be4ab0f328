"""Figures: nothing overlaps or leaves the drawing, the numbers are the table's, and hostile names stay text."""

from __future__ import annotations

import itertools
import math
import random
import re
from xml.etree import ElementTree as ET

import pytest

from arrowroot_lab.figures.bars import Bar, bars
from arrowroot_lab.figures.beside import Beside, beside
from arrowroot_lab.figures.curves import Point, Series, curves
from arrowroot_lab.figures.drawing import ASCENT, DESCENT, SIZE, SMALL, Label, spread_out
from arrowroot_lab.figures.headlines import Headline, Pair, alone, headlines
from arrowroot_lab.figures.history import Mark, Moment, history
from arrowroot_lab.figures.lettering import fitted, plain, text_width, wrapped
from arrowroot_lab.figures.matrix import Axis, Cell, Grid
from arrowroot_lab.figures.places import AtSite, by_site
from arrowroot_lab.figures.reads import Read, offsets
from arrowroot_lab.figures.samples import Predicted, Taken, samples
from arrowroot_lab.figures.scale import linear, logarithmic
from arrowroot_lab.figures.streams import Graph, Interval, stall_graphs
from arrowroot_lab.mining.format import shown
from arrowroot_lab.mining.table import Column

WALL = Column("wall_ns", "Wall time", "time")
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "<script>alert(1)</script>",
    '" onload="alert(1)',
    "]]><x>&amp;&lt;",
    "a\x00b\x1b[31m\ud800\u202egpj",
    "</svg></title>",
    "名前" * 30,
    "x" * 300,
    "",
]
PLAIN = [
    "local disk, cold",
    "xrootd 50 ms away",
    "S3, near",
    "nginx",
    "XCache, warm, before an origin 50 ms away",
]


def drawn_with(names, seed=1, n=6):
    """One figure of each kind, with these names and values drawn by a seed."""
    draw = random.Random(seed)

    def value():
        return draw.choice([draw.uniform(1, 10), draw.uniform(1e6, 9e9), 10 ** draw.uniform(0, 13), 7e8])

    name = itertools.cycle(names)
    names = [next(name) + (str(i) if i >= len(names) else "") for i in range(n)]
    bar_data = []
    for group, series in itertools.product(names[:4], names[:3]):
        middle = value()
        if draw.random() < 0.15:
            bar_data.append(Bar(group, series, None, note=f"failed: {draw.choice(names)}"))
        else:
            bar_data.append(Bar(group, series, middle, middle * 0.9, middle * 1.3, 5))
    yield bars("Bars", "Some.", bar_data, WALL, group="Storage", series="Engine")
    cells = {}
    for at in itertools.product(names, names):
        word = draw.choice(["", "", "", "failed", "timed out", "skipped", "missing"])
        cells[at] = Cell(value()) if not word else Cell(None, word, "why")
        if word == "missing":
            del cells[at]
    unique = tuple(dict.fromkeys(names))
    yield Grid(cells, WALL, Axis("A", unique), Axis("B", unique)).matrix("Matrix", "All.")
    for is_log in (True, False):
        lines = [
            Series(
                one,
                tuple(Point(x, (y := value()), y * 0.8, y * 1.1) for x in (0, 5e6, 5e7, 1.3e8)),
                is_joined=place != 1,
                is_published=place == 0,
                has_band=place == 0,
            )
            for place, one in enumerate(names)
        ]
        yield curves(
            "Curves",
            "Some.",
            lines,
            Column("rtt_ns", "Round trip", "time"),
            WALL,
            is_log_x=is_log,
            is_log_y=is_log,
        )
    moments = [
        Moment(
            f"2026-{1 + i // 28:02d}-{1 + i % 28:02d}T10:00:00.000Z", names[i * n // 60], None, note="failed"
        )
        if i % 17 == 5
        else Moment(
            f"2026-{1 + i // 28:02d}-{1 + i % 28:02d}T10:00:00.000Z",
            names[i * n // 60],
            (y := value()),
            y,
            y * 1.1,
        )
        for i in range(60)
    ]
    marks = [Mark(draw.randrange(60), "change point", one) for one in names + names]
    yield history("History", "One point a result.", moments, marks, WALL)
    yield history("History", "Of one.", moments[:1], [], WALL)
    yield history("History", "Of none.", [], [], WALL)
    risen = {
        (row, column): Cell(draw.uniform(0.5, 9), is_ill=draw.random() < 0.3)
        for row in names
        for column in names
    }
    axes = Axis("Site", tuple(names)), Axis("Test", tuple(names))
    yield Grid(risen, Column("level", "Level", "ratio"), *axes).levels("Levels", "Each.")
    reads = [
        Read(draw.randrange(5000), draw.randrange(10**9), draw.randrange(1, 10**6), i * 10**6)
        for i in range(400)
    ]
    yield offsets("Reads", "Where.", reads, file_bytes=10**9, n_entries=5000)
    yield offsets("Reads", "None.", [], file_bytes=0, n_entries=0)
    studies = [
        (
            one,
            Headline(
                one, "bytes", (Pair(one, value(), value(), is_given=True), Pair(one, None, value())), one
            ),
        )
        for one in names
    ]
    yield headlines("Headlines", "Two of each.", studies)
    stalls = tuple(
        Interval(i % 12, i % 3 > 0, i * 10**9, (i + draw.randrange(1, 20)) * 10**9) for i in range(60)
    )
    yield stall_graphs(
        "Stalls",
        "Some.",
        [Graph(one, 12, 10**11, stalls if place else ()) for place, one in enumerate(names)],
    )
    verdicts = ["better", "worse", "no difference", "not enough"]
    rows = []
    for one in names:
        ratio = 10 ** draw.uniform(-2, 2)
        bounds = (ratio, ratio * 0.9, ratio * 1.2) if draw.random() < 0.8 else ()
        rows.append(Beside(one, "time", 1e9, 2e9, *bounds, verdict=draw.choice(verdicts)))
    yield beside("Beside", "Two.", rows, left=names[0], right=names[1])
    taken = [Taken(i, None if i == 3 else value(), "load 3.1" if i % 4 == 3 else "") for i in range(12)]
    yield samples(
        "Samples", "In order.", taken, [Predicted(names[0], value(), 0.1), Predicted(names[1], value())], WALL
    )
    yield samples("Samples", "None.", [], [], WALL)


def parsed(svg):
    return ET.fromstring(svg)  # noqa: S314 - it is ours


def svgs(figure):
    return [parsed(figure.svg), parsed(figure.narrow_svg)]


def labels(svg):
    """The boxes of all texts, from the SVG alone."""
    for text in svg.iter(f"{SVG}text"):
        looks = text.get("class", "").split()
        size = SMALL if "small" in looks else SIZE
        shown_text = "".join(text.itertext()) if not len(text) else text[0].tail or ""
        width = text_width(shown_text, size, is_bold="strong" in looks)
        x, y = float(text.get("x")), float(text.get("y"))
        left = x - {"start": 0, "middle": width / 2, "end": width}[text.get("text-anchor", "start")]
        yield Label(shown_text, left + 0.1, y - ASCENT * size + 1, left + width - 0.1, y + DESCENT * size - 1)


@pytest.mark.parametrize("names", [PLAIN, HOSTILE], ids=["plain", "hostile"])
@pytest.mark.parametrize("seed", range(8))
def test_no_text_touches_another_and_none_leaves_the_drawing(names, seed):
    for figure in drawn_with(names, seed):
        for svg in svgs(figure):
            width, height = (float(part) for part in svg.get("viewBox").split()[2:])
            boxes = [label for label in labels(svg) if label.text.strip()]
            for label in boxes:
                place = (figure.title, label)
                assert label.left >= -1, place
                assert label.right <= width + 1, place
                assert label.top >= -1, place
                assert label.bottom <= height + 1, place
            for one, other in itertools.combinations(boxes, 2):
                assert not one.overlaps(other), (figure.title, one, other)


@pytest.mark.parametrize("seed", range(4))
def test_all_marks_are_within_the_drawing(seed):
    for figure in drawn_with(PLAIN, seed):
        for svg in svgs(figure):
            width, height = (float(part) for part in svg.get("viewBox").split()[2:])
            for element in svg:
                if element.tag == f"{SVG}rect":
                    x, y, w, h = (float(element.get(name)) for name in ("x", "y", "width", "height"))
                elif element.get("transform"):
                    (x, y), w, h = map(float, re.findall(r"-?[\d.]+", element.get("transform"))), 0, 0
                else:
                    continue
                assert min(x, y) >= 0, figure.title
                assert x + w <= width + 1, figure.title
                assert y + h <= height + 1, figure.title


def test_hostile_names_stay_text():
    for figure in drawn_with(HOSTILE):
        for text in (figure.svg, figure.narrow_svg):
            svg = parsed(text)
            assert not {element.tag.removeprefix(SVG) for element in svg.iter()} & {"script", "x", "style"}
            names = {name for element in svg.iter() for name in element.attrib}
            assert not [name for name in names if name.startswith("on") or name in ("style", "href")]
            assert "\x1b" not in text
            assert "\u202e" not in text
            text.encode()
        html = figure._repr_html_()
        assert "<script" not in html


def test_a_figure_is_told_to_those_who_do_not_see_it():
    for figure in drawn_with(PLAIN):
        for svg in svgs(figure):
            assert svg.get("role") == "img"
            assert figure.title in svg.get("aria-label")
            assert figure.caption in svg.get("aria-label")


def test_patterns_of_two_figures_have_names_of_their_own():
    identifiers = []
    for seed in (1, 2):
        for figure in drawn_with(PLAIN, seed):
            for svg in svgs(figure):
                identifiers += [element.get("id") for element in svg.iter() if element.get("id")]
    # Figures of equal content have equal patterns; those of one kind and different content differ.
    bars_of = {identifier.partition("-")[0] for identifier in identifiers}
    assert len(bars_of) == 4
    assert len(set(identifiers)) == len(identifiers)


def test_bars_are_as_long_as_the_values_of_the_table_and_labelled_with_them():
    figure = bars(
        "B",
        "c.",
        [Bar("g", "a", 1e9, 0.9e9, 1.1e9, 5), Bar("g", "b", 2e9, 2e9, 2.5e9, 5)],
        WALL,
        group="G",
        series="S",
    )
    for svg in svgs(figure):
        widths = [float(rect.get("width")) for rect in svg.findall(f"{SVG}rect")]
        assert widths[1] / widths[0] == pytest.approx(2, abs=0.01)
        texts = {label.text for label in labels(svg)}
        assert {shown(row["wall_ns"], "time") for row in figure.table.records()} <= texts
    assert figure.table.records()[1] == {
        "group": "g",
        "series": "b",
        "n_samples": 5,
        "note": None,
        "wall_ns": 2e9,
        "wall_ns_low": 2e9,
        "wall_ns_high": 2.5e9,
    }


def test_series_are_told_apart_without_colour():
    data = [Bar("g", f"series {place}", 1e9) for place in range(8)]
    svg = parsed(bars("B", "c.", data, WALL, group="G", series="S").svg)
    fills = [rect.get("fill") for rect in svg.findall(f"{SVG}rect")]
    assert len(set(fills)) == 8
    assert len({pattern[1].get("d") for pattern in svg.iter(f"{SVG}pattern")}) == 7
    lines = [Series(f"s{place}", (Point(1, place + 1), Point(2, place + 1))) for place in range(8)]
    svg = parsed(curves("C", "c.", lines, Column("x", "X", "count"), WALL).svg)
    looks = [element.get("class") for element in svg.iter(f"{SVG}path")]
    assert len({look for look in looks if look.startswith("curve")}) == 8
    shapes = {
        element.get("d") for element in svg.iter(f"{SVG}path") if element.get("class").startswith("marker")
    }
    assert len(shapes) == 8


def test_the_matrix_has_each_value_and_its_ratio_to_the_best_of_its_row():
    cells = {
        ("r", "a"): Cell(2e9),
        ("r", "b"): Cell(3e9),
        ("r", "c"): Cell(None, "failed", "boom"),
        ("q", "a"): Cell(5e9),
    }
    grid = Grid(cells, WALL, Axis("Row", ("r", "q")), Axis("Column", ("a", "b", "c")))
    figure = grid.matrix("M", "c.")
    records = figure.table.records()
    assert [(one["row"], one["column"], one["ratio"], one["outcome"]) for one in records] == [
        ("r", "a", 1.0, "ok"),
        ("r", "b", 1.5, "ok"),
        ("r", "c", None, "failed"),
        ("q", "a", 1.0, "ok"),
    ]
    for svg in svgs(figure):
        texts = [label.text for label in labels(svg)]
        assert texts.count("best") == 1  # the other row has one value
        assert texts.count("failed") == 1
        assert "2.00 s" in texts
        assert "3.00 s" in texts
        assert any(text.startswith("1.5") for text in texts)


def test_points_of_a_curve_are_where_their_axes_say():
    line = Series("s", (Point(1e3, 1e6), Point(1e4, 1e8), Point(1e5, 1e9)))
    x, y = Column("x_bytes", "X", "bytes"), Column("y_bytes", "Y", "bytes")
    for svg in svgs(curves("C", "c.", [line], x, y, is_log_x=True, is_log_y=True)):
        path = next(element for element in svg.iter(f"{SVG}path") if element.get("class").startswith("curve"))
        numbers = [float(number) for number in re.findall(r"[\d.]+", path.get("d"))]
        (x0, x1, x2), (y0, y1, y2) = numbers[::2], numbers[1::2]
        assert x1 - x0 == pytest.approx(x2 - x1, abs=0.3)
        assert y0 - y1 == pytest.approx(2 * (y1 - y2), abs=0.5)


def test_values_that_are_not_above_zero_are_in_the_table_of_a_logarithmic_figure_only():
    line = Series("s", (Point(0, 1e6), Point(1e4, 1e8)))
    x = Column("x", "X", "count")
    figure = curves("C", "c.", [line], x, WALL, is_log_x=True, is_log_y=True)
    assert len(figure.table.rows) == 2
    assert "nan" not in figure.svg
    assert "inf" not in figure.svg


def test_the_reads_of_the_table_are_all_reads():
    draw = random.Random(3)
    reads = [
        Read(draw.randrange(997), draw.randrange(10**8), draw.randrange(1, 10**5), i) for i in range(5000)
    ]
    records = offsets("R", "c.", reads, file_bytes=10**8, n_entries=997).table.records()
    assert sum(record["n_reads"] for record in records) == 5000
    assert sum(record["n_bytes"] for record in records) == sum(read.n_bytes for read in reads)
    assert [record["entry_begin"] for record in records[1:]] == [
        record["entry_end"] for record in records[:-1]
    ]
    for record in records:
        members = [read for read in reads if record["entry_begin"] <= read.entry < record["entry_end"]]
        assert record["n_reads"] == len(members)
        assert record["first_offset_bytes"] == min(read.offset for read in members)


def test_many_reads_make_no_large_picture():
    reads = [Read(i % 5000, (i * 7919) % 10**9, 1000, i) for i in range(200_000)]
    assert len(offsets("R", "c.", reads, file_bytes=10**9, n_entries=5000).svg) < 1_500_000


def test_marks_of_a_history_are_explained_below_it():
    moments = [Moment(f"2026-01-0{i + 1}T00:00:00Z", "1.0", 1e9 + i) for i in range(5)]
    figure = history(
        "H", "c.", moments, [Mark(2, "change point", "5 % slower"), Mark(4, "by hand", "new kernel")], WALL
    )
    assert figure.table.notes == (
        "A: 2026-01-03 change point: 5 % slower",
        "B: 2026-01-05 by hand: new kernel",
    )
    for svg in svgs(figure):
        texts = [label.text for label in labels(svg)]
        assert texts.count("A") == texts.count("B") == 2


def test_points_of_a_history_stand_where_their_time_is():
    days = (1, 2, 3, 21, 22)
    moments = [Moment(f"2026-01-{day:02d}T00:00:00Z", "1.0", 1e9 + day) for day in days]
    for svg in svgs(history("H", "c.", moments, [], WALL)):
        path = next(one.get("d") for one in svg.iter(f"{SVG}path") if "curve" in one.get("class", ""))
        xs = [float(x) for x in re.findall(r"[ML]?([\d.]+) [\d.]+", path)]
        assert [round((x - xs[0]) / (xs[-1] - xs[0]) * 21) for x in xs] == [day - 1 for day in days]


def test_what_a_site_does_is_legible_on_a_telephone():
    lanes = [AtSite(f"S{n}", "1", 1e9, 0.9e9, 1.5e9, 0.5, 3, word="more CPU time") for n in (1, 2)]
    figure = by_site("S", "c.", lanes)
    assert ">more CPU time<" in figure.svg
    assert ">more CPU<" in figure.narrow_svg


def test_medians_stand_in_a_column_and_not_at_the_ends_of_whiskers():
    lanes = [AtSite(f"S{n}", "1", 1e9 * n, 0.9e9 * n, 1.5e9 * n, 0.5, 3) for n in (1, 2, 3)]
    data = [Bar("local", f"e{n}", 1e9 * n, 0.9e9 * n, 1.5e9 * n) for n in (1, 2, 3)]
    for figure in (by_site("S", "c.", lanes), bars("B", "c.", data, WALL, group="g", series="s")):
        for svg in svgs(figure):
            lefts = {
                round(label.left) for label in labels(svg) if label.text in ("1.00 s", "2.00 s", "3.00 s")
            }
            assert len(lefts) == 1


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 7e9), (1.2e9, 1.21e9), (3, 4e12), (0.94, 0.951)])
def test_ticks_are_round_within_the_scale_and_told_apart(low, high):
    for scale in (
        linear([low, high], 0, 100, "time", from_zero=False),
        logarithmic([low or 1, high], 0, 100, "time"),
    ):
        for n in (3, 6, 9):
            ticks = scale.ticks(n)
            assert len({tick.text for tick in ticks}) == len(ticks) <= n + 2
            assert all(scale.low * 0.99 - 1e-9 <= tick.value <= scale.high * 1.01 for tick in ticks)


def test_a_scale_of_equal_values_has_an_extent():
    scale = linear([5.0, 5.0], 0, 100, "count", from_zero=False)
    assert scale.low < 5 < scale.high
    assert 0 < scale(5.0) < 100
    assert math.isfinite(logarithmic([5.0], 0, 100, "count")(5.0))


def test_texts_are_shortened_in_the_middle_and_never_wider_than_asked():
    text = "root://eospublic.cern.ch//eos/opendata/cms/Run2016H/file-0001.root"
    for width in (20, 80, 200, 1000):
        short = fitted(text, width, SMALL)
        assert text_width(short, SMALL) <= width
        assert short == text or "…" in short
    assert fitted(text, 200, SMALL).endswith("root")
    assert all(
        text_width(line, SMALL) <= 90 for line in wrapped("arrowroot@0.1.0 / treecache " + text, 90, SMALL)
    )
    assert plain("a\nb\x00") == "a b\N{REPLACEMENT CHARACTER}"


def test_labels_are_spread_out_in_their_order_within_their_room():
    places = spread_out([10, 11, 12, 200, 201], 17, 0, 210)
    assert all(b - a >= 17 - 1e-9 for a, b in itertools.pairwise(places))
    assert min(places) >= 0
    assert max(places) <= 210
    crowded = spread_out([5] * 30, 17, 0, 100)
    assert min(crowded) >= -1e-9
    assert max(crowded) <= 100 + 1e-9


def test_a_stall_graph_counts_what_it_draws():
    intervals = (
        Interval(0, False, 0, 5 * 10**9),
        Interval(1, True, 10**9, 5 * 10**9),
        Interval(2, True, 2 * 10**9, 5 * 10**9),
    )
    figure = stall_graphs("Stalls", "Two.", [Graph("one buffer", 3, 20 * 10**9, intervals)])
    [row] = figure.table.records()
    assert (row["n_stalls"], row["stalled_ns"], row["longest_ns"], row["most_stalled"]) == (2, 7e9, 4e9, 2)
    svg = parsed(figure.svg)
    looks = [element.get("class") for element in svg.iter() if element.get("class")]
    # A band for each stream and one in the key; then the stalls of the streams, and how many at a time.
    assert (looks.count("running"), looks.count("writing"), looks.count("stalled")) == (4, 2, 3)


def test_names_that_are_too_wide_to_stand_beside_their_bars_stand_above_them_and_are_whole():
    name = "arrowroot, treecache 30 MB, prefetch=1"
    figure = bars("Bars", "One.", [Bar("local", name, 1e9)], WALL, group="Storage", series="By")
    for svg, width in ((figure.svg, 680), (figure.narrow_svg, 360)):
        root = parsed(svg)
        assert name in {"".join(one.itertext()) for one in root.iter(f"{SVG}text")}
        (bar,) = (one for one in root.iter(f"{SVG}rect") if "bar" in one.get("class"))
        assert float(bar.get("width")) > width / 2


def test_a_picture_alone_has_its_style_and_both_schemes():
    figure = headlines(
        "Classics", "Two.", [("CMS 2010", Headline("Seconds", "count", (Pair("original", 360, 361),)))]
    )
    text = alone(figure)
    svg = parsed(text)
    [style] = [element for element in svg.iter() if element.tag.endswith("style")]
    assert "prefers-color-scheme: dark" in style.text
    paper = next(element for element in svg.iter(f"{SVG}rect"))
    assert (paper.get("class"), paper.get("width"), paper.get("height")) == ("paper", "100%", "100%")
    assert {"360", "361", "original"} <= {"".join(element.itertext()) for element in svg.iter(f"{SVG}text")}
