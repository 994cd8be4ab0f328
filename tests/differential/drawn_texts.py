"""Selections that people write for TTree::Draw, and a grammar that it takes, on the tree of ``with_selections``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

#: By what is in them; the meaning is Draw's.
KINDS = {
    "arithmetic": [
        "i + j > 3", "i - j < 0", "i * j > 10", "i / 4 > 1.5", "i % 4 == 1", "-i > 3", "3 < i + 0", "2*x*x + y > 3",
        "(x + y) / 2 > 1", "x - y < -1", "x*y*y > 1", "u % 7 == 2", "s % 10 == -3", "1.5e0 * x > 1", "x > .5",
        "10 - i > j * 2", "i > -3 && i < 3", "i*i == 16", "x/y > 1", "(i+j)*(i-j) > 0",
    ],
    "comparisons": [
        "i == 3", "i != 3", "x < 0", "x <= 0", "x > 0", "x >= 0", "u >= 25", "b == 1", "b == 0", "b != 1", "x == y",
        "i == j", "(i > 3) == (j > 3)", "(x > 0) != (y > 2)", "(x > 0) + (y > 1) == 2", "(x > 0) * (i > 2)", "i", "x",
        "b", "!b", "!(i > 2)", "!i", "!(x > 0 && y > 2)", "1", "i == 3.0",
    ],
    "logic": [
        "i > 2 && j > 3", "i > 2 || j > 3", "i > 2 && j > 3 || x > 1", "i > 2 || j > 3 && x > 1",
        "(i > 2 || j > 3) && x > 1", "!b && x > 0", "b || !(x > 0)", "i > 0 && (x > 1 || (y < 1 && u > 20))",
        "i>0&&x>0", "i>0||x>0", "(i>5)&&(j<8)&&(x>0)", "!(!(i > 3))",
    ],
    "powers": [
        "x**2 > 1", "pow(x, 2) > 1", "TMath::Power(x, 2) > 1", "sq(x) > 1", "TMath::Sq(x) > 1", "i**2 > 30",
        "sqrt(x**2 + y**2) > 2", "2**i > 8", "y**0.5 > 1.2", "(x**2 + y**2)**0.5 > 2",
    ],
    "functions": [
        "abs(i) > 4", "abs(x) > 1", "fabs(x) > 1", "sqrt(y) > 1", "exp(x) > 2", "log(y) > 0.5", "log10(y) > 0.2",
        "sin(x) > 0.5", "cos(x) < 0", "tan(x) > 1", "asin(fixed[0]) > 0.5", "acos(fixed[0]) > 2", "atan(x) > 0.5",
        "atan2(x, y) > 0.3", "sinh(x) > 1", "cosh(x) > 2", "tanh(x) > 0.5", "min(i, j) < 0", "max(i, j) > 5",
        "int(x) == 1", "int(y) == 2", "floor(y) == 2", "ceil(y) == 2", "fmod(y, 1) > 0.5", "sign(x) > 0",
        "TMath::Abs(x) > 1", "TMath::Sqrt(y) > 1", "TMath::Max(x, y) > 1", "TMath::Min(x, y) < 0", "TMath::Exp(x) > 2",
        "TMath::Log(y) > 0.5", "TMath::Sin(x) > 0.5", "TMath::Cos(x) < 0", "TMath::ATan2(x, y) > 0.3",
        "TMath::Hypot(x, y) > 2", "TMath::Floor(y) == 2", "TMath::Ceil(y) == 2", "TMath::Nint(y) == 2",
        "TMath::Odd(u)", "TMath::Even(u)", "x > TMath::Pi() / 6", "y > TMath::E()", "x > pi / 6",
        "TMath::IsNaN(x) == 0",
        "asinh(x) > 0.5", "acosh(y + 1) > 1", "atanh(fixed[1]) > 0.5", "TMath::Sign(1., x) > 0", "hypot(x, y) > 2",
    ],
    "bits": [
        "(u & 4) != 0", "u & 4", "(u | 1) == 5", "(u & 3) == 2", "(u >> 2) == 3", "(u << 1) == 8", "1 << 3 == u",
        "(u & 1) && (u & 2)", "((u >> 1) & 1) == 1", "u & 4 && x > 0",
    ],
    "iterations": [
        "Sum$(v*(Iteration$==0)) > 0.5", "Sum$(v > 0 && Iteration$ < 2) == 1", "Max$(Iteration$*(v>0)) == 1",
        "Sum$(Iteration$*w) > 4", "MaxIf$(v, v < 0.5) > 0", "MinIf$(v, v > 0) < 0.3", "MinIf$(v, v > 100) == 0",
        "MaxIf$(v*v, v < 0 && Iteration$ > 0) > 4", "Sum$(fixed*(Iteration$==2)) > 0.5",
    ],
    "choices": [
        "(i > 0 ? x : y) > 1", "i > 0 ? x > 1 : y > 1", "(b ? 1 : 2) == 2", "(i > 3 ? 10 : i < -3 ? 20 : 30) == 20",
        "(x > 0 ? x : -x) > 1", "i > 0 ? j : 0",
    ],
    "items": [
        "fixed[0] > 0", "fixed[0] + fixed[1] > fixed[2]", "n > 0 && v[0] > 1", "v[0] > 1", "v[1] > v[0]", "w[0] == 2",
        "!(v[0] > 1)", "v[0]", "n > 1 && v[n-1] > 1", "v[n-1] > 1", "fixed[j % 3] > 0.5", "abs(v[0]) > 2",
        "v[0] * w[0] > 0", "sqrt(v[0]*v[0] + v[1]*v[1]) > 3", "v[0] > 1 && w[0] > 0", "g[0] > 1",
    ],
    "specials": [
        "Sum$(v) > 3", "Length$(v) > 2", "Sum$(v > 1) > 0", "Sum$(v > 1 && v < 4) == 2", "Length$(w) == n",
        "Max$(fixed) > 0.9", "Max$(v) < 1", "Min$(w) < 1", "Min$(abs(v)) < 0.1", "Sum$(x) > 0.5", "Max$(y) < 2",
        "Length$(i) == 1", "Length$(v[1]) == 0", "Max$(v[1]) < 1 || i > 3", "Sum$(v[2] > 1) == 0",
        "Min$(fixed) < -0.9", "Sum$(fixed) > 1", "Entry$ % 3 == 0 && i < 9", "Entry$ < 100", "Entry$ % 7 == 2",
        "Alt$(v[0], 0) > 1",
        "Alt$(v[4], -1) < 0", "Alt$(w[0], 9) == 9", "Sum$(v*v) > 10", "Sum$(abs(v)) > 5", "sqrt(Sum$(v*v)) > 4",
        "Sum$(w == 2) == 1", "@g.size() > 2 && i > 3", "@w.size() == 2", "Length$(v) == n", "n > 0 && Max$(v) > 5",
        "n > 0 && Min$(v) < -4", "Sum$(v) / Length$(v) > 1 && n > 0", "Sum$(fixed*fixed) > 1", "Sum$(w) == 3",
        "Sum$(v > x) > 1", "Sum$(v > 0) == Length$(v)", "Length$(v) + Length$(w) > 5", "Sum$(v + 1) > 4",
        "Sum$(fixed > 0 && fixed < 0.5) == 2", "Max$(abs(fixed)) > 0.95", "abs(Sum$(v)) < 1 && n > 0",
        "Sum$(v > 1) == 0 || x > 0", "Length$(w) ? x > 0 : y > 2", "Sum$(v) > Sum$(w)", "Sum$(fixed[0] > v) > 2",
    ],
}  # fmt: skip
#: Where Draw selects otherwise than its values say, or what is not there; and what is refused.
OTHERWISE = {
    "v[n-1] > 1": "of an empty list Draw reads what was in front of it before; here the item is missing",
    "(Sum$(w) <= int(u / 3) ? j : (i**2)) >= (i**2)": "as a value, Draw's is 1 in entries that it does not select",
}
REFUSED = {"1": "it names no column"}
TEXTS = [text for texts in KINDS.values() for text in texts]


def random_value(rng: random.Random, depth: int) -> str:
    """Return a value of an entry, in what TTree::Draw takes."""
    kind = rng.randrange(11 if depth else 3)
    if kind < 2:
        return rng.choice(["i", "j", "u", "s", "x", "y", "n", "b", "fixed[0]", "fixed[2]", "fixed[1]"])
    if kind == 2:
        return rng.choice([str(rng.randint(0, 12)), f"{rng.uniform(0, 4):.3f}", "TMath::Pi()"])
    inner = random_value(rng, depth - 1)
    if kind == 3:
        one = [
            "abs({})",
            "sqrt(abs({}))",
            "TMath::Floor({})",
            "sin({})",
            "TMath::ATan({})",
            "int({} / 3)",
            "TMath::Abs({})",
        ]
        return rng.choice(one).format(inner)
    if kind == 4:
        return rng.choice(["min({}, {})", "max({}, {})", "TMath::Max(1.*{}, 1.*{})"]).format(
            inner, random_value(rng, depth - 1)
        )
    if kind == 5:
        of = rng.choice(["v", "w", "v*v", "abs(w)", "v > 0.5", "w == 1 || w == 2", "fixed"])
        return rng.choice(["Sum$({})", "Length$({})"]).format(of)
    if kind == 6:
        return rng.choice(["Alt$(v[{}], {})", "Alt$(w[{}], -{})"]).format(
            rng.randint(0, 4), rng.randint(0, 3)
        )
    if kind == 7:
        return f"({random_condition(rng, depth - 1)} ? {inner} : {random_value(rng, depth - 1)})"
    if kind == 8:
        return rng.choice(
            ["(u & {0})", "(u >> {0})", "(u << {0})", "(u % {0})", "(i**2)", "abs(x)**{0}", "(u | {0})"]
        ).format(rng.randint(1, 5))
    if kind == 9:
        return f"({inner}) / {rng.randint(1, 9)}"
    return f"({inner} {rng.choice('+-*')} {random_value(rng, depth - 1)})"


def random_condition(rng: random.Random, depth: int) -> str:
    """Return a condition of an entry, in what TTree::Draw takes."""
    kind = rng.randrange(6 if depth > 0 else 2)
    if kind < 2:
        comparison = rng.choice(["<", "<=", ">", ">=", "==", "!="])
        return f"{random_value(rng, depth)} {comparison} {random_value(rng, depth)}"
    if kind == 2:
        return f"!({random_condition(rng, depth - 1)})"
    joined = (
        f"{random_condition(rng, depth - 1)} {rng.choice(['&&', '||'])} {random_condition(rng, depth - 1)}"
    )
    return f"({joined})" if kind == 3 else joined
