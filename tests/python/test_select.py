import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

import arrowroot as ar
from arrowroot import NoSuchColumnError, UnsupportedError
from arrowroot._converting.inputs import chosen
from arrowroot._passes.friends import Names, candidates_of
from arrowroot._select import columns
from arrowroot._select.columns import Choice, listed, matching
from arrowroot._select.columns import select as select_choice
from tests.recorded import session


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


def test_columns_are_chosen_by_names_globs_and_marks(tmp_path):
    session("choices", tmp_path, {**vars(columns), **globals(), "EventList": ar.EventList})
    with pytest.raises(KeyError, match="no branch") as caught:
        paths(["muon_pT"])
    assert (type(caught.value), caught.value.name) == (NoSuchColumnError, "muon_pT")
    assert caught.value.nearest[0] == "Muon_pt"


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
