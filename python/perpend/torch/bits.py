"""Operators on the bits of numbers: the parts of a floating-point number, the next one that its type has, hashes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

aten: Any = torch.ops.aten

INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
"""Of as many bytes as a number."""

LAYOUTS = {torch.float32: (torch.int32, 23, 127), torch.float64: (torch.int64, 52, 1023)}
"""The integers of as many bits, the bits of the fraction, and the exponent of 1."""


def frexp(x: Tensor) -> tuple[Tensor, Tensor]:
    """m and e with x = m 2^e and 1/2 <= |m| < 1; x and 0 of 0, infinities and NaN."""
    if x.dtype not in LAYOUTS:
        mantissa, exponent = frexp(x.float())
        return mantissa.to(x.dtype), exponent
    integers, width, one = LAYOUTS[x.dtype]
    is_small = x.abs() < torch.finfo(x.dtype).tiny
    bits = torch.where(is_small, x * 2.0**width, x).view(integers)
    mask = 2 * one + 1 << width
    exponent = ((bits & mask) >> width) - (one - 1) - torch.where(is_small, width, 0)
    mantissa = ((bits & ~mask) | (one - 1 << width)).view(x.dtype)
    is_plain = (x != 0) & (x.abs() < float("inf"))
    return torch.where(is_plain, mantissa, x), torch.where(is_plain, exponent, 0).to(torch.int32)


def next_after(x: Tensor, y: Tensor) -> Tensor:
    """The neighbour of x in the direction of y."""
    dtype = torch.result_type(x, y)
    integers = INTEGERS[dtype.itemsize]
    x, y = torch.broadcast_tensors(x.to(dtype), y.to(dtype))
    step = torch.where((y > x) == (x > 0), 1, -1).to(integers)
    moved = (x.contiguous().view(integers) + step).view(dtype)
    least = torch.where(y > 0, 1, -1).to(dtype) * torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
    moved = torch.where(x == 0, least, moved)
    return torch.where(x == y, y, torch.where((x != x) | (y != y), float("nan"), moved))


def hash_of(x: Tensor, dim: Sequence[int] = (), *, keepdim: bool = False, mode: int = 0) -> Tensor:
    """The exclusive or of elements as 64 bits, of an f64 or an integer: for each place the sum of bits modulo 2."""
    bits = x.double().view(torch.int64) if x.dtype.is_floating_point else x.to(torch.int64)
    places = torch.arange(64)
    ones = (bits.unsqueeze(-1) >> places) & 1
    dims = [each % max(x.dim(), 1) for each in dim] or list(range(x.dim()))
    odd = (ones.sum(dims, keepdim) if x.dim() else ones) & 1
    return (odd << places).sum(-1).view(torch.uint64)


BITS: dict[Any, Callable[..., Any]] = {
    aten.frexp.Tensor: frexp,
    aten.nextafter.default: next_after,
    aten.hash_tensor.default: hash_of,
}
