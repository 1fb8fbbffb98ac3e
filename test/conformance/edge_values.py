"""Values at the edges of each element type, and ways to fill a tensor with them."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np

TEXTS = [
    "",
    "a",
    "A",
    "ab",
    "b",
    " 7 ",
    "1.5",
    "-0",
    "NaN",
    "-INF",
    "1e400",
    "true",
    "\u00e9",
    "\u00df",
    "\u4e2d\u6587",
]


def is_float(dtype: np.dtype) -> bool:
    """Of a type that ml_dtypes brings, too."""
    if dtype.kind == "f":
        return True
    if dtype.kind != "V":
        return False
    try:
        ml_dtypes.finfo(dtype)
    except ValueError:
        return False
    return True


def is_text(dtype: np.dtype) -> bool:
    return dtype.kind in "OUS"


def bounds(dtype: np.dtype) -> tuple[int, int]:
    """The least and the largest of an integer type."""
    about = np.iinfo(dtype) if dtype.kind in "iu" else ml_dtypes.iinfo(dtype)
    return int(about.min), int(about.max)


def neighbours(value: float, dtype: np.dtype) -> list[float]:
    """A number of the type with those below and above it."""
    step = 2.0 ** -(ml_dtypes.finfo(dtype).nmant)
    return [value * (1 - step / 2), value, value * (1 + step)]


def float_values(dtype: np.dtype) -> np.ndarray:
    about = ml_dtypes.finfo(dtype)
    digits = about.nmant + 1
    numbers = [
        0.0,
        -0.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        3.0,
        -7.0,
        0.1,
        -0.7,
        1e-3,
        1e-5,
        np.pi,
        -np.pi / 2,
        np.e,
        np.log(2),
    ]
    for exponent in (-30, -9, -1, 0, 1, 3, 6, 10, digits - 1, digits, 31, 40, 52, 53, 63, 64, 100):
        numbers += [sign * value for value in neighbours(2.0**exponent, dtype) for sign in (1, -1)]
    numbers += [
        sign * float(edge) for edge in (about.max, about.smallest_normal, about.smallest_subnormal) for sign in (1, -1)
    ]
    numbers += [88.0, 89.0, -88.0, -104.0, 710.0, -746.0, np.inf, -np.inf, np.nan]
    with np.errstate(all="ignore"):
        values = np.array(numbers).astype(dtype)
    bits = values.view(f"u{dtype.itemsize}")
    return values[np.sort(np.unique(bits, return_index=True)[1])]


def integer_values(dtype: np.dtype) -> np.ndarray:
    least, most = bounds(dtype)
    numbers = [0, 1, 2, 3, 5, 7, 10, 100, most, most - 1, most // 2, least, least + 1]
    for bit in range(2, 64, 5):
        numbers += [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]
    numbers += [-number for number in numbers]
    allowed = list(dict.fromkeys(number for number in numbers if least <= number <= most))
    return np.array(allowed, np.uint64 if most > 2**63 else np.int64).astype(dtype)


def special_values(dtype: np.dtype) -> np.ndarray:
    if is_text(dtype):
        return np.array(TEXTS, object)
    if dtype == np.bool_:
        return np.array([False, True])
    return float_values(dtype) if is_float(dtype) else integer_values(dtype)


# ----------------------------------------------------------------------------------------------------------------------
# Fills
# ----------------------------------------------------------------------------------------------------------------------

Shape = tuple[int, ...]
Fill = Callable[[np.random.Generator, Shape, np.dtype], np.ndarray]


def chosen(rng: np.random.Generator, shape: Shape, values: np.ndarray) -> np.ndarray:
    return values[rng.integers(0, len(values), shape)] if len(values) else np.zeros(shape, values.dtype)


def small(rng: np.random.Generator, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """Multiples of a quarter, or small integers: sums and products of some are exact in any order."""
    if is_text(dtype) or dtype == np.bool_:
        return chosen(rng, shape, special_values(dtype))
    if is_float(dtype):
        return (rng.integers(-8, 9, shape) / 4).astype(dtype)
    least, most = bounds(dtype)
    return rng.integers(max(least, -5), min(most, 9), shape, endpoint=True).astype(dtype)


def special(rng: np.random.Generator, shape: Shape, dtype: np.dtype) -> np.ndarray:
    return chosen(rng, shape, special_values(dtype))


def moderate(rng: np.random.Generator, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """Special values of which sums and products do not overflow: what comes of those depends on their order."""
    values = special_values(dtype)
    numbers = np.abs(values.astype(np.float64))
    return chosen(rng, shape, values[(numbers < 1000) & ((numbers > 1e-3) | (numbers == 0))])


def replaced(*values: float) -> Fill:
    """Small numbers, about each fourth replaced by one of the values."""

    def fill(rng: np.random.Generator, shape: Shape, dtype: np.dtype) -> np.ndarray:
        numbers = small(rng, shape, dtype)
        return np.where(rng.random(shape) < 0.25, chosen(rng, shape, np.array(values).astype(dtype)), numbers)

    return fill


def all_of(*values: float) -> Fill:
    return lambda rng, shape, dtype: chosen(rng, shape, np.array(values).astype(dtype))


def large(rng: np.random.Generator, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """Powers of two of which squares, and sums of these, are finite but exponentials are not."""
    most = np.log2(float(ml_dtypes.finfo(dtype).max))
    number = 2.0 ** max(most // 2 - 8, most // 3)
    return chosen(rng, shape, np.array([number, -number]).astype(dtype))


def irregular(rng: np.random.Generator, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """Numbers whose digits are all in use."""
    return rng.normal(0, 1.5, shape).astype(dtype)


FLOAT_FILLS: dict[str, Fill] = {
    "small": small,
    "irregular": irregular,
    "special": moderate,
    "signed zeros": all_of(0.0, -0.0),
    "all equal": all_of(1.0),
    "some infinite": replaced(np.inf, -np.inf),
    "all -inf": all_of(-np.inf),
    "large": large,
    "some NaN": replaced(np.nan),
}
WHOLE_FILLS: dict[str, Fill] = {"small": small, "special": special, "all equal": all_of(1.0)}
OTHER_FILLS: dict[str, Fill] = {"small": small, "special": special}


# Where shapes differ, as those of an image and weights do, one of the tensors has these, and the others small numbers:
# what a weight that is infinite does beside zeros of a border depends on how a sum is computed.
OF_ONE = ("some infinite", "all -inf", "some NaN")


def filled(fill: str, tensors: dict[int, tuple[Shape, np.dtype]], rng: np.random.Generator) -> dict[int, np.ndarray]:
    """For tensors with these places, shapes and types."""
    places = list(tensors)
    is_of_one = fill in OF_ONE and len({shape for shape, _ in tensors.values()}) > 1
    chosen_place = places[int(rng.integers(len(places)))]
    made = {}
    for place, (shape, kind) in tensors.items():
        choices = fills(kind)
        name = fill if fill in choices and (not is_of_one or place == chosen_place) else "small"
        made[place] = choices[name](rng, shape, kind)
    return made


def fills(dtype: np.dtype) -> dict[str, Fill]:
    if is_text(dtype) or dtype == np.bool_:
        return OTHER_FILLS
    if not is_float(dtype):
        return WHOLE_FILLS
    about = ml_dtypes.finfo(dtype)
    has = np.array([np.inf, np.nan]).astype(dtype).astype(np.float64)
    left_out = {name for name, value in {"some infinite": has[0], "all -inf": has[0]}.items() if not np.isinf(value)}
    if not np.isnan(has[1]):
        left_out.add("some NaN")
    if float(about.max) < 16:
        left_out.add("irregular")
    return {name: fill for name, fill in FLOAT_FILLS.items() if name not in left_out}


def table(count: int, dtype: np.dtype, rng: np.random.Generator) -> list[np.ndarray]:
    """For `count` operands, vectors of one length that have every special value of each beside those of the
    others; of three or more operands, a part of all combinations."""
    values = special_values(dtype)
    if count == 1:
        return [values]
    if count == 2:
        return [np.repeat(values, len(values)), np.tile(values, len(values))]
    return [chosen(rng, (2000,), values) for _ in range(count)]
