"""Reduced precision of floating-point numbers: what can be asked for, and the error that it makes."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from arrowroot._errors import InvalidRequestError
from arrowroot._render import shown

if TYPE_CHECKING:
    from typing import Literal

    Kind = Literal["Double32", "Float16", "mantissa", "Real32Trunc", "Real32Quant"]

#: Bits of mantissa of a float, and of a Float16_t of which nobody says more. Source: ``TBufferFile`` (ROOT 6.40).
_FLOAT_BITS = 23
_FLOAT16_BITS = 12
#: Steps of a range of which nobody says the bits. Source: ``GetRange`` of ``TStreamerElement.cxx`` (ROOT 6.40).
_MOST_BITS = 32
HOW = (
    "write 'Double32', 'Double32[0,10,12]', 'Float16[-1,1,10]' or 'Float16[0,0,10]' (a tree), 'Real32Trunc:16' or "
    "'Real32Quant:12[0,1]' (an RNTuple), or 'mantissa:10' (both)"
)
#: The kinds that only one format has.
OF_TREE = ("Double32", "Float16")
OF_NTUPLE = ("Real32Trunc", "Real32Quant")
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"


class Precision(NamedTuple):
    """How exactly floats are stored.

    bits: of a value; of the mantissa for "mantissa", and for "Double32" and "Float16" without a range. None: ROOT's
    default. range: smallest and largest value.
    """

    kind: Kind
    bits: int | None = None
    range: tuple[float, float] | None = None

    def __str__(self) -> str:
        bits = "" if self.bits is None else f"{self.bits}"
        if self.kind in OF_TREE:
            low, high = self.range or (0, 0)
            inside = [_exactly(low), _exactly(high), *([bits] if bits else [])]
            return f"{self.kind}[{','.join(inside)}]" if self.range or bits else self.kind
        low_high = "" if self.range is None else f"[{','.join(map(_exactly, self.range))}]"
        return f"{self.kind}:{bits}{low_high}"

    @property
    def width(self) -> tuple[int, ...]:
        """The sizes in bits of the numbers that can be stored so."""
        if self.kind == "Double32":
            return (64,)
        return (32, 64) if self.kind in OF_NTUPLE else (32,)

    @property
    def error(self) -> tuple[float, Literal["relative", "absolute"]]:
        """Largest error of a value that is in the range: of the value, or in its unit.

        Of numbers below the least normal float (1.2e-38) it may be more.
        """
        if self.range is not None:
            low, high = self.range
            steps = 2.0 ** (_MOST_BITS if self.bits is None else self.bits)
            if self.kind == "Real32Quant" or self.bits is None:
                # The last step is the end of the range.
                steps -= 1
            return (high - low) / steps / 2, "absolute"
        if self.kind == "Real32Trunc":
            # Sign and exponent are among the bits, and what follows is cut off.
            return 2.0 ** -((self.bits or 32) - 9), "relative"
        if self.kind == "Double32":
            return 2.0 ** -((self.bits if self.bits is not None else _FLOAT_BITS) + 1), "relative"
        if self.kind == "Float16":
            return 2.0 ** -((self.bits if self.bits is not None else _FLOAT16_BITS) + 1), "relative"
        # NanoAOD's rounding never makes the largest mantissa of the next but one either.
        half = 2.0 ** -((self.bits or _FLOAT_BITS) + 1)
        return half / (1 - half), "relative"


def parse_precision(text: object, what: str = "precision") -> Precision | None:
    """Return what a text asks for, None for None, "" and "exact".

    Raises: InvalidRequestError, naming ``what``, with what is possible.
    """
    if text is None or isinstance(text, Precision):
        return text
    if not isinstance(text, str):
        raise InvalidRequestError(f"{what}={shown(text)}: {HOW}")
    if text in ("", "exact"):
        return None
    match = re.fullmatch(
        rf"\s*(\w+?)(?:_t)?\s*(?::\s*(\d+))?\s*(?:\[({_NUMBER}(?:\s*,\s*{_NUMBER})*)\])?\s*", text
    )
    found = {kind.lower(): kind for kind in ("Double32", "Float16", "mantissa", "Real32Trunc", "Real32Quant")}
    kind = found.get(match[1].lower()) if match else None
    if match is None or kind is None:
        raise InvalidRequestError(f"{what}={text!r}: {HOW}")
    bits = None if match[2] is None else int(match[2])
    numbers = [float(number) for number in match[3].split(",")] if match[3] else []
    if kind in OF_TREE:
        return _of_tree(kind, bits, numbers, f"{what}={text!r}")  # type: ignore[arg-type]
    if kind == "Real32Quant":
        if bits is None or len(numbers) != 2 or not _is_range(numbers[0], numbers[1]):
            raise InvalidRequestError(
                f"{what}={text!r}: bits and a range are needed, as 'Real32Quant:12[0,1]'"
            )
        _check_bits(bits, 1, 32, f"{what}={text!r}")
        return Precision("Real32Quant", bits, (numbers[0], numbers[1]))
    if bits is None or numbers:
        raise InvalidRequestError(f"{what}={text!r}: bits and no range are needed, as '{kind}:16'")
    if kind == "Real32Trunc":
        _check_bits(bits, 10, 31, f"{what}={text!r}")
        return Precision("Real32Trunc", bits)
    _check_bits(bits, 1, _FLOAT_BITS - 1, f"{what}={text!r}")
    return Precision("mantissa", bits)


def _of_tree(
    kind: Literal["Double32", "Float16"], bits: int | None, numbers: list[float], what: str
) -> Precision:
    """Return a packed type of ROOT's: ``[low,high]``, ``[low,high,bits]``, or ``[0,0,bits]`` of the mantissa."""
    if bits is not None or len(numbers) not in (0, 2, 3):
        raise InvalidRequestError(f"{what}: {HOW}")
    if len(numbers) == 3:
        bits = int(numbers[2])
        if bits != numbers[2]:
            raise InvalidRequestError(f"{what}: {numbers[2]:g} bits")
    if not numbers or numbers[:2] == [0, 0]:
        if bits is not None:
            # ROOT takes no more than 14 for bits of a mantissa.
            _check_bits(bits, 2, 14, what)
        return Precision(kind, bits)
    if not _is_range(numbers[0], numbers[1]):
        raise InvalidRequestError(f"{what}: {numbers[0]:g} to {numbers[1]:g} is no range")
    if bits is not None:
        _check_bits(bits, 2, 32, what)
    return Precision(kind, bits, (numbers[0], numbers[1]))


def _is_range(low: float, high: float) -> bool:
    return low < high and math.isfinite(high - low)


def _exactly(number: float) -> str:
    """Return a number as short as it can be said."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number).removesuffix(".0")


def _check_bits(bits: int, least: int, most: int, what: str) -> None:
    if not least <= bits <= most:
        raise InvalidRequestError(f"{what}: {bits} bits, where {least} to {most} are possible")
