"""Cases whose expected values come from numpy's generator: what can be checked of them.

Types and shapes exact; values that may occur; how often they do, within six deviations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

DEVIATIONS = 6.0


def explain_count(hits: np.ndarray, probabilities: np.ndarray) -> str | None:
    expected, variance = probabilities.sum(), (probabilities * (1 - probabilities)).sum()
    if abs(hits.sum() - expected) > DEVIATIONS * math.sqrt(variance):
        return f"{hits.sum()} of {hits.size} elements are kept, expected about {expected:.1f}"
    return None


def explain_bernoulli(inputs: Sequence[Any], results: Sequence[np.ndarray]) -> str | None:
    """0 or 1, as often as the input says."""
    hits = results[0].astype(np.float64)
    if not np.isin(hits, [0, 1]).all():
        return "values other than 0 and 1"
    return explain_count(hits, np.asarray(inputs[0], np.float64))


def explain_dropout(inputs: Sequence[Any], results: Sequence[np.ndarray]) -> str | None:
    """0, or x / (1 - ratio) where the mask is true; the ratio says how often."""
    x = inputs[0]
    ratio = float(inputs[1]) if len(inputs) > 1 and inputs[1] is not None else 0.5
    kept = results[1] if len(results) > 1 else results[0] != 0
    expected = np.where(kept, x / (1 - ratio), 0)
    if not np.allclose(results[0], expected, rtol=1e-5):
        return "values other than 0 and x / (1 - ratio), or a mask that does not agree"
    return explain_count(kept, np.full(x.shape, 1 - ratio))


EXPLAIN: dict[str, Callable[[Sequence[Any], Sequence[np.ndarray]], str | None]] = {
    "Bernoulli": explain_bernoulli,
    "Dropout": explain_dropout,
}


def explain_random(operator: str, inputs: Sequence[Any], results: Sequence[Any], expected: Sequence[Any]) -> str | None:
    """What is wrong with results that are random; None when nothing is."""
    if len(results) != len(expected):
        return f"{len(results)} values, expected {len(expected)}"
    for index, (mine, theirs) in enumerate(zip(results, expected, strict=True)):
        if (mine.dtype, mine.shape) != (theirs.dtype, theirs.shape):
            return f"output {index}: {mine.dtype}{list(mine.shape)}, expected {theirs.dtype}{list(theirs.shape)}"
    return EXPLAIN[operator](inputs, results)
