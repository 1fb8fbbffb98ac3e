"""Compares outputs with those that the suite expects: the suite's own rules, said once.

Types and shapes exact; integers, booleans and text exact; floating point within |got - expected| <= atol + rtol *
|expected|, where equal infinities and NaN at the same place agree. bfloat16: rtol at least 2^-6, two units in its last
place, as the suite has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

BFLOAT16_TOLERANCE = 2.0**-6


def is_text(array: np.ndarray) -> bool:
    return array.dtype == object or array.dtype.kind in "US"


def is_floating(array: np.ndarray) -> bool:
    """True for types of ml_dtypes too, whose kind says nothing: an integer type cannot hold a half."""
    return array.dtype.kind == "f" or (array.dtype.kind == "V" and float(np.asarray(0.5).astype(array.dtype)) == 0.5)


def differs(got: np.ndarray, expected: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    """Where two arrays of one type and shape disagree."""
    if is_text(expected) or expected.dtype.kind in "biu":
        return np.asarray(got != expected)
    if expected.dtype.kind == "c":
        return ~np.isclose(got, expected, rtol=rtol, atol=atol, equal_nan=True)
    if not is_floating(expected):
        return got.astype(np.int64) != expected.astype(np.int64)
    if expected.dtype.name == "bfloat16":
        rtol = max(rtol, BFLOAT16_TOLERANCE)
    with np.errstate(all="ignore"):
        return ~np.isclose(got.astype(np.float64), expected.astype(np.float64), rtol=rtol, atol=atol, equal_nan=True)


def explain_arrays(got: np.ndarray, expected: np.ndarray, rtol: float, atol: float) -> str | None:
    if is_text(got) != is_text(expected) or (not is_text(expected) and got.dtype != expected.dtype):
        return f"type {got.dtype}, expected {expected.dtype}"
    if got.shape != expected.shape:
        return f"shape {list(got.shape)}, expected {list(expected.shape)}"
    wrong = np.argwhere(differs(got, expected, rtol, atol))
    if not len(wrong):
        return None
    where = tuple(wrong[0])
    count = f"{len(wrong)} of {expected.size} elements differ"
    return f"{count}, first at {[int(i) for i in where]}: {got[where]!s}, expected {expected[where]!s}"


def explain(got: Any, expected: Any, rtol: float, atol: float) -> str | None:
    """What is wrong with one output; None when it agrees."""
    if expected is None or got is None:
        return None if expected is got else f"got {type(got).__name__}, expected {type(expected).__name__}"
    if isinstance(expected, list):
        if not isinstance(got, (list, tuple)):
            return f"got {type(got).__name__}, expected a sequence"
        return explain_all(got, expected, rtol, atol)
    return explain_arrays(np.asarray(got), expected, rtol, atol)


def explain_all(got: Sequence[Any], expected: Sequence[Any], rtol: float, atol: float) -> str | None:
    """The first difference between lists of values."""
    if len(got) != len(expected):
        return f"{len(got)} values, expected {len(expected)}"
    for index, (mine, theirs) in enumerate(zip(got, expected, strict=True)):
        if reason := explain(mine, theirs, rtol, atol):
            return f"output {index}: {reason}"
    return None
