"""PyTorch operators whose results have extents that data decides, and numbers read from tensors."""

from __future__ import annotations

import math
from typing import Any

import perpend
import pytest
import torch
from python.torch_functions import Function, check

torch.manual_seed(0)
X, Z = torch.randn(4, 6), torch.randn(2, 3, 4, 5)
COUNTS = torch.tensor([[0, 3, 1, 3], [2, 2, 0, 0]])

MASKED = {
    "nonzero": lambda x: (x > 0).nonzero(),
    "where": lambda x: torch.where(x > 0),
    "count": lambda x: x + (x > 0).nonzero().shape[0],
    "size": lambda x: torch.zeros(2 * (x > 0).nonzero().shape[0] + 1),
    "masked select": lambda x: x.masked_select(x[0] > 0) * 2,
    "elements": lambda x: x[x > 0].sum(),
    "rows": lambda x: x[x[:, 0] > 0] @ x.T,
    "columns": lambda x: x[:, x[0] > 0],
    "masked scatter": lambda x: x.masked_scatter(x > 0, x.flatten().flip(0)),
    "masked scatter of rows": lambda x: x[0].masked_scatter(x > 0, x.flatten().flip(0)),
}


def assign(x: torch.Tensor, key: Any, value: Any) -> torch.Tensor:
    result = x.clone()
    result[key] = value
    return result


@pytest.mark.parametrize("name", MASKED)
def test_masks(name: str) -> None:
    nothing, everything = -X.abs() - 1, X.abs() + 1
    check(MASKED[name], X, dynamic=[[0, 1]], more=[[nothing], [everything], [torch.randn(1, 7)]])


def test_masks_among_indices() -> None:
    check(lambda z: z[:, z[0, :, :, 0] > 0], Z)
    check(lambda z: z[z > 0] * 2, Z)
    check(lambda x: assign(x, x > 0, x[x > 0] * 2), X)
    check(lambda x: (assign(x, x[:, 0] > 0, 5.0), assign(x, (slice(None), x[0] > 0), 5.0)), X)
    check(lambda x: x.index_put((x[:, 0] > 0,), torch.ones(6), accumulate=True), X)


def test_distinct_elements() -> None:
    check(lambda i: torch.unique(i, return_inverse=True, return_counts=True), COUNTS)
    check(torch.unique, COUNTS, dynamic=[[0]], more=[[torch.tensor([[7, 7, 7, 7]])]])
    check(lambda i: torch.unique(i, dim=0, return_counts=True), torch.tensor([[1, 2], [0, 5], [1, 2]]))
    nan = float("nan")
    check(lambda x: torch.unique(x, return_inverse=True, return_counts=True)[1:], torch.tensor([nan, 1, nan, 1]))
    check(lambda x: torch.unique(x, dim=0, return_counts=True)[1], torch.tensor([nan, nan]))
    runs = torch.tensor([4, 4, 1, 1, 1, 4])
    shorter = [[torch.tensor([9])], [torch.tensor([3, 3])]]
    check(
        lambda i: torch.unique_consecutive(i, return_inverse=True, return_counts=True),
        runs,
        dynamic=[[0]],
        more=shorter,
    )


def test_counts() -> None:
    check(lambda i: torch.bincount(i.flatten()), COUNTS, more=[[COUNTS * 3]])
    check(lambda i, x: torch.bincount(i.flatten(), x[:2, :4].flatten(), minlength=8), COUNTS, X)
    edges = torch.tensor([-1.0, -0.5, 0.0, 0.999, 1.0, 1.5])
    check(lambda x: torch.histc(x, 8, -1.0, 1.0), edges, more=[[X[0]]])
    check(lambda x: torch.histc(x, 100, -10, 10), torch.arange(-100, 101, dtype=torch.float64) / 10)
    check(lambda i: torch.repeat_interleave(i, i[0], dim=1), COUNTS, more=[[COUNTS * 0], [COUNTS + 1]])


def test_histograms() -> None:
    x, weights, edges = torch.randn(50), torch.rand(50), torch.tensor([-1.0, -0.5, 0.3, 2.0])
    check(lambda x: torch.histogram(x, 7), x, more=[[torch.full((50,), 2.0)]])
    check(lambda x: torch.histogram(x, 10), torch.arange(11.0) * 0.1)
    check(lambda x: torch.histogram(x, 4), torch.zeros(0))
    check(lambda x: torch.histogram(x, 4, range=(0.0, 0.0)), x)
    check(lambda x, w: torch.histogram(x, 5, range=(-1.0, 1.0), weight=w, density=True), x, weights)
    check(lambda x, w, e: torch.histogram(x, e, weight=w), x, weights, edges)
    rows = torch.randn(50, 3)
    check(lambda x, w: torch.histogramdd(x, [2, 3, 4], weight=w, density=True), rows, weights)
    check(lambda x, e: torch.histogramdd(x, [e, e, e]), rows, edges)
    check(lambda x: torch.histogramdd(x, [2, 3, 4], range=[-1.0, 1.0, -2.0, 2.0, 0.0, 1.0]), rows)


def test_positions_among_boundaries() -> None:
    limits = torch.tensor([-1.0, 0.0, 0.0, 1.0])
    values = torch.tensor([[-2.0, -1.0, 0.0], [0.5, 1.0, 2.0]])
    check(
        lambda x: (
            torch.bucketize(x, limits),
            torch.searchsorted(limits, x, right=True),
            torch.searchsorted(x, x - 0.1, out_int32=True),
        ),
        values,
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.uint8])
@pytest.mark.parametrize("count", [65, 127, 128, 1000])
@pytest.mark.parametrize("rows", [(), (3,)], ids=["one row", "rows"])
def test_positions_among_many_boundaries(dtype: torch.dtype, count: int, rows: tuple[int, ...]) -> None:
    """By binary search; many boundaries are equal, and some values lie before, behind or on all of them."""
    limits = torch.randint(0, 100, (*rows, count)).to(dtype).sort(-1).values
    values = torch.randint(0, 110, (*rows, 40)).to(dtype)
    if dtype.is_floating_point:
        values[..., :4] = torch.tensor([math.nan, math.inf, -math.inf, -1.0])
        limits[..., -1] = math.inf
    for right in (False, True):
        check(lambda x, y, right=right: torch.searchsorted(x, y, right=right), limits, values)


def test_numbers_of_tensors() -> None:
    number = torch.tensor
    check(lambda x, n: x * n.item(), X, number(3), more=[[X, number(-2)]])
    check(lambda x, n: x * n.item() + n.item() / 2, X, number(3.5), more=[[X, number(-0.25)]])
    check(lambda n: torch.arange(n.item()) * 2, number(3), more=[[number(0)], [number(5)]])


def test_numbers_of_extents() -> None:
    sizes = [[torch.randn(3, 5)], [torch.randn(7, 1)]]
    check(lambda x: x / (x.shape[0] / 2.0) * x.shape[1] ** -0.5, X, dynamic=[[0, 1]], more=sizes)


def test_numbers_that_conditions_choose() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x * torch.sym_ite(x.shape[0] > 4, x.shape[1] / 2, x.shape[1] / 4)

    check(function, X, dynamic=[[0, 1]], more=[[torch.randn(7, 5)], [torch.randn(2, 3)]])


def test_ranges_of_floats() -> None:
    def function(x: torch.Tensor) -> Any:
        rows, columns = x.shape
        return torch.arange(columns, -rows, -1.0), torch.arange(0, rows, 0.5), torch.arange(rows * 1.0)

    check(function, X, dynamic=[[0, 1]], more=[[torch.randn(7, 5)], [torch.randn(2, 3)]])


def test_masks_of_more_elements() -> None:
    """PyTorch asserts that no more elements are selected than the tensor has."""
    for shape, mask in (((10,), (10, 10)), ((1,), (4,)), ((2, 1), (1, 3)), ((), (3,))):
        check(lambda x, m: torch.masked_select(x, m), torch.randn(shape), torch.ones(mask, dtype=torch.bool))


@pytest.mark.parametrize("dim", [0, 1])
def test_slices_that_follow_one_another(dim: int) -> None:
    x = torch.tensor([[1, 1, 2, 2], [1, 1, 3, 3], [1, 1, 3, 3], [0, 0, 1, 1]])
    check(lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True, dim=dim), x)
    check(lambda x: torch.unique_consecutive(x, return_counts=True, dim=0), x[:, 0])


def test_dimensions_counted_from_the_end() -> None:
    """Which PyTorch traces with another rank."""
    with pytest.raises(perpend.CompileError, match="hint: count it from 0"):
        check(lambda x: torch.unique_consecutive(x, dim=-1), torch.tensor([1, 1, 2]))


def test_ranges_of_the_elements() -> None:
    for x in (torch.tensor([1.0, 2, 2.5, 3, 7, 7]), torch.tensor([4.0, 4.0]), torch.zeros(0)):
        check(lambda x: (torch.histc(x, 7), torch.histc(x, 7, min=2, max=2)), x)


def test_one_place_and_none() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    check(lambda x, i: torch.take(x, i), x, torch.tensor(-2))
    check(lambda x, i: torch.take(x, i), x, torch.tensor([[2, -1], [0, -12]]))
    check(lambda x, i: torch.gather(x[0], 0, i), x, torch.zeros(2, 0, dtype=torch.long))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int8, torch.uint8, torch.int32, torch.float64])
@pytest.mark.parametrize("count", [1, 2, 33, 1000])
def test_stable_orders(dtype: torch.dtype, count: int) -> None:
    """Many equal elements, NaN, infinities and both zeros, in both directions and along both dimensions."""
    x = torch.randint(0, 9, (count, 3)).to(dtype) - (4 if dtype.is_signed else 0)
    flat = x.view(-1)
    if dtype.is_floating_point:
        flat[::5], flat[1::7], flat[2::11], flat[3::13] = math.nan, -0.0, math.inf, -math.inf
    elif dtype == torch.int32:
        flat[0], flat[-1] = -(2**31), 2**31 - 1
    orders = [dict(dim=dim, descending=descending) for dim in (0, 1) for descending in (False, True)]
    check(
        lambda x: tuple(torch.sort(x, stable=True, **order)[1] for order in orders),
        x,
        dynamic=[[0]] if count > 1 else [],
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
@pytest.mark.parametrize("count", [1, 2, 300, 9001])
def test_elements_of_a_rank(dtype: torch.dtype, count: int) -> None:
    """Selected by a function of the library where lines are long; all values differ, so positions are known."""
    count = min(count, 200) if dtype == torch.bfloat16 else count  # bf16 tells no more apart
    x = (torch.stack([torch.randperm(count) for _ in range(3)]) - count // 2).to(dtype)
    ranks = sorted({1, (count + 1) // 2, max(1, count // 50), count})
    check(lambda x: [x.kthvalue(rank, 1) for rank in ranks], x)
    check(lambda x: [x.topk(rank, 1, largest=largest) for rank in ranks for largest in (True, False)], x)
    check(lambda x: [x.mT.kthvalue(rank, 0, keepdim=True) for rank in ranks], x)
    check(lambda x: (x.median(1), x.median()), x)


def test_ranks_of_symbolic_lines() -> None:
    lengths = [[torch.randn(2, count)] for count in (60, 64, 65, 1000, 9001)]
    check(lambda x: (x.topk(50), x.kthvalue(x.shape[1] // 3), x.median(1), x.sort(1)), torch.randn(2, 333),
          dynamic=[[1]], more=lengths)  # fmt: skip


@pytest.mark.parametrize("count", [3, 500])
def test_medians_with_nan(count: int) -> None:
    x = torch.randn(4, count)
    x[1, count // 2], x[2, [1, -1]], x[3] = math.nan, math.nan, math.nan

    def medians(x: torch.Tensor) -> Any:
        parts = (x.median(1).values, x.median(), x[:1].median(), x.nanmedian(1).values)
        return tuple(part.nan_to_num(9) for part in parts)

    check(medians, x)
    positions = perpend.compile(Function(lambda x: x.median(1).indices), example_inputs=(x,))(x)
    assert positions[1:].tolist() == [count // 2, 1, 0]
