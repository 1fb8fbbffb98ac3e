"""The k-th smallest elements and the medians, in terms of sorted values. Sorting puts NaN last."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

aten: Any = torch.ops.aten


def kth_value(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    if x.dim() == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.long)
    values, positions = torch.sort(x, dim=dim, stable=True)
    values, positions = values.select(dim, k - 1), positions.select(dim, k - 1)
    return (values.unsqueeze(dim), positions.unsqueeze(dim)) if keepdim else (values, positions)


def median_along(skips_nan: bool) -> Callable[..., tuple[Tensor, Tensor]]:
    """The lower one of two. The first NaN where there is one, unless those are left out: then NaN of nothing else."""

    def function(x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
        if x.dim() == 0 or not x.is_floating_point():
            return kth_value(x, (x.shape[dim] + 1) // 2 if x.dim() else 1, dim, keepdim)
        return sorted_at(x, dim, middle(x, dim, skips_nan), keepdim)

    return function


def median(skips_nan: bool) -> Callable[[Tensor], Tensor]:
    """Of all elements; NaN of none."""

    def function(x: Tensor) -> Tensor:
        flat = x.reshape(-1)
        if not x.is_floating_point():
            return kth_value(flat, (flat.shape[0] + 1) // 2, 0)[0]
        padded = torch.cat([flat, flat.new_full((1,), math.nan)])
        return sorted_at(padded, 0, middle(flat, 0, skips_nan), False)[0]

    return function


def middle(x: Tensor, dim: int, skips_nan: bool) -> Tensor:
    """The place of the median in sorted order."""
    numbers, count = (x == x).sum(dim, keepdim=True), x.shape[dim]
    if skips_nan:
        return (numbers - 1).clamp(min=0) // 2
    return torch.where(numbers < count, numbers, torch.full_like(numbers, (count - 1) // 2)).clamp(min=0)


def sorted_at(x: Tensor, dim: int, place: Tensor, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The elements at places in sorted order, and where they are in `x`."""
    values, positions = torch.sort(x, dim=dim, stable=True)
    results = (values.gather(dim, place), positions.gather(dim, place))
    return results if keepdim else (results[0].squeeze(dim), results[1].squeeze(dim))


ORDER_STATISTICS: dict[Any, Callable[..., Any]] = {
    aten.kthvalue.default: kth_value,
    aten.median.default: median(skips_nan=False),
    aten.median.dim: median_along(skips_nan=False),
    aten.nanmedian.default: median(skips_nan=True),
    aten.nanmedian.dim: median_along(skips_nan=True),
}
