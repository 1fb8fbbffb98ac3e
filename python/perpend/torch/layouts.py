"""How PyTorch lays out the results of a graph, and how an artifact's row-major results are brought into that layout.

A dense result whose dimensions lie in another order (`x.t() * 2`, channels last) is computed in that order. A result
with gaps (`y[:, ::2]`, where `y` itself is not a result) is computed without them, then copied into memory with gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
import torch

from .scalars import Sources, expression_of

Reader = Callable[[Sequence[Any]], Sequence[int]]


def _expressions(values: Sequence[Any]) -> list[Any]:
    """Of extents or strides. PyTorch writes strides of tensors that may be empty with Max(1, extent)."""
    found = map(expression_of, values)
    return [value.replace(sympy.Max, _without_one) if value.free_symbols else value for value in found]


def _without_one(*parts: Any) -> Any:
    rest = [part for part in parts if part != 1]
    return rest[0] if len(rest) == 1 else sympy.Max(*parts)


def _is_same(a: Any, b: Any) -> bool:
    return bool(a == b or sympy.expand(a - b) == 0)


def _order_of(extents: Sequence[Any], strides: Sequence[Any]) -> list[int] | None:
    """The dimensions from the outermost to the innermost in memory, where that is dense. Those of extent 1 stay where
    they are. None: it has gaps, or elements that share their place."""
    rest = [dim for dim, extent in enumerate(extents) if extent != 1]
    if any(extents[dim] == 0 for dim in rest):
        return list(range(len(extents)))
    inner: list[int] = []
    step: Any = sympy.Integer(1)
    while rest:
        fitting = next((dim for dim in reversed(rest) if _is_same(strides[dim], step)), None)
        if fitting is None:
            return None
        inner.insert(0, fitting)
        rest.remove(fitting)
        step = step * extents[fitting]
    moved = iter(inner)
    return [dim if extent == 1 else next(moved) for dim, extent in enumerate(extents)]


def _row_major(extents: Sequence[Any]) -> list[Any]:
    """The strides that PyTorch gives a new tensor."""
    strides: list[Any] = []
    step: Any = sympy.Integer(1)
    for extent in reversed(extents):
        strides.insert(0, step)
        step = step * (extent if extent != 0 else 1)
    return strides


def _inverse(order: Sequence[int]) -> list[int]:
    return sorted(range(len(order)), key=order.__getitem__)


@dataclass(frozen=True)
class Layout:
    """Where the elements of a result lie."""

    order: Sequence[int] | None  # of the dimensions in the artifact's result; None: as they are
    back: Sequence[int]  # where each dimension is there
    strides: Reader | None  # of a call; None: those of a new tensor
    is_dense: bool

    def place(self, result: torch.Tensor, inputs: Sequence[Any]) -> torch.Tensor:
        """The artifact's result as PyTorch has it."""
        if self.order is not None:
            result = result.permute(self.back)
        if self.strides is None:
            return result
        strides = self.strides(inputs)
        if self.is_dense:
            return result.as_strided(result.shape, strides)
        return result.new_empty_strided(result.shape, strides).copy_(result)


def layout_of(example: torch.Tensor, sources: Sources) -> Layout | None:
    """None: row-major. Strides that follow from data are taken for that, too."""
    extents, strides = _expressions(example.shape), _expressions(example.stride())
    order = _order_of(extents, strides)
    is_moved = order is not None and order != sorted(order)
    made = _row_major([extents[dim] for dim in order] if order is not None else extents)
    if order is not None:
        made = [made[position] for position in _inverse(order)]
    is_as_made = order is not None and all(map(_is_same, made, strides))
    is_known = not is_as_made and sources.know(strides)
    if not is_moved and not is_known:
        return None
    reader = sources.reader(strides) if is_known else None
    return Layout(order if is_moved else None, _inverse(order or []), reader, order is not None)
