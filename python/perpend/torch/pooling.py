"""Pools whose windows begin at random places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

aten: Any = torch.ops.aten


def places_of(sample: Tensor, extent: int, size: int, count: int) -> Tensor:
    """The positions [.., count, size] of the windows' elements, for samples [..]. The last window ends at the end."""
    last = torch.full_like(sample, extent - size, dtype=torch.long)[..., None]
    begins = last
    if count > 1:
        step = (extent - size) / (count - 1)
        share = (torch.arange(count - 1) + sample[..., None]) * step
        begins = torch.cat([share.long() - (sample[..., None] * step).long(), last], -1)
    return begins[..., None] + torch.arange(size)


def fractional_max(x: Tensor, sizes: Sequence[int], counts: Sequence[int], samples: Tensor) -> tuple[Tensor, Tensor]:
    """The maxima of windows, and their positions among the flattened elements, or that of a window's last NaN. samples:
    [batch, channels, dims]; those of images begin with the columns'."""
    dims = len(sizes)
    extents = x.shape[-dims:]
    own = samples.reshape(*x.shape[:-dims], dims)
    order = range(dims) if dims == 3 else reversed(range(dims))
    flat = torch.zeros_like(own[..., 0], dtype=torch.long)[(..., *[None] * (2 * dims))]
    for axis, number in enumerate(order):
        places = places_of(own[..., number], extents[axis], sizes[axis], counts[axis])
        shape = [1] * (2 * dims)
        shape[axis], shape[dims + axis] = counts[axis], sizes[axis]
        flat = flat * extents[axis] + places.reshape(*x.shape[:-dims], *shape)
    elements, windows = x.flatten(-dims), flat.flatten(-dims).flatten(-dims - 1, -2)
    found = elements.gather(-1, windows.flatten(-2)).reshape(windows.shape)
    values, which = found.max(-1)
    last = found.shape[-1] - 1 - (found != found).flip(-1).long().argmax(-1)
    which = torch.where(values != values, last, which)
    positions = windows.gather(-1, which[..., None])[..., 0]
    shape = [*x.shape[:-dims], *counts]
    return values.reshape(shape), positions.reshape(shape)


POOLS: dict[Any, Callable[..., Any]] = {
    aten.fractional_max_pool2d.default: fractional_max,
    aten.fractional_max_pool3d.default: fractional_max,
}
