"""ATen operators that sort, index, scatter and accumulate along a dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch

from .._perpend import Value
from .call import Call
from .movement import is_kept, normal
from .selection import broadcast_extents, iota, masked_slices, position_indices
from .types import Extent, extent_of

Operator = Callable[["Call"], Any]

# Names of reductions: torch's to the composites'.
REDUCTIONS = {"add": "add", "sum": "add", "multiply": "mul", "prod": "mul", "amax": "max", "amin": "min"}


def sorted_values(call: Call) -> list[Value]:
    """Values and positions. Always stable, which torch permits."""
    dim = normal(call["dim"], call.rank())
    count = call.get("k", extent_of(call.example("self").shape[dim]))
    largest = call.get("largest", call.get("descending", False))
    return call.ops("topk", call.tensor("self"), k=[count], axis=dim, largest=int(largest))


def kth_value(call: Call) -> list[Value]:
    """The element of rank k, from 1 on, and its position. A scalar is its own."""
    value = call.tensor("self")
    if call.rank() == 0:
        return [value, call.number(0, torch.int64)]
    dim = normal(call["dim"], call.rank())
    results = call.ops("topk", value, k=[1], first=[less_one(call["k"])], axis=dim, largest=0)
    return results if call["keepdim"] else [call.op("squeeze", result, axes=[dim]) for result in results]


def less_one(count: Extent) -> Extent:
    return count - 1 if isinstance(count, int) else f"({count}) - 1"


def cumulated(composite: str) -> Operator:
    def convert(call: Call) -> Value:
        value = call.tensor("self", call.dtype)
        return call.op(composite, value, axis=call["dim"])

    return convert


def running_extreme(composite: str) -> Operator:
    return lambda call: call.ops(composite, call.tensor("self"), axis=call["dim"])


def scatter(call: Call) -> Value:
    """Ignores updates beyond the extents of the index."""
    value, positions, axis = call.tensor("self"), call.tensor("index"), call["dim"]
    name = call.get("reduce", "add" if call.node.target is torch.ops.aten.scatter_add.default else "none")
    if name not in (*REDUCTIONS, "none") or not call.get("include_self", True):
        raise call.fail(
            f"the reduction '{name}' without the tensor itself, or as a mean, is not supported"
            "\nhint: give include_self=True, and divide a sum for a mean"
        )
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


def index(call: Call) -> Value:
    """x[i, j, :, k]: the dimensions with an index become those of the indices, which broadcast."""
    value, indices, rank = call.tensor("self"), list(call["indices"]), call.rank()
    given = [axis for axis, at in enumerate(indices) if at is not None]
    if len(given) == 1:
        (axis,) = given
        if is_mask(indices[axis]):
            return masked_slices(call, value, indices[axis], axis)
        return call.op("gather", value, indices[axis], axis=axis)
    indices = position_indices(call, indices)
    given = [axis for axis, at in enumerate(indices) if at is not None]
    positions, depth = index_tuples(call, [at for at in indices if at is not None])
    order = given + [axis for axis in range(rank) if axis not in given]
    result = call.op("gather_nd", moved(call, value, order), positions)
    first = place_of(given)
    order = [*range(depth, depth + first), *range(depth), *range(depth + first, len(result.shape))]
    return moved(call, result, order)


def is_mask(at: Value) -> bool:
    return at.dtype in ("bool", "u8")


def is_one(value: torch.Tensor) -> bool:
    return all(isinstance(extent, int) and extent == 1 for extent in value.shape)


def place_of(given: list[int]) -> int:
    """The indices' dimensions replace the indexed ones if these are adjacent; otherwise they come first."""
    return given[0] if given == list(range(given[0], given[-1] + 1)) else 0


def index_tuples(call: Call, indices: list[Value]) -> tuple[Value, int]:
    """Stacks the indices in a new last dimension; also returns their rank."""
    common = broadcast_extents(*(at.shape for at in indices))
    parts = [call.cast(call.op("expand", at, shape=common), torch.int64) for at in indices]
    return call.op("stack", *parts, axis=len(common)), len(common)


def index_put(call: Call) -> Value:
    """x[i, j, :, k] = values, or += values."""
    value, indices, rank = call.tensor("self"), list(call["indices"]), call.rank()
    updates, accumulates = call.tensor("values", call.dtype), call.get("accumulate", False)
    masks = [at for at in indices if at is not None]
    if len(masks) == 1 and is_mask(masks[0]) and is_one(call.example("values")) and not accumulates:
        return masked_put(call, value, indices, updates)
    indices = position_indices(call, indices)
    given = [axis for axis, at in enumerate(indices) if at is not None]
    positions, depth = index_tuples(call, [at for at in indices if at is not None])
    rest = [axis for axis in range(rank) if axis not in given]
    are_adjacent = given[-1] + 1 == len(given) + given[0]
    if call.converter.keeps_order and is_kept(call) and are_adjacent and not accumulates:
        return written_at(call, value, [at for at in indices if at is not None], updates, given[0])
    first, kept = place_of(given), [value.shape[axis] for axis in rest]
    updates = call.op("expand", updates, shape=kept[:first] + positions.shape[:-1] + kept[first:])
    front = [*range(first, first + depth), *range(first), *range(first + depth, depth + len(rest))]
    order = given + rest
    operands = [moved(call, value, order), positions, moved(call, updates, front)]
    reduction = "add" if accumulates else "none"
    return moved(call, call.op("scatter_nd", *operands, reduction=reduction), inverse(order))


def written_at(call: Call, value: Value, indices: list[Value], updates: Value, first: int) -> Value:
    """x[:, .., i, j, ..] = values, without moving dimensions: with positions for the leading ones, too."""
    depth = max(len(at.shape) for at in indices)
    leading = [
        call.reshape(iota(call, value.shape[dim]), [*[1] * dim, value.shape[dim], *[1] * (first - 1 - dim + depth)])
        for dim in range(first)
    ]
    positions, count = index_tuples(call, leading + indices)
    updates = call.op("expand", updates, shape=positions.shape[:count] + value.shape[first + len(indices) :])
    return call.op("scatter_nd", value, positions, updates)


def masked_put(call: Call, value: Value, indices: list[Value | None], updates: Value) -> Value:
    """Writes one value to the elements that a mask, one of the indices, selects."""
    axis = next(axis for axis, at in enumerate(indices) if at is not None)
    mask = cast(Value, indices[axis])
    behind = list(range(len(mask.shape), call.rank() - axis))
    mask = call.op("unsqueeze", mask, axes=behind) if behind else mask
    return call.op("where", mask, call.reshape(updates, []), value)
