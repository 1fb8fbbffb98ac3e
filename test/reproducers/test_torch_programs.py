"""PyTorch programs that once gave wrong results."""

from __future__ import annotations

from collections.abc import Callable

import perpend
import pytest
import torch
from python.torch_functions import Function
from torch.export import Dim
from torch.nn import functional


def compiled(function: Callable[..., torch.Tensor], x: torch.Tensor) -> perpend.Model:
    shapes = (({axis: Dim.AUTO for axis in range(x.dim())},),)
    return perpend.compile(torch.export.export(Function(function), (x,), dynamic_shapes=shapes))


@pytest.mark.parametrize(
    ("function", "traced", "other", "message"),
    [
        (lambda x: x * 2 if x.shape[0] % 2 == 0 else x * 3, (4,), (5,), r"needs mod\(.*, 2\) <= 0, got 1"),
        (lambda x: x * 2 if x.shape[0] > x.shape[1] else x * 3, (4, 3), (4, 7), "the model needs s"),
        (lambda x: functional.pad(x, (0, 8 - x.shape[0] % 8)) if x.shape[0] % 8 > 0 else x, (5,), (8,), "mod"),
        (lambda x: x * (x.shape[0] ** -0.5), (4,), (9,), None),
        (lambda x: functional.layer_norm(x, (4,), eps=1 / x.shape[0]), (3, 4), (5, 4), "at most 3, got 5"),
        (lambda x: functional.avg_pool1d(x, 3, stride=x.shape[1] // 3), (2, 9), (2, 12), r"floordiv\(.*, 3\) = 3"),
    ],
)
def test_what_was_traced_for_some_extents(
    function: Callable[..., torch.Tensor], traced: tuple[int, ...], other: tuple[int, ...], message: str | None
) -> None:
    """A branch or a number that extents decide holds for the extents that decide alike; others are refused."""
    model = compiled(function, torch.randn(traced))
    x, y = torch.randn(traced), torch.randn(other)
    torch.testing.assert_close(model(x), function(x))
    if message is None:
        torch.testing.assert_close(model(y), function(y))
        return
    with pytest.raises(ValueError, match=message):
        model(y)


def test_extents_that_tracing_took_for_granted_in_vain() -> None:
    """PyTorch compares extents to know how tensors lie in memory; that refuses nothing."""
    model = compiled(lambda x: x[:, :5] + x[:, -5:], torch.randn(2, 8))
    for columns in (5, 7):
        x = torch.randn(1, columns)
        torch.testing.assert_close(model(x), x[:, :5] + x[:, -5:])


def test_a_padding_that_an_extent_decides() -> None:
    """It was taken as 0."""
    with pytest.raises(perpend.CompileError, match=r"padding: expected numbers, got \(s\d+//2\)\nhint:"):
        compiled(lambda x: functional.conv1d(x, torch.ones(3, 3, 3), padding=x.shape[1] // 2), torch.randn(3, 9))


def test_graphs_without_inputs_give_torch_tensors() -> None:
    """They gave arrays of numpy."""
    with torch.no_grad():
        result = torch.compile(lambda: torch.arange(3) + torch.ones(3), backend="perpend")()
    torch.testing.assert_close(result, torch.tensor([1.0, 2, 3]))
