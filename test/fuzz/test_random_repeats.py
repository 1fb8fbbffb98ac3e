"""Extents of 1 that an input has where others are larger: the results are ONNX Runtime's, or the run is refused."""

from __future__ import annotations

import os
from collections import Counter

import pytest
from random_repeats import check

BATCH = 60
SEED = int(os.environ.get("PERPEND_SEED", "1"))


@pytest.mark.parametrize("batch", range(4))
def test_random_repeats(batch: int) -> None:
    seen: Counter[str] = Counter()
    first = (SEED * 1000 + batch) * BATCH
    problems = [problem for i in range(BATCH) for problem in check(first + i, seen, compiled=i % 20 == 0)]
    assert not problems
    assert seen["agree"] > BATCH
