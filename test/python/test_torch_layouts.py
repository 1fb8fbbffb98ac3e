"""torch.compile(net, backend="perpend"): results lie in memory as PyTorch's do, and share it with what theirs do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree

pytestmark = pytest.mark.usefixtures("fresh_caches", "all_compiled")

Function = Callable[..., Any]

FUNCTIONS: dict[str, Function] = {
    "transposed": lambda x: x.t() * 2,
    "transposed, in one": lambda x: (x * 2).t(),
    "transposed twice": lambda x: (x.t() * 2).t() + 1,
    "matrix product": lambda x: x.t() @ x,
    "permuted": lambda x: x.reshape(1, *x.shape).permute(2, 0, 1).relu(),
    "expanded": lambda x: (x + 1).expand(3, *x.shape),
    "expanded, then computed": lambda x: x.expand(3, *x.shape) + 1,
    "sliced": lambda x: (x + 1)[:, ::2],
    "sliced, with an offset": lambda x: (x + 1)[1:, 1:],
    "selected": lambda x: (x + 1)[:, 1],
    "a row": lambda x: (x + 1)[-1],
    "the diagonal": lambda x: (x + 1).diagonal(),
    "windows": lambda x: (x + 1).unfold(1, 2, 1),
    "extents of 1": lambda x: (x + 1)[:, :1].t(),
    "one more dimension": lambda x: (x + 1).t().unsqueeze(1),
    "a view and its whole": lambda x: [y := x + 1, y.t(), y[0]],
    "two views": lambda x: [(y := x * 2)[0], y[1:], y.t()],
    "parts": lambda x: (x + 1).chunk(2, 1),
    "rows": lambda x: (x.t() + 1).unbind(0),
    "the same twice": lambda x: [y := x.t() + 1, y],
    "views of the argument": lambda x: [x, x.t(), x[1:], x.unsqueeze(0)],
    "empty": lambda x: (x + 1)[:0].t(),
    "as strided": lambda x: (x + 1).as_strided((2, 2), (1, 2), 1),
    "like": lambda x: torch.zeros_like(x.t()) + 1,
    "a sort": lambda x: x.t().sort(0),
    "a mean of a turned tensor": lambda x: x.t().mean(0, keepdim=True),
}


def assert_same(results: Any, expected: Any) -> None:
    """Values, strides, and which of them share memory."""
    pairs = list(zip(pytree.tree_leaves(results), pytree.tree_leaves(expected), strict=True))
    for result, other in pairs:
        torch.testing.assert_close(result, other)
        assert result.shape == other.shape
        if result.numel() > 0:
            assert result.stride() == other.stride()
    memories = [[each.untyped_storage().data_ptr() for each in column] for column in zip(*pairs, strict=True)]
    ours, theirs = ([[a == b for a in memory] for b in memory] for memory in memories)
    assert ours == theirs


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_results_lie_as_those_of_pytorch(function: Function, dynamic: bool) -> None:
    compiled = torch.compile(function, backend="perpend", dynamic=dynamic)
    with torch.no_grad():
        for shape in ((3, 4), (5, 6)) if dynamic else ((3, 4),):
            x = torch.randn(shape)
            assert_same(compiled(x), function(x))


@pytest.mark.parametrize("dynamic", [False, True])
def test_channels_last(dynamic: bool) -> None:
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 1)).eval()
    net = net.to(memory_format=torch.channels_last)
    compiled = torch.compile(net, backend="perpend", dynamic=dynamic)
    with torch.no_grad():
        for size in (8, 9):
            x = torch.randn(2, 3, size, size).to(memory_format=torch.channels_last)
            result = compiled(x)
            torch.testing.assert_close(result, net(x), atol=1e-5, rtol=1e-5)
            assert result.is_contiguous(memory_format=torch.channels_last)


def test_views_after_a_graph_break() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = (x.t() * 2).relu()
        torch._dynamo.graph_break()
        return y.t().view(-1)

    compiled = torch.compile(function, backend="perpend")
    with torch.no_grad():
        for shape in ((3, 4), (5, 2), (6, 7)):
            x = torch.randn(shape)
            torch.testing.assert_close(compiled(x), function(x))


def test_results_that_are_changed_change_what_they_share_memory_with() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x + 1
        return y, y.t(), y[0], x[1:]

    x = torch.zeros(3, 4)
    with torch.no_grad():
        whole, turned, row, rest = torch.compile(function, backend="perpend")(x)
        row.fill_(5)
        assert whole[0].eq(5).all() and turned[:, 0].eq(5).all() and turned[:, 1].eq(1).all()
        rest.fill_(7)
        assert x[1:].eq(7).all() and x[0].eq(0).all()


def test_a_part_of_a_large_result_alone_is_computed_alone(compilations: list[str]) -> None:
    def function(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return (x @ w)[:, -1]

    x, w = torch.randn(2, 5, 8), torch.randn(8, 6)
    with torch.no_grad():
        assert_same(torch.compile(function, backend="perpend")(x, w), function(x, w))
    assert "-> (tensor<2x6xf32>" in compilations[0].replace("\n", " ")
