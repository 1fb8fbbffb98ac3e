"""ATen operators that move, create and index elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .._perpend import Type, Value
from .call import Call
from .types import Extent, dtype_name, extent_of, least

Operator = Callable[["Call"], Any]

END = 2**63 - 1


def normal(dim: int, rank: int) -> int:
    return dim + rank if dim < 0 else dim


# ----------------------------------------------------------------------------------------------------------------------
# Movement
# ----------------------------------------------------------------------------------------------------------------------


def identity(call: Call) -> Value:
    name = next(name for name in ("self", "input", "x") if name in call)
    return call.tensor(name)


def cast(call: Call) -> Value:
    return call.tensor("self", call.dtype)


def dropout(call: Call) -> Any:
    is_trained = call["train"] is None or call["train"]
    if is_trained and call["p"] != 0:
        raise call.fail("dropout in training mode\nhint: use model.eval()")
    value = call.tensor("input")
    if not isinstance(call.result, (list, tuple)):
        return value
    return [value, call.op("expand", call.number(True, torch.bool), shape=value.shape)]


def view(call: Call) -> Value:
    """The same elements in another shape, or the same bits as another type."""
    value = call.tensor("self")
    if "dtype" not in call:
        return call.reshape(value, result_shape(call))
    return call.op("bit_cast", value, to=Type(dtype_name(call.dtype)))


def permute(call: Call) -> Value:
    return call.op("transpose", call.tensor("self"), perm=list(call["dims"]))


def transpose(call: Call) -> Value:
    rank = call.rank()
    if rank < 2:
        return call.tensor("self")
    order = list(range(rank))
    first, second = (call["dim0"], call["dim1"]) if "dim0" in call else (0, rank - 1)
    order[first], order[second] = order[second], order[first]
    return call.op("transpose", call.tensor("self"), perm=order)


def squeeze(call: Call) -> Value:
    value, shape = call.tensor("self"), call.example("self").shape
    dims = call.get("dim", list(range(len(shape))))
    dims = [normal(dim, len(shape)) for dim in ([dims] if isinstance(dims, int) else dims)]
    axes = [dim for dim in dims if shape and isinstance(shape[dim], int) and shape[dim] == 1]
    return call.op("squeeze", value, axes=axes) if axes else value


def slice_between(call: Call, value: Value, axis: int, begin: Extent, end: Extent, step: int = 1) -> Value:
    return call.op("slice", value, starts=[begin], ends=[end], axes=[axis], steps=[step])


def slice_dimension(call: Call) -> Value:
    begin, end = call.get("start", 0), call.get("end", END)
    return slice_between(call, call.tensor("self"), call["dim"], begin, end, call["step"])


def narrow(call: Call) -> Value:
    begin = from_front(call, "start", call.tensor("self").shape[call["dim"]])
    return slice_between(call, call.tensor("self"), call["dim"], begin, f"({begin}) + ({call['length']})")


def from_front(call: Call, name: str, extent: Extent) -> Extent:
    """A position that is counted from the end where it is negative, counted from the front."""
    position: Extent = call[name]
    raw = call.raw(name)
    if isinstance(position, int):
        return f"({extent}) + {position}" if position < 0 else position
    if least(raw.meta["val"] if isinstance(raw, torch.fx.Node) else raw) >= 0:
        return position
    return f"({position}) + ({extent}) * min(max(0 - ({position}), 0), 1)"


def select(call: Call) -> Value:
    axis, value = call["dim"], call.tensor("self")
    begin = call["index"]
    end = END if begin == -1 else f"({begin}) + 1"
    if not isinstance(begin, int):
        begin = from_front(call, "index", value.shape[axis])
        end = f"({begin}) + 1"
    return call.op("squeeze", slice_between(call, value, axis, begin, end), axes=[axis])


def stack(call: Call) -> Value:
    return call.op("stack", *(call.of_type(part, call.dtype) for part in call["tensors"]), axis=call["dim"])


def concatenate(call: Call) -> Value:
    """Accepts empty vectors among tensors of any rank, as PyTorch does."""
    pairs = list(zip(call["tensors"], call.raw("tensors"), strict=True))
    parts = [part for part, raw in pairs if not is_empty_vector(raw.meta["val"])] or [pairs[0][0]]
    parts = [call.of_type(part, call.dtype) for part in parts]
    return call.op("concat", *parts, axis=call["dim"])


def is_empty_vector(example: torch.Tensor) -> bool:
    return example.dim() == 1 and isinstance(example.shape[0], int) and example.shape[0] == 0


def difference(call: Call) -> Value:
    """x[i + 1] - x[i] along a dimension, n times; of truth values whether they differ. No time: x, and nothing else."""
    if call["n"] == 0:
        return call.tensor("self")
    axis = call["dim"]
    names = [name for name in ("prepend", "self", "append") if call.get(name) is not None]
    parts = [call.tensor(name, call.dtype) for name in names]
    value = parts[0] if len(parts) == 1 else call.op("concat", *parts, axis=axis)
    extent = sum(call.example(name).shape[axis] for name in names)
    for _ in range(min(call["n"], extent)):
        later, earlier = slice_between(call, value, axis, 1, END), slice_between(call, value, axis, 0, -1)
        value = call.op("logical_xor" if value.dtype == "bool" else "sub", later, earlier)
    return value


def split(call: Call) -> list[Value]:
    axis, value = call["dim"], call.tensor("self")
    sizes = call.get("split_sizes")
    if sizes is None:
        sizes = [extent_of(part.shape[axis]) for part in call.result]
    return call.ops("split", value, axis=axis, sizes=list(sizes))


def unbind(call: Call) -> list[Value]:
    axis, value = call["dim"], call.tensor("self")
    parts = [slice_between(call, value, axis, i, i + 1) for i in range(call.example("self").shape[axis])]
    return [call.op("squeeze", part, axes=[axis]) for part in parts]


def is_kept(call: Call) -> bool:
    """Whether the tensor is a state, or a state that has been written to."""
    node = call.raw("self")
    while node not in call.converter.kept and node.op == "call_function":
        node = next((argument for argument in node.args if isinstance(argument, torch.fx.Node)), None)
        if node is None:
            return False
    return node in call.converter.kept


def written(call: Call, part: Value, begin: Extent, axis: int) -> Value:
    """The tensor with a part at `begin`. Of a state nothing else is written."""
    value = call.tensor("self")
    if is_kept(call):
        extent = value.shape[axis]
        first = min(begin, extent) if isinstance(begin, int) and isinstance(extent, int) else begin
        return call.converter.graph.update(value, part, first, axis)
    head = slice_between(call, value, axis, 0, begin)
    tail = slice_between(call, value, axis, f"({begin}) + ({part.shape[axis]})", END)
    return call.op("concat", head, part, tail, axis=axis)


def slice_scatter(call: Call) -> Value:
    value, axis = call.tensor("self"), normal(call["dim"], call.rank())
    part = call.tensor("src", call.dtype)
    if call.get("step", 1) != 1:
        return strided_scatter(call, value, part, axis)
    begin = from_front(call, "start", value.shape[axis]) if call.get("start") is not None else 0
    return written(call, part, begin, axis)


def strided_scatter(call: Call, value: Value, part: Value, axis: int) -> Value:
    numbers = [call.converter.graph.dims([number], scalar=True) for number in (0, value.shape[axis], 1)]
    positions = call.op("arange", *numbers)
    taken = slice_between(call, positions, 0, call.get("start", 0), call.get("end", END), call["step"])
    order = [axis, *(other for other in range(call.rank()) if other != axis)]
    back = [order.index(other) for other in range(call.rank())]
    moved = [call.op("transpose", x, perm=order) for x in (value, part)]
    result = call.op("scatter_nd", moved[0], call.op("unsqueeze", taken, axes=[1]), moved[1])
    return call.op("transpose", result, perm=back)


def strided_places(call: Call, sizes: Sequence[Extent], strides: Sequence[Extent], offset: Extent) -> Value:
    """offset + i stride[0] + j stride[1] + .. for each position (i, j, ..)."""
    position = call.converter.graph.dims([offset], scalar=True)
    for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        numbers = [call.converter.graph.dims([number], scalar=True) for number in (0, size, 1)]
        steps = call.op("mul", call.op("arange", *numbers), call.converter.graph.dims([stride], scalar=True))
        behind = list(range(1, len(sizes) - axis))
        position = call.op("add", position, call.op("unsqueeze", steps, axes=behind) if behind else steps)
    return position


def is_view(node: torch.fx.Node) -> bool:
    """Whether the node is a view of its first argument. Some operators return a view or a copy, depending on the
    strides."""
    if not getattr(node.target, "is_view", False):
        return False
    memories = [part.meta["val"].untyped_storage()._cdata for part in (node, node.args[0])]
    return bool(memories[0] == memories[1])


def memory_of(call: Call) -> tuple[Value, torch.Tensor]:
    """The elements of a tensor's memory in storage order; for a view, those of its base."""
    node = call.raw("self")
    while node.op == "call_function" and is_view(node):
        node = node.args[0]
    example, value = node.meta["val"], call.converter.values[node]
    strides = example.stride()
    order = sorted(range(example.dim()), key=lambda axis: (strides[axis], example.shape[axis]), reverse=True)
    if not example.permute(order).is_contiguous() or example.storage_offset() != 0:
        raise call.fail("expected a tensor without gaps in memory\nhint: use view, expand or unfold")
    if order != sorted(order):
        value = call.op("transpose", value, perm=order)
    return call.reshape(value, [-1]), example


def as_strided(call: Call) -> Value:
    """Element (i, j, ..) is element offset + i stride[0] + j stride[1] + .. of the memory."""
    memory, _ = memory_of(call)
    start = call.get("storage_offset", extent_of(call.example("self").storage_offset()))
    return call.op("gather", memory, strided_places(call, call["size"], call["stride"], start), axis=0)


def as_strided_scatter(call: Call) -> Value:
    """The tensor with the elements that as_strided shows replaced."""
    if not call.example("self").is_contiguous() or call.example("self").storage_offset() != 0:
        raise call.fail("expected a contiguous tensor\nhint: use scatter or index_put")
    value, start = call.tensor("self"), call.get("storage_offset", 0)
    places = strided_places(call, call["size"], call["stride"], start)
    updates = call.reshape(call.tensor("src", call.dtype), [-1])
    places = call.op("unsqueeze", call.reshape(places, [-1]), axes=[1])
    return call.reshape(call.op("scatter_nd", call.reshape(value, [-1]), places, updates), value.shape)


def select_scatter(call: Call) -> Value:
    value, axis = call.tensor("self"), normal(call["dim"], call.rank())
    begin = from_front(call, "index", value.shape[axis])
    return written(call, call.op("unsqueeze", call.tensor("src", call.dtype), axes=[axis]), begin, axis)


def diagonal(call: Call) -> Value:
    """The two dimensions become one, the last: elements (i, i + offset)."""
    value, rank, offset = call.tensor("self"), call.rank(), call["offset"]
    first, second = normal(call["dim1"], rank), normal(call["dim2"], rank)
    rest = [axis for axis in range(rank) if axis not in (first, second)]
    value = call.op("transpose", value, perm=[first, second, *rest])
    count = result_shape(call)[-1]
    numbers = [call.converter.graph.dims([number], scalar=True) for number in (0, count, 1)]
    along = call.op("arange", *numbers)
    pair = [call.op("add", along, call.number(shift, torch.int64)) for shift in (max(-offset, 0), max(offset, 0))]
    result = call.op("gather_nd", value, call.op("stack", *pair, axis=1))
    return call.op("transpose", result, perm=[*range(1, rank - 1), 0])


def unfold(call: Call) -> Value:
    """Windows along one dimension, their elements in a new last dimension."""
    if call.rank() == 0:
        return call.op("unsqueeze", call.tensor("self"), axes=[0])
    axis = normal(call["dimension"], call.rank())
    return call.op("frames", call.tensor("self"), axis=axis, size=[call["size"]], step=[call["step"]])


def flip(call: Call) -> Value:
    dims = list(call["dims"])
    ones = [-1] * len(dims)
    return call.op("slice", call.tensor("self"), starts=ones, ends=[-END] * len(dims), axes=dims, steps=ones)


def roll(call: Call) -> Value:
    value, dims = call.tensor("self"), call.get("dims", [])
    if not dims:
        raise call.fail(
            "expected dims for each shift\nhint: flatten the tensor, roll it along dimension 0, and reshape it back"
        )
    for shift, axis in zip(call["shifts"], dims, strict=True):
        if shift:
            end = END if shift > 0 else -shift
            back = slice_between(call, value, axis, -shift, END)
            front = slice_between(call, value, axis, 0, -shift if shift > 0 else end)
            value = call.op("concat", back, front, axis=axis)
    return value


def pad(mode: str) -> Operator:
    def convert(call: Call) -> Value:
        amounts, rank = list(call.get("pad", call.get("padding"))), call.rank()
        low: list[Extent] = [0] * rank
        high: list[Extent] = [0] * rank
        for i in range(len(amounts) // 2):
            low[rank - 1 - i], high[rank - 1 - i] = amounts[2 * i], amounts[2 * i + 1]
        tensor = call.tensor("self")
        if mode == "wrap":  # what remains is repeated, after elements have been cut off
            for axis in range(rank):
                cut = [-min(amount, 0) if isinstance(amount, int) else 0 for amount in (low[axis], high[axis])]
                if any(cut):
                    tensor = slice_between(call, tensor, axis, cut[0], -cut[1] if cut[1] else END)
                    low[axis], high[axis] = (max(n, 0) if isinstance(n, int) else n for n in (low[axis], high[axis]))
        number = call.raw("value") if "value" in call else 0
        if call.part is not None:
            number = (complex(number).real, complex(number).imag)[call.part]
        if mode == "constant" and call.part is None and not call.dtype.is_floating_point:
            return call.op("pad", tensor, call.number(number, call.dtype), pads=low + high, mode=mode)
        return call.op("pad", tensor, pads=low + high, mode=mode, value=float(number))

    return convert


def triangle(upper: bool) -> Operator:
    return lambda call: call.op("trilu", call.tensor("self"), upper=int(upper), k=call["diagonal"])


# ----------------------------------------------------------------------------------------------------------------------
# Creation and indexing
# ----------------------------------------------------------------------------------------------------------------------


def result_shape(call: Call) -> list[Extent]:
    return [extent_of(extent) for extent in call.result.shape]


def filled(value: float | None = None) -> Operator:
    """A tensor of the result's shape filled with one number."""

    def convert(call: Call) -> Value:
        name = next((name for name in ("fill_value", "s", "value") if name in call), None)
        number = call.tensor(name, call.dtype) if value is None and name else call.number(value or 0, call.dtype)
        return call.op("expand", number, shape=result_shape(call))

    return convert


def random_values(composite: str, dtype: torch.dtype | None = None) -> Operator:
    """Random values of PyTorch's distribution, but not its sequence; each operator has its own seed."""

    def convert(call: Call) -> Value:
        call.converter.seeds += 1
        element = Type(dtype_name(dtype or call.dtype))
        return call.op(composite, shape=result_shape(call), type=element, seed=call.converter.seeds)

    return convert


def random_integers(call: Call) -> Value:
    low, high = call.get("low", 0), call["high"]
    unit = random_values("random_uniform", torch.float64)(call)
    extent, begin = call.number(high - low, torch.float64), call.number(low, torch.float64)
    whole = call.op("floor", call.op("mul", unit, extent))
    return call.cast(call.op("add", whole, begin), call.dtype)


def arange(call: Call) -> Value:
    start, end, step = call.get("start", 0), call["end"], call.get("step", 1)
    dtype = call.dtype
    if all(isinstance(number, (int, float)) for number in (start, end, step)):
        constant: Value = call.converter.constant(torch.arange(start, end, step, dtype=dtype))
        return constant
    if not all(isinstance(number, (int, str)) for number in (start, end, step)):
        return arange_of_floats(call)
    numbers = [call.converter.graph.dims([number], scalar=True) for number in (start, end, step)]
    return call.cast(call.op("arange", *numbers), dtype)


def arange_of_floats(call: Call) -> Value:
    """start + i step, below end: ceil((end - start) / step) of them"""
    bounds = [call.tensor(name, torch.float64) for name in ("end", "start", "step") if name in call]
    span = bounds[0] if len(bounds) < 2 else call.op("sub", bounds[0], bounds[1])
    span = span if len(bounds) < 3 else call.op("div", span, bounds[2])
    count = call.converter.graph.measure(call.cast(call.op("ceil", span), torch.int64))
    numbers = [call.converter.graph.dims([number], scalar=True) for number in (0, count, 1)]
    steps = call.cast(call.op("arange", *numbers), call.dtype)
    if "step" in call:
        steps = call.op("mul", steps, call.tensor("step", call.dtype))
    return call.op("add", steps, call.tensor("start", call.dtype)) if "start" in call else steps


def triangle_indices(function: Callable[..., torch.Tensor]) -> Operator:
    def convert(call: Call) -> Value:
        indices = function(call["row"], call["col"], call["offset"])
        return call.cast(call.converter.constant(indices), call.dtype)

    return convert


def evaluated(call: Call) -> Value:
    """Evaluates an operator whose arguments are numbers into a constant."""
    target: Any = call.node.target
    options = {name: value for name, value in call.node.kwargs.items() if name != "device"}
    value: Value = call.converter.constant(target(*call.node.args, **options))
    return value


def embedding(call: Call) -> Value:
    return call.op("gather", call.tensor("weight"), call.tensor("indices"), axis=0)


def index_select(call: Call) -> Value:
    return call.op("gather", call.tensor("self"), call.tensor("index"), axis=call["dim"])


def gather(call: Call) -> Value:
    """An index without elements may have any rank."""
    if any(isinstance(extent, int) and extent == 0 for extent in call.result.shape):
        return call.op("expand", call.number(0, call.dtype), shape=result_shape(call))
    return call.op("gather_elements", call.tensor("self"), call.tensor("index"), axis=call["dim"])
