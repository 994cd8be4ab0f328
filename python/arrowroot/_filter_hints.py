"""The lines to write in filters, and other expressions, for what people from ROOT, NumPy and Awkward Array type.

Each runs as it stands, on the columns ``x``, ``n``, ``v`` (a list), ``text`` and ``muon`` (a record). Nothing here is
imported before something is not understood.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from arrowroot._hints import line_of, near
from arrowroot._render import N_QUOTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: What filters have instead of functions of ROOT and C++, beside those that differ in a prefix and in capitals alone.
TO_CALL = {
    "TMath::MaxElement": "Max$(v) > 1",
    "TMath::MinElement": "Min$(v) > 1",
    "Int_t long short": "int(x) > 1",
    "Float_t Double_t": "float(n) > 1",
    "power": "x ** 2 > 1",
    "isNaN": "!isnan(x)",
    "bool Bool_t": "x != 0",
    "strcmp": 'text == "a"',
    "mod": "n % 2 == 0",
    "TMath::CeilNint": "ceil(x) == 1",
    "TMath::FloorNint": "floor(x) == 1",
    "TMath::Range clip np.clip clamp std::clamp": "max(0, min(x, 2)) > 1",
    "strlen": "text.size() > 1",
    "avg average": "mean(v) > 1",
    "ak.num ak.count_nonzero np.size": "len(v) > 1",
    "ak.firsts": "v[0] > 1",
    "np.where numpy.where ak.where if_else ifelse iif": "where(n > 2, x, 1) > 1",
    "col pl.col F.col field pc.field": "n > 1",
    "ak.max np.max numpy.max": "Max$(v) > 1",
    "ak.min np.min numpy.min": "Min$(v) > 1",
    "if": "n > 2 ? x > 1 : x > 3",
    "Filter": "sum(v[v > 1]) > 1",
    "Nonzero": "sum(v[v > 1]) > 1  # a condition stands in the place of indices",
    "Map": "sum(sqrt(v)) > 1  # functions and operators are of each item",
    "Dot np.dot": "sum(v * v) > 1",
    "Var": "(mean(v ** 2) - mean(v) ** 2) * len(v) / (len(v) - 1) > 1",
    "StdDev": "sqrt((mean(v ** 2) - mean(v) ** 2) * len(v) / (len(v) - 1)) > 1",
    "np.var ak.var": "mean(v ** 2) - mean(v) ** 2 > 1",
    "np.std ak.std": "sqrt(mean(v ** 2) - mean(v) ** 2) > 1",
    "sizeof": "len(v) > 1",
    "Combinations ak.combinations ak.cartesian": "any(first(v) > 2 * second(v))",
}
#: And instead of methods of a column.
TO_ASK = {
    **{name: f"{name}({{}})" for name in ("any", "all", "sum", "count")},
    "isin": "isin({}, 1, 2)",
    "between": "{0} >= 1 && {0} <= 2",
    "isna isnull": "is_null({})",
    "notna notnull": "!is_null({})",
    "contains": 'contains({}, "a")',
    "startswith": 'startswith({}, "a")',
    "endswith": 'endswith({}, "a")',
    "max": "Max$({})",
    "min": "Min$({})",
}
#: Names before a dot or two colons that are of no column.
_MODULES = ("np", "numpy", "ak", "awkward", "math", "cmath", "pc", "std", "TMath", "ROOT", "ROOT.VecOps")
#: What they have instead of words that stand where an operator does, whatever their case.
TO_JOIN = {
    "and": "x > 1 && n > 2",
    "or": "x > 1 || n > 2",
    "in": "isin(n, 1, 2, 3)",
    "xor": "(x > 1) != (n > 2)",
    "is+not+none is+not+null is+not+nullptr is+not+na": "!is_null(x)",
    "is+none is+null is+nullptr is+na": "is_null(x)",
    "is+not+nan": "!isnan(x)",
    "is+nan": "isnan(x)",
    "is+not+in": "!isin(n, 1, 2, 3)",
    "is+in": "isin(n, 1, 2, 3)",
    "is+not": "x != 1",
    "is": "n == 1",
    "as": 'x > 1  # a name of your own: define={"y": "x > 1"}',
    "if": "n > 2 ? x > 1 : x > 3",
    "between": "x >= 1 && x <= 2",
    "like": 'contains(text, "a")',
}
#: What they have instead of names that are no columns.
TO_NAME = {
    "LocalEntry$ tdfentry_ entry": "entries=slice(0, 5)  # or Entry$ < 5, with a condition on a column",
    "None null nullptr NULL NA": "is_null(x)",
    "TRUE FALSE kTRUE kFALSE": "n == true  # or false",
    "Length$": "Length$(v) > 1",
    "int Int_t long Long64_t short unsigned": "int(x) > 1",
    "float double Float_t Double_t": "float(n) > 1",
    "nan NaN": "!isnan(x)",
}
_INTEGERS = r"(?:int|long|short|unsigned|u?int\d+_t|U?Int_t|U?Long64_t)"
_REALS = r"(?:float|double|Float_t|Double_t)"
#: And instead of signs, which these patterns find where a filter cannot be understood.
TO_SIGN = {
    r"@\w+": 'x > 1  # a value of Python: filter=f"x > {cut}"',
    r"<>": "x != 1",
    # Casts of C and C++.
    rf"\(\s*{_INTEGERS}\s*\)\s*([\w.]+)": "int({0})",
    rf"\(\s*{_INTEGERS}\s*\)\s*\(|static_cast\s*<\s*{_INTEGERS}\s*>": "int(x) > 1",
    rf"\(\s*{_REALS}\s*\)\s*([\w.]+)": "float({0})",
    rf"\(\s*{_REALS}\s*\)\s*\(|static_cast\s*<\s*{_REALS}\s*>": "float(n) > 1",
    # Signs of papers and of word processors.
    "≥": "x >= 1",
    "≤": "x <= 1",
    "≠": "x != 1",
    "[×·⋅∙]": "2 * x > 1",  # noqa: RUF001 - they look alike, which is why people write them
    "÷": "x / 2 > 1",
    "[−–—]": "x - 1 > 0",  # noqa: RUF001 - as the one above
    "[“”„‘’‚«»]": 'text == "a"',  # noqa: RUF001 - as the one above
    # The slices of NumPy and Awkward Array, with what they are of.
    r"([\w.]+)\[\s*(?::|\.\.\.)\s*,\s*(-?\d+)\s*\]": "{0}[{1}]",
    r"([\w.]+)\[(?:\s*(?::|\.\.\.)\s*,)?\s*0?\s*:\s*(\d+)\s*\]": "take({0}, {1})",
    r"([\w.]+)\[(?:\s*(?::|\.\.\.)\s*,)?\s*(-\d+)\s*:\s*\]": "take({0}, {1})",
    r"([\w.]+)\[(?:\s*(?::|\.\.\.)\s*,)?\s*(\d+)\s*:\s*\]": "{0}[Iteration$ >= {1}]",
    r"([\w.]+)\[(?:\s*(?::|\.\.\.)\s*,)?\s*(\d+)\s*:\s*(\d+)\s*\]": "{0}[Iteration$ >= {1} && Iteration$ < {2}]",
    r"([\w.]+)\[[^],]*:[^],]*\]?": "take({0}, 2)",
    r":": "n > 2 ? x > 1 : x > 3",
    r"->": "muon.pt > 1",
    r"//": "floor(n / 2) == 1",
    r";\s*$": "x > 1  # no sign ends an expression",
    r";": "x > 1 && n > 2",
}
#: So many letters before and behind a sign may belong to what stands there.
_N_AROUND = 100


def for_function(name: str, functions: Iterable[str]) -> str:
    """Return what to write in a filter instead of a function that there is not."""
    line = line_of(TO_CALL, name)
    owner, _, bare = name.replace("::", ".").rpartition(".")
    if line is None and owner and owner not in _MODULES:
        column = owner.removesuffix(".str")
        called = f"{bare.lower()}({{}})" if bare.lower() in functions else ""
        line = (line_of(TO_ASK, bare) or called).format(column) or None
    if line is None and bare.lower() != name and bare.lower() in functions:
        line = f"{bare.lower()}(x)"
    if line is not None:
        return f": write {line}"
    first = list(functions)
    return near(name, first) or (
        f"; there are {', '.join(first[:N_QUOTED])} and {len(first) - N_QUOTED} more: docs/guide.md has them"
    )


def for_name(name: str) -> str | None:
    """Return what to write instead of a name in a filter that is no column; None if nobody knows what was meant."""
    return line_of(TO_NAME, name)


def for_number(text: str, number: str) -> str:
    """Return what to write instead of a number with a suffix of C, or with Python's marks of thousands."""
    whole = re.match(r"[\w.]{1,40}", text)
    written = whole[0] if whole else number
    if re.fullmatch(r"[0-9]+(_[0-9]+)+", written):
        return f": write {written.replace('_', '')}"
    return f": write {number}" if re.fullmatch("[fFuUlL]{1,3}", written.removeprefix(number)) else ""


def for_word(word: str, behind: Sequence[str]) -> str | None:
    """Return what to write in a filter instead of a word between operands; None if nobody knows what was meant.

    behind: what stands behind it, two words at most.
    """
    words = [one.lower() for one in (word, *behind)]
    of_several = ("+".join(words[:n]) for n in range(len(words), 0, -1))
    return next(filter(None, (line_of(TO_JOIN, one) for one in of_several)), None)


def for_sign(text: str, index: int) -> tuple[str, str] | None:
    """Return what stands around an index that a filter cannot have there, and what to write instead."""
    # Only what is near is looked at: some patterns take the square of a text's length.
    first = max(0, index - _N_AROUND)
    near_by = text[first : index + _N_AROUND]
    for pattern, line in TO_SIGN.items():
        for found in re.finditer(pattern, near_by):
            if found.start() <= index - first <= found.end() - 1:
                return found[0], line.format(*found.groups()) if found.groups() else line
    return None
