"""torch.cond, while_loop, scan and map; products with one matrix per group of rows."""

from __future__ import annotations

from typing import Any

import perpend
import pytest
import torch
from python.torch_functions import check
from torch._higher_order_ops import scan, while_loop
from torch._higher_order_ops.map import map as over_rows

torch.manual_seed(0)
X = torch.randn(5, 6)
CONSTANT = torch.full((6,), 2.5)


def test_conditions() -> None:
    def function(x: torch.Tensor) -> Any:
        first = torch.cond(x.sum() > 0, lambda a: a * CONSTANT, lambda a: a - CONSTANT, (x,))
        return first + CONSTANT  # not the constants of a branch

    check(function, X, dynamic=[[0]], more=[[X.abs()], [-X.abs()[:3]]])


def test_while_loops() -> None:
    def five_times(x: torch.Tensor) -> Any:
        return while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a * 1.5 + CONSTANT), (torch.tensor(0), x))

    def until_large(x: torch.Tensor) -> Any:
        return while_loop(lambda a: a.sum() < 1000, lambda a: (a.abs() * 1.5 + 1,), (x,))

    check(five_times, X)
    check(until_large, X, dynamic=[[0]], more=[[torch.full((2, 6), 500.0)]])


def test_scans() -> None:
    check(lambda x: scan(lambda c, a: (c + a, c * a), x[0], x), X)
    check(lambda x: scan(lambda c, a: (c + a, c * a), x[0], x, reverse=True), X)
    check(lambda x: over_rows(lambda row: row.cumsum(0) * 2, x), X)


def test_an_error_inside_a_branch_is_one_message() -> None:
    def bent(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.elu(x, 1.0, 1.0, 2.0)

    def function(x: torch.Tensor) -> Any:
        return torch.cond(x.sum() > 0, bent, lambda a: bent(a) - 1, (x,))

    with pytest.raises(perpend.CompileError, match="input_scale: expected 1") as failure:
        check(function, X)
    assert str(failure.value).count("input_scale: expected") == 1


@pytest.mark.parametrize("ends", [[2, 2, 4, 5], [0, 0, 0, 0], [5, 5, 5, 5], [0, 1, 1, 3]])
def test_groups_of_rows(ends: list[int]) -> None:
    weights = torch.randn(4, 6, 3)

    def reference(x: torch.Tensor) -> torch.Tensor:
        result, begin = torch.zeros(5, 3), 0
        for weight, end in zip(weights, ends, strict=True):
            result[begin:end] = x[begin:end] @ weight
            begin = end
        return result

    pytest.importorskip("transformers.integrations.moe")  # which defines the operator

    class Product(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: torch.Tensor, offs: torch.Tensor) -> Any:
            return torch.ops.transformers.grouped_mm_fallback(x, weights, offs)

    offsets = torch.tensor(ends, dtype=torch.int32)
    model = perpend.compile(Product(), example_inputs=(X, offsets))
    torch.testing.assert_close(model(X, offsets), reference(X), atol=1e-5, rtol=1e-5)


def test_a_condition_on_extents() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.shape[0] > 2, lambda x: x * 2, lambda x: x + 1, (x,))

    check(function, torch.randn(2, 3), dynamic=[[0]], more=[[torch.randn(3, 3)], [torch.randn(1, 3)]])
