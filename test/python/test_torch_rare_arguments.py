"""Arguments and results of ATen's operators that models seldom use, against eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import perpend
import pytest
import torch
import torch.nn.functional as F
from python.torch_functions import Function, agrees, check, tensors

torch.manual_seed(0)
aten: Any = torch.ops.aten
X = torch.randn(3, 4, 5)
IMAGE = torch.randn(2, 4, 9, 8)
POINT = torch.tensor(-1.5)
POSITION = torch.tensor(0)


def test_threshold_of_softplus() -> None:
    x = torch.linspace(-3, 30, 67)
    check(lambda x: (F.softplus(x, threshold=0.5), F.softplus(x, 2, 3), F.softplus(x, -1.5, 1.0), F.softplus(x)), x)
    wide = torch.tensor([19.9, 20.1, 21.0], dtype=torch.float64)
    model = perpend.compile(Function(F.softplus), example_inputs=(wide,))
    torch.testing.assert_close(model(wide), F.softplus(wide), rtol=1e-15, atol=0)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.uint8, torch.float32])
def test_steps_between_ends_with_fractions(dtype: torch.dtype) -> None:
    ends = [(4.3, 0, 50), (0.9, 7.9, 4), (3, 3.7, 1), (0, 100, 7), (2.5, 9, 0)]
    check(lambda x: [torch.linspace(*each, dtype=dtype) + x for each in ends], torch.zeros((), dtype=dtype))


def test_transposes_of_vectors_and_scalars() -> None:
    check(lambda x: (x.t() * 2, x[0].t() + 1, x[0, 0].t() + 1, x[0, 0].transpose(0, -1) + 1), X[0])


STATISTICS: list[Callable[..., Any]] = [
    lambda a: aten.native_layer_norm(a, [9, 8], None, None, 1e-5),
    lambda a: aten.native_layer_norm(a, [8], None, None, 1e-2)[2],
    lambda a: aten.native_group_norm(a, None, None, 2, 4, 72, 2, 1e-5),
    lambda a: aten._native_batch_norm_legit_no_training(a, None, None, a[0, :, 0, 0], a[1, :, 0, 0] ** 2, 0.1, 1e-5),
    lambda a: aten.native_dropout(a, 0.5, False),
]


@pytest.mark.parametrize("number", range(len(STATISTICS)))
def test_statistics_of_normalisations(number: int) -> None:
    """Exported, and under torch.compile."""
    function = STATISTICS[number]
    check(function, IMAGE)
    with torch.no_grad():
        results = torch.compile(function, backend="perpend")(IMAGE)
    assert len(tensors(results)) == len(tensors(function(IMAGE)))
    agrees(results, function(IMAGE))


def test_batch_norm_that_updates_its_statistics() -> None:
    def function(a: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor) -> Any:
        mean, variance = mean.clone(), variance.clone()
        return F.batch_norm(a, mean, variance, training=True), mean, variance

    check(function, IMAGE, IMAGE[0, :, 0, 0], IMAGE[1, :, 0, 0] ** 2, is_interpreted=False)


def test_results_that_nothing_computes_are_refused() -> None:
    """Not None in the place of a tensor."""
    with pytest.raises(perpend.CompileError, match=r"\(aten\._linalg_det\.default\): its result 1 is not supported\n"):
        perpend.compile(Function(lambda x: aten._linalg_det(x)), example_inputs=(torch.eye(3),))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_all_results_of_bags(mode: str) -> None:
    weight = torch.randn(5, 3)
    indices, offsets = torch.tensor([0, 1, 2, 3, 4, 0, 2]), torch.tensor([0, 2, 2, 5, 7])
    number = ["sum", "mean", "max"].index(mode)
    for options in ((None, False, None), (None, False, 2), (None, True, None)):

        def bags(weight: Any, indices: Any, offsets: Any, options: Any = options) -> Any:
            return torch.embedding_bag(weight, indices, offsets, False, number, False, *options)

        check(bags, weight, indices, offsets)


ALONG: list[Callable[..., Any]] = [
    lambda x, i: (x.sum(0), x.mean(0), x.prod(-1), x.amax(0), x.amin(0), x.logsumexp(0), x.sum(0, keepdim=True)),
    lambda x, i: ((x > 0).any(0), (x > 0).all(-1), x.max(0), x.min(0), x.argmax(0), x.argmin(-1), x.argmax()),
    lambda x, i: (x.var(0, correction=0), x.norm(dim=0), torch.linalg.vector_norm(x, 3, 0), x.var(0)),
    lambda x, i: (x.softmax(0), x.log_softmax(0), x.cumsum(0), x.cumprod(0), x.sort(0), x.topk(1), x.argsort(0)),
    lambda x, i: (x.gather(0, i), x.index_select(0, i), x.unfold(0, 1, 1), x.scatter(0, i, x + 1)),
    lambda x, i: (x.scatter_add(0, i, x), x.index_add(0, i, x), x.index_copy(0, i, x + 1), x.scatter(0, i, 2.0)),
    lambda x, i: x.scatter_reduce(0, i, x - 1, "amin"),
    lambda x, i: (
        x.std(0, correction=0),
        torch.var_mean(x, 0, correction=0),
        x.nansum(0),
        x.median(0),
        x.count_nonzero(0),
    ),
]


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("number", range(len(ALONG)))
def test_tensors_without_dimensions_have_one(number: int) -> None:
    module = perpend.import_model(Function(ALONG[number]).eval(), example_inputs=(POINT, POSITION))
    expected = tensors(ALONG[number](POINT, POSITION))
    for results in (perpend.compile(module)(POINT, POSITION), module.evaluate(POINT, POSITION)):
        for result, reference in zip(tensors(results), expected, strict=True):
            torch.testing.assert_close(result, reference, equal_nan=True)


POOLS: list[Callable[..., Any]] = [
    lambda a: (F.adaptive_max_pool2d(a, (4, 3), return_indices=True), F.adaptive_max_pool2d(a, 9, True)),
    lambda a: F.adaptive_max_pool2d((a * 2).round(), (1, 8), return_indices=True),
    lambda a: F.adaptive_max_pool1d(a[0], 5, return_indices=True),
    lambda a: F.adaptive_max_pool3d(a, (2, 4, 5), return_indices=True),
    lambda a: F.avg_pool2d(a, 3, 2, 1, ceil_mode=True, divisor_override=5),
    lambda a: F.avg_pool2d(a, (2, 5), (3, 4), (1, 2), ceil_mode=True, divisor_override=2),
    lambda a: F.avg_pool3d(a, 2, 3, ceil_mode=True, divisor_override=3),
    lambda a: (
        F.avg_pool2d(a, 2, 3, 1, True, False),
        F.avg_pool2d(a, 2, 3, 1, True, True),
        F.avg_pool3d(a, 3, 2, 1, True),
    ),
    lambda a: (F.avg_pool1d(a[0], 2, 3, 1, True, False), F.avg_pool1d(a[0], 4, 3, 1, True, True)),
]


@pytest.mark.parametrize("number", range(len(POOLS)))
def test_pools(number: int) -> None:
    check(POOLS[number], IMAGE)


def test_pools_of_images_of_any_size() -> None:
    def function(a: torch.Tensor) -> Any:
        return F.avg_pool2d(a, 3, 2, 1, ceil_mode=True, divisor_override=5), F.adaptive_max_pool2d(a, (4, 3), True)

    check(function, IMAGE, dynamic=((2, 3),), more=((torch.randn(2, 4, 6, 11),), (torch.randn(2, 4, 5, 7),)))


def test_strides_of_memory() -> None:
    def function(x: torch.Tensor) -> Any:
        turned = x.permute(2, 0, 1)
        parts = x[1:, :, ::2]
        return (
            turned.as_strided((3, 4), (1, 3), 2),
            parts.as_strided((2, 2), (3, 1)),
            parts.as_strided((2, 2), (3, 1), 0),
            turned.contiguous().as_strided((2, 3), (5, 2), 1),
        )

    check(function, X)
    check(lambda x: x.as_strided((4, 3), (2, 5), 1), X.permute(1, 2, 0))


def test_complex_numbers() -> None:
    def function(x: torch.Tensor) -> Any:
        first, second = torch.complex(x, POINT), torch.complex(POINT, x[0])
        padded = F.pad(first, (1, 2), value=3.0), aten.constant_pad_nd(first, (1, 0, 2, 1), 1 + 2j)
        mirrored = F.pad(first, (1, 2), mode="reflect"), F.pad(first, (1, 2), mode="replicate")
        return [torch.view_as_real(part) for part in (first, second, *padded, *mirrored)]

    check(function, X)


def test_parts_whose_length_data_decides() -> None:
    check(lambda v: torch.cat([v[v > 0], v]), X[0, 0], more=((-X[0, 0].abs(),), (X[0, 0].abs(),)), is_interpreted=False)
    check(lambda v: (torch.cat([v[:0], v]), torch.cat([v[:0], v[:0]]), torch.cat([v[:0], v[None]])), X[0, 0])
