"""Windows that overlap: taken from tensors as views, and added up again by shifts of whole tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._decomp import get_decompositions
from torch.nn import functional

aten: Any = torch.ops.aten

MOST_SHIFTS = 64  # tensors that one sum reads

OF_TORCH = get_decompositions([aten.im2col, aten.col2im, aten.unfold_backward])


def moved_by(x: Tensor, dim: int, begin: Any, total: Any) -> Tensor:
    """Zeros around a tensor along a dimension, so that it begins at `begin` and ends up `total` long."""
    return functional.pad(x, [0, 0] * (x.dim() - 1 - dim) + [begin, total - begin - x.shape[dim]])


def padded_to(x: Tensor, dim: int, total: Any) -> Tensor:
    return moved_by(x, dim, 0, total) if x.shape[dim] != total else x


def shifts_of(size: int, step: int, spacing: int) -> int:
    """The number of tensors that overlap_add sums."""
    return -(-size // step) if spacing == 1 else size


def overlap_add(x: Tensor, dim: int, step: int, spacing: int, begin: int, extent: Any) -> Tensor:
    """Windows of `size` elements, `spacing` apart, that begin `step` apart: [.., size, count, ..] becomes
    [.., extent, ..], where y[t] is the sum of all x[k, l] with k * spacing + l * step = begin + t.

    Elements that are `step` numbers of one window lie beside those of the next window, as a line without overlaps.
    """
    size, count = x.shape[dim : dim + 2]
    parts = shifts_of(size, step, spacing)
    width = step if spacing == 1 else 1  # elements of a window in one line
    lines = padded_to(x, dim, parts * width).unflatten(dim, [parts, width]).transpose(dim + 1, dim + 2)
    lines = padded_to(lines, dim + 2, step).flatten(dim + 1, dim + 2)
    distance = step if spacing == 1 else spacing
    total = (parts - 1) * distance + count * step
    result = moved_by(lines.select(dim, 0), dim, 0, total)
    for part in range(1, parts):
        result = result + moved_by(lines.select(dim, part), dim, part * distance, total)
    return moved_by(result, dim, -begin, extent)


def in_wide(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Sums of floats of 16 bits are rounded once."""
    return function(x.float()).to(x.dtype) if x.dtype in (torch.float16, torch.bfloat16) else function(x)


def unfold(
    x: Tensor, kernel_size: Sequence[int], dilation: Sequence[int], padding: Sequence[int], stride: Sequence[int]
) -> Tensor:
    """aten.im2col: [n, c, h, w] to [n, c kh kw, places], or without n."""
    if x.dim() == 3:
        return unfold(x[None], kernel_size, dilation, padding, stride)[0]
    (low, left), sizes = padding, kernel_size
    x = functional.pad(x, [left, left, low, low]) if low or left else x
    for axis in range(2):
        x = x.unfold(axis + 2, (sizes[axis] - 1) * dilation[axis] + 1, stride[axis])[..., :: dilation[axis]]
    return x.permute(0, 1, 4, 5, 2, 3).flatten(4).flatten(1, 3)


def fold(
    x: Tensor,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Tensor:
    """aten.col2im: [n, c kh kw, places] to [n, c, h, w], or without n; the sum where windows overlap."""
    window = list(zip(kernel_size, stride, dilation, strict=True))
    if max(shifts_of(*each) for each in window) > MOST_SHIFTS or x.dtype.is_complex:
        result: Tensor = OF_TORCH[aten.col2im.default](x, output_size, kernel_size, dilation, padding, stride)
        return result
    if x.dim() == 2:
        return fold(x[None], output_size, kernel_size, dilation, padding, stride)[0]
    counts = [
        (extent + 2 * pad - spacing * (size - 1) - 1) // step + 1
        for extent, pad, (size, step, spacing) in zip(output_size, padding, window, strict=True)
    ]
    blocks = x.unflatten(2, counts).unflatten(1, [-1, *kernel_size]).transpose(3, 4)

    def added(blocks: Tensor) -> Tensor:
        for axis in (1, 0):
            blocks = overlap_add(blocks, 2 + 2 * axis, stride[axis], dilation[axis], padding[axis], output_size[axis])
        return blocks

    return in_wide(added, blocks)


def windows_added(grad: Tensor, input_sizes: Sequence[Any], dim: int, size: int, step: int) -> Tensor:
    """aten.unfold_backward: [.., count, .., size] to [.., extent, ..]. Inverse short-time spectra end with it."""
    is_number = isinstance(size, int) and isinstance(step, int)
    if not input_sizes or not is_number or shifts_of(size, step, 1) > MOST_SHIFTS or grad.dtype.is_complex:
        result: Tensor = OF_TORCH[aten.unfold_backward.default](grad, input_sizes, dim, size, step)
        return result
    dim %= len(input_sizes)
    return in_wide(lambda x: overlap_add(x, dim, step, 1, 0, input_sizes[dim]), grad.movedim(-1, dim))


PATCHES: dict[Any, Callable[..., Tensor]] = {
    aten.im2col.default: unfold,
    aten.col2im.default: fold,
    aten.unfold_backward.default: windows_added,
}
