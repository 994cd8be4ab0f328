"""Trees: sums, tables of baskets, the baskets themselves, counters, texts, clusters.

Sources: root-io-spec, 06-writing/WritingTrees (section 9), 04-ttree (TTree, TBranch, TBasket, TLeaf).
"""

from __future__ import annotations

import itertools
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .reading import Cursor, DamagedError, Findings, string_bytes

if TYPE_CHECKING:
    from .container import Container, Key
    from .objects import Instance

#: Values that a tree's record has always, as ROOT's constructor or a plain tree has them.
LEAF_WIDTHS = {
    "TLeafB": 1, "TLeafS": 2, "TLeafI": 4, "TLeafL": 8, "TLeafG": 8, "TLeafF": 4, "TLeafD": 8, "TLeafO": 1, "TLeafC": 1,
    "TLeafF16": 4, "TLeafD32": 8,
}  # fmt: skip
#: Values of these take other sizes in a basket than in memory, as their titles say.
PACKED = ("TLeafF16", "TLeafD32")
WIDTH_CODES = {1: "b", 2: "h", 4: "i", 8: "q"}


@dataclass
class Basket:
    """A basket in a record of its own."""

    key: Key
    buffer_bytes: int
    n_bytes_of_entry: int
    n_entries: int
    last: int
    io_bits: int
    flag: int
    first_entry: int = 0

    @property
    def data_bytes(self) -> int:
        """Of its entries, without offsets."""
        return self.last - self.key.key_bytes


@dataclass
class BranchView:
    """A branch with its baskets, and what is known of its leaves."""

    path: str
    object: Instance
    baskets: list[Basket] = field(default_factory=list)

    @property
    def leaves(self) -> list[Instance]:
        return [leaf for leaf in self.object["fLeaves"]["items"] if leaf is not None]


class Tree:
    """Checks one tree."""

    def __init__(self, container: Container, findings: Findings, tree: Instance, where: str) -> None:
        self.container = container
        self.findings = findings
        self.tree = tree
        self.where = where
        self.branches: list[BranchView] = []
        #: Of each counter: the largest count that a basket has, by the identity of its leaf.
        self.counts: dict[int, list[int]] = {}

    def check(self) -> None:
        tree, told, where = self.tree, self.findings, self.where
        self._collect(tree["fBranches"]["items"], where)
        for branch in self.branches:
            self._branch(branch)
        top = [b for b in self.branches if b.object["fBranches"]["items"] == [] or b.baskets]
        for name in ("fTotBytes", "fZipBytes"):
            told.equal("tree-sums", where, name, tree[name], sum(int(b.object[name]) for b in top))
        for name in ("fFlushedBytes", "fSavedBytes"):
            told.true("tree-flushed", where, 0 <= tree[name] <= max(tree["fZipBytes"], tree["fTotBytes"]),
                      f"{name} is {tree[name]}")  # fmt: skip
        told.equal("tree-weight", where, "fWeight", tree["fWeight"], 1.0)
        told.true(
            "tree-virtual",
            where,
            tree["fMaxVirtualSize"] >= 0,
            f"fMaxVirtualSize is {tree['fMaxVirtualSize']}",
        )
        self._leaf_list()
        self._clusters()
        for branch in self.branches:
            self._leaves(branch)

    def _collect(self, branches: list[Instance | None], where: str) -> None:
        names = []
        for branch in branches:
            if branch is None:
                self.findings.add("branch-null", where, "a null among its branches")
                continue
            names.append(branch["fName"])
            path = f"{where}, branch {branch['fName']}"
            self.branches.append(BranchView(path, branch))
            self._collect(branch["fBranches"]["items"], path)
        self.findings.equal("branch-names", where, "the names of its branches", len(set(names)), len(names))

    def _leaf_list(self) -> None:
        listed = [id(leaf) for leaf in self.tree["fLeaves"]["items"]]
        own = [id(leaf) for branch in self.branches for leaf in branch.leaves]
        self.findings.equal(
            "tree-leaves", self.where, "fLeaves names each leaf once", sorted(listed), sorted(own)
        )

    # -- clusters

    def _clusters(self) -> None:
        tree, told, where = self.tree, self.findings, self.where
        ends, sizes = tree["fClusterRangeEnd"], tree["fClusterSize"]
        told.equal("cluster-ranges", where, "values of the ranges", (len(ends), len(sizes)),
                   (tree["fNClusterRange"],) * 2)  # fmt: skip
        told.equal("cluster-ranges", where, "ends of ranges in order", ends, sorted(set(ends)))
        told.true("cluster-ranges", where, all(size > 0 for size in sizes), f"sizes of clusters: {sizes}")
        n_entries = int(tree["fEntries"])
        told.true(
            "cluster-ranges", where, not ends or ends[-1] < max(n_entries, 1), f"a range ends at {ends[-1:]}"
        )
        # A border that is told is a border of baskets, in every branch that has baskets of its own.
        borders, begin = set(), 0
        ranges = [*zip(ends, sizes, strict=False)]
        if tree["fAutoFlush"] > 0 and (tree["fFlushedBytes"] > 0 or ends):
            ranges.append((n_entries - 1, tree["fAutoFlush"]))
        for last, size in ranges:
            if size > 0:
                borders.update(range(begin, int(last) + 1, int(size)))
            begin = int(last) + 1
        for branch in self.branches:
            firsts = {basket.first_entry for basket in branch.baskets}
            missing = sorted(borders - firsts)
            if firsts and missing:
                told.add(
                    "cluster-borders",
                    branch.path,
                    f"no basket begins at the border of a cluster, {missing[:3]}",
                )

    # -- branches and baskets

    def _branch(self, view: BranchView) -> None:
        branch, told, where = view.object, self.findings, view.path
        n_baskets, n_slots = int(branch["fWriteBasket"]), int(branch["fMaxBaskets"])
        seeks, sizes, firsts = branch["fBasketSeek"], branch["fBasketBytes"], branch["fBasketEntry"]
        told.equal(
            "branch-arrays",
            where,
            "values of its arrays",
            [len(seeks), len(sizes), len(firsts)],
            [n_slots] * 3,
        )
        if not 0 <= n_baskets < min(len(firsts), len(seeks), len(sizes)):
            told.add("branch-arrays", where, f"fMaxBaskets {n_slots}, {n_baskets} baskets")
            return
        told.true("branch-null-baskets", where, all(one is None for one in branch["fBaskets"]["items"]),
                  "a basket lies in the tree's record")  # fmt: skip
        told.equal("branch-file", where, "fFileName", branch["fFileName"], "")
        first = int(branch["fFirstEntry"])
        if n_baskets:
            told.equal("branch-entries", where, "the first entry of the first basket", firsts[0], first)
            told.equal(
                "branch-entries", where, "fBasketEntry at the end", firsts[n_baskets], branch["fEntryNumber"]
            )
            told.equal("branch-entries", where, "entries", branch["fEntryNumber"], first + branch["fEntries"])
            told.equal(
                "branch-entries", where, "entries of the tree", branch["fEntries"], self.tree["fEntries"]
            )
        elif not branch["fBranches"]["items"]:
            told.equal("branch-entries", where, "entries without a basket", branch["fEntries"], 0)
        told.true("branch-entries", where, all(a < b for a, b in itertools.pairwise(firsts[: n_baskets + 1])),
                  "first entries of its baskets do not grow")  # fmt: skip
        told.true("branch-tail", where, not any(seeks[n_baskets:]), "seeks after the last basket")
        total = zipped = 0
        for number in range(n_baskets):
            basket = self._basket(view, number, int(seeks[number]))
            if basket is None:
                continue
            basket.first_entry = int(firsts[number])
            view.baskets.append(basket)
            told.equal("basket-bytes", where, f"fBasketBytes[{number}]", sizes[number], basket.key.n_bytes)
            told.equal("basket-entries", where, f"entries of basket {number}", basket.n_entries,
                       firsts[number + 1] - firsts[number])  # fmt: skip
            total += basket.key.key_bytes + basket.key.object_bytes
            zipped += basket.key.n_bytes
        told.equal("branch-sums", where, "fTotBytes", branch["fTotBytes"], total)
        told.equal("branch-sums", where, "fZipBytes", branch["fZipBytes"], zipped)

    def _basket(self, view: BranchView, number: int, seek: int) -> Basket | None:
        told, where = self.findings, f"{view.path}, basket {number}"
        key = self.container.record(seek, "basket-seek", where)
        if key is None:
            return None
        told.equal("basket-key", where, "its class", key.class_name, "TBasket")
        told.equal("basket-key", where, "its name", key.name, view.object["fName"])
        told.equal("basket-key", where, "its title", key.title, self.tree["fName"])
        cursor = Cursor(self.container.data, seek + key.parsed_bytes)
        version, buffer_bytes, per_entry = cursor.integer("h"), cursor.integer("i"), cursor.integer("i")
        io_bits = 0
        if per_entry < 0:
            per_entry, io_bits = -per_entry, cursor.integer("B")
        n_entries, last, flag = cursor.integer("i"), cursor.integer("i"), cursor.integer("B")
        told.equal("basket-version", where, "its version", version, 3)
        told.true("basket-flag", where, flag == 0 or (flag == 80 and io_bits != 0), f"its flag is {flag}")
        names = string_bytes(key.class_name) + string_bytes(key.name) + string_bytes(key.title)
        told.equal("basket-length", where, "fKeylen", key.key_bytes, 34 + names + 19 + (io_bits != 0))
        told.true(
            "basket-last",
            where,
            key.key_bytes <= last <= key.key_bytes + key.object_bytes,
            f"fLast is {last}",
        )
        basket = Basket(key, buffer_bytes, per_entry, n_entries, last, io_bits, flag)
        self._basket_payload(view, basket, where)
        return basket

    def _basket_payload(self, view: BranchView, basket: Basket, where: str) -> None:
        told = self.findings
        try:
            payload = self.container.payload(basket.key)
        except DamagedError as error:
            told.add("basket-payload", where, error)
            return
        n_data, n_entries = basket.data_bytes, basket.n_entries
        has_offsets = bool(view.object["fEntryOffsetLen"]) and basket.flag != 80
        rest = len(payload) - n_data
        ends: list[int] | None = None
        if has_offsets:
            told.equal("basket-offsets", where, "bytes of offsets", rest, 4 * (n_entries + 2))
            if rest == 4 * (n_entries + 2):
                count, *offsets = struct.unpack_from(f">{n_entries + 2}i", payload, n_data)
                told.equal("basket-offsets", where, "their count", count, n_entries + 1)
                if basket.io_bits:
                    told.equal(
                        "basket-offsets", where, "the sum of sizes", sum(offsets) + basket.key.key_bytes, 0
                    )
                    offsets = [*itertools.accumulate([basket.key.key_bytes, *offsets[1:-1]]), 0]
                told.equal("basket-offsets", where, "the first offset", offsets[0], basket.key.key_bytes)
                inner = offsets[:-1]
                told.true("basket-offsets", where, inner == sorted(inner) and inner[-1] <= basket.last,
                          "offsets that do not grow, or lie past fLast")  # fmt: skip
                told.true(
                    "basket-offsets",
                    where,
                    offsets[-1] in (0, basket.last),
                    f"the last offset is {offsets[-1]}",
                )
                ends = [offset - basket.key.key_bytes for offset in [*inner, basket.last]]
        elif basket.flag != 80:
            told.equal("basket-fixed", where, "bytes after the entries", rest, 0)
            told.equal(
                "basket-fixed", where, "bytes of its entries", n_data, n_entries * basket.n_bytes_of_entry
            )
        self._values(view, payload[:n_data], ends, where)

    def _values(self, view: BranchView, data: bytes, ends: list[int] | None, where: str) -> None:
        """Counts of counters, and lengths of texts."""
        leaves = view.leaves
        if len(leaves) != 1:
            return
        (leaf,) = leaves
        if leaf["fIsRange"] and leaf.class_name in LEAF_WIDTHS:
            width = LEAF_WIDTHS[leaf.class_name]
            values = struct.unpack(f">{len(data) // width}{WIDTH_CODES[width]}", data)
            self.counts.setdefault(id(leaf), []).extend(values)
            if values:
                self.findings.true("leaf-maximum", where, max(values) <= leaf["fMaximum"] and min(values) >= 0,
                                   f"counts {min(values)} to {max(values)}, fMaximum {leaf['fMaximum']}")  # fmt: skip
        if leaf.class_name == "TLeafC" and ends is not None:
            for begin, end in itertools.pairwise(ends):
                if begin == end:
                    continue
                cursor = Cursor(data, begin)
                n_bytes = cursor.integer("B")
                if n_bytes == 255:
                    n_bytes = cursor.integer("i")
                self.findings.equal("text-length", where, "the end of a text", cursor.at + n_bytes, end)
                self.findings.true("text-maximum", where, n_bytes < leaf["fLen"],
                                   f"a text of {n_bytes} bytes, fLen {leaf['fLen']}")  # fmt: skip

    # -- leaves

    def _leaves(self, view: BranchView) -> None:
        told, branch = self.findings, view.object
        for leaf in view.leaves:
            where = f"{view.path}, leaf {leaf['fName']}"
            kind = leaf.class_name
            width = LEAF_WIDTHS.get(kind)
            if width is not None:
                told.equal("leaf-width", where, "fLenType", leaf["fLenType"], width)
                title = leaf["fTitle"].partition("[")[0].partition("/")[0]
                told.equal("leaf-title", where, "its title without dimensions", title, leaf["fName"])
            elif kind == "TLeafElement" and branch["fID"] == -1 and branch["fType"] <= 0:
                told.equal("leaf-element", where, "its name", leaf["fName"], branch["fName"].rstrip("."))
                told.equal("leaf-element", where, "fLen, fLenType", (leaf["fLen"], leaf["fLenType"]), (1, 0))
            counter = leaf["fLeafCount"]
            if kind in PACKED:
                width = packed_width(kind, leaf["fTitle"])
            if counter is not None and width is not None:
                told.true(
                    "leaf-counter",
                    where,
                    bool(counter["fIsRange"]),
                    f"its counter {counter['fName']} has no fIsRange",
                )
                told.true("leaf-title", where, f"[{counter['fName']}]" in leaf["fTitle"],
                          f"its title is {leaf['fTitle']!r}, its counter {counter['fName']}")  # fmt: skip
                told.true(
                    "leaf-offsets", where, bool(branch["fEntryOffsetLen"]), "a counted leaf without offsets"
                )
                self._sizes(view, leaf, counter, where)
            elif (
                width is not None
                and kind != "TLeafC"
                and len(view.leaves) == 1
                and branch.class_name == "TBranch"
            ):
                told.equal("leaf-offsets", where, "fEntryOffsetLen", branch["fEntryOffsetLen"], 0)
                for basket in view.baskets:
                    told.equal(
                        "leaf-bytes",
                        where,
                        "bytes of an entry",
                        basket.n_bytes_of_entry,
                        leaf["fLen"] * width,
                    )
            if kind == "TLeafC":
                self._text(view, leaf, where)

    def _sizes(self, view: BranchView, leaf: Instance, counter: Instance, where: str) -> None:
        """The bytes of an array are as many as its counter counts."""
        counts = self.counts.get(id(counter))
        width = LEAF_WIDTHS.get(leaf.class_name)
        if leaf.class_name in PACKED:
            width = packed_width(leaf.class_name, leaf["fTitle"])
        if counts is None or width is None or view.object.class_name != "TBranch":
            return
        told = self.findings
        for number, basket in enumerate(view.baskets):
            of_basket = counts[basket.first_entry : basket.first_entry + basket.n_entries]
            wanted = sum(of_basket) * int(leaf["fLen"]) * width
            told.equal("leaf-counted", where, f"bytes of basket {number}", basket.data_bytes, wanted)

    def _text(self, view: BranchView, leaf: Instance, where: str) -> None:
        told = self.findings
        told.equal("text-leaf", where, "fMinimum", leaf["fMinimum"], 0)
        told.equal("text-leaf", where, "fIsRange", bool(leaf["fIsRange"]), False)
        if view.baskets:  # of no entries ROOT says 1 and 0
            told.equal("text-leaf", where, "fLen", leaf["fLen"], leaf["fMaximum"])
        told.equal("text-leaf", where, "leaves of its branch", len(view.leaves), 1)
        told.true("text-leaf", where, bool(view.object["fEntryOffsetLen"]), "a text without offsets")


def packed_width(class_name: str, title: str) -> int:
    """Bytes of a packed number in a basket: bits of a mantissa take 3, steps in a range and floats 4."""
    inside = title.partition("/")[2][2:].removesuffix("]").split(",")
    has_range = len(inside) > 1 and float(inside[0]) < float(inside[1])
    if has_range:
        return 4
    return 3 if class_name == "TLeafF16" or (len(inside) == 3 and int(inside[2]) < 15) else 4


def check_tree(container: Container, findings: Findings, tree: Any, where: str) -> None:
    """Check one tree."""
    Tree(container, findings, tree, where).check()
