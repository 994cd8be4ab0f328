"""Writes the trees of ``layout_cases`` with ROOT: run in its process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.judge import macros
from tests.judge.lazy import ROOT

from .layout_cases import (
    OBJECTS,
    Array,
    Case,
    Class,
    Kind,
    Packed,
    Vector,
    cases,
    declared,
    spelled,
)

AUTO_SAVE = -300_000_000
#: Branches are made in C++: of many an object PyROOT gives TTree::Branch an address that does not last.
CODE = r"""
#include <string>
#include <vector>
#include <TTree.h>
template <class T> void make_branch(TTree &tree, const std::string &name, T &object, int basket_size, int split)
{
   tree.Branch(name.c_str(), &object, basket_size, split);
}
"""


def linked() -> list[str]:
    """The classes of the columns: all that a dictionary has to be made of."""
    kinds = OBJECTS.values()
    return [
        *(spelled(kind.of) for kind in kinds if isinstance(kind, Vector)),
        *(spelled(kind) for kind in kinds),
    ]


def set_items(vector: Any, of: Kind, values: list[Any]) -> None:
    """Give a vector other items."""
    vector.clear()
    for place, value in enumerate(values):
        if isinstance(of, str | Packed):
            vector.push_back(value)
            continue
        vector.resize(place + 1)
        if isinstance(of, Vector):
            set_items(vector[place], of.of, value)
        elif isinstance(of, Class):
            set_members(vector[place], of, value)


def set_members(one: Any, kind: Class, values: dict[str, Any]) -> None:
    """Give an object other members."""
    for name, member in kind.members:
        value = values[name]
        if isinstance(member, str) or (isinstance(member, Packed) and not member.dims):
            setattr(one, name, value)
        elif isinstance(member, Packed):
            for place, number in enumerate(value):
                getattr(one, f"set_{name}")(place, number)
        elif isinstance(member, Array):
            set_array(getattr(one, name), value)
        elif isinstance(member, Vector):
            set_items(getattr(one, name), member.of, value)
        else:
            set_members(getattr(one, name), member, value)


def set_array(array: Any, values: list[Any]) -> None:
    for place, value in enumerate(values):
        if isinstance(value, list):
            set_array(array[place], value)
        else:
            array[place] = value


def write(case: Case) -> None:
    """Write a case with the name that a reproducible file has."""
    file = ROOT.TFile.Open(f"{case.file_name}?reproducible={case.file_name}", "recreate", "", 0)
    tree = ROOT.TTree("T", "")
    # ROOT would write the tree in between.
    tree.SetAutoSave(0)
    tree.SetAutoFlush(case.flush or 0)
    kind = OBJECTS[case.kind]
    ROOT.TVirtualStreamerInfo.SetStreamMemberWise(case.memberwise)
    value = getattr(ROOT, kind.name)() if isinstance(kind, Class) else ROOT.std.vector[spelled(kind.of)]()
    ROOT.make_branch(tree, case.branch_name, value, case.basket_size, case.split)
    for entry, values in enumerate(case.values):
        if isinstance(kind, Class):
            set_members(value, kind, values)
        else:
            assert isinstance(kind, Vector)
            set_items(value, kind.of, values)
        tree.Fill()
        if entry + 1 == case.flush:
            # ROOT has fitted the sizes of baskets to the first cluster.
            tree.SetBasketSize("*", case.basket_size)
    tree.SetAutoSave(AUTO_SAVE)
    named = ROOT.TNamed("ARROW:schema", Path(case.schema_name).read_text())
    ROOT.SetOwnership(named, False)  # it is the tree's
    tree.GetUserInfo().Add(named)
    tree.Write()
    file.Close()


def write_all(versions: dict[str, int]) -> None:
    """Write the cases whose schema, as arrowroot recorded it, is there, with the versions that it gave the classes.

    The classes are compiled, as ROOT refuses vectors of others.
    """
    classes = dict.fromkeys(line for kind in OBJECTS.values() for line in declared(kind, versions))
    links = [f"#pragma link C++ class {name}+;" for name in linked()]
    macros.load("\n".join([CODE, *classes, "#ifdef __CLING__", *links, "#endif", ""]))
    for case in cases():
        if Path(case.schema_name).exists():
            write(case)
