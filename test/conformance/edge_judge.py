"""Whether a result is right, given what others compute.

Types, shapes, integers, booleans and texts: equal. Floating point: NaN and infinities where they are expected, and
otherwise within some units in the last place of the type (ULPS) of a witness, or no further from the result in double
precision than a few times (SLACK) the distance of the witness in the same type, which rounds on its way, too. Where a
trial is strict, each element is measured by itself, and zeros have signs; otherwise the unit is that of the largest
element, or of the largest input as far as that is no more than MODERATE, since sums may cancel.

Where witnesses disagree, a result must agree with one of them, element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from edge_values import is_float, is_text

ULPS = {"float64": 8, "float32": 8}
ULPS_OF_OTHERS = 2
SLACK = 4
MODERATE = 8.0
# How results differ. An element: one is NaN; one is infinite, or has the other sign; both are zero; any other way.
TYPE, SHAPE, LENGTH, NAN, INFINITY, ZERO, NUMBER = "type", "shape", "length", "NaN", "infinity", "zero", "number"


@dataclass(frozen=True)
class Witness:
    """What one judge says of the outputs of a call. rounded: it computes in the types of the call itself; otherwise in
    double precision, and says nothing of types."""

    name: str
    outputs: Sequence[Any]
    rounded: bool = True


@dataclass(frozen=True)
class Difference:
    kinds: frozenset[str]
    text: str


@dataclass(frozen=True)
class Verdict:
    """wrong: the difference from all witnesses, if there is one; disputed: that from some of them."""

    wrong: Difference | None = None
    disputed: str = ""


@dataclass(frozen=True)
class Asked:
    """inputs: those of the call, for the text."""

    inputs: Sequence[Any]
    is_strict: bool


# ----------------------------------------------------------------------------------------------------------------------
# Elements
# ----------------------------------------------------------------------------------------------------------------------


def spacing(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The unit in the last place at each value, of the type."""
    about = ml_dtypes.finfo(dtype)
    finite = np.abs(np.where(np.isfinite(values), values, 1))
    exponents = np.frexp(finite)[1].astype(np.float64) - 1
    least = float(about.smallest_subnormal)
    return np.where(finite == 0, least, np.maximum(np.exp2(exponents - about.nmant), least))


def unit(values: np.ndarray, dtype: np.dtype, asked: Asked) -> np.ndarray:
    if asked.is_strict:
        return spacing(values, dtype)
    largest = max(largest_of(values), min(MODERATE, max(map(largest_of, asked.inputs), default=0.0)))
    return spacing(np.full(values.shape, largest), dtype)


def largest_of(values: Any) -> float:
    """Of its finite numbers, the sign aside."""
    if not isinstance(values, np.ndarray) or not is_float(values.dtype):
        return 0.0
    numbers = as_double(values)
    return float(np.abs(np.where(np.isfinite(numbers), numbers, 0)).max(initial=0))


def within(got: np.ndarray, wanted: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Where numbers are the same or closer than allowed."""
    same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    finite = np.isfinite(got) & np.isfinite(wanted)
    distance = np.abs(np.where(finite, got, 0) - np.where(finite, wanted, 0))
    return same | (finite & (distance <= allowed))


def as_double(array: np.ndarray) -> np.ndarray:
    return np.asarray(array).astype(np.float64)


def wrong_floats(got: np.ndarray, wanted: np.ndarray, exact: np.ndarray | None, asked: Asked) -> np.ndarray:
    dtype = got.dtype
    numbers, others = as_double(got), as_double(wanted)
    ulps = ULPS.get(dtype.name, ULPS_OF_OTHERS)
    right = within(numbers, others, ulps * unit(others, dtype, asked))
    if exact is not None and exact.shape == got.shape:
        rounded, slack = as_double(exact.astype(dtype)), SLACK * np.abs(others - exact)
        slack = np.where(np.isfinite(slack), slack, 0)
        right |= within(numbers, rounded, ulps * unit(rounded, dtype, asked) + slack)
    if asked.is_strict:
        zeros = (numbers == 0) & (others == 0)
        if exact is not None and exact.shape == got.shape:
            zeros &= exact == 0  # what is too small for the type may become a zero of either sign
        right &= ~zeros | (np.signbit(numbers) == np.signbit(others))
    return ~right


def differing(got: np.ndarray, wanted: np.ndarray, exact: np.ndarray | None, asked: Asked) -> np.ndarray:
    """Where two arrays of one type and shape disagree."""
    if is_text(got.dtype) or got.dtype.kind in "biu":
        return np.asarray(got != wanted)
    if not is_float(got.dtype):
        return np.asarray(got.astype(np.int64) != wanted.astype(np.int64))
    with np.errstate(all="ignore"):
        return wrong_floats(got, wanted, exact, asked)


def kinds_of(got: np.ndarray, wanted: np.ndarray) -> frozenset[str]:
    """Of elements that differ."""
    if not is_float(got.dtype):
        return frozenset({NUMBER})
    mine, theirs = as_double(got), as_double(wanted)
    is_nan = np.isnan(mine) | np.isnan(theirs)
    is_infinite = ~is_nan & (np.isinf(mine) | np.isinf(theirs))
    is_zero = (mine == 0) & (theirs == 0)
    found = {NAN: is_nan, INFINITY: is_infinite, ZERO: is_zero, NUMBER: ~(is_nan | is_infinite | is_zero)}
    return frozenset(kind for kind, where in found.items() if where.any())


# ----------------------------------------------------------------------------------------------------------------------
# Outputs
# ----------------------------------------------------------------------------------------------------------------------


@dataclass
class Compared:
    """An array beside one of a witness. wrong: where they disagree."""

    got: np.ndarray
    wanted: np.ndarray
    wrong: np.ndarray


def shown(value: Any) -> str:
    return str(value)[:40]


def plain(text: str, kind: str) -> Difference:
    return Difference(frozenset({kind}), text)


def compare(got: np.ndarray, wanted: np.ndarray, exact: Any, asked: Asked) -> Compared | Difference:
    if got.dtype != wanted.dtype and not (is_text(got.dtype) and is_text(wanted.dtype)):
        return plain(f"type {got.dtype}, expected {wanted.dtype}", TYPE)
    if got.shape != wanted.shape:
        return plain(f"shape {list(got.shape)}, expected {list(wanted.shape)}", SHAPE)
    double = exact if isinstance(exact, np.ndarray) and exact.dtype == np.float64 else None
    return Compared(got, wanted, differing(got, wanted, double, asked))


def difference_of(compared: Compared, wrong: np.ndarray, asked: Asked) -> Difference | None:
    places = np.argwhere(wrong)
    if not len(places):
        return None
    where, got, wanted = tuple(places[0]), compared.got, compared.wanted
    of = ", ".join(shown(x[where]) for x in asked.inputs if isinstance(x, np.ndarray) and x.shape == got.shape)
    text = f"{len(places)} of {got.size} differ, first at {[int(i) for i in where]}{f' of ({of})' if of else ''}"
    text += f": got {shown(got[where])}, expected {shown(wanted[where])}"
    return Difference(kinds_of(got[wrong], wanted[wrong]), text)


def flat(values: Any) -> list[Any]:
    """Outputs with what is in lists among them; the lengths of lists first."""
    if isinstance(values, (list, tuple)):
        return [len(values), *(leaf for value in values for leaf in flat(value))]
    return [values]


def compared_with(witness: Witness, got: Sequence[Any], exact: Sequence[Any], asked: Asked) -> list[Any]:
    """For each leaf of the outputs: Compared, a Difference, or None where they are the same."""
    mine, theirs = flat(list(got)), flat(list(witness.outputs))
    if [type(value) is int for value in mine] != [type(value) is int for value in theirs]:
        return [plain(f"{len(mine)} values, expected {len(theirs)}", LENGTH)]
    doubles = flat(list(exact))
    doubles = doubles if len(doubles) == len(theirs) else [None] * len(theirs)
    found: list[Any] = []
    for value, wanted, double in zip(mine, theirs, doubles, strict=True):
        if isinstance(value, (int, dict)) or value is None or isinstance(wanted, (int, dict)) or wanted is None:
            same = value == wanted if isinstance(value, type(wanted)) else False
            found.append(None if same else plain(f"{str(value)[:60]}, expected {str(wanted)[:60]}", LENGTH))
        else:
            found.append(compare(np.asarray(value), np.asarray(wanted), double, asked))
    return found


def joined(differences: Iterable[tuple[str, Difference]]) -> Difference | None:
    """Each with the name of its witness."""
    found = list(differences)
    if not found:
        return None
    return Difference(
        frozenset().union(*(each.kinds for _, each in found)), "; ".join(f"{n}: {d.text}" for n, d in found)
    )


def same(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Bit by bit, apart from NaN."""
    if len(first) != len(second):
        return False
    for one, other in zip(map(np.asarray, first), map(np.asarray, second), strict=True):
        if one.shape != other.shape or one.dtype != other.dtype:
            return False
        if is_float(one.dtype):
            one, other = as_double(one), as_double(other)
            if not np.array_equal(np.signbit(one)[~np.isnan(one)], np.signbit(other)[~np.isnan(other)]):
                return False
            if not np.array_equal(one, other, equal_nan=True):
                return False
        elif not np.array_equal(one, other):
            return False
    return True


def is_elementwise(run: Callable[[Sequence[Any]], Sequence[Any] | None], inputs: Sequence[Any]) -> bool:
    """Of a call with vectors of one length among its inputs: turned around, they give the results turned around."""
    length = max((x.shape[0] for x in inputs if isinstance(x, np.ndarray) and x.ndim), default=0)

    def turned(values: Sequence[Any]) -> list[Any]:
        return [x[::-1].copy() if isinstance(x, np.ndarray) and x.shape[:1] == (length,) else x for x in values]

    straight, back = run(inputs), run(turned(inputs))
    return bool(straight) and back is not None and same(turned(list(straight)), list(back))


def judge(got: Sequence[Any], witnesses: Sequence[Witness], inputs: Sequence[Any], is_strict: bool) -> Verdict:
    exact = next((witness.outputs for witness in witnesses if not witness.rounded), [])
    judges, asked = [witness for witness in witnesses if witness.rounded], Asked(inputs, is_strict)
    tables = [compared_with(witness, got, exact, asked) for witness in judges]
    alone = [{n: d for n, leaf in enumerate(table) if (d := alone_difference(leaf, asked))} for table in tables]
    if not all(alone):
        disputed = joined((w.name, next(iter(d.values()))) for w, d in zip(judges, alone, strict=True) if d)
        return Verdict(None, disputed.text if disputed else "")
    if len({len(table) for table in tables}) > 1:
        return Verdict(joined((w.name, next(iter(d.values()))) for w, d in zip(judges, alone, strict=True)))
    found: list[tuple[str, Difference]] = []
    for leaves in zip(*tables, strict=True):
        found += wrong_for_all([witness.name for witness in judges], leaves, asked)
    disputed = joined((w.name, next(iter(d.values()))) for w, d in zip(judges, alone, strict=True))
    return Verdict(joined(found), disputed.text if disputed else "")


def alone_difference(leaf: Any, asked: Asked) -> Difference | None:
    return difference_of(leaf, leaf.wrong, asked) if isinstance(leaf, Compared) else leaf


def wrong_for_all(names: Sequence[str], leaves: Sequence[Any], asked: Asked) -> list[tuple[str, Difference]]:
    """The differences of one output, if some element agrees with no witness."""
    if any(leaf is None for leaf in leaves):
        return []
    arrays = [leaf for leaf in leaves if isinstance(leaf, Compared)]
    if not arrays:
        return list(zip(names, leaves, strict=True))
    wrong = np.logical_and.reduce([each.wrong for each in arrays])
    pairs = [(name, leaf) for name, leaf in zip(names, leaves, strict=True) if isinstance(leaf, Compared)]
    return [(name, found) for name, leaf in pairs if (found := difference_of(leaf, wrong, asked))]
