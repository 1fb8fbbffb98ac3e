"""Reductions of PyTorch that once gave wrong values, wrong types or errors: exported and interpreted, and compiled by
torch.compile."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import perpend
import pytest
import torch
from python.torch_functions import DYNAMIC, Function, tensors
from torch.nn import functional

INF, NAN = float("inf"), float("nan")
TRUTHS = torch.tensor([[True, False, True, True], [False, False, True, False]])
BYTES = torch.tensor([[200, 100, 3], [0, 255, 1]], dtype=torch.uint8)
NUMBERS = torch.tensor([[1.0, NAN, 3.0, 2.0], [4.0, 1.0, 9.0, 7.0], [-INF, -INF, 0.0, INF]])
RISING = torch.tensor([-200.0, -100.0, 0.0, 200.0, INF])
PLACES = torch.tensor([[0, 0, 1, 1]])

CASES: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "sums of truth values": (
        lambda a, b: (a + b, torch.add(a, b, alpha=2), a + True, b.sum(1, dtype=torch.bool)),
        (TRUTHS[0], TRUTHS),
    ),
    "truth values that come to one place": (
        lambda x, i, s: (
            x.scatter_add(1, i, s),
            x.index_add(0, i[0, :2], s.expand(2, 4)),
            *(x.scatter_reduce(1, i, s, r, include_self=False) for r in ("sum", "prod", "amax", "amin")),
        ),
        (TRUTHS, PLACES, TRUTHS[:1]),
    ),
    "-inf that comes to a place": (
        lambda x, i, s: [f(x, i, s, r) for f in (scattered, reduced_along) for r in ("amax", "amin", "prod", "mean")],
        (torch.ones(1, 3), PLACES, torch.tensor([[-INF, -INF, 1.0, INF]])),
    ),
    "logcumsumexp of rising numbers": (
        lambda x: (x.logcumsumexp(0), x.flip(0).logcumsumexp(0), x[:1].logcumsumexp(0)),
        (RISING,),
    ),
    "running extremes of NaN": (lambda x: (x.cummax(1), x.cummin(0), x.isnan().cummax(1)), (NUMBERS,)),
    "medians of NaN": (lambda x: (x.median(), x.median(1), x.nanmedian(), x[:0].median()), (NUMBERS,)),
    "variances with any correction": (
        lambda x: [f(x, dim=0, correction=c) for c in (0.5, 1.5, 4, 5) for f in (torch.var, torch.std, torch.var_mean)],
        (torch.tensor([1.0, 2.0, 3.0, 4.0]),),
    ),
    "variances of halves": (
        lambda x: (x.var(1), x.std(1)),
        (torch.tensor([[-200.0, -100.0, 0.0, 50.0, 200.0, 300.0]]).half(),),
    ),
    "norms of halves": (
        lambda x: (torch.linalg.vector_norm(x, 1.7, 1), torch.linalg.vector_norm(x, 3, 1)),
        (torch.tensor([[1.0, -2.0, 3.5, -200.0, -100.0, 50.0, 200.0, 300.0]] * 2).bfloat16(),),
    ),
    "rms_norm of small halves": (lambda x: functional.rms_norm(x, (3,)), (torch.full((2, 3), 1e-3).bfloat16(),)),
    "truth of bytes": (lambda x: (x.any(), x.all(), x.any(1), x.all(0, keepdim=True)), (BYTES,)),
    "truth over no dimension": (lambda x: (torch.any(x, ()), torch.all(x, ())), (BYTES,)),
    "positions of maxima": (
        lambda x, y: (
            functional.max_pool2d(x[None], 2, 1, return_indices=True),
            functional.max_pool2d(x[None], 3, 1, 1, return_indices=True),
            functional.max_pool1d(y, 2, 1, 1, 2, return_indices=True),
        ),
        (NUMBERS, torch.full((1, 4), -INF)),
    ),
    "truth of nothing": (lambda x: (x[:0].any(), x[:0].all(), x[:0].any(0), x[:, :0].all(1)), (TRUTHS,)),
    "products of bytes": (lambda x, y: torch.addbmm(x[:, :2], y, y.mT), (BYTES, torch.stack([BYTES, BYTES]))),
    "numbers beyond bytes": (lambda x: (x + 300, x * -1, x == 456), (BYTES,)),
    "distinct NaN": (lambda x: torch.unique(x.repeat(2, 1), return_counts=True), (NUMBERS,)),
    "NaN among boundaries": (lambda x: torch.searchsorted(x[1].sort().values, x, right=True), (NUMBERS,)),
}


def scattered(x: torch.Tensor, places: torch.Tensor, source: torch.Tensor, reduction: str) -> torch.Tensor:
    return x.scatter_reduce(1, places, source, reduction, include_self=False)


def reduced_along(x: torch.Tensor, places: torch.Tensor, source: torch.Tensor, reduction: str) -> torch.Tensor:
    return x.index_reduce(1, places[0], source, reduction, include_self=False)


@pytest.mark.parametrize("name", CASES)
def test_special_values(name: str) -> None:
    torch._dynamo.reset()
    function, inputs = CASES[name]
    tolerance = 1.6e-2 if inputs[0].dtype == torch.bfloat16 else 2e-3 if inputs[0].dtype == torch.half else 1e-5
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore", UserWarning)  # of degrees of freedom
        expected = function(*inputs)
        module = perpend.import_model(Function(function), example_inputs=inputs)
        compiled = torch.compile(function, backend="perpend")
        for results in (module.evaluate(*inputs), compiled(*inputs)):
            for got, wanted in zip(tensors(results), tensors(expected), strict=True):
                torch.testing.assert_close(got, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x.logcumsumexp(0), x.cummax(0)),
        lambda x: (x.var(0, correction=1.5), x.std(0, correction=2)),
        lambda x: (x.median(0), x.median(), x.nanmedian(0)),
    ],
)
@pytest.mark.filterwarnings("ignore:.*degrees of freedom:UserWarning")
def test_extents_that_a_run_knows(function: Callable[..., Any]) -> None:
    example = torch.randn(5, 3)
    model = perpend.compile(Function(function), example_inputs=(example,), dynamic_shapes=(({0: DYNAMIC},),))
    for x in (example, torch.randn(1, 3), torch.randn(37, 3), torch.tensor([[-INF, 1.0, NAN], [2.0, INF, 3.0]])):
        torch.testing.assert_close(
            tensors(model(x)), tensors(function(x)), rtol=1e-5, atol=1e-5, equal_nan=True, check_stride=False
        )
