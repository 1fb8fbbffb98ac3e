"""torch.compile: arguments that are states of the artifact, in memory of the caller.

What a graph writes parts of (a StaticCache) is updated where it lies. With `options={"grow": True}`, caches grow in
their memory: a graph that returns torch.cat([past, rows], dim) of its argument `past` copies all of it in each call.
With this option `past` has room behind it: a call writes the new rows there, and returns a longer view of the same
memory. Where the argument lies elsewhere, or is not the latest view, it is copied once, into a new room twice as long.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from .call import name_of
from .scalars import Sources, expression_of
from .types import DTYPES

MOST = 65536  # rows
WRITES = ("aten.index_put", "aten.slice_scatter", "aten.select_scatter")
FIRST = 64
Reader = Callable[[Sequence[Any]], Sequence[int]]

_lock = threading.Lock()  # of the numbers of rows in use


class Room:
    """Memory for rows, of which the first are in use: those behind them belong to whoever appends next."""

    def __init__(self, rows: torch.Tensor, capacity: int) -> None:
        """rows: the first ones, with the dimension that grows in front."""
        self.base = rows.new_empty([capacity, *rows.shape[1:]])
        self.base[: rows.shape[0]].copy_(rows)
        self.used = rows.shape[0]
        vars(self.base.untyped_storage())["perpend_room"] = self

    def take(self, rows: torch.Tensor, total: int) -> bool:
        """Whether the rows are all that is in use, and there is room; they are `total` then."""
        base = self.base
        fits = rows.shape[1:] == base.shape[1:] and rows.dtype == base.dtype and total <= base.shape[0]
        fits = fits and rows.data_ptr() == base.data_ptr() and rows.stride()[1:] == base.stride()[1:]
        with _lock:
            if not fits or self.used != rows.shape[0] or (rows.shape[0] > 1 and rows.stride(0) != base.stride(0)):
                return False
            self.used = total
            return True


def room_for(past: torch.Tensor, dim: int, total: int) -> Room:
    """The memory of a tensor and of the rows that will be appended, up to `total`."""
    rows = past.movedim(dim, 0)
    room = getattr(past.untyped_storage(), "perpend_room", None)
    if room is None or not room.take(rows, total):
        room = Room(rows, max(FIRST, 2 * total))
        room.used = total
    return room


def _view(room: Room, total: int, dim: int) -> torch.Tensor:
    return room.base[:total].movedim(0, dim)


@dataclass(frozen=True)
class Growth:
    """One argument of a graph, and the result that is its next value. total: reads the length of the result; None: it
    keeps its extents."""

    argument: int
    result: Node
    dim: int = 0
    total: Reader | None = None


def writes_of(placeholders: Sequence[Node], changed: Sequence[int], results: Sequence[Any]) -> list[Growth]:
    """changed: the arguments that the first results are the next values of. Those of which only parts are written."""
    pairs = zip(changed, results[: len(changed)], strict=True)
    written = [Growth(index, result) for index, result in pairs if _is_written(placeholders[index], result)]
    return [growth for growth in written if results.count(growth.result) == 1]


def _is_written(past: Node, result: Any) -> bool:
    """Whether writes alone lead from one to the other, none of which moves dimensions."""
    node = result
    while isinstance(node, Node) and node.op == "call_function" and node is not past:
        if name_of(node) not in WRITES or (name_of(node) == "aten.index_put" and not _are_adjacent(node)):
            return False
        node = node.args[0]
    example = past.meta.get("val")
    is_fixed = isinstance(example, torch.Tensor) and all(isinstance(extent, int) for extent in example.shape)
    return node is past and result is not past and is_fixed and example.dtype in DTYPES


def _are_adjacent(node: Node) -> bool:
    """Whether an assignment has positions for dimensions side by side, and replaces what is there."""
    indices: Any = node.args[1]
    given = [dim for dim, index in enumerate(indices) if index is not None]
    are_positions = all(indices[dim].meta["val"].dtype in (torch.int32, torch.int64) for dim in given)
    return given == list(range(given[0], given[-1] + 1)) and are_positions and not any(node.args[3:])


def growths_of(placeholders: Sequence[Node], others: Sequence[int], results: Sequence[Node]) -> list[Growth]:
    """others: the arguments that must stay as they are."""
    sources, growths = Sources(placeholders), list[Growth]()
    for result in results:
        if result.op != "call_function" or name_of(result) != "aten.cat":
            continue
        given: Any = result.args
        dim = (given[1] if len(given) > 1 else 0) % result.meta["val"].dim()
        index = placeholders.index(given[0][0]) if given[0][0] in placeholders else -1
        is_taken = index in others or any(growth.argument == index for growth in growths)
        if index < 0 or is_taken or len(given[0]) < 2 or not _can_grow(given[0][0].meta["val"], dim):
            continue
        total = expression_of(result.meta["val"].shape[dim])
        if sources.know([total]):
            growths.append(Growth(index, result, dim, sources.reader([total])))
    return growths


def _can_grow(past: torch.Tensor, dim: int) -> bool:
    """Whether all extents are numbers, but for a symbol in the dimension that grows."""
    extents = list(past.shape)
    length = extents.pop(dim)
    is_symbol = isinstance(length, torch.SymInt) and length.node.expr.is_Symbol
    return past.dtype in DTYPES and is_symbol and all(isinstance(extent, int) for extent in extents)


class Grown:
    """The growths of an artifact, in the order of its states."""

    def __init__(self, growths: Sequence[Growth], results: Sequence[Node]) -> None:
        self.growths = growths
        self.positions = [results.index(growth.result) for growth in growths]  # among the artifact's results

    def fit(self, inputs: Sequence[Any]) -> bool:
        return all(growth.total is None or growth.total(inputs)[0] <= MOST for growth in self.growths)

    def run(self, model: Any, values: Sequence[Any], inputs: Sequence[Any]) -> Sequence[Any]:
        """Calls the model with its other inputs; returns all results of the artifact."""
        rooms, states, views = list[Room](), [], []
        for growth in self.growths:
            past = inputs[growth.argument]
            if growth.total is None:
                views.append(past.contiguous())  # PyTorch copies it back, unless it is the argument itself
                states.append((views[-1].data_ptr(), list(past.shape)))
                continue
            total = growth.total(inputs)[0]
            room = room_for(past, growth.dim, total)
            rooms.append(room)  # keeps it
            states.append((room.base.data_ptr(), [past.shape[growth.dim], *room.base.shape[1:]]))
            views.append(_view(room, total, growth.dim))
        found = model.call_with(states, *values)
        results = list(found) if isinstance(found, tuple) else [found]
        for position, view in sorted(zip(self.positions, views, strict=True), key=lambda pair: pair[0]):
            results.insert(position, view)
        return results
