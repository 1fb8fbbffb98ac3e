"""Random distributions in terms of uniform and normal numbers (docs/decisions/0006-random-values.md)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

aten: Any = torch.ops.aten


def uniform(x: Tensor, low: float = 0.0, high: float = 1.0, generator: Any = None) -> Tensor:
    return low + (high - low) * torch.rand_like(x)


def normal_like(x: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    return mean + std * torch.randn_like(x)


def normal(mean: Tensor | float, std: Tensor | float = 1.0, generator: Any = None) -> Tensor:
    """Either of mean and std, or both, is a tensor."""
    return mean + std * torch.randn_like(mean * torch.ones_like(std) if isinstance(std, Tensor) else mean)


def normal_of_shape(mean: float, std: float, size: list[int], **options: Any) -> Tensor:
    return mean + std * torch.randn(size, dtype=options.get("dtype"))


def bernoulli(x: Tensor, p: float = 0.5, generator: Any = None) -> Tensor:
    return (torch.rand_like(x, dtype=torch.float32) < p).to(x.dtype)


def log_normal(x: Tensor, mean: float = 1.0, std: float = 2.0, generator: Any = None) -> Tensor:
    return normal_like(x, mean, std).exp()


def drawn_type(x: Tensor) -> torch.dtype:
    """The type to draw in: with 8 or 11 bits only few different values would occur."""
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def exponential(x: Tensor, rate: float = 1.0, generator: Any = None) -> Tensor:
    """Never 0: a uniform 0 becomes the middle of the first step, and results below the least normal number of x's type
    become that number."""
    dtype = drawn_type(x)
    drawn = -torch.log1p(-torch.rand_like(x, dtype=dtype))
    scaled = drawn.clamp(min=torch.finfo(dtype).eps / 4) / rate
    return scaled.to(x.dtype).clamp(min=torch.finfo(x.dtype).tiny)


def geometric(x: Tensor, p: float, generator: Any = None) -> Tensor:
    """The number of trials until the first success, of every type."""
    drawn = torch.rand_like(x, dtype=drawn_type(x))
    return torch.ceil(torch.log1p(-drawn) / math.log1p(-p)).clamp(min=1).to(x.dtype)


def cauchy(x: Tensor, median: float = 0.0, sigma: float = 1.0, generator: Any = None) -> Tensor:
    return median + sigma * torch.tan(math.pi * (torch.rand_like(x) - 0.5))


def permutation(n: int, **options: Any) -> Tensor:
    return torch.rand(n).argsort().to(options.get("dtype") or torch.int64)


def multinomial(weights: Tensor, count: int, replacement: bool = False, generator: Any = None) -> Tensor:
    """Draws positions along the last dimension. Without replacement: the greatest of weight / exponential number.

    A run fails, as torch's does, for a weight that is negative or not finite, and for a row without a positive weight.
    If fewer than `count` weights are positive, positions of zero weight follow.
    """
    weights = weights.to(drawn_type(weights))
    is_weight = (weights >= 0) & (weights < math.inf)
    aten._assert_async.msg(is_weight.all(), "multinomial: expected finite weights of at least 0")
    total = weights.cumsum(-1)
    aten._assert_async.msg((total[..., -1] > 0).all(), "multinomial: expected a positive weight in every row")
    if not replacement:
        return (weights / exponential(weights)).topk(count).indices
    points = torch.rand((*weights.shape[:-1], count), dtype=weights.dtype) * total[..., -1:]
    return torch.searchsorted(total, points, right=True)


DISTRIBUTIONS: dict[Any, Callable[..., Any]] = {
    aten.uniform.default: uniform,
    aten.normal_functional.default: normal_like,
    aten.normal.Tensor_Tensor: normal,
    aten.normal.Tensor_float: normal,
    aten.normal.float_Tensor: normal,
    aten.normal.float_float: normal_of_shape,
    aten.bernoulli.p: bernoulli,
    aten.log_normal.default: log_normal,
    aten.exponential.default: exponential,
    aten.geometric.default: geometric,
    aten.cauchy.default: cauchy,
    aten.randperm.default: permutation,
    aten.multinomial.default: multinomial,
}
