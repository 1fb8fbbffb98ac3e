"""Medians, in terms of elements of a rank and of sorted values. Sorting puts NaN last."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

aten: Any = torch.ops.aten


def median_along(skips_nan: bool) -> Callable[..., tuple[Tensor, Tensor]]:
    """The lower one of two. The first NaN where there is one, unless those are left out: then NaN of nothing else."""

    def function(x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
        if x.dim() == 0:
            return x.clone(), torch.zeros_like(x, dtype=torch.long)
        if x.is_floating_point() and skips_nan:
            return sorted_at(x, dim, middle(x, dim), keepdim)
        values, positions = torch.kthvalue(x, (x.shape[dim] + 1) // 2, dim, keepdim)
        if not x.is_floating_point():
            return values, positions
        is_nan = x != x
        some = is_nan.any(dim, keepdim)
        first = is_nan.to(torch.int32).argmax(dim, keepdim)
        return torch.where(some, math.nan, values), torch.where(some, first, positions)

    return function


def median(skips_nan: bool) -> Callable[[Tensor], Tensor]:
    """Of all elements; NaN of none."""

    def function(x: Tensor) -> Tensor:
        flat = x.reshape(-1)
        if isinstance(flat.shape[0], int) and flat.shape[0] > 0:
            return median_along(skips_nan)(flat, 0)[0]
        if not x.is_floating_point():
            return torch.kthvalue(flat, (flat.shape[0] + 1) // 2, 0)[0]
        padded = torch.cat([flat, flat.new_full((1,), math.nan)])
        place = middle(flat, 0) if skips_nan else middle_or_nan(flat)
        return sorted_at(padded, 0, place, False)[0]

    return function


def middle(x: Tensor, dim: int) -> Tensor:
    """The place of the median of all numbers but NaN in sorted order."""
    return ((x == x).sum(dim, keepdim=True) - 1).clamp(min=0) // 2


def middle_or_nan(x: Tensor) -> Tensor:
    """The place of the median of a vector, or of the first NaN."""
    numbers, count = (x == x).sum(0, keepdim=True), x.shape[0]
    return torch.where(numbers < count, numbers, torch.full_like(numbers, (count - 1) // 2)).clamp(min=0)


def sorted_at(x: Tensor, dim: int, place: Tensor, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The elements at places in sorted order, and where they are in `x`."""
    values, positions = torch.sort(x, dim=dim, stable=True)
    results = (values.gather(dim, place), positions.gather(dim, place))
    return results if keepdim else (results[0].squeeze(dim), results[1].squeeze(dim))


ORDER_STATISTICS: dict[Any, Callable[..., Any]] = {
    aten.median.default: median(skips_nan=False),
    aten.median.dim: median_along(skips_nan=False),
    aten.nanmedian.default: median(skips_nan=True),
    aten.nanmedian.dim: median_along(skips_nan=True),
}
