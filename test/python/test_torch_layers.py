"""PyTorch operators that decompositions express, such as bags of embeddings, and recurrent layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import perpend
import pytest
import torch
import torch.nn.functional as F
from python.torch_functions import Function, check
from torch import nn

torch.manual_seed(0)
X, TABLE = torch.randn(3, 6), torch.randn(10, 4)
PLACES, ROWS = torch.randint(0, 6, (3, 6)), torch.randint(0, 10, (12,))
SEQUENCE = torch.randn(5, 3, 8)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags(mode: str) -> None:
    check(lambda i, at: F.embedding_bag(i, TABLE, at, mode=mode), ROWS, torch.tensor([0, 3, 3, 9]))
    check(lambda i: F.embedding_bag(i, TABLE, mode=mode, padding_idx=2), PLACES)


def test_weighted_bags() -> None:
    check(lambda i, w: F.embedding_bag(i, TABLE, mode="sum", per_sample_weights=w), PLACES, X)


def test_distances() -> None:
    check(lambda x: [torch.cdist(x, x + 1, p=p) for p in (0.0, 1.0, 2.0, 3.0)], X)


def test_order_statistics() -> None:
    check(lambda x: (x.kthvalue(2, 1), x.median(1), x.median(), x.median(0, keepdim=True)), X)
    check(
        lambda x, i: (torch.cummax(x, 1), torch.cummin(x, 1), torch.cummax(i, 1), torch.logcumsumexp(x, 1)), X, PLACES
    )


HARD = torch.tensor([[0.0, -0.0, 1.0, 1.0, -2.0, 1.0], [2.0, float("nan"), 3.0, float("nan"), 9.0, 0.0]])


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8]
)
@pytest.mark.parametrize("function", [torch.cummax, torch.cummin])
def test_running_extremes(function: Callable[..., Any], dtype: torch.dtype) -> None:
    """Of what is equal, the last; after a NaN, the last NaN; of zeros of both signs, the last, with its sign."""
    x = HARD.to(dtype) if dtype.is_floating_point else PLACES.to(dtype)
    net = Function(lambda x: (*function(x, 1), *function(x, -2), *function(x[0, 2], 0), *function(x[:, :0], 1)))
    module = perpend.import_model(net, example_inputs=(x,))
    for results in (perpend.compile(module)(x), module.evaluate(x)):
        for got, expected in zip(map(torch.as_tensor, results), net(x), strict=True):
            torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)
            assert not dtype.is_floating_point or torch.equal(
                got.signbit() & (got == 0), expected.signbit() & (got == 0)
            )
    whole = torch.nan_to_num(x) if dtype.is_floating_point else x
    check(lambda x: function(x, 1), whole, dynamic=[[0, 1]], more=[(whole[:, :1],), (whole[:0],)])
    assert ("order.extremes" in str(module)) == (dtype.itemsize > 4)  # kernels for short lines of at most 32 bits
    longer = Function(lambda x: function(x.repeat(1, 24), 1))
    module = perpend.import_model(longer, example_inputs=(x,))
    assert "order.extremes" in str(module)
    for got, expected in zip(perpend.compile(module)(x), longer(x), strict=True):
        torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)


def test_running_extremes_of_truth_values() -> None:
    check(lambda i: (torch.cummax(i > 2, 0), torch.cummin(i > 2, 1)), PLACES)


def test_running_extremes_need_no_library() -> None:
    """A processor without a system has none."""
    net = Function(lambda x: torch.cummax(x, 1))
    assert perpend.compile(net, target="cortex-m4", example_inputs=(torch.randn(2, 32),))


def test_running_extremes_take_one_pass() -> None:
    x = torch.randn(60_000)
    net = Function(lambda x: (torch.cummax(x, 0), torch.cummin(x, 0)[0]))
    assert "60000x60000" not in str(perpend.import_model(net, example_inputs=(x,)))
    check(net, x, is_interpreted=False)


def test_functions() -> None:
    check(
        lambda x: (
            torch.erfc(x * 3),
            torch.copysign(x, -x),
            torch.hypot(x, x + 1),
            torch.ldexp(x, torch.tensor(2)),
            x.angle(),
            F.rrelu(x),
            x.take(torch.tensor([0, 5])),
            x[torch.tril_indices(3, 3).unbind()],
            x.view(torch.int32),
        ),
        X,
    )


def test_reductions_by_index() -> None:
    def function(x: torch.Tensor, at: torch.Tensor) -> Any:
        kinds = ["sum", "prod", "mean", "amax", "amin"]
        return [x.scatter_reduce(1, at, x * 2, kind, include_self=own) for kind in kinds for own in (False, True)]

    check(function, X, PLACES)


def test_assignment_with_steps() -> None:
    def function(x: torch.Tensor) -> Any:
        result = x.clone()
        result[:, ::2] = 0
        result[..., 1::3] += 1
        return result

    check(function, X, dynamic=[[0, 1]], more=[[torch.randn(2, 5)], [torch.randn(4, 9)]])


def test_strided_views() -> None:
    check(lambda x: (x.as_strided((2, 3), (1, 2)), x.as_strided((2, 3, 2), (4, 1, 0), 3)), X)


def test_random_values() -> None:
    def function(x: torch.Tensor) -> Any:
        unit, whole = torch.rand(1000), torch.randint(3, 9, (1000,))
        normal = torch.randn(2000)
        return (unit.mean() - 0.5).abs() < 0.1, whole.min(), whole.max(), normal.std().round(), torch.rand_like(x) * 0

    check(function, X)


def test_statistics_that_are_given() -> None:
    norm = nn.InstanceNorm2d(3, affine=True, track_running_stats=True).eval()
    nn.init.uniform_(norm.running_mean)
    check(norm, torch.randn(2, 3, 4, 5))


@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "num_layers": 2}, {"bias": False}])
def test_projected_states(options: dict[str, Any]) -> None:
    net = nn.LSTM(8, 6, proj_size=3, **options)
    rows = 4 if options.get("bidirectional") else 1
    check(net, SEQUENCE)
    check(lambda x, h, c: net(x, (h, c)), SEQUENCE, torch.randn(rows, 3, 3), torch.randn(rows, 3, 6))


@pytest.mark.parametrize("layer", [nn.functional.conv2d, nn.functional.conv_transpose2d])
def test_one_group_per_image(layer: Callable[..., torch.Tensor]) -> None:
    """Filters of each image: the number of groups is the extent of the batch."""

    def function(x: torch.Tensor, weight: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
        batch, _, height, width = x.shape
        filters = (weight * style[:, :, None, None, None]).flatten(0, 1)
        return layer(x.reshape(1, -1, height, width), filters, padding=1, groups=batch).unflatten(1, (batch, -1))

    weight = torch.randn(4, 4, 3, 3)
    more = [(torch.randn(n, 4, 5, 6), weight, torch.randn(n, 4)) for n in (1, 3)]
    check(function, torch.randn(2, 4, 5, 6), weight, torch.randn(2, 4), dynamic=[[0], [], [0]], more=more)


def test_groups_of_no_images() -> None:
    """With their statistics, whose extents a reshape cannot find in no elements."""
    norm = torch.ops.aten.native_group_norm
    for shape in ((0, 4, 3), (2, 4, 3)):
        ones = torch.ones(4)
        check(lambda x, o=ones, s=shape: norm(x, o, o, s[0], s[1], s[2], 2, 1e-5), torch.randn(shape))


def test_dropout_of_nothing() -> None:
    check(lambda x: (torch.dropout(x, 0.0, True), *torch.native_dropout(x, 0.0, True)), torch.randn(3, 4))


PHASES = [  # kernel, stride: all phases have as many elements of the filter, or not, or some have none
    ((4,), (2,)),
    ((6,), (3,)),
    ((2, 2), (2, 2)),
    ((4, 3), (2, 1)),
    ((4, 6), (4, 3)),
    ((2, 4, 3), (2, 2, 1)),
    ((3,), (2,)),
    ((5, 3), (2, 2)),
    ((2, 3), (3, 1)),
    ((3, 1, 2), (2, 2, 1)),
]


@pytest.mark.parametrize(("kernel", "stride"), PHASES, ids=str)
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_transposed_convolutions_by_phases(kernel: tuple[int, ...], stride: tuple[int, ...], groups: int) -> None:
    """Of any padding, with dimensions that are symbolic; an infinity stays where it belongs."""
    function = getattr(nn.functional, f"conv_transpose{len(kernel)}d")
    filters, bias = torch.randn(4, {1: 6, 2: 3, 4: 2}[groups], *kernel), torch.randn({1: 6, 2: 6, 4: 8}[groups])
    images, others = (torch.randn(2, 4, *extents[: len(kernel)]) for extents in ((7, 6, 5), (5, 8, 4)))
    images.view(-1)[7] = torch.inf
    for padding, extra in ((0, 0), (1, 1), (2, 0)):
        output_padding = [min(extra, step - 1) for step in stride]
        check(
            lambda x, p=padding, e=output_padding: function(x, filters, bias, stride, p, e, groups),
            images,
            dynamic=[range(2, 2 + len(kernel))],
            more=[(others,)],
        )
