"""Tensors of several types in one operator, and the bits of one type seen as another."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import perpend
import pytest
import torch
from python.torch_functions import Function, agrees, check

TYPES = [torch.bool, torch.uint8, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64]
PAIRS = list(itertools.permutations(TYPES, 2))
JOINS: dict[str, Callable[[torch.Tensor, torch.Tensor], Any]] = {
    "stack": lambda a, b: (torch.stack([a, b]), torch.stack([b, a, b], -1)),
    "cat": lambda a, b: (torch.cat([a, b]), torch.hstack([a, b]), torch.vstack([a, b]), torch.column_stack([a, b])),
    "where": lambda a, b: (torch.where(a > 1, a, b), torch.where(b > 1, a, 2.5), torch.where(a > 1, 3, b)),
    "scatter": lambda a, b: (a.select_scatter(b[0], 0, 1), a.slice_scatter(b[:2], 0, 0, 2), a.clone().copy_(b)),
}


def numbers(dtype: torch.dtype, least: int = 1) -> torch.Tensor:
    return (torch.arange(4) % 3 + least).to(dtype)


@pytest.mark.parametrize("name", JOINS)
def test_several_types(name: str) -> None:
    """Promoted, or not, as PyTorch does."""
    inputs = [numbers(dtype) for dtype in TYPES]

    def all_pairs(*given: torch.Tensor) -> Any:
        return [JOINS[name](given[TYPES.index(first)], given[TYPES.index(second)]) for first, second in PAIRS]

    check(all_pairs, *inputs, is_interpreted=False)


def test_several_types_under_torch_compile() -> None:
    def function(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.stack([a, b])

    inputs = (torch.tensor([1.5, 2.0]).half(), torch.tensor([1.0, 2.0]))
    with torch.no_grad():
        agrees(torch.compile(function, backend="perpend")(*inputs), function(*inputs))


def complexes(a: torch.Tensor) -> torch.Tensor:
    return torch.complex(a.float(), a.float() + 1)


COMPLEX: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "cat": lambda z, b: torch.cat([z, b]),
    "stack": lambda z, b: torch.stack([b, z]),
    "where": lambda z, b: torch.where(b > 1, z, b),
    "add": lambda z, b: z + b,
    "sub": lambda z, b: (b + 0) - z,
    "mul": lambda z, b: z * b,
    "div": lambda z, b: b / z,
    "over": lambda z, b: z / b,
    "fill": lambda z, b: z.masked_fill(b > 1, 3),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers_with_others(name: str) -> None:
    """Whole numbers had themselves as their imaginary parts."""
    inputs = [numbers(dtype) for dtype in TYPES]

    def all_types(*given: torch.Tensor) -> Any:
        return [torch.view_as_real(COMPLEX[name](complexes(given[5]), other)) for other in given]

    check(all_types, *inputs, is_interpreted=False)


def test_equal_complex_numbers() -> None:
    def function(a: torch.Tensor, b: torch.Tensor) -> Any:
        z = complexes(a)
        return z == b, z != z, z == complexes(b), z == 1 + 2j, torch.complex(a, a * 0) == b

    check(function, numbers(torch.float32), numbers(torch.int64))


# ----------------------------------------------------------------------------------------------------------------------
# Bits
# ----------------------------------------------------------------------------------------------------------------------

WIDTHS = [
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.float16,
    torch.bfloat16,
    torch.int32,
    torch.float32,
    torch.int64,
    torch.float64,
    torch.float8_e5m2,
]


def words(dtype: torch.dtype) -> torch.Tensor:
    """[2, 16 bytes], none of which is a NaN of some type, whose bits need not stay."""
    return (torch.arange(32, dtype=torch.uint8) * 3).reshape(2, 16).view(dtype)


def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().view(torch.uint8)


@pytest.mark.parametrize("dtype", WIDTHS, ids=str)
def test_bits_as_every_other_type(dtype: torch.dtype) -> None:
    """The same memory, little-endian: the last dimension is longer or shorter. For every batch, also none."""
    others = [other for other in WIDTHS if {dtype, other} != {torch.float16, torch.bfloat16}]  # does not compile
    model = perpend.compile(
        Function(lambda x: [x.view(other) for other in others]),
        example_inputs=(words(dtype),),
        dynamic_shapes=(({0: torch.export.Dim.DYNAMIC},),),
    )
    for x in (words(dtype), words(dtype)[:1], torch.cat([as_bytes(words(dtype))] * 3).view(dtype)):
        for got, other in zip(model(x), others, strict=True):
            assert got.dtype == other and got.shape == x.view(other).shape
            assert torch.equal(as_bytes(got), as_bytes(x))


def test_bits_of_symbolic_rows() -> None:
    """The extent that changes is a symbol; one that does not divide is refused."""
    free = torch.export.Dim.DYNAMIC
    wider = perpend.compile(
        Function(lambda x: x.view(torch.int32)),
        example_inputs=(torch.arange(16, dtype=torch.uint8),),
        dynamic_shapes=(({0: 4 * torch.export.Dim("n")},),),
    )
    narrower = perpend.compile(
        Function(lambda x: x.view(torch.uint8)), example_inputs=(torch.arange(4.0),), dynamic_shapes=(({0: free},),)
    )
    for count in (4, 1, 9):
        x = torch.randint(0, 256, (4 * count,), dtype=torch.uint8)
        assert torch.equal(wider(x), x.view(torch.int32))
        assert torch.equal(narrower(torch.arange(float(count))), torch.arange(float(count)).view(torch.uint8))
    with pytest.raises(ValueError, match="a multiple of 4"):
        wider(torch.arange(6, dtype=torch.uint8))


def test_bits_of_one_half_as_those_of_the_other() -> None:
    """Directly, and on the way through integers."""

    def function(x: torch.Tensor) -> Any:
        other = x.view(torch.bfloat16)
        return other, x.view(torch.int16).view(torch.bfloat16), other.view(torch.int16).view(torch.float16) + 1

    check(function, torch.randn(64).half())


def test_bits_of_complex_numbers() -> None:
    """They lie in memory as their two parts."""

    def function(z: torch.Tensor) -> Any:
        z = torch.view_as_complex(z)
        wide = z.view(torch.float64).view(torch.complex64)
        return z.view(torch.float32), z.view(torch.int64), torch.view_as_real(wide), torch.view_as_real(z.view(2, 6))

    check(function, torch.randn(3, 4, 2))


def test_bits_under_torch_compile() -> None:
    def function(b: torch.Tensor, f: torch.Tensor) -> Any:
        return (
            b.view(torch.int32),
            b.view(torch.int16),
            f.view(torch.uint8),
            (f.view(torch.int32) >> 23).view(torch.uint8),
        )

    inputs = (torch.arange(16, dtype=torch.uint8).reshape(2, 8), torch.tensor([[1.0, -2.5]]))
    with torch.no_grad():
        agrees(torch.compile(function, backend="perpend")(*inputs), function(*inputs))
