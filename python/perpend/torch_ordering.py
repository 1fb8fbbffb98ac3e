"""ATen operators that sort, scatter and accumulate along a dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from ._perpend import Value
from .torch_movement import normal
from .torch_types import extent_of

if TYPE_CHECKING:
    from .torch_frontend import Call

Operator = Callable[["Call"], Any]

# The names that torch and the composites have for reductions.
REDUCTIONS = {"add": "add", "sum": "add", "multiply": "mul", "prod": "mul", "amax": "max", "amin": "min"}


def sorted_values(call: Call) -> list[Value]:
    """Values and positions. Stable, which torch allows also where it does not ask for it."""
    if call.rank() == 0:
        return [call.tensor("self"), call.number(0, torch.int64)]
    dim = normal(call["dim"], call.rank())
    count = call.get("k", extent_of(call.example("self").shape[dim]))
    largest = call.get("largest", call.get("descending", False))
    return call.ops("topk", call.tensor("self"), k=[count], axis=dim, largest=int(largest))


def cumulated(composite: str) -> Operator:
    def convert(call: Call) -> Value:
        value = call.tensor("self", call.dtype)
        return call.op(composite, value, axis=call["dim"]) if call.rank() else value

    return convert


def scatter(call: Call) -> Value:
    """Updates beyond the extents of the index are not used."""
    value, positions, axis = call.tensor("self"), call.tensor("index"), call["dim"]
    name = call.get("reduce", "add" if call.node.target is torch.ops.aten.scatter_add.default else "none")
    if name not in (*REDUCTIONS, "none") or not call.get("include_self", True):
        raise call.fail(f"the reduction '{name}' without the tensor itself, or as a mean, is not supported")
    shape = list(positions.shape)
    if "src" in call:
        updates = call.tensor("src", call.dtype)
        count = len(shape)
        updates = call.op("slice", updates, starts=[0] * count, ends=shape, axes=list(range(count)), steps=[1] * count)
    else:
        updates = call.op("expand", call.tensor("value", call.dtype), shape=shape)
    return call.op("scatter_elements", value, positions, updates, axis=axis, reduction=REDUCTIONS.get(name, "none"))


def inverse(order: list[int]) -> list[int]:
    return [order.index(axis) for axis in range(len(order))]


def moved(call: Call, value: Value, order: list[int]) -> Value:
    return value if order == list(range(len(order))) else call.op("transpose", value, perm=order)


def index_along(reduction: str) -> Operator:
    """result[.., index[i], ..] takes source[.., i, ..]."""

    def convert(call: Call) -> Value:
        rank = call.rank()
        dim = normal(call["dim"], rank)
        order = [dim, *(axis for axis in range(rank) if axis != dim)]
        source = call.tensor("source", call.dtype)
        if call.get("alpha", 1) != 1:
            source = call.op("mul", source, call.number(call["alpha"], call.dtype))
        positions = call.op("unsqueeze", call.tensor("index"), axes=[1])
        operands = [moved(call, call.tensor("self"), order), positions, moved(call, source, order)]
        return moved(call, call.op("scatter_nd", *operands, reduction=reduction), inverse(order))

    return convert


def index_put(call: Call) -> Value:
    """x[i, j, :, k] = values, or += values."""
    value, indices, rank = call.tensor("self"), list(call["indices"]), call.rank()
    given = [axis for axis, at in enumerate(indices) if at is not None]
    updates = call.tensor("values", call.dtype)
    if any(indices[axis].dtype in ("bool", "u8") for axis in given):
        return masked_put(call, value, [indices[axis] for axis in given], updates)
    examples = [at for at in call.raw("indices") if at is not None]
    common = [extent_of(n) for n in torch.broadcast_shapes(*(at.meta["val"].shape for at in examples))]
    rest = [axis for axis in range(rank) if axis not in given]
    extents = [extent_of(extent) for extent in call.example("self").shape]
    # The dimensions of the indices come in the place of theirs when these are neighbours, else first.
    first = given[0] if given == list(range(given[0], given[-1] + 1)) else 0
    kept = [extents[axis] for axis in rest]
    updates = call.op("expand", updates, shape=kept[:first] + common + kept[first:])
    depth = len(common)
    front = [*range(first, first + depth), *range(first), *range(first + depth, depth + len(rest))]
    parts = [call.cast(call.op("expand", indices[axis], shape=common), torch.int64) for axis in given]
    positions = call.op("concat", *(call.op("unsqueeze", part, axes=[depth]) for part in parts), axis=depth)
    order = given + rest
    operands = [moved(call, value, order), positions, moved(call, updates, front)]
    reduction = "add" if call.get("accumulate", False) else "none"
    return moved(call, call.op("scatter_nd", *operands, reduction=reduction), inverse(order))


def masked_put(call: Call, value: Value, masks: list[Value], updates: Value) -> Value:
    if len(masks) != 1 or call.get("accumulate", False) or call.example("values").numel() != 1:
        raise call.fail("a boolean index takes as many values as it has true elements\nhint: use torch.where")
    mask = masks[0]
    missing = list(range(len(mask.shape), call.rank()))
    mask = call.op("unsqueeze", mask, axes=missing) if missing else mask
    return call.op("where", mask, call.reshape(updates, []), value)
