"""Gradients of convolutions and pools, which are separate operators in PyTorch, in terms of other operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

aten: Any = torch.ops.aten


def softmax_backward(grad: Tensor, result: Tensor, dim: int, dtype: torch.dtype) -> Tensor:
    """The sum of both comes before the product with the result, as in eager PyTorch."""
    total = (grad * result).sum(dim, keepdim=True)
    return ((grad - total) * result).to(dtype)


# ----------------------------------------------------------------------------------------------------------------------
# Convolutions
# ----------------------------------------------------------------------------------------------------------------------


def each(values: Sequence[int], count: int) -> list[int]:
    return list(values) * count if len(values) == 1 else list(values)


def batch_as_channels(x: Tensor, groups: int) -> Tensor:
    """[n, groups c, ..] as [c, groups n, ..]"""
    parts = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    return parts.permute(2, 1, 0, *range(3, parts.dim())).flatten(1, 2)


def filter_gradient(
    x: Tensor, grad: Tensor, shape: Sequence[int], window: Sequence[Sequence[int]], groups: int
) -> Tensor:
    """The gradient of a convolution's filter: x convolved with grad, strides and dilations swapped."""
    stride, padding, dilation = window
    filters = grad.transpose(0, 1)
    result = aten.convolution(
        batch_as_channels(x, groups), filters, None, dilation, padding, stride, False, [0] * len(stride), groups
    )
    for axis, extent in enumerate(shape[2:]):
        result = result.narrow(axis + 2, 0, extent)
    return result.transpose(0, 1)


def convolution_backward(
    grad: Tensor,
    x: Tensor,
    weight: Tensor,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    rank = x.dim() - 2
    stride, padding, dilation = window = [each(values, rank) for values in (stride, padding, dilation)]
    of_input = of_weight = of_bias = None
    if output_mask[0] and transposed:
        of_input = aten.convolution(grad, weight, None, stride, padding, dilation, False, [0] * rank, groups)
    elif output_mask[0]:
        reached = [
            (grad.shape[axis + 2] - 1) * stride[axis]
            - 2 * padding[axis]
            + dilation[axis] * (weight.shape[axis + 2] - 1)
            for axis in range(rank)
        ]
        rest = [x.shape[axis + 2] - reached[axis] - 1 for axis in range(rank)]
        of_input = aten.convolution(grad, weight, None, stride, padding, dilation, True, rest, groups)
    if output_mask[1]:
        pair = (grad, x) if transposed else (x, grad)
        of_weight = filter_gradient(*pair, weight.shape, window, groups)
    if output_mask[2]:
        of_bias = grad.sum([0, *range(2, grad.dim())])
    return of_input, of_weight, of_bias


# ----------------------------------------------------------------------------------------------------------------------
# Pools
# ----------------------------------------------------------------------------------------------------------------------


def spread(grad: Tensor, windows: Sequence[Tensor]) -> Tensor:
    """Copies each element of the last dimensions to all places of its window; windows: [windows, places] of 0 and 1."""
    for axis, window in enumerate(reversed(windows)):
        dim = grad.dim() - 1 - axis
        grad = (grad.movedim(dim, -1) @ window.to(grad.dtype)).movedim(-1, dim)
    return grad


def covering(begins: Tensor, ends: Tensor, extent: int) -> Tensor:
    place = torch.arange(extent)
    return (place >= begins[:, None]) & (place < ends[:, None])


def average_pool_backward(rank: int) -> Callable[..., Tensor]:
    def function(
        grad: Tensor,
        x: Tensor,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Tensor:
        sizes, padding = each(kernel_size, rank), each(padding, rank)
        strides = each(stride, rank) if stride else sizes
        windows = []
        grad = grad if divisor_override is None else grad / divisor_override
        for axis in range(-rank, 0):
            extent, low = x.shape[axis], padding[axis]
            begins = torch.arange(grad.shape[axis]) * strides[axis] - low
            ends = (begins + sizes[axis]).clamp(max=extent + low)
            windows.append(covering(begins, ends, extent))
            counts = ends - begins if count_include_pad else ends.clamp(max=extent) - begins.clamp(min=0)
            if divisor_override is None:
                grad = grad / counts.to(grad.dtype).reshape([-1, *[1] * (-1 - axis)])
        return spread(grad, windows)

    return function


def adaptive_average_pool_backward(rank: int) -> Callable[[Tensor, Tensor], Tensor]:
    def function(grad: Tensor, x: Tensor) -> Tensor:
        windows = []
        for axis in range(-rank, 0):
            extent, count = x.shape[axis], grad.shape[axis]
            place = torch.arange(count)
            begins, ends = place * extent // count, ((place + 1) * extent + count - 1) // count
            grad = grad / (ends - begins).to(grad.dtype).reshape([-1, *[1] * (-1 - axis)])
            windows.append(covering(begins, ends, extent))
        return spread(grad, windows)

    return function


def to_positions(grad: Tensor, x: Tensor, positions: Tensor, rank: int) -> Tensor:
    """Adds each element to its place in the image."""
    flat = torch.zeros([*x.shape[:-rank], math.prod(x.shape[-rank:])], dtype=grad.dtype)
    return flat.scatter_add(-1, positions.flatten(-rank), grad.flatten(-rank)).reshape(x.shape)


def max_pool_backward(rank: int) -> Callable[..., Tensor]:
    def function(grad: Tensor, x: Tensor, *arguments: Any) -> Tensor:
        return to_positions(grad, x, arguments[-1], rank)

    return function


GRADIENTS: dict[Any, Callable[..., Any]] = {
    aten.convolution_backward.default: convolution_backward,
    aten.avg_pool2d_backward.default: average_pool_backward(2),
    aten.avg_pool3d_backward.default: average_pool_backward(3),
    aten._adaptive_avg_pool2d_backward.default: adaptive_average_pool_backward(2),
    aten._adaptive_avg_pool3d_backward.default: adaptive_average_pool_backward(3),
    aten.max_pool2d_with_indices_backward.default: max_pool_backward(2),
    aten.max_pool3d_with_indices_backward.default: max_pool_backward(3),
    aten._softmax_backward_data.default: softmax_backward,
    aten.adaptive_max_pool2d_backward.default: max_pool_backward(2),
    aten.adaptive_max_pool3d_backward.default: max_pool_backward(3),
}
