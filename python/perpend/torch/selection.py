"""ATen operators that select and count: the extents of their results depend on data (graph.measure)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .._perpend import Value
from .call import Call
from .movement import END, normal, slice_between
from .types import Extent, extent_of

Operator = Callable[["Call"], Any]


def broadcast_extents(*shapes: list[Extent]) -> list[Extent]:
    """The shape that tensors broadcast to; extents are 1 or agree."""
    rank = max(map(len, shapes))
    padded = [[*([1] * (rank - len(shape))), *shape] for shape in shapes]
    return [next((extent for extent in column if extent != 1), 1) for column in zip(*padded, strict=True)]


def count_of(value: Value) -> Extent:
    return " * ".join(f"({extent})" for extent in value.shape) or 1


def iota(call: Call, count: Extent) -> Value:
    return call.op("arange", *(call.converter.graph.dims([number], scalar=True) for number in (0, count, 1)))


# ----------------------------------------------------------------------------------------------------------------------
# Masks
# ----------------------------------------------------------------------------------------------------------------------


def nonzero(call: Call) -> Value:
    return call.op("transpose", call.op("nonzero", call.tensor("self")), perm=[1, 0])


def nonzero_static(call: Call) -> Value:
    """The first `size` positions, filled up with `fill_value`."""
    size, value = call["size"], call.tensor("self")
    found = call.op("transpose", call.op("nonzero", value), perm=[1, 0])
    fill = call.number(call.get("fill_value", -1), torch.int64)
    rest = call.op("expand", fill, shape=[size, len(value.shape)])
    return slice_between(call, call.op("concat", found, rest, axis=0), 0, 0, size)


def masked_select(call: Call) -> Value:
    value, mask = call.tensor("self"), call.tensor("mask", torch.bool)
    shape = broadcast_extents(value.shape, mask.shape)
    flat = [call.reshape(call.op("expand", part, shape=shape), [-1]) for part in (value, mask)]
    return call.op("compress", *flat, axis=0)


def masked_scatter(call: Call) -> Value:
    """The n-th true element of the mask takes the n-th element of the source."""
    source = call.tensor("source", call.dtype)
    shape = [extent_of(extent) for extent in call.result.shape]
    value = call.op("expand", call.tensor("self"), shape=shape)
    mask = call.op("expand", call.tensor("mask", torch.bool), shape=shape)
    flat = call.cast(call.reshape(mask, [-1]), torch.int64)
    position = call.op("cumsum", flat, axis=0, exclusive=1)
    last = call.converter.graph.dims([f"max({count_of(source)} - 1, 0)"], scalar=True)
    taken = call.op("gather", call.reshape(source, [-1]), call.op("min", position, last), axis=0)
    return call.op("where", mask, call.reshape(taken, shape), value)


def masked_slices(call: Call, value: Value, mask: Value, axis: int) -> Value:
    """x[.., mask, ..]: the mask's dimensions merge into one."""
    count = len(mask.shape)
    if count > 1:
        shape = value.shape
        value = call.reshape(value, [*shape[:axis], count_of(mask), *shape[axis + count :]])
    return call.op("compress", value, call.reshape(mask, [-1]), axis=axis)


def position_indices(call: Call, indices: list[Value | None]) -> list[Value | None]:
    """Converts masks among the indices to vectors of positions, one for each dimension of the mask."""
    result: list[Value | None] = []
    for at in indices:
        if at is None or at.dtype not in ("bool", "u8"):
            result.append(at)
            continue
        positions = call.op("nonzero", at)
        for dim in range(len(at.shape)):
            result.append(call.op("squeeze", slice_between(call, positions, 0, dim, dim + 1), axes=[0]))
    return result


# ----------------------------------------------------------------------------------------------------------------------
# Distinct elements, counts
# ----------------------------------------------------------------------------------------------------------------------


def unique(call: Call) -> list[Value | None]:
    value, attributes = call.tensor("self"), {}
    if "dim" in call and call["dim"] is not None:
        attributes["axis"] = normal(call["dim"], call.rank())
    distinct, _, inverse, counts = call.ops("unique", value, sorted=1, equal_nan=0, **attributes)
    inverse = inverse if attributes else call.reshape(inverse, value.shape)
    return [distinct, *wanted(call, inverse, counts)]


def wanted(call: Call, inverse: Value, counts: Value) -> list[Value | None]:
    return [inverse if call["return_inverse"] else None, counts if call["return_counts"] else None]


def unique_consecutive(call: Call) -> list[Value | None]:
    """Elements, or slices along a dimension, that differ from the one before."""
    value, dim = call.tensor("self"), call.get("dim")
    if dim is not None and dim < 0 and call.rank():
        raise call.fail("PyTorch traces a wrong shape for a dimension counted from the end\nhint: count it from 0")
    is_flat = dim is None or not call.rank()
    axis = 0 if is_flat else normal(dim, call.rank())
    items = call.reshape(value, [-1]) if is_flat else value
    number = iota(call, items.shape[axis])
    step = [int(dim == axis) for dim in range(len(items.shape))]
    before = call.op("pad", items, pads=step + [-each for each in step], mode="constant")
    differs = call.op("not_equal", items, before)
    others = [other for other in range(len(items.shape)) if other != axis]
    if others:
        differs = call.op("reduce_max", call.cast(differs, torch.uint8), axes=others, keepdims=0)
        differs = call.cast(differs, torch.bool)
    begins = call.op("logical_or", differs, call.op("equal", number, zero(call)))
    inverse = counts = None
    if call["return_inverse"]:
        inverse = call.op("cumsum", call.cast(begins, torch.int64), axis=0)
        inverse = call.op("sub", inverse, call.number(1, torch.int64))
        inverse = call.reshape(inverse, value.shape) if is_flat else inverse
    if not call["return_counts"]:
        return [call.op("compress", items, begins, axis=axis), inverse, counts]
    first = call.op("squeeze", call.op("nonzero", begins), axes=[0])
    end = call.converter.graph.dims([items.shape[axis]])
    following = call.op("concat", slice_between(call, first, 0, 1, END), end, axis=0)
    following = slice_between(call, following, 0, 0, first.shape[0])  # of no elements, none
    counts = call.op("sub", following, first)
    return [call.op("gather", items, first, axis=axis), inverse, counts]


def zero(call: Call) -> Value:
    return call.number(0, torch.int64)


def counted(call: Call, positions: Value, extent: Extent, weights: Value | None = None) -> Value:
    """Counts each of the positions below `extent`, or sums their weights."""
    dtype = torch.int64 if weights is None else call.dtype
    zeros = call.op("expand", call.number(0, dtype), shape=[extent])
    ones = call.op("expand", call.number(1, dtype), shape=positions.shape) if weights is None else weights
    return call.op("scatter_elements", zeros, positions, ones, axis=0, reduction="add")


def bincount(call: Call) -> Value:
    value = call.tensor("self", torch.int64)
    least = call.number(call["minlength"] - 1, torch.int64)
    largest = call.op("max", call.op("reduce_max", value, axes=[0], keepdims=0), least)  # also of no elements
    extent = call.converter.graph.measure(call.op("add", largest, call.number(1, torch.int64)))
    weights = call.tensor("weights", call.dtype) if call["weights"] is not None else None
    return counted(call, value, extent, weights)


def repeat_interleave(call: Call) -> Value:
    """Each position, repeated `repeats` times. Source: torch.repeat_interleave of a tensor of repeats."""
    repeats = call.tensor("repeats", torch.int64)
    ends = call.op("cumsum", repeats, axis=0)
    extent = call.converter.graph.measure(call.op("reduce_sum", repeats, axes=[0], keepdims=0))
    # Counts the ends at or before each place; an end after the last place is dropped.
    more = call.converter.graph.dims([f"({extent}) + 1"], scalar=True)
    counts = counted(call, call.op("min", ends, call.op("sub", more, call.number(1, torch.int64))), f"({extent}) + 1")
    return slice_between(call, call.op("cumsum", counts, axis=0), 0, 0, extent)


def range_of(call: Call, value: Value) -> tuple[Value, Value, Value]:
    """Its ends and its width: those of the elements if both ends are the same number, and one to each side if they
    still are."""
    low, high = float(call["min"]), float(call["max"])
    if low != high:
        return call.number(low, call.dtype), call.number(high, call.dtype), call.number(high - low, call.dtype)
    ends = [call.op(name, value, axes=[0], keepdims=0) for name in ("reduce_min", "reduce_max")]
    is_point = call.op("equal", *ends)
    moved = [call.op("add", end, call.number(step, call.dtype)) for end, step in zip(ends, (-1, 1), strict=True)]
    first, last = (call.op("where", is_point, far, end) for far, end in zip(moved, ends, strict=True))
    return first, last, call.op("sub", last, first)


def histogram(call: Call) -> Value:
    value, bins = call.reshape(call.tensor("self"), [-1]), call["bins"]
    low_number, high_number, width = range_of(call, value)
    distance = call.op("mul", call.op("sub", value, low_number), call.number(bins, call.dtype))
    position = call.op("floor", call.op("div", distance, width))  # in this order, as numbers on an edge tell
    position = call.op("min", position, call.number(bins - 1, call.dtype))
    above, below = call.op("greater_equal", value, low_number), call.op("less_equal", value, high_number)
    position = call.op("where", call.op("logical_and", above, below), position, call.number(bins, call.dtype))
    counts = counted(call, call.cast(position, torch.int64), bins + 1)
    return call.cast(slice_between(call, counts, 0, 0, bins), call.dtype)


def boundaries_before(boundaries: str, values: str) -> Operator:
    """The number of boundaries before each value, or not after it (right); NaN comes after all."""

    def convert(call: Call) -> Value:
        limits, value = call.tensor(boundaries), call.tensor(values)
        dtype = torch.result_type(call.example(boundaries), call.example(values))
        limits, value = call.cast(limits, dtype), call.cast(value, dtype)
        if call.get("sorter") is not None:
            limits = call.op("gather_elements", limits, call.tensor("sorter"), axis=-1)
        is_right = call.get("right", False) or call.get("side") == "right"
        extent = limits.shape[-1]
        if isinstance(extent, int) and extent > 64:  # fewer are compared one by one, in vectors
            count = call.op("count_before", limits, value, right=int(is_right))
        else:
            if len(limits.shape) > 1:
                limits = call.op("unsqueeze", limits, axes=[-2])
            last = call.op("unsqueeze", value, axes=[-1])
            before = call.op("less_equal" if is_right else "less", limits, last)
            count = call.op("reduce_sum", call.cast(before, torch.int64), axes=[-1], keepdims=0)
        if dtype.is_floating_point:
            every = call.converter.graph.dims([limits.shape[-1]], scalar=True)
            count = call.op("where", call.op("isnan", value), every, count)
        return call.cast(count, call.dtype)

    return convert


SELECTIONS: dict[str, Operator] = {
    "aten.nonzero": nonzero,
    "aten.nonzero_static": nonzero_static,
    "aten.masked_select": masked_select,
    "aten.masked_scatter": masked_scatter,
    "aten._unique2": unique,
    "aten.unique_dim": unique,
    "aten.unique_consecutive": unique_consecutive,
    "aten.bincount": bincount,
    "aten.histc": histogram,
    "aten.repeat_interleave": repeat_interleave,
    "aten.bucketize": boundaries_before("boundaries", "self"),
    "aten.searchsorted": boundaries_before("sorted_sequence", "self"),
}
