"""The table of ATen operators: each is one expression in composites (src/graph/composites/Composites.def).

Decompositions leave core ATen and the operators that composites express directly (`decompositions`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.export import default_decompositions

from ._perpend import CompileError, Value

if TYPE_CHECKING:
    from .torch_frontend import Call

Extent = int | str
Result = Any
Operator = Callable[["Call"], Result]

END = 2**63 - 1

# Not decomposed: one composite says the same, with more to know for the compiler.
KEPT = """
    hardsigmoid hardswish layer_norm linear matmul mish rms_norm scaled_dot_product_attention silu softplus
    group_norm upsample_nearest2d upsample_bilinear2d upsample_bicubic2d masked_fill stack
""".split()

# Checks of what the compiler checks itself.
IGNORED = {
    "aten._assert_async",
    "aten._assert_scalar",
    "aten._assert_tensor_metadata",
    "aten.sym_constrain_range",
    "aten.sym_constrain_range_for_size",
}

# Regions that are converted in place, and the position of their body among the arguments.
REGIONS = {"higher_order.wrap_with_set_grad_enabled": 1, "higher_order.wrap_with_autocast": 4}


def name_of(node: torch.fx.Node) -> str:
    """ "aten.add" for every overload of it."""
    target: Any = node.target
    if isinstance(target, torch._ops.OpOverload):
        return f"{target.namespace}.{target._schema.name.split('::')[1]}"
    if isinstance(target, torch._ops.HigherOrderOperator):
        return f"higher_order.{target.name()}"
    return str(getattr(target, "__name__", target))


def is_supported(name: str) -> bool:
    return name == "getitem" or name in OPERATORS or name in IGNORED or name in REGIONS


def decompositions() -> Any:
    """Core ATen's decompositions, without those of the operators that stay."""
    table = default_decompositions()
    for operator in list(table):
        if operator.namespace == "aten" and operator._schema.name.split("::")[1] in KEPT:
            del table[operator]
    return table


def torch_dtype(name: str) -> torch.dtype:
    from .torch_frontend import DTYPES

    return next(dtype for dtype, other in DTYPES.items() if other == name)


def is_float(dtype: torch.dtype) -> bool:
    return dtype.is_floating_point


def normal(dim: int, rank: int) -> int:
    return dim + rank if dim < 0 else dim


# ----------------------------------------------------------------------------------------------------------------------
# Elementwise
# ----------------------------------------------------------------------------------------------------------------------


def unary(composite: str, **attributes: Any) -> Operator:
    return lambda call: call.op(composite, call.tensor("self", call.dtype), **attributes)


def on_input(composite: str) -> Operator:
    """A test of an element in its own type."""
    return lambda call: call.op(composite, call.tensor("self"))


def binary(composite: str) -> Operator:
    """Both operands in the result's type; alpha scales the second."""

    def convert(call: Call) -> Value:
        other = call.tensor("other", call.dtype)
        alpha = call.get("alpha", 1)
        if alpha != 1:
            other = call.op("mul", other, call.number(alpha, call.dtype))
        return call.op(composite, call.tensor("self", call.dtype), other)

    return convert


def common_dtype(call: Call) -> torch.dtype:
    """The type that PyTorch compares two operands in."""
    first, second = call.example("self"), call.example("other")
    numbers = (torch.SymInt, torch.SymFloat)
    first, second = (1 if isinstance(x, torch.SymInt) else 1.0 if isinstance(x, numbers) else x for x in (first, second))
    return torch.result_type(first, second)


def comparison(composite: str) -> Operator:
    def convert(call: Call) -> Value:
        dtype = common_dtype(call)
        return call.op(composite, call.tensor("self", dtype), call.tensor("other", dtype))

    return convert


def logical(composite: str) -> Operator:
    return lambda call: call.op(composite, call.tensor("self", torch.bool), call.tensor("other", torch.bool))


def divide(call: Call) -> Value:
    mode = call.get("rounding_mode")
    first, second = call.tensor("self", call.dtype), call.tensor("other", call.dtype)
    if mode == "floor":
        return call.op("floor_div", first, second)
    quotient = call.op("div", first, second)
    return truncated(call, quotient) if mode == "trunc" and is_float(call.dtype) else quotient


def truncated(call: Call, value: Value) -> Value:
    return call.op("mul", call.op("sign", value), call.op("floor", call.op("abs", value)))


def power(call: Call) -> Value:
    base, exponent = call.tensor("self", call.dtype), call["exponent"]
    if isinstance(exponent, (int, float)):
        if exponent == 2:
            return call.op("mul", base, base)
        if exponent == 3:
            return call.op("mul", call.op("mul", base, base), base)
        composite = {0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal", 1: "identity"}.get(exponent)
        if composite and is_float(call.dtype):
            return call.op(composite, base)
    return call.op("pow", base, call.tensor("exponent", call.dtype))


def clamp(call: Call) -> Value:
    value = call.tensor("self", call.dtype)
    low = call.get("min", call.get("min_val"))
    high = call.get("max", call.get("max_val"))
    for composite, limit in (("max", low), ("min", high)):
        if limit is not None:
            bound = limit if isinstance(limit, Value) else call.number(limit, call.dtype)
            value = call.op(composite, value, call.cast(bound, call.dtype))
    return value


def elu(call: Call) -> Value:
    value, scale, input_scale = call.tensor("self"), call.get("scale", 1), call.get("input_scale", 1)
    if input_scale != 1:
        raise call.fail(f"input_scale: expected 1, got {input_scale}")
    result = call.op("elu", value, alpha=float(call.get("alpha", 1)))
    return result if scale == 1 else call.op("mul", result, call.number(scale, call.dtype))


def where(call: Call) -> Value:
    return call.op("where", call.tensor("condition"), call.tensor("self", call.dtype), call.tensor("other", call.dtype))


def masked_fill(call: Call) -> Value:
    return call.op("where", call.tensor("mask"), call.tensor("value", call.dtype), call.tensor("self", call.dtype))


def logarithm(base: float) -> Operator:
    def convert(call: Call) -> Value:
        value = call.op("log", call.tensor("self", call.dtype))
        return call.op("mul", value, call.number(1 / math.log(base), call.dtype))

    return convert


def exp2(call: Call) -> Value:
    value = call.tensor("self", call.dtype)
    return call.op("exp", call.op("mul", value, call.number(math.log(2), call.dtype)))


def softplus(call: Call) -> Value:
    if call.get("beta", 1) != 1:
        beta = call.number(call["beta"], call.dtype)
        return call.op("div", call.op("softplus", call.op("mul", call.tensor("self"), beta)), beta)
    return call.op("softplus", call.tensor("self"))


def prelu(call: Call) -> Value:
    slope, rank = call.tensor("weight"), call.rank()
    if len(slope.shape) == 1 and rank > 2:
        slope = call.reshape(slope, [-1] + [1] * (rank - 2))
    return call.op("prelu", call.tensor("self"), slope)


def addcmul(composite: str) -> Operator:
    def convert(call: Call) -> Value:
        product = call.op(composite, call.tensor("tensor1", call.dtype), call.tensor("tensor2", call.dtype))
        if call.get("value", 1) != 1:
            product = call.op("mul", product, call.number(call["value"], call.dtype))
        return call.op("add", call.tensor("self", call.dtype), product)

    return convert


# ----------------------------------------------------------------------------------------------------------------------
# Reductions and normalisations
# ----------------------------------------------------------------------------------------------------------------------


def axes_of(call: Call) -> list[int]:
    """Empty: all."""
    dims = call.get("dim", [])
    return [dims] if isinstance(dims, int) else list(dims)


def reduction(composite: str) -> Operator:
    def convert(call: Call) -> Value:
        keep = int(call.get("keepdim", False))
        return call.op(composite, call.tensor("self", call.dtype), axes=axes_of(call), keepdims=keep)

    return convert


def truth_reduction(composite: str) -> Operator:
    def convert(call: Call) -> Value:
        truth = call.cast(call.tensor("self", torch.bool), torch.int32)
        keep = int(call.get("keepdim", False))
        return call.cast(call.op(composite, truth, axes=axes_of(call), keepdims=keep), torch.bool)

    return convert


def extreme_along(composite: str, position: str) -> Operator:
    """max.dim and max without a dimension."""

    def convert(call: Call) -> Result:
        value = call.tensor("self")
        if "dim" not in call:
            return call.op(composite, value, keepdims=0)
        axis, keep = call["dim"], int(call["keepdim"])
        return [
            call.op(composite, value, axes=[axis], keepdims=keep),
            call.op(position, value, axis=axis, keepdims=keep),
        ]

    return convert


def arg_extreme(composite: str) -> Operator:
    def convert(call: Call) -> Value:
        value, axis, keep = call.tensor("self"), call["dim"], int(call["keepdim"])
        if axis is None:
            value, axis, keep = call.reshape(value, [-1]), 0, 0
        return call.op(composite, value, axis=axis, keepdims=keep)

    return convert


def variance(call: Call) -> Value:
    value = call.tensor("self", call.dtype)
    axes = axes_of(call) or list(range(call.rank()))
    centred = call.op("sub", value, call.op("reduce_mean", value, axes=axes, keepdims=1))
    total = call.op("reduce_sum_square", centred, axes=axes, keepdims=int(call.get("keepdim", False)))
    extents = " * ".join(f"({value.shape[axis]})" for axis in axes)
    correction = 1 if call.get("correction") is None else int(call["correction"])
    count = call.converter.graph.dims([f"{extents} - {correction}"], scalar=True)
    return call.op("div", total, call.cast(count, call.dtype))


def softmax(composite: str) -> Operator:
    return lambda call: call.op(composite, call.tensor("self", call.dtype), axis=call["dim"])


def batch_norm(call: Call) -> list[Value | None]:
    value = call.tensor("input")
    channels = call.example("input").shape[1]
    ones = torch.ones(channels)
    scale = call.tensor("weight") if call["weight"] is not None else call.converter.constant(ones)
    shift = call.tensor("bias") if call["bias"] is not None else call.converter.constant(ones * 0)
    mean, spread = call.tensor("running_mean"), call.tensor("running_var")
    return [call.op("batch_norm", value, scale, shift, mean, spread, epsilon=float(call["eps"])), None, None]


def layer_norm(call: Call) -> Value:
    axis = -len(call["normalized_shape"])
    return call.op("layer_norm", call["input"], call["weight"], call["bias"], axis=axis, epsilon=float(call["eps"]))


def rms_norm(call: Call) -> Value:
    epsilon = call.get("eps", torch.finfo(call.dtype).eps)
    return call.op("rms_norm", call["input"], call["weight"], axis=-len(call["normalized_shape"]), epsilon=float(epsilon))


def group_norm(call: Call) -> Value:
    return call.op(
        "group_norm",
        call["input"],
        call["weight"],
        call["bias"],
        num_groups=call["num_groups"],
        epsilon=float(call["eps"]),
    )


# ----------------------------------------------------------------------------------------------------------------------
# Products and windows
# ----------------------------------------------------------------------------------------------------------------------


def add_product(call: Call) -> Value:
    """beta self + alpha (mat1 mat2)"""
    names = ("mat1", "mat2") if "mat1" in call else ("batch1", "batch2") if "batch1" in call else ("mat", "vec")
    product = call.op("matmul", call[names[0]], call[names[1]])
    if call.get("alpha", 1) != 1:
        product = call.op("mul", product, call.number(call["alpha"], call.dtype))
    beta, addend = call.get("beta", 1), call.tensor("self", call.dtype)
    if beta == 0:
        return product
    return call.op("add", product, addend if beta == 1 else call.op("mul", addend, call.number(beta, call.dtype)))


def linear(call: Call) -> Value:
    return call.op("linear", call["input"], call["weight"], call["bias"])


def attention(call: Call) -> Value:
    if call.get("dropout_p", 0.0) != 0:
        raise call.fail("dropout in attention\nhint: use model.eval()")
    attributes = {"is_causal": int(call.get("is_causal", False))}
    if call["scale"] is not None:
        attributes["scale"] = float(call["scale"])  # type: ignore[assignment]
    result = call.op(
        "scaled_dot_product_attention", call["query"], call["key"], call["value"], call["attn_mask"], **attributes
    )
    return result if call.node.target == torch.ops.aten.scaled_dot_product_attention.default else [result] + [None] * 8


def convolution(call: Call) -> Value:
    window = call.rank("weight") - 2
    padding = call.ints("padding", window)
    attributes = {
        "strides": call.ints("stride", window, 1),
        "pads": padding + padding,
        "dilations": call.ints("dilation", window, 1),
        "group": call["groups"],
    }
    name = "conv"
    if call["transposed"]:
        name = "conv_transpose"
        attributes["output_padding"] = call.ints("output_padding", window)
    value = call["input"]
    if len(value.shape) == window + 1:
        value = call.op("unsqueeze", value, axes=[0])
        return call.op("squeeze", call.op(name, value, call["weight"], call["bias"], **attributes), axes=[0])
    return call.op(name, value, call["weight"], call["bias"], **attributes)


def pool(composite: str, window: int, has_positions: bool = False) -> Operator:
    def convert(call: Call) -> Result:
        if call.get("divisor_override") is not None:
            raise call.fail("divisor_override is not supported")
        size, padding = call.ints("kernel_size", window), call.ints("padding", window)
        attributes = {
            "kernel_shape": size,
            "strides": call.ints("stride", window, 0) if call.get("stride") else size,
            "pads": padding + padding,
            "ceil_mode": int(call.get("ceil_mode", False)),
        }
        if composite == "average_pool":
            attributes["count_include_pad"] = int(call.get("count_include_pad", True))
        else:
            attributes["dilations"] = call.ints("dilation", window, 1)
        value, is_batched = call.tensor("self"), call.rank() == window + 2
        value = value if is_batched else call.op("unsqueeze", value, axes=[0])
        result = call.op(composite, value, **attributes)
        result = result if is_batched else call.op("squeeze", result, axes=[0])
        return [result, None] if has_positions else result

    return convert


def adaptive_average_pool(call: Call) -> Value:
    """Each output position is the mean of a window; the windows along one dimension may overlap."""
    value, sizes = call.tensor("self"), call.get("output_size")
    sizes = [sizes] if isinstance(sizes, int) else sizes
    for offset, size in enumerate(sizes):
        axis = len(value.shape) - len(sizes) + offset
        extent = value.shape[axis]
        if size == extent:
            continue
        if size == 1:
            value = call.op("reduce_mean", value, axes=[axis], keepdims=1)
            continue
        if not isinstance(extent, int):
            raise call.fail(f"dimension {axis}: expected a number, got {extent}\nhint: export with this dimension fixed")
        parts = []
        for i in range(size):
            begin, end = i * extent // size, -(-(i + 1) * extent // size)
            part = call.op("slice", value, starts=[begin], ends=[end], axes=[axis])
            parts.append(call.op("reduce_mean", part, axes=[axis], keepdims=1))
        value = call.op("concat", *parts, axis=axis)
    return value


def upsample(mode: str) -> Operator:
    def convert(call: Call) -> Value:
        shape, sizes, factors = call.tensor("input" if "input" in call else "self").shape, call.get("output_size"), None
        if "scale_factors" in call:
            factors = call.get("scale_factors")
        elif call.get("scales_h") is not None:
            factors = [call["scales_h"], call["scales_w"]]
        if sizes is None:
            sizes = [int(float(factor)) for factor in factors]
            if any(float(factor) != whole for factor, whole in zip(factors, sizes, strict=True)):
                raise call.fail(f"scale factors {factors}: expected whole numbers\nhint: give the size instead")
            sizes = [f"({extent}) * {factor}" for extent, factor in zip(shape[2:], sizes, strict=True)]
        coordinates = "asymmetric" if mode == "nearest" else "half_pixel"
        if call.get("align_corners", False):
            coordinates = "align_corners"
        attributes: dict[str, Any] = {"sizes": [*shape[:2], *sizes], "mode": mode, "nearest_mode": "floor"}
        if factors is not None:
            attributes["scales"] = [1.0, 1.0, *map(float, factors)]
        value = call.tensor("input" if "input" in call else "self")
        return call.op("resize", value, coordinate_transformation_mode=coordinates, **attributes)

    return convert


# ----------------------------------------------------------------------------------------------------------------------
# Movement
# ----------------------------------------------------------------------------------------------------------------------


def identity(call: Call) -> Value:
    name = next(name for name in ("self", "input", "x") if name in call)
    return call.tensor(name)


def cast(call: Call) -> Value:
    return call.tensor("self", call.dtype)


def dropout(call: Call) -> Result:
    if call.get("train", False):
        raise call.fail("dropout in training mode\nhint: use model.eval()")
    value = call.tensor("input")
    return [value, None] if name_of(call.node) == "aten.native_dropout" else value


def permute(call: Call) -> Value:
    return call.op("transpose", call.tensor("self"), perm=list(call["dims"]))


def transpose(call: Call) -> Value:
    rank = call.rank()
    order = list(range(rank))
    first, second = (call["dim0"], call["dim1"]) if "dim0" in call else (0, rank - 1)
    order[first], order[second] = order[second], order[first]
    return call.op("transpose", call.tensor("self"), perm=order)


def squeeze(call: Call) -> Value:
    value, shape = call.tensor("self"), call.example("self").shape
    dims = call.get("dim", list(range(len(shape))))
    dims = [normal(dim, len(shape)) for dim in ([dims] if isinstance(dims, int) else dims)]
    axes = [dim for dim in dims if isinstance(shape[dim], int) and shape[dim] == 1]
    return call.op("squeeze", value, axes=axes) if axes else value


def slice_between(call: Call, value: Value, axis: int, begin: Extent, end: Extent, step: int = 1) -> Value:
    return call.op("slice", value, starts=[begin], ends=[end], axes=[axis], steps=[step])


def slice_dimension(call: Call) -> Value:
    begin, end = call.get("start", 0), call.get("end", END)
    return slice_between(call, call.tensor("self"), call["dim"], begin, end, call["step"])


def select(call: Call) -> Value:
    axis, index = call["dim"], call["index"]
    end = f"({index}) + 1" if isinstance(index, str) else END if index == -1 else index + 1
    return call.op("squeeze", slice_between(call, call.tensor("self"), axis, index, end), axes=[axis])


def concatenate(call: Call) -> Value:
    parts = [part for part, raw in zip(call["tensors"], call.raw("tensors"), strict=True) if raw.meta["val"].shape != (0,)]
    parts = [call.cast(part, call.dtype) for part in parts]
    return call.op("concat", *parts, axis=call["dim"])


def split(call: Call) -> list[Value]:
    axis, value = call["dim"], call.tensor("self")
    sizes = call.get("split_sizes")
    if sizes is None:
        from .torch_frontend import extent_of

        sizes = [extent_of(part.shape[axis]) for part in call.result]
    return call.ops("split", value, axis=axis, sizes=list(sizes))


def unbind(call: Call) -> list[Value]:
    axis, value = call["dim"], call.tensor("self")
    parts = [slice_between(call, value, axis, i, i + 1) for i in range(call.example("self").shape[axis])]
    return [call.op("squeeze", part, axes=[axis]) for part in parts]


def slice_scatter(call: Call) -> Value:
    value, axis = call.tensor("self"), normal(call["dim"], call.rank())
    if call.get("step", 1) != 1:
        raise call.fail("steps other than 1 are not supported")
    part = call.tensor("src", call.dtype)
    begin = call.get("start", 0)
    begin = f"({value.shape[axis]}) + {begin}" if isinstance(begin, int) and begin < 0 else begin
    head = slice_between(call, value, axis, 0, begin)
    tail = slice_between(call, value, axis, f"({begin}) + ({part.shape[axis]})", END)
    return call.op("concat", head, part, tail, axis=axis)


def select_scatter(call: Call) -> Value:
    value, axis, index = call.tensor("self"), normal(call["dim"], call.rank()), call["index"]
    begin = f"({value.shape[axis]}) + {index}" if isinstance(index, int) and index < 0 else index
    part = call.op("unsqueeze", call.tensor("src", call.dtype), axes=[axis])
    head = slice_between(call, value, axis, 0, begin)
    return call.op("concat", head, part, slice_between(call, value, axis, f"({begin}) + 1", END), axis=axis)


def flip(call: Call) -> Value:
    dims = list(call["dims"])
    ones = [-1] * len(dims)
    return call.op("slice", call.tensor("self"), starts=ones, ends=[-END] * len(dims), axes=dims, steps=ones)


def roll(call: Call) -> Value:
    value, dims = call.tensor("self"), call.get("dims", [])
    if not dims:
        raise call.fail("expected dims")
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
        return call.op("pad", call.tensor("self"), pads=low + high, mode=mode, value=float(call.get("value", 0)))

    return convert


def triangle(upper: bool) -> Operator:
    return lambda call: call.op("trilu", call.tensor("self"), upper=int(upper), k=call["diagonal"])


# ----------------------------------------------------------------------------------------------------------------------
# Creation and indexing
# ----------------------------------------------------------------------------------------------------------------------


def result_shape(call: Call) -> list[Extent]:
    from .torch_frontend import extent_of

    return [extent_of(extent) for extent in call.result.shape]


def filled(value: float | None = None) -> Operator:
    """A tensor of the result's shape that holds one number."""

    def convert(call: Call) -> Value:
        name = next((name for name in ("fill_value", "s", "value") if name in call), None)
        number = call.tensor(name, call.dtype) if value is None and name else call.number(value or 0, call.dtype)
        return call.op("expand", number, shape=result_shape(call))

    return convert


def arange(call: Call) -> Value:
    start, end, step = call.get("start", 0), call["end"], call.get("step", 1)
    dtype = call.dtype
    if all(isinstance(number, (int, float)) for number in (start, end, step)):
        return call.converter.constant(torch.arange(start, end, step, dtype=dtype))
    if any(isinstance(number, float) for number in (start, end, step)):
        raise call.fail(f"range from {start} to {end} by {step}: expected integers")
    numbers = [call.converter.graph.dims([number], scalar=True) for number in (start, end, step)]
    return call.cast(call.op("arange", *numbers), dtype)


def embedding(call: Call) -> Value:
    return call.op("gather", call.tensor("weight"), call.tensor("indices"), axis=0)


def index_select(call: Call) -> Value:
    return call.op("gather", call.tensor("self"), call.tensor("index"), axis=call["dim"])


def gather(call: Call) -> Value:
    return call.op("gather_elements", call.tensor("self"), call.tensor("index"), axis=call["dim"])


def index(call: Call) -> Value:
    """x[i, j, :, k]: the dimensions with an index become those of the indices, which broadcast."""
    value, indices = call.tensor("self"), list(call["indices"])
    rank = call.rank()
    given = [axis for axis, at in enumerate(indices) if at is not None]
    if any(indices[axis].dtype in ("bool", "u8") for axis in given):
        raise call.fail("a boolean index makes a shape that depends on data\nhint: use torch.where")
    if len(given) == 1:
        return call.op("gather", value, indices[given[0]], axis=given[0])
    shape = result_shape(call)
    depth = len(shape) - (rank - len(given))
    is_together = given == list(range(given[0], given[-1] + 1))
    first = given[0] if is_together else 0
    common = shape[first : first + depth]
    parts = [call.cast(call.op("expand", indices[axis], shape=common), torch.int64) for axis in given]
    positions = call.op("concat", *(call.op("unsqueeze", part, axes=[depth]) for part in parts), axis=depth)
    rest = [axis for axis in range(rank) if axis not in given]
    if given != list(range(len(given))):
        value = call.op("transpose", value, perm=given + rest)
    result = call.op("gather_nd", value, positions)
    if first == 0:
        return result
    order = [depth + i for i in range(first)] + list(range(depth)) + list(range(depth + first, len(shape)))
    return call.op("transpose", result, perm=order)


# ----------------------------------------------------------------------------------------------------------------------
# The table
# ----------------------------------------------------------------------------------------------------------------------

OPERATORS: dict[str, Operator] = {
    # Elementwise
    **{
        f"aten.{name}": unary(name)
        for name in """abs neg sign reciprocal sqrt rsqrt exp log log1p expm1 erf sin cos tan asin acos atan sinh cosh
        tanh asinh acosh atanh ceil floor relu sigmoid silu mish""".split()
    },
    "aten.round": unary("round"),
    "aten.trunc": lambda call: truncated(call, call.tensor("self")),
    "aten.exp2": exp2,
    "aten.log2": logarithm(2),
    "aten.log10": logarithm(10),
    "aten.gelu": lambda call: call.op("gelu", call.tensor("self"), approximate=call["approximate"]),
    "aten.hardsigmoid": unary("hard_sigmoid", alpha=1 / 6, beta=0.5),
    "aten.hardswish": unary("hard_swish"),
    "aten.softplus": softplus,
    "aten.elu": elu,
    "aten.leaky_relu": lambda call: call.op("leaky_relu", call.tensor("self"), alpha=float(call["negative_slope"])),
    "aten.hardtanh": clamp,
    "aten.clamp": clamp,
    "aten.clamp_min": clamp,
    "aten.clamp_max": clamp,
    "aten._prelu_kernel": prelu,
    "aten.isnan": on_input("isnan"),
    "aten.isinf": on_input("isinf"),
    "aten.logical_not": lambda call: call.op("logical_not", call.tensor("self", torch.bool)),
    "aten.bitwise_not": lambda call: call.op(
        "logical_not" if call.dtype == torch.bool else "bitwise_not", call.tensor("self")
    ),
    "aten.add": binary("add"),
    "aten.sub": binary("sub"),
    "aten.rsub": lambda call: call.op("sub", call.tensor("other", call.dtype), call.tensor("self", call.dtype)),
    "aten.mul": binary("mul"),
    "aten.div": divide,
    "aten.floor_divide": binary("floor_div"),
    "aten.remainder": binary("mod"),
    "aten.fmod": binary("fmod"),
    "aten.maximum": binary("max"),
    "aten.minimum": binary("min"),
    "aten.pow": power,
    "aten.addcmul": addcmul("mul"),
    "aten.addcdiv": addcmul("div"),
    "aten.where": where,
    "aten.masked_fill": masked_fill,
    "aten.eq": comparison("equal"),
    "aten.ne": comparison("not_equal"),
    "aten.lt": comparison("less"),
    "aten.le": comparison("less_equal"),
    "aten.gt": comparison("greater"),
    "aten.ge": comparison("greater_equal"),
    "aten.logical_and": logical("logical_and"),
    "aten.logical_or": logical("logical_or"),
    "aten.logical_xor": logical("logical_xor"),
    "aten.bitwise_and": binary("bitwise_and"),
    "aten.bitwise_or": binary("bitwise_or"),
    "aten.bitwise_xor": binary("bitwise_xor"),
    "aten.__and__": binary("bitwise_and"),
    "aten.__or__": binary("bitwise_or"),
    "aten.bitwise_left_shift": binary("shift_left"),
    "aten.bitwise_right_shift": binary("shift_right"),
    # Reductions and normalisations
    "aten.sum": reduction("reduce_sum"),
    "aten.mean": reduction("reduce_mean"),
    "aten.prod": reduction("reduce_prod"),
    "aten.amax": reduction("reduce_max"),
    "aten.amin": reduction("reduce_min"),
    "aten.logsumexp": reduction("reduce_log_sum_exp"),
    "aten.any": truth_reduction("reduce_max"),
    "aten.all": truth_reduction("reduce_min"),
    "aten.max": extreme_along("reduce_max", "argmax"),
    "aten.min": extreme_along("reduce_min", "argmin"),
    "aten.argmax": arg_extreme("argmax"),
    "aten.argmin": arg_extreme("argmin"),
    "aten.var": variance,
    "aten.cumsum": lambda call: call.op("cumsum", call.tensor("self", call.dtype), axis=call["dim"]),
    "aten._softmax": softmax("softmax"),
    "aten.softmax": softmax("softmax"),
    "aten._log_softmax": softmax("log_softmax"),
    "aten.log_softmax": softmax("log_softmax"),
    "aten._native_batch_norm_legit_no_training": batch_norm,
    "aten.layer_norm": layer_norm,
    "aten.native_layer_norm": lambda call: [layer_norm(call), None, None],
    "aten.rms_norm": rms_norm,
    "aten.group_norm": group_norm,
    # Products and windows
    "aten.mm": lambda call: call.op("matmul", call["self"], call["mat2"]),
    "aten.bmm": lambda call: call.op("matmul", call["self"], call["mat2"]),
    "aten.matmul": lambda call: call.op("matmul", call["self"], call["other"]),
    "aten.mv": lambda call: call.op("matmul", call["self"], call["vec"]),
    "aten.dot": lambda call: call.op("matmul", call["self"], call["tensor"]),
    "aten.addmm": add_product,
    "aten.baddbmm": add_product,
    "aten.addmv": add_product,
    "aten.linear": linear,
    "aten.scaled_dot_product_attention": attention,
    "aten._scaled_dot_product_flash_attention_for_cpu": attention,
    "aten.convolution": convolution,
    "aten.max_pool2d_with_indices": pool("max_pool", 2, has_positions=True),
    "aten.max_pool3d_with_indices": pool("max_pool", 3, has_positions=True),
    "aten.max_pool1d": pool("max_pool", 1),
    "aten.max_pool2d": pool("max_pool", 2),
    "aten.avg_pool1d": pool("average_pool", 1),
    "aten.avg_pool2d": pool("average_pool", 2),
    "aten.avg_pool3d": pool("average_pool", 3),
    "aten.adaptive_avg_pool1d": adaptive_average_pool,
    "aten._adaptive_avg_pool2d": adaptive_average_pool,
    "aten._adaptive_avg_pool3d": adaptive_average_pool,
    "aten.upsample_nearest2d": upsample("nearest"),
    "aten.upsample_bilinear2d": upsample("linear"),
    "aten.upsample_bicubic2d": upsample("cubic"),
    # Movement
    **{
        f"aten.{name}": identity
        for name in """alias clone contiguous detach detach_ lift_fresh_copy positive resolve_conj""".split()
    },
    "aten._to_copy": cast,
    "aten.to": cast,
    "aten.type_as": cast,
    "prims.convert_element_type": lambda call: call.cast(call.tensor("a"), call.dtype),
    "aten.dropout": dropout,
    "aten.native_dropout": dropout,
    "aten.view": lambda call: call.reshape(call.tensor("self"), result_shape(call)),
    "aten._unsafe_view": lambda call: call.reshape(call.tensor("self"), result_shape(call)),
    "aten.reshape": lambda call: call.reshape(call.tensor("self"), result_shape(call)),
    "aten.expand": lambda call: call.op("expand", call.tensor("self"), shape=result_shape(call)),
    "aten.permute": permute,
    "aten.transpose": transpose,
    "aten.t": transpose,
    "aten.unsqueeze": lambda call: call.op("unsqueeze", call.tensor("self"), axes=[call["dim"]]),
    "aten.squeeze": squeeze,
    "aten.slice": slice_dimension,
    "aten.select": select,
    "aten.cat": concatenate,
    "aten.stack": lambda call: call.op("stack", *call["tensors"], axis=call["dim"]),
    "aten.split": split,
    "aten.split_with_sizes": split,
    "aten.unbind": unbind,
    "aten.slice_scatter": slice_scatter,
    "aten.select_scatter": select_scatter,
    "aten.repeat": lambda call: call.op("tile", call.tensor("self"), repeats=call["repeats"]),
    "aten.flip": flip,
    "aten.roll": roll,
    "aten.constant_pad_nd": pad("constant"),
    "aten.reflection_pad1d": pad("reflect"),
    "aten.reflection_pad2d": pad("reflect"),
    "aten.reflection_pad3d": pad("reflect"),
    "aten.replication_pad1d": pad("edge"),
    "aten.replication_pad2d": pad("edge"),
    "aten.replication_pad3d": pad("edge"),
    "aten.tril": triangle(upper=False),
    "aten.triu": triangle(upper=True),
    "aten.pixel_shuffle": lambda call: call.op(
        "depth_to_space", call.tensor("self"), blocksize=call["upscale_factor"], mode="CRD"
    ),
    # Creation and indexing
    "aten.full": filled(),
    "aten.full_like": filled(),
    "aten.new_full": filled(),
    "aten.fill": filled(),
    "aten.scalar_tensor": filled(),
    **{f"aten.{name}": filled(0) for name in "zeros zeros_like new_zeros empty empty_like new_empty empty_permuted".split()},
    **{f"aten.{name}": filled(1) for name in "ones ones_like new_ones".split()},
    "aten.arange": arange,
    "aten.embedding": embedding,
    "aten.index_select": index_select,
    "aten.gather": gather,
    "aten.index": index,
}

__all__ = ["IGNORED", "OPERATORS", "REGIONS", "CompileError", "decompositions", "is_supported", "name_of", "torch_dtype"]
