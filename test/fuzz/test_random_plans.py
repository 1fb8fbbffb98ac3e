"""A hundred random models as host programs in the interpreter; ten thousand with PERPEND_LONG (random_plans.py)."""

import os
from collections import Counter

import pytest
from random_plans import check

PARTS = 10
COUNT = 1000 if os.environ.get("PERPEND_LONG") else 10


@pytest.mark.parametrize("part", range(PARTS))
def test_random_plans(part: int) -> None:
    seen: Counter[str] = Counter()
    problems = {seed: check(seed, seen) for seed in range(part * COUNT, (part + 1) * COUNT)}
    assert not {seed: problem for seed, problem in problems.items() if problem}
    assert seen["good"] > 0.9 * COUNT, dict(seen)
    assert seen["caches"] and seen["rings"] and seen["other states"], dict(seen)
