"""torch.compile(net, backend="perpend"): Python numbers among the arguments of compiled functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

pytestmark = pytest.mark.usefixtures("fresh_caches", "all_compiled")

LARGE = [2**31 - 1, 2**31, -(2**31), 2**40, 2**53 + 1, 2**62 - 1, 2**62, 2**63 - 1, -(2**63)]

# Functions of x and a number, with the numbers in the order in which they are given.
CASES: dict[str, tuple[Callable[..., Any], Sequence[Any]]] = {
    "a factor": (lambda x, n: x * n, [2, 3, 4, 0, -5, 1, -1]),
    "a large factor": (lambda x, n: x * n, [2, 3, *LARGE]),
    "a large integer": (lambda x, n: torch.full((2,), n) + 0, [2, 3, *LARGE]),
    "integers that are compared": (lambda x, n: x.long() > n, [2, 3, *LARGE]),
    "both signs": (lambda x, n: (x + n, n * 2, -n), [3, 5, -7, 0]),
    "a float": (lambda x, n: x * n, [0.5, 1.5, -2.5, 0.0, float("inf"), 1e30]),
    "integers, then floats": (lambda x, n: x * n, [2, 3, 0.5, -1, True, False, -0.5]),
    "bools": (lambda x, n: x * n + (1 if n else 2), [True, False, True]),
    "a dimension": (lambda x, dim: x.sum(dim), [0, 1, -1, -2]),
    "a dimension of extremes": (lambda x, dim: x.amin(dim, keepdim=True), [0, 1, -1, -2]),
    "a dimension to softmax": (lambda x, dim: x.softmax(dim), [1, 0, -1, -2]),
    "a dimension to turn": (lambda x, dim: x.transpose(0, dim) + 1, [0, 1, -1, -2]),
    "a dimension to join": (lambda x, dim: torch.cat([x, x * 2], dim), [0, 1, -2, -1]),
    "a new dimension": (lambda x, dim: x.unsqueeze(dim) + 1, [0, 1, 2, -1, -2, -3]),
    "a shift": (lambda x, shift: x.roll(shift, 1), [1, 2, -1, 5, -7]),
    "a begin": (lambda x, begin: x[:, begin:] + 1, [1, 2, 3, -1, -2]),
    "an end": (lambda x, end: x[:, :end] + 1, [1, 2, 3, -1, -2]),
    "an index": (lambda x, index: x[index] + 1, [0, 1, 2, -1, -2]),
    "a diagonal": (lambda x, diagonal: x.tril(diagonal), [0, 1, 2, -1, -2]),
    "an extent": (lambda x, n: torch.ones(n, 2) + x.sum(), [1, 2, 5, 0, 3]),
    "repeats": (lambda x, n: x.repeat(n, 1), [1, 2, 3, 0]),
    "a range": (lambda x, n: torch.arange(n) + x[0, 0], [3, 4, 7, 0]),
    "a range from": (lambda x, n: torch.arange(n, n + 4) * x[0], [3, 4, -7, 0]),
    "an exponent": (lambda x, n: x**n, [2, 3, 4, -1, 0, -2]),
    "bounds": (lambda x, n: x.clamp(-n, n), [2, 3, 5, 0, -1]),
    "one more sum": (lambda x, n: x + (n // 2) + n % 3, [4, 5, 7, -5, -6]),
    "a reshape": (lambda x, n: x.reshape(n, -1) + 1, [3, 4, 6, -1]),
    "padding": (lambda x, n: torch.nn.functional.pad(x, (n, n)), [1, 2, 3, -1, 0]),
}


@pytest.mark.parametrize(("function", "numbers"), CASES.values(), ids=CASES.keys())
def test_numbers(function: Callable[..., Any], numbers: Sequence[Any]) -> None:
    x = torch.arange(12.0).reshape(3, 4) - 5
    compiled = torch.compile(function, backend="perpend")
    with torch.no_grad():
        for number in numbers:
            try:
                expected = function(x, number)
            except (RuntimeError, IndexError):
                continue  # eager PyTorch does not take it
            torch.testing.assert_close(compiled(x, number), expected, equal_nan=True)


def test_one_artifact_for_numbers_of_both_signs(compilations: list[str]) -> None:
    def function(x: torch.Tensor, n: int) -> torch.Tensor:
        return x * n

    compiled = torch.compile(function, backend="perpend", dynamic=True)
    x = torch.arange(6.0)
    with torch.no_grad():
        for n in (7, -3, 0, 1, -1, 10**12, -(10**12)):
            torch.testing.assert_close(compiled(x, n), x * n)
    assert len(compilations) <= 2  # PyTorch specialises 0 and 1
