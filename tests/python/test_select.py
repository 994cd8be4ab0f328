import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arrowroot import EventList, InvalidRequestError, NoSuchColumnError, UnsupportedError
from arrowroot._converting.inputs import chosen
from arrowroot._passes.friends import Names, candidates_of
from arrowroot._select.columns import Choice, listed, matching, name_filter, single_names
from arrowroot._select.columns import select as select_choice


@dataclass
class B:
    path: str
    is_group: bool = False
    unsupported: str | None = None
    type_name: str = "float"
    is_part: bool = False

    @property
    def depth(self):
        return self.path.count("/")

    @property
    def name(self):
        return self.path.rpartition("/")[2]


TREE = [
    B("run"),
    B("Muon_pt"),
    B("Muon_eta"),
    B("Jet", is_group=True),
    B("Jet/Jet.pt"),
    B("Jet/Jet.p4", unsupported="no way to read Jet.p4", type_name="TLorentzVector"),
    B("a", is_group=True),
    B("a/x"),
    B("b", is_group=True),
    B("b/x"),
    B("odd[2]"),
]


def select(branches, columns, filter_name, where, **options):
    return select_choice(branches, Choice.of(columns, filter_name, **options), where)


def paths(columns=None, filter_name=None):
    return select(TREE, columns, filter_name, "f.root:T").paths


def test_all_are_chosen_but_what_cannot_be_read_is_reported():
    chosen = select(TREE, None, None, "f.root:T")
    assert chosen.paths == ["run", "Muon_pt", "Muon_eta", "Jet/Jet.pt", "a/x", "b/x", "odd[2]"]
    assert chosen.left_out == [("Jet/Jet.p4", "TLorentzVector")]


def test_columns_keep_the_order_asked_for_without_repeats():
    assert paths(["run", "Muon_*", "run", "Muon_eta"]) == ["run", "Muon_pt", "Muon_eta"]
    assert paths("Muon_eta") == ["Muon_eta"]


def test_a_name_may_be_a_path_a_short_name_a_group_or_a_glob():
    assert paths(["Jet/Jet.pt"]) == paths(["Jet.pt"]) == paths(["Jet"]) == paths(["Jet/*"]) == ["Jet/Jet.pt"]
    assert paths(["*/x"]) == ["a/x", "b/x"]
    assert paths(["odd[2]"]) == paths(["odd"]) == ["odd[2]"]
    # A name that a branch has is no short one of another.
    tree = [B("a", is_group=True), B("a/x"), B("x[2]")]
    assert select(tree, ["x"], None, "f.root:T").paths == ["a/x"]


def test_what_stands_behind_a_mark_is_left_out_of_the_others_or_of_all():
    every = paths()
    assert paths("!run") == paths(["!run"]) == [path for path in every if path != "run"]
    assert paths(["!Muon_*", "!x"]) == ["run", "Jet/Jet.pt", "odd[2]"]
    assert paths(["Muon_*", "!Muon_eta"]) == paths(["!Muon_eta", "Muon_*"]) == ["Muon_pt"]
    assert paths(["run", "!odd[2]"]) == ["run"]
    assert paths(["!Jet"], "*t") == ["Muon_pt"]
    # What cannot be read needs no warning if nobody wants it.
    assert select(TREE, ["!Jet.p4"], None, "f.root:T") == (every, [])
    assert select(TREE, ["!run", "!Jet"], None, "f.root:T", assemble=True).paths == [
        "Muon_pt",
        "Muon_eta",
        "a",
        "b",
        "odd[2]",
    ]


def test_what_cannot_be_left_out_is_an_error():
    with pytest.raises(NoSuchColumnError, match="no branch 'runn'; did you mean 'run'"):
        paths("!runn")
    with pytest.raises(InvalidRequestError, match=r"'!\*' leaves no column"):
        paths("!*")
    with pytest.raises(InvalidRequestError, match=r"'!a/x': 'a/x' is inside of 'a', which is read whole"):
        select(TREE, ["!a/x"], None, "f.root:T", assemble=True)
    fields = [B("jets"), B("jets.pt", is_part=True), B("jets2")]
    with pytest.raises(InvalidRequestError, match=r"'jets\.pt' is inside of 'jets'"):
        select(fields, ["!jets.pt"], None, "f.root:T")
    assert select(fields, ["jets.*", "jets2", "!jets.pt"], None, "f.root:T").paths == ["jets2"]
    assert select(fields, ["!jets"], None, "f.root:T").paths == ["jets2"]


def test_a_path_to_be_left_out_is_no_name_of_others():
    tree = [B("x"), B("a", is_group=True), B("a/x"), B("a/y")]
    assert select(tree, ["!x"], None, "f.root:T").paths == ["a/x", "a/y"]
    assert select(tree, ["!x"], None, "f.root:T", assemble=True).paths == ["a"]
    assert select(tree, ["x", "a", "!a/x"], None, "f.root:T").paths == ["x", "a/y"]


@pytest.mark.parametrize("name", ["!q", "q*", "[q]"])
def test_where_single_columns_are_named_patterns_are_errors(name):
    with pytest.raises(InvalidRequestError, match="expected names of single columns"):
        single_names([name], "index")
    with pytest.raises(InvalidRequestError, match="expected names of single columns"):
        EventList([(1,)], columns=(name,))


def test_a_list_has_what_matches_and_is_not_left_out():
    assert [b.path for b in listed(TREE, ["*x", "!b"])] == ["a/x"]
    assert [b.path for b in listed(TREE, ["!Muon_*", "!Jet", "!*/x", "!nothing"])] == [
        "run",
        "a",
        "b",
        "odd[2]",
    ]


def test_brackets_in_a_name_to_be_left_out_are_no_glob_if_there_is_such_a_branch():
    tree = [B("x[3]"), B("x3"), B("y3")]
    assert select(tree, ["!x[3]"], None, "f.root:T").paths == ["x3", "y3"]
    assert select(tree, ["![xy]3"], None, "f.root:T").paths == ["x[3]"]
    assert [b.path for b in listed(tree, ["!x[3]"])] == ["x3", "y3"]


def test_a_branch_that_begins_with_the_mark_is_one_to_be_read():
    odd = [B("!x"), B("x"), B("y")]
    assert select(odd, ["!x"], None, "f.root:T") == (["!x"], [])
    assert [b.path for b in listed(odd, ["!x"])] == ["!x"]


def test_a_short_name_of_several_branches_is_ambiguous():
    with pytest.raises(InvalidRequestError, match=r"'x' names 2 branches: 'a/x', 'b/x'"):
        paths(["x"])


def test_an_unsupported_branch_named_exactly_is_an_error_with_the_reason():
    with pytest.raises(UnsupportedError, match=r"no way to read Jet\.p4"):
        paths(["Jet.p4"])


def test_an_unknown_name_comes_with_the_nearest():
    with pytest.raises(NoSuchColumnError, match="did you mean 'Muon_pt'") as caught:
        paths(["muon_pT"])
    assert caught.value.name == "muon_pT"
    assert caught.value.nearest[0] == "Muon_pt"
    assert isinstance(caught.value, KeyError)
    assert not str(caught.value).startswith(("'", '"'))
    with pytest.raises(NoSuchColumnError, match="no branch matches"):
        paths(["Tau_*"])


def test_filters_are_globs_or_regular_expressions():
    assert paths(filter_name="Muon_*") == ["Muon_pt", "Muon_eta"]
    assert paths(filter_name=["run", "*eta"]) == ["run", "Muon_eta"]
    assert paths(filter_name="/muon_(pt|phi)/i") == ["Muon_pt"]
    assert paths(filter_name="/.*pt$/") == ["Muon_pt", "Jet/Jet.pt"]
    assert paths(["Muon_*"], "*eta") == ["Muon_eta"]
    assert paths(filter_name="odd[2]") == ["odd[2]"]
    assert paths(filter_name="Jet") == ["Jet/Jet.pt"]
    with pytest.raises(InvalidRequestError, match="filter_name"):
        name_filter(["/(/"])


WAYS = {
    "names": lambda tree, texts: select(tree, texts, None, "t").paths,
    "left out": lambda tree, texts: select(tree, [f"!{text}" for text in texts[1:]], None, "t").paths,
    "filter": lambda tree, texts: select(tree, None, texts, "t").paths,
    "list": listed,
    "list without": lambda tree, texts: listed(tree, [f"!{text}" for text in texts]),
    "in vain": lambda tree, texts: Choice.of([f"!{text}" for text in texts]).left_out_in_vain(tree),
    "of a table": lambda tree, texts: chosen([branch.path for branch in tree], texts, "t"),
}


def n_calls_of(way, form, n):
    """Return how many functions are called for so many texts and columns, two for each text."""
    n_calls = 0

    def count(*_):
        nonlocal n_calls
        n_calls += 1

    tree = [B(f"c{n}_{i}_{end}") for i in range(n) for end in "xy"]
    texts = [form.format(f"{n}_{i}") for i in range(n)]
    sys.setprofile(count)
    try:
        way(tree, texts)
    finally:
        sys.setprofile(None)
    return n_calls


@pytest.mark.parametrize("form", ["c{}_*", "*{}_x"])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_many_globs_cost_no_more_than_their_number(way, form):
    assert n_calls_of(way, form, 400) < 16 * n_calls_of(way, form, 50)


def test_many_groups_cost_no_more_than_their_number():
    """A group is not sought among all branches."""
    n_compared = 0

    class Group(B):
        def __eq__(self, other):
            nonlocal n_compared
            n_compared += 1
            return self is other

        __hash__ = None

    groups = [f"g{i}" for i in range(50)]
    tree = [part for name in groups for part in (Group(name, is_group=True), Group(f"{name}/x"))]
    assert select(tree, groups, None, "t").paths == [f"{name}/x" for name in groups]
    assert n_compared == 0


@given(
    st.lists(st.text("ab*?[]!", min_size=1, max_size=4), min_size=1, max_size=6),
    st.lists(st.text("ab[", min_size=1, max_size=4), min_size=1, max_size=6, unique=True),
)
def test_many_globs_find_what_each_alone_finds(texts, names):
    tree = [part for name in names for part in (B(name, is_group=True), B(f"{name}/{name}x"))]
    taken = [text for text in texts if text in names or not text.startswith("!")]

    def matched(branch, text):
        return any(text == name or fnmatchcase(name, text) for name in (branch.path, branch.name))

    wanted = [
        branch
        for name, column in zip(tree[::2], tree[1::2], strict=True)
        for branch in (name, column)
        if any(matched(branch, text) or matched(name, text) for text in taken)
    ]
    assert matching(tree, taken) == wanted
    for text in taken:
        alone = matching(tree, [text])
        if not alone:
            with pytest.raises(NoSuchColumnError):
                select(tree, taken, None, "t")
            return
    if taken:
        found = [path for text in taken for path in select(tree, [text], None, "t").paths]
        assert select(tree, taken, None, "t").paths == list(dict.fromkeys(found))


def test_a_filter_that_leaves_nothing_is_an_error():
    with pytest.raises(NoSuchColumnError, match=r"'Muon_pT' leaves no column.*'Muon_pt'"):
        paths(filter_name="Muon_pT")
    with pytest.raises(NoSuchColumnError, match="leaves no column"):
        paths("run", "Muon_*")


OBJECTS = [
    B("event", is_group=True),
    B("event/empty", is_group=True),
    B("event/tracks", is_group=True),
    B("event/tracks/x"),
    B("event/tracks/hits", unsupported="no way", type_name="Hits"),
    B("event/n"),
    B("bare", is_group=True),
    B("lost", is_group=True),
    B("lost/z", unsupported="no way", type_name="Z"),
    B("run"),
]


def whole(columns=None, filter_name=None):
    return select(OBJECTS, columns, filter_name, "f.root:T", assemble=True)


def test_whole_objects_stand_for_what_is_inside_of_them():
    assert whole() == (["event", "run"], [("event/tracks/hits", "Hits"), ("lost/z", "Z")])
    assert whole("*") == whole(filter_name="*") == whole()
    assert whole("event/*") == whole(filter_name="event/*")
    assert whole("event/*") == (["event/tracks", "event/n"], [("event/tracks/hits", "Hits")])
    assert whole(filter_name="tracks") == whole("event/tracks") == whole("tracks")
    assert whole(["event/tracks", "event"]).paths == ["event/tracks", "event"]
    assert whole("*s/x").paths == ["event/tracks/x"]
    for name in ("lost", "bare", "event/empty"):
        with pytest.raises(UnsupportedError, match=f"nothing in '{name}'"):
            whole(name)


def test_a_glob_of_groups_stands_for_their_members():
    found = select(OBJECTS, "event*ks", None, "f.root:T")
    assert found == (["event/tracks/x"], [("event/tracks/hits", "Hits")])


def test_what_is_no_name_is_refused():
    for wrong in ([3], ["a", None], 3, b"a", 1.5):
        with pytest.raises(InvalidRequestError, match="columns: expected"):
            paths(wrong)
        with pytest.raises(InvalidRequestError, match="filter_name: expected"):
            paths(filter_name=wrong)


def test_a_slash_in_a_name_makes_no_member_of_a_group():
    branches = [B("g", is_group=True), B("g/x"), B("g/y")]
    branches[2].__class__ = type("Top", (B,), {"depth": 0})
    assert select(branches, ["g"], None, "T").paths == ["g/x"]
    assert [branch.path for branch in matching(branches, ["g"])] == ["g", "g/x"]


def friend_names(columns):
    branches = candidates_of([Names(None, [B("run"), B("pt")]), Names("f", [B("pt"), B("eta")])], columns)
    return select(branches, columns, None, "T").paths


def test_friends_are_named_plainly_where_unambiguous_and_by_alias_where_not_or_asked_for():
    assert friend_names(None) == ["run", "pt", "f.pt", "eta"]
    assert friend_names(["eta", "pt"]) == ["eta", "pt"]
    assert friend_names(["f.eta", "f.pt"]) == ["f.eta", "f.pt"]
    assert friend_names(["f.*"]) == ["f.pt", "f.eta"]
