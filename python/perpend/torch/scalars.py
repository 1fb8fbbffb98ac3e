"""Arguments of a graph that are numbers: integers, extents, and what PyTorch reads from tensors between its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import sympy
import torch
from torch.fx import Node

from .call import Conversion
from .types import extent_of, least, name_expression

# Beyond it, the difference of two numbers is none of 64 bits. PyTorch runs such calls.
MOST = 2**62


def expression_of(value: Any) -> Any:
    return sympy.sympify(value.node.expr if isinstance(value, torch.SymInt) else value)


class Sources:
    """Which arguments of a call say what symbols are."""

    def __init__(self, placeholders: Sequence[Node]) -> None:
        self.places: dict[Any, tuple[int, int | None]] = {}  # the argument, and the dimension of a tensor
        for index, node in enumerate(placeholders):
            value = node.meta.get("val")
            if isinstance(value, torch.SymInt):
                self.places[value.node.expr] = (index, None)
            for dim, extent in enumerate(value.shape if isinstance(value, torch.Tensor) else ()):
                if isinstance(extent, torch.SymInt):
                    self.places.setdefault(extent.node.expr, (index, dim))

    def know(self, expressions: Iterable[Any]) -> bool:
        return all(symbol in self.places for expression in expressions for symbol in expression.free_symbols)

    def reader(self, expressions: Sequence[Any]) -> Callable[[Sequence[Any]], Sequence[int]]:
        """What computes the expressions from the arguments of a call."""
        symbols = sorted({symbol for expression in expressions for symbol in expression.free_symbols}, key=str)
        places = [self.places[symbol] for symbol in symbols]

        @lru_cache(maxsize=64)
        def values(*numbers: int) -> tuple[int, ...]:
            known = dict(zip(symbols, map(sympy.Integer, numbers), strict=True))
            return tuple(int(expression.xreplace(known)) for expression in expressions)

        def read(inputs: Sequence[Any]) -> Sequence[int]:
            return values(*(int(inputs[at] if dim is None else inputs[at].shape[dim]) for at, dim in places))

        return read


class Scalars:
    """Arguments that are numbers, beside `tensors`. A size that no tensor has comes as an empty-handed tensor of that
    extent, so that memory can be planned with it; other numbers, which may be negative, come as scalars."""

    def __init__(self, placeholders: Sequence[Node], nodes: Iterable[Node], tensors: Sequence[int]) -> None:
        self.placeholders = placeholders
        known = {expression_of(extent) for index in tensors for extent in placeholders[index].meta["val"].shape}
        used, extents = _symbols_of(nodes)
        self.sizes: list[int] = []
        self.numbers: list[int] = []
        for index, node in enumerate(placeholders):
            value = node.meta.get("val")
            if isinstance(value, (torch.SymFloat, torch.SymBool)):
                self.numbers.append(index)
            elif isinstance(value, torch.SymInt) and (value.node.expr.free_symbols & used) - known:
                is_size = value.node.expr in extents and least(value) >= 0
                (self.sizes if is_size else self.numbers).append(index)

    def __len__(self) -> int:
        return len(self.sizes) + len(self.numbers)

    def add_to(self, converter: Conversion) -> None:
        """As inputs of the graph, behind the tensors."""
        for index in self.sizes:
            node = self.placeholders[index]
            converter.graph.input(node.name, [extent_of(node.meta["val"])], "bool")
        for index in self.numbers:
            node = self.placeholders[index]
            value = node.meta["val"]
            scalar = converter.graph.input(node.name, [], TYPES[type(value)][0])
            if isinstance(value, torch.SymInt):
                name_expression(value.node.expr, converter.graph.measure(scalar))
            else:
                converter.values[node] = scalar

    def fit(self, inputs: Sequence[Any]) -> bool:
        return all(not isinstance(inputs[index], int) or -MOST < inputs[index] < MOST for index in self.numbers)

    def tensors(self, inputs: Sequence[Any]) -> list[torch.Tensor]:
        """What the artifact takes for them."""
        sizes = [torch.empty(int(inputs[index]), dtype=torch.bool) for index in self.sizes]
        types = [TYPES[type(self.placeholders[index].meta["val"])][1] for index in self.numbers]
        return sizes + [
            torch.tensor(inputs[index], dtype=dtype) for index, dtype in zip(self.numbers, types, strict=True)
        ]


TYPES: Mapping[type, tuple[str, torch.dtype]] = {
    torch.SymInt: ("i64", torch.int64),
    torch.SymFloat: ("f64", torch.float64),
    torch.SymBool: ("bool", torch.bool),
}


def _symbols_of(nodes: Iterable[Node]) -> tuple[set[Any], set[Any]]:
    """Those that a graph uses, and those of extents among them."""
    used: set[Any] = set()
    extents: set[Any] = set()
    for node in nodes:
        for value in torch.utils._pytree.tree_leaves(node.meta.get("val")):
            if isinstance(value, torch.Tensor):
                extents |= {symbol for extent in value.shape for symbol in expression_of(extent).free_symbols}
            elif isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
                used |= value.node.expr.free_symbols
    return used | extents, extents
