"""Counts of elements between edges, and reductions of segments, in terms of scattering."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

aten: Any = torch.ops.aten


def edges_of(values: Tensor, bins: int, limits: Sequence[float] | None) -> Tensor:
    """The edges of equally wide bins between the limits, or between minimum and maximum; if these are equal, 1 wide."""
    if limits is not None:
        low, high = limits
        low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
        return torch.linspace(low, high, bins + 1, dtype=values.dtype)
    if values.shape[0] == 0:
        return torch.linspace(0, 1, bins + 1, dtype=values.dtype)
    low, high = values.amin(), values.amax()
    half = torch.where(low == high, 0.5, 0.0).to(values.dtype)
    low, high = low - half, high + half
    step = (high - low) / bins
    place = torch.arange(bins + 1)  # from both ends, as linspace does
    return torch.where(place < (bins + 1) / 2, low + step * place, high - step * (bins - place))


def counts_between(rows: Tensor, edges: Sequence[Tensor], weight: Tensor | None, density: bool) -> Tensor:
    """Counts rows [n, dims], or sums their weights. A bin includes its lower edge; the last bin both."""
    position = torch.zeros_like(rows[:, 0], dtype=torch.long)
    is_inside = torch.ones_like(position, dtype=torch.bool)
    for column, limits in zip(rows.unbind(1), edges, strict=True):
        bins = limits.shape[0] - 1
        place = torch.searchsorted(limits, column, right=True) - 1
        place = torch.where(column == limits[bins], bins - 1, place)
        is_inside = is_inside & (place >= 0) & (place < bins)
        position = position * bins + place
    weights = torch.ones_like(rows[:, 0]) if weight is None else weight.reshape(-1)
    shape = [limits.shape[0] - 1 for limits in edges]
    position = torch.where(is_inside, position, math.prod(shape))
    counts = torch.zeros(math.prod(shape) + 1, dtype=rows.dtype).index_add(0, position, weights)
    counts = counts[:-1].reshape(shape)
    if density:
        counts = counts / counts.sum()
        for axis, limits in enumerate(edges):
            counts = counts / limits.diff().reshape([-1 if axis == other else 1 for other in range(len(edges))])
    return counts


def histogram(
    x: Tensor,
    bins: int = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, Tensor]:
    flat = x.reshape(-1)
    edges = edges_of(flat, bins, range)
    return counts_between(flat[:, None], [edges], weight, density), edges


def histogram_between(
    x: Tensor, bins: Tensor, *, weight: Tensor | None = None, density: bool = False
) -> tuple[Tensor, Tensor]:
    return counts_between(x.reshape(-1, 1), [bins], weight, density), bins.clone()


def edges_of_columns(
    x: Tensor,
    bins: Sequence[int],
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> list[Tensor]:
    rows = x.reshape(-1, x.shape[-1])
    limits = [None if range is None else range[2 * axis : 2 * axis + 2] for axis in builtins.range(len(bins))]
    return [edges_of(rows[:, axis], count, limits[axis]) for axis, count in enumerate(bins)]


def histogram_of_rows(
    x: Tensor,
    bins: Sequence[int],
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Tensor:
    edges = edges_of_columns(x, bins, range=range)
    return counts_between(x.reshape(-1, x.shape[-1]), edges, weight, density)


def histogram_of_rows_between(
    x: Tensor, bins: Sequence[Tensor], *, weight: Tensor | None = None, density: bool = False
) -> Tensor:
    return counts_between(x.reshape(-1, x.shape[-1]), bins, weight, density)


def segment_reduce(
    x: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Any:
    """Reduces consecutive slices along an axis. `lengths` are their lengths, or `offsets` their bounds; both have the
    dimensions before the axis, then the segments."""
    ends = lengths.cumsum(-1) if lengths is not None else offsets[..., 1:] if offsets is not None else None
    if ends is None:
        return NotImplemented
    axis %= x.dim()
    outer, count, inner = math.prod(x.shape[:axis]), x.shape[axis], x.shape[axis + 1 :]
    segments = ends.shape[-1]
    ends = ends.reshape(outer, segments)
    segment = (torch.arange(count)[:, None] >= ends[:, None, :]).sum(-1)
    segment = (segment + torch.arange(outer)[:, None] * segments).reshape(-1)
    rows = x.reshape(outer * count, *inner)
    neutral = {"sum": 0.0, "mean": 0.0, "max": -math.inf, "min": math.inf, "prod": 1.0}[reduce]
    start = neutral if initial is None else initial
    result = torch.full((outer * segments, *inner), start, dtype=x.dtype)
    if reduce in ("sum", "mean"):
        result = result.index_add(0, segment, rows)
    else:
        result = result.index_reduce(0, segment, rows, {"max": "amax", "min": "amin"}.get(reduce, reduce))
    if reduce == "mean":
        sizes = ends.diff(dim=-1, prepend=torch.zeros_like(ends[:, :1])).reshape(-1, *[1] * len(inner))
        empty = result if initial is not None else torch.full_like(result, math.nan)
        result = torch.where(sizes == 0, empty, result / sizes.clamp(min=1))
    return result.reshape(*x.shape[:axis], segments, *inner)


HISTOGRAMS: dict[Any, Callable[..., Any]] = {
    aten.histogram.bin_ct: histogram,
    aten.histogram.bins_tensor: histogram_between,
    aten._histogramdd_bin_edges.default: edges_of_columns,
    aten._histogramdd_from_bin_cts.default: histogram_of_rows,
    aten._histogramdd_from_bin_tensors.default: histogram_of_rows_between,
    aten.segment_reduce.default: segment_reduce,
}
