"""Reductions, scans, orders, products and scatters of special values in every type, against eager PyTorch.

A run takes a part of them; PERPEND_SEED chooses another, PERPEND_LONG all.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable
from typing import Any

import perpend
import pytest
import torch
from python.torch_functions import Function, tensors

Case = Callable[..., Any]
PARTS = 6
INF, NAN = float("inf"), float("nan")

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
EVERY = [*FLOATS, *INTEGERS, torch.bool]
TOLERANCES = {torch.float32: 1e-5, torch.float64: 1e-10, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}

NUMBERS = torch.tensor(
    [
        [1.0, -2.0, 3.5, 0.25, 2.0, 3.5],
        [1.0, NAN, 3.0, 2.0, NAN, -1.0],
        [INF, 1.0, -INF, 2.0, INF, 0.0],
        [-INF] * 6,
        [INF] * 6,
        [-INF, -INF, 0.0, 1.0, -INF, -3.0],
        [0.0, -0.0, 0.0, -0.0, 0.0, -0.0],
        [-200.0, -100.0, 0.0, 50.0, 200.0, 300.0],
        [INF, NAN, 1.0, -INF, 2.0, 2.0],
    ],
    dtype=torch.float64,
)
WHOLE = torch.tensor([[1, -2, 3, 100, 2, 3], [127, 127, 127, -128, -128, 0], [0] * 6, [5] * 6, [-1, -1, 7, 7, 0, 0]])
TRUTHS = torch.tensor([[True, False, True, True], [False] * 4, [True] * 4])


def values(dtype: torch.dtype) -> torch.Tensor:
    if dtype == torch.bool:
        return TRUTHS
    return NUMBERS.to(dtype) if dtype.is_floating_point else WHOLE.to(dtype)


def finite(dtype: torch.dtype) -> torch.Tensor:
    x = values(dtype)
    return x[x.isfinite().all(1)] if dtype.is_floating_point else x


def positions(dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    """A tensor, places in its second dimension, and what comes there."""
    x = values(dtype)[:3, :4]
    return x, torch.tensor([[0, 0, 1, 3], [2, 2, 2, 0], [1, 1, 0, 1]]), values(dtype)[-3:, :4]


# ----------------------------------------------------------------------------------------------------------------------
# What is computed, by the types that eager PyTorch computes it of
# ----------------------------------------------------------------------------------------------------------------------


def functions_of(names: str) -> list[Case]:
    return [getattr(torch, name) for name in names.split()]


def over_dims(names: str) -> list[Case]:
    return [
        case
        for f in functions_of(names)
        for case in (f, lambda x, f=f: f(x, dim=1), lambda x, f=f: f(x, dim=0, keepdim=True))
    ]


def along(names: str, dims: Iterable[int] = (0, -1)) -> list[Case]:
    return [lambda x, f=f, dim=dim: f(x, dim=dim) for f, dim in itertools.product(functions_of(names), dims)]


def as_types(names: str, types: Iterable[torch.dtype]) -> list[Case]:
    functions = functions_of(names)
    return [lambda x, f=f, to=to: f(x, dim=1, dtype=to) for f, to in itertools.product(functions, types)]


def with_corrections(name: str) -> list[Case]:
    function = getattr(torch, name)
    return [
        lambda x, c=c, dim=dim: function(x, dim=dim, correction=c, keepdim=dim == 0)
        for c, dim in itertools.product((0, 0.5, 1, 1.5, 3, 4, 4.5, 11, NAN, None), (0, 1, (0, 1)))
    ]


def scattered(reduce: str, owns: Iterable[bool] = (True, False)) -> list[Case]:
    return [
        case
        for own in owns
        for case in (
            lambda x, i, s, own=own: x.scatter_reduce(1, i, s, reduce, include_self=own),
            lambda x, i, s, own=own: x.scatter_reduce(0, i.clamp(max=2), s, reduce, include_self=own),
            lambda x, i, s, own=own: x.scatter_reduce(1, i[:, :0], s, reduce, include_self=own),
        )
    ]


def reduced_along_index(reduce: str) -> list[Case]:
    return [
        lambda x, i, s, own=own: torch.index_reduce(x, 1, i[1], s, reduce, include_self=own) for own in (True, False)
    ]


ADDED: list[Case] = [
    lambda x, i, s: x.scatter_add(1, i, s),
    lambda x, i, s: torch.scatter(x, 1, i, s, reduce="add"),
    lambda x, i, s: torch.scatter(x, 1, i, s, reduce="multiply"),
    lambda x, i, s: x.index_add(1, i[1], s),
    lambda x, i, s: x.index_add(1, i[1], s, alpha=3),
    lambda x, i, s: x.index_put((i[:, 1].clamp(max=2),), s, accumulate=True),
    lambda x, i, s: x.put(i[2], s[0], accumulate=True),
]
SUMS: list[Case] = [
    lambda x, i, s: x + s,
    lambda x, i, s: torch.add(x, s, alpha=2),
    lambda x, i, s: (x * s, x == s, torch.maximum(x, s), torch.minimum(x, s)),
    lambda x, i, s: x + True,
]
PRODUCTS: list[Case] = [
    lambda x, i, s: (x @ s.T, torch.mv(x, s[0]), torch.dot(x[0], s[0]), torch.inner(x, s), torch.outer(x[0], s[0])),
    lambda x, i, s: (torch.bmm(x[None], s.T[None]), torch.einsum("ij,kj->", x, s), torch.tensordot(x, s.T, 1)),
    lambda x, i, s: torch.addmm(x[:, :3], x, s.T, beta=2, alpha=3),
    lambda x, i, s: torch.addbmm(x[:, :3], x.expand(2, 3, 4), s.T.expand(2, 4, 3), beta=2, alpha=3),
    lambda x, i, s: torch.addbmm(x[:, :3], x.expand(2, 3, 4), s.T.expand(2, 4, 3), beta=0),
    lambda x, i, s: torch.baddbmm(x[None, :, :3], x[None], s.T[None]),
    lambda x, i, s: torch.addmv(x[:, 0], x, s[0]),
    lambda x, i, s: torch.addr(x[:, :3], x[:, 0], s[:, 0]),
]
ORDERS: list[Case] = [
    lambda x: (torch.aminmax(x), torch.aminmax(x, dim=1), torch.aminmax(x, dim=0, keepdim=True)),
    lambda x: (torch.sort(x, dim=1, stable=True), torch.sort(x, dim=0, descending=True, stable=True), torch.msort(x)),
    lambda x: torch.unique(x, return_counts=True),
    lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True),
]
RANKS: list[Case] = [
    lambda x: (torch.topk(x, 2, dim=1).values, torch.topk(x, 2, dim=0, largest=False).values),
    lambda x: (torch.kthvalue(x, 3, dim=1).values, torch.kthvalue(x, 1, dim=0, keepdim=True).values),
    lambda x: (torch.searchsorted(x[0].sort().values, x), torch.bucketize(x, x[0].sort().values, right=True)),
    *over_dims("median"),
    lambda x: (x.nanmedian(), x.nanmedian(1).values, x.nanmedian(0, keepdim=True).values),
]
QUANTILES: list[Case] = [
    lambda x, f=f, q=q, mode=mode: (f(x, q, dim=1, interpolation=mode), f(x, q, interpolation=mode))
    for f in (torch.quantile, torch.nanquantile)
    for q, mode in itertools.product((0.0, 0.3, 1.0), ("linear", "lower", "higher", "midpoint", "nearest"))
]
NORMS: list[Case] = [
    lambda x, p=p: (torch.linalg.vector_norm(x, p, dim=1), torch.linalg.vector_norm(x, p), torch.norm(x, p, 0, True))
    for p in (0, 1, 2, 3, 0.5, 1.7, -1, -2.5, INF, -INF)
]
SOFTMAXES: list[Case] = [
    lambda x: (torch.softmax(x, 1), torch.softmax(x, 0), torch.log_softmax(x, 1), torch.logsumexp(x, (0, 1))),
    lambda x: (torch.softmax(x, 1, dtype=torch.float32), torch.log_softmax(x, 0, dtype=torch.float64)),
    *along("logcumsumexp"),
]
OF_TRUTHS = over_dims("sum prod amax amin max min any all")
OF_INTEGERS = OF_TRUTHS + over_dims("argmax argmin")
OF_FLOATS = OF_INTEGERS + over_dims("mean")
SCANS = along("cumsum cumprod cummax cummin")
VARIANCES = [case for name in ("var", "std") for case in with_corrections(name)]
MEANS = [lambda x, c=c: (torch.var_mean(x, 1, correction=c), torch.std_mean(x, 0, correction=c)) for c in (0, 1.5, 9)]
SCATTERS = [case for reduce in ("sum", "prod", "mean", "amax", "amin") for case in scattered(reduce)]
OF_INDICES = [case for reduce in ("prod", "mean", "amax", "amin") for case in reduced_along_index(reduce)]
WIDE = (torch.int64, torch.float32, torch.float64)
NARROW = (*INTEGERS, torch.bool, torch.float32, torch.float64)

# By kind: the inputs of a type, the cases, the types.
KINDS: dict[str, tuple[Callable[[torch.dtype], Any], list[Case], list[torch.dtype]]] = {
    "reductions": (values, OF_FLOATS, FLOATS),
    "reductions of integers": (values, OF_INTEGERS + as_types("sum prod cumsum cumprod mean", WIDE[1:]), INTEGERS),
    "types of integers": (values, as_types("sum", NARROW) + as_types("prod cumsum cumprod", INTEGERS), INTEGERS),
    "reductions of truths": (values, OF_TRUTHS + as_types("sum", NARROW) + as_types("prod cumsum", WIDE), [torch.bool]),
    "scans": (values, SCANS, EVERY),
    "orders": (values, ORDERS, EVERY),
    "ranks": (values, RANKS, FLOATS + INTEGERS),
    "quantiles": (values, QUANTILES, FLOATS[:2]),
    "softmaxes": (values, SOFTMAXES, FLOATS),
    "norms": (finite, NORMS, FLOATS),
    "norms of infinities": (values, NORMS[:2] + NORMS[-2:], FLOATS),
    "variances": (values, VARIANCES, FLOATS),
    "variances and means": (finite, MEANS, FLOATS),
    "scatters": (positions, SCATTERS + OF_INDICES + ADDED, FLOATS + INTEGERS),
    "scatters of truths": (
        positions,
        [case for reduce in ("sum", "prod", "amax", "amin") for case in scattered(reduce)] + ADDED,
        [torch.bool],
    ),
    "sums and products": (positions, SUMS + PRODUCTS, INTEGERS),
    "sums of truths": (positions, SUMS, [torch.bool]),
}
pytestmark = pytest.mark.filterwarnings("ignore:.*(degrees of freedom|in beta|is deprecated):UserWarning")
SWEEP = [(kind, dtype) for kind, (_, _, types) in KINDS.items() for dtype in types]
PART = SWEEP if os.environ.get("PERPEND_LONG") else SWEEP[int(os.environ.get("PERPEND_SEED", "1")) % PARTS :: PARTS]


def check(cases: list[Case], inputs: tuple[torch.Tensor, ...], is_compiled: bool = True) -> None:
    def all_cases(*given: torch.Tensor) -> list[Any]:
        return [case(*given) for case in cases]

    module = perpend.import_model(Function(all_cases), example_inputs=inputs)
    expected = [(place, part) for place, case in enumerate(cases) for part in tensors(case(*inputs))]
    results = [module.evaluate(*inputs)] + ([perpend.compile(module, opt_level=1)(*inputs)] if is_compiled else [])
    for result in results:
        for got, (place, wanted) in zip(tensors(result), expected, strict=True):
            tolerance = TOLERANCES.get(wanted.dtype, 0)
            text = f"case {place} of {inputs[0].dtype}"
            torch.testing.assert_close(
                got, wanted, rtol=tolerance, atol=tolerance, equal_nan=True, msg=lambda m, t=text: f"{t}: {m}"
            )


@pytest.mark.parametrize(("kind", "dtype"), PART, ids=[f"{kind} {dtype}" for kind, dtype in PART])
def test_special_values(kind: str, dtype: torch.dtype) -> None:
    make, cases, _ = KINDS[kind]
    inputs = make(dtype)
    check(cases, inputs if isinstance(inputs, tuple) else (inputs,))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.uint8, torch.int64, torch.bool], ids=str)
@pytest.mark.parametrize("shape", [(0, 3), (1, 3), ()], ids=str)
def test_nothing_and_one_element(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    cases = along("sum prod any all cumsum cumprod cummax sort", dims=[0]) + functions_of("sum prod any all")
    if shape != (0, 3):
        cases += along("amax max" if dtype == torch.bool else "amax max argmin median", dims=[0])
    if dtype.is_floating_point:
        cases += functions_of("median nanmedian var mean") + along("logcumsumexp logsumexp", dims=[0])
        cases += [lambda x, c=c: torch.var_mean(x, dim=0, correction=c) for c in (0, 0.5, 1, 2)]
        cases += [lambda x, p=p: torch.linalg.vector_norm(x, p, dim=0) for p in (0, 1, 2, 2.5)]
    check(cases, (torch.full(shape, 1).to(dtype),), is_compiled=dtype == torch.float32)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_variances_of_large_numbers(dtype: torch.dtype) -> None:
    """Neither do squares overflow, nor does a large mean take digits away."""
    most = torch.finfo(dtype).max / (1 if dtype != torch.float64 else 1e200)
    rows = [[most] * 4, [most / 2, most, most, most], [1000.0, 1000.5, 1001.0, 1004.0], [-most / 1e20, 0.0, 1.0, 2.0]]
    x = torch.tensor(rows, dtype=dtype)
    cases: list[Case] = [lambda x: (torch.std(x, 1), torch.var(x, 1), torch.std_mean(x[2:], 1, correction=0))]
    check(cases, (x,))
    if dtype == torch.float32:
        check(cases, (torch.arange(4 * 37.0).reshape(4, 37) + 2.0**23,))


def test_norms_of_large_numbers() -> None:
    """Of any order, to the last digits: in f64, since neither f32 nor eager PyTorch has the digits of 1 / 1.7."""
    x = torch.tensor([[2.0**57 + 2.0**40, 3.0, 2.0**55], [1e-20, 3e-20, 2e-21], [1e30, 1e29, 3e30]])
    for order in (1.5, 1.7, 3, -2.5):
        expected = torch.linalg.vector_norm(x.double(), order, dim=1).float()
        model = perpend.compile(Function(lambda x, p=order: torch.linalg.vector_norm(x, p, dim=1)), example_inputs=(x,))
        torch.testing.assert_close(model(x), expected, rtol=2e-7, atol=0)


def test_distances_that_count() -> None:
    x = torch.tensor([[[1.0, NAN], [INF, 2.0], [0.0, -0.0]]])
    check([lambda x: (torch.cdist(x, x, p=0), torch.cdist(x, x[:, 1:], p=0))], (x,))
    check([lambda x: torch.nn.functional.pdist(x[0], 0)], (x,))


def test_bags_without_padding() -> None:
    """A row of padding may be infinite."""
    table = torch.tensor([[1.0, 2.0], [INF, NAN], [3.0, -1.0]])
    bags, weights = torch.tensor([[0, 1, 2], [1, 2, 2], [1, 1, 1]]), torch.rand(3, 3)
    embedding_bag = torch.nn.functional.embedding_bag
    cases: list[Case] = [
        lambda x, m=mode: embedding_bag(bags, x, padding_idx=1, mode=m) for mode in ("sum", "mean", "max")
    ]
    check([*cases, lambda x: embedding_bag(bags, x, padding_idx=1, mode="sum", per_sample_weights=weights)], (table,))


def test_gradients_of_softmax() -> None:
    """The sum comes before the product, so that an infinite gradient where the result is 0 stays there."""
    grad = torch.tensor([[INF, 1.0, 2.0], [1.0, -INF, 0.0], [0.5, -0.0, 0.0]])
    result = torch.tensor([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.0, 0.0, 1.0]])
    check([lambda g, r: torch.ops.aten._softmax_backward_data(g, r, 1, torch.float32)], (grad, result))
