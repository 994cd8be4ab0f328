"""The functions and constants that expressions have, by all their names."""

from __future__ import annotations

import math

#: Names of functions, with the fewest and most arguments.
FUNCTIONS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(
        [
            "any",
            "all",
            "sum",
            "count",
            "len",
            "Sum$",
            "Length$",
            "Min$",
            "Max$",
            "prod",
            "mean",
            "argmin",
            "argmax",
        ],
        (1, 1),
    ),
    **dict.fromkeys(["sorted", "argsort", "reversed"], (1, 1)),
    **dict.fromkeys(("min", "max"), (1, 1000)),
    **dict.fromkeys(
        ["abs", "sqrt", "cbrt", "exp", "expm1", "log", "log1p", "log2", "log10", "floor", "ceil"],
        (1, 1),
    ),
    **dict.fromkeys(
        ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"],
        (1, 1),
    ),
    **dict.fromkeys(
        ["round", "rint", "int", "float", "sign", "square", "even", "odd", "isnan", "isfinite", "is_null"],
        (1, 1),
    ),
    **dict.fromkeys(["pow", "atan2", "hypot", "fmod", "copysign", "xor", "coalesce"], (2, 2)),
    **dict.fromkeys(("startswith", "endswith", "contains"), (2, 2)),
    "isin": (2, 10_000),
    **dict.fromkeys(("take", "concatenate"), (2, 2)),
    "where": (3, 3),
    **dict.fromkeys(("MinIf$", "MaxIf$"), (2, 2)),
    **dict.fromkeys(("first", "second"), (1, 2)),
    "third": (1, 1),
    "per": (2, 2),
    "DeltaPhi": (2, 2),
    "DeltaR": (4, 4),
    "InvariantMass": (4, 4),
    "InvariantMasses": (8, 8),
}
#: Functions that compare texts.
OF_TEXTS = ("in", "isin", "startswith", "endswith", "contains")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_NEVER_NULL = (
    "+ - * / == != < <= > >= sum len any all count is_null isnan isfinite abs sqrt cbrt exp expm1 log log1p log2 log10 "
    "floor ceil sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh rint round sign square pow atan2 hypot "
    "float DeltaPhi DeltaR isin in prod even odd xor sorted argsort reversed concatenate first second third per "
    "Sum$ Length$ Min$ Max$ .size"
)
#: Operators and functions that have a value wherever what they are of has.
NEVER_NULL = frozenset(_NEVER_NULL.split())
_SAME_IN_TMATH = "Abs Sqrt Exp Log Log2 Log10 Floor Ceil Sin Cos Tan Hypot Min Max Even Odd"
#: Functions by other names: of TTree::Draw, RVec, TMath, C++ and NumPy.
ALIASES = {
    "Alt$": "coalesce",
    "strstr": "contains",
    "sq": "square",
    "Any": "any",
    "All": "all",
    "Sum": "sum",
    "Product": "prod",
    "Mean": "mean",
    "Max": "max",
    "Min": "min",
    "ArgMax": "argmax",
    "ArgMin": "argmin",
    "Sort": "sorted",
    "Argsort": "argsort",
    "Reverse": "reversed",
    "Take": "take",
    "Concatenate": "concatenate",
    "Where": "where",
    "fabs": "abs",
    "double": "float",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    **{f"TMath::{name}": name.lower() for name in _SAME_IN_TMATH.split()},
    **{
        f"TMath::A{name}": f"a{name.lower()}"
        for name in ("Sin", "Cos", "Tan", "Tan2", "SinH", "CosH", "TanH")
    },
    **{f"TMath::{name}": name.lower() for name in ("SinH", "CosH", "TanH")},
    "TMath::Power": "pow",
    "TMath::Sq": "square",
    "TMath::Nint": "rint",
    "TMath::Sign": "copysign",
    "TMath::IsNaN": "isnan",
    "TMath::Finite": "isfinite",
}
#: Constants, as functions without arguments or as names.
CONSTANTS = {
    "TMath::Pi": math.pi,
    "TMath::TwoPi": 2 * math.pi,
    "TMath::PiOver2": math.pi / 2,
    "TMath::E": math.e,
    "TMath::DegToRad": math.pi / 180,
    "TMath::RadToDeg": 180 / math.pi,
    "M_PI": math.pi,
    "pi": math.pi,
}
#: What stands for the number of the entry: as TTree::Draw and RDataFrame call it.
ENTRY_NAMES = ("Entry$", "rdfentry_")
#: Methods of lists, and the functions that they are.
METHODS = {"size": "size", "length": "size", "empty": "empty", "front": "front", "back": "back", "at": "at"}
#: What they ask of a list; no function has the name.
SIZE = ".size"
_PREFIXES = ("ROOT::VecOps::", "VecOps::", "std::")


def function_of(name: str) -> str | None:
    """Return the function that a text calls by one of its names; None if there is none."""
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    found = ALIASES.get(name, name)
    return found if found in FUNCTIONS else None
