"""ATen operators that compute: elementwise, reductions, normalisations, products, windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .._perpend import Value
from .call import Call
from .groups import measured_groups
from .types import extent_of, torch_dtype

Operator = Callable[["Call"], Any]


def is_float(dtype: torch.dtype) -> bool:
    return bool(dtype.is_floating_point)


# ----------------------------------------------------------------------------------------------------------------------
# Elementwise
# ----------------------------------------------------------------------------------------------------------------------


def unary(composite: str, **attributes: Any) -> Operator:
    return lambda call: call.op(composite, call.tensor("self", call.dtype), **attributes)


def normal_quantile(call: Call) -> Value:
    """0 - sqrt(2) y with erfc(y) = 2 p, in f64."""
    wide = torch.float64
    doubled = call.op("mul", call.tensor("self", wide), call.number(2, wide))
    size = call.op("mul", call.op("erfcinv", doubled), call.number(math.sqrt(2), wide))
    quantile = call.op("sub", call.number(0, wide), size)  # of zeros, 0
    return call.cast(quantile, call.dtype)


def on_input(composite: str) -> Operator:
    """Applies a test to elements in their own type."""
    return lambda call: call.op(composite, call.tensor("self"))


def binary(composite: str, wide_numbers: bool = False) -> Operator:
    """Converts both operands to the result's type; alpha, of that type, scales the second. With an alpha, f16 and bf16
    are computed in f32 and rounded once. wide_numbers: with a number, too, which keeps its digits."""

    def convert(call: Call) -> Value:
        alpha, has_number = call.get("alpha", 1), wide_numbers and is_number(call.example("other"), call.dtype)
        dtype = computing(call.dtype) if has_number or alpha != 1 else call.dtype
        other = call.tensor("other", dtype if has_number else call.dtype)
        other = scaled(call, call.cast(other, dtype), own_number(call, alpha))
        return call.cast(call.op(composite, call.tensor("self", dtype), other), call.dtype)

    return convert


def is_number(other: Any, dtype: torch.dtype) -> bool:
    """A Python number, or a tensor of one that has another type than the result."""
    return not isinstance(other, torch.Tensor) or (other.dim() == 0 and other.dtype != dtype)


def own_number(call: Call, number: Any) -> Any:
    """A number other than 1 with the digits of the result's type."""
    return number if number == 1 else call.number(number, call.dtype)


def scaled(call: Call, value: Value, factor: Any) -> Value:
    return value if factor == 1 else call.op("mul", value, call.number(factor, torch_dtype(value.dtype)))


def reversed_difference(call: Call) -> Value:
    """other - alpha self"""
    dtype = computing(call.dtype)
    subtracted = scaled(call, call.tensor("self", dtype), own_number(call, call.get("alpha", 1)))
    other = call.cast(call.tensor("other", call.dtype), dtype)
    return call.cast(call.op("sub", other, subtracted), call.dtype)


def common_dtype(call: Call) -> torch.dtype:
    """The type in which PyTorch compares two operands."""
    first, second = call.example("self"), call.example("other")
    numbers = (torch.SymInt, torch.SymFloat)
    first, second = (
        1 if isinstance(x, torch.SymInt) else 1.0 if isinstance(x, numbers) else x for x in (first, second)
    )
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
    convert = binary("div", wide_numbers=True) if mode is None else whole_quotient(mode)
    result: Value = convert(call)
    return result


def whole_quotient(mode: str) -> Operator:
    """Of halves in f32, which the quotient, and a number such as 0.1, has more digits in."""

    def convert(call: Call) -> Value:
        wide = torch.promote_types(call.dtype, torch.float32) if is_float(call.dtype) else call.dtype
        first, second = call.tensor("self", wide), call.tensor("other", wide)
        result = (
            call.op("floor_div", first, second) if mode == "floor" else call.op("trunc", call.op("div", first, second))
        )
        return call.cast(result, call.dtype)

    return convert


def remainder(call: Call) -> Value:
    """The sign of the divisor, but of 0 that of the dividend."""
    first, second = call.tensor("self", call.dtype), call.tensor("other", call.dtype)
    if not is_float(call.dtype):
        return call.op("mod", first, second)
    rest, zero = call.op("fmod", first, second), call.number(0, call.dtype)
    differ = call.op("logical_xor", call.op("less", rest, zero), call.op("less", second, zero))
    is_moved = call.op("logical_and", differ, call.op("not_equal", rest, zero))
    return call.op("where", is_moved, call.op("add", rest, second), rest)


def sign(call: Call) -> Value:
    """(x > 0) - (x < 0): 0 for NaN."""
    value, zero = call.tensor("self"), call.number(0, torch_dtype(call.tensor("self").dtype))
    signs = [call.cast(call.op(test, value, zero), call.dtype) for test in ("greater", "less")]
    return call.op("sub", *signs) if call.dtype != torch.bool else signs[0]


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
    for composite, names in (("max", ("min", "min_val")), ("min", ("max", "max_val"))):
        for name in names:
            if name in call and call.raw(name) is not None:
                value = call.op(composite, value, call.tensor(name, call.dtype))
    return value


def elu(call: Call) -> Value:
    value, scale, input_scale = call.tensor("self"), call.get("scale", 1), call.get("input_scale", 1)
    if input_scale != 1:
        raise call.fail(f"input_scale: expected 1, got {input_scale}\nhint: multiply the input before it")
    result = call.op("elu", value, alpha=float(call.get("alpha", 1)))
    return result if scale == 1 else call.op("mul", result, call.number(scale, call.dtype))


def leaky_relu(call: Call) -> Value:
    """x, or where x is not greater than 0, the slope times x: of a slope that is no number, at 0, too."""
    slope = float(call["negative_slope"])
    if slope >= 0 and math.isfinite(slope):
        return call.op("leaky_relu", call.tensor("self"), alpha=slope)
    dtype = computing(call.dtype)
    value = call.tensor("self", dtype)
    result = call.op("where", call.op("greater", value, call.number(0, dtype)), value, scaled(call, value, slope))
    return call.cast(result, call.dtype)


def where(call: Call) -> Value:
    return call.op("where", call.tensor("condition"), call.tensor("self", call.dtype), call.tensor("other", call.dtype))


def masked_fill(call: Call) -> Value:
    return call.op("where", call.tensor("mask"), call.tensor("value", call.dtype), call.tensor("self", call.dtype))


def round_even(call: Call) -> Value:
    return call.op("round", call.tensor("self", call.dtype))


def softplus(call: Call) -> Value:
    """log(1 + e^(beta x)) / beta; x if beta x is above the threshold (from 20 on the two are equal in f32)."""
    beta, threshold, dtype = call.get("beta", 1), call.get("threshold", 20), computing(call.dtype)
    value = call.tensor("self", dtype)
    scaled_value = scaled(call, value, beta)
    result = call.op("softplus", scaled_value)
    result = result if beta == 1 else call.op("div", result, call.number(beta, dtype))
    if threshold < 20 or dtype == torch.float64:
        is_far = call.op("greater", scaled_value, call.number(threshold, dtype))
        result = call.op("where", is_far, value, result)
    return call.cast(result, call.dtype)


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
    """The axes; empty stands for all."""
    dims = call.get("dim", [])
    return [dims] if isinstance(dims, int) else list(dims)


def along(operator: Operator) -> Operator:
    """Extends an operator on an axis to tensors of rank 0: it treats them as vectors of one element."""

    def convert(call: Call) -> Any:
        if call.rank():
            return operator(call)
        result = operator(call.of_vectors())
        parts = result if isinstance(result, list) else [result]
        examples = call.result if isinstance(call.result, (list, tuple)) else [call.result]
        shaped = [
            call.reshape(part, [extent_of(extent) for extent in example.shape])
            for part, example in zip(parts, examples, strict=True)
        ]
        return shaped if isinstance(result, list) else shaped[0]

    return convert


def reduction(composite: str) -> Operator:
    def convert(call: Call) -> Value:
        keep = int(call.get("keepdim", False))
        return call.op(composite, call.tensor("self", call.dtype), axes=axes_of(call), keepdims=keep)

    return convert


def truth_reduction(composite: str) -> Operator:
    """In bytes, whose largest of none is 0, and whose smallest of none is not."""

    def convert(call: Call) -> Value:
        truth = call.cast(call.tensor("self", torch.bool), torch.uint8)
        if call.get("dim") == []:  # over none, where other reductions are over all
            return call.cast(truth, call.dtype)
        keep = int(call.get("keepdim", False))
        result = call.op(composite, truth, axes=axes_of(call), keepdims=keep)
        return call.cast(call.cast(result, torch.bool), call.dtype)

    return convert


def extreme_along(composite: str, position: str) -> Operator:
    """max.dim and max without a dimension."""

    def convert(call: Call) -> Any:
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


def computing(dtype: torch.dtype) -> torch.dtype:
    """What formulas of several steps compute in: f32 for floats of 16 bits."""
    return torch.float32 if dtype.is_floating_point and dtype.itemsize < 4 else dtype


def variance(call: Call) -> Value:
    return variance_and_mean(call)[0]


def variance_and_mean(call: Call) -> list[Value]:
    """The sum of squares around the mean over max(0, count - correction), and the mean. In f64, as in PyTorch, where
    neither squares of f32 overflow nor a large mean takes digits away."""
    wide, keep = torch.float64, int(call.get("keepdim", False))
    value = call.tensor("self", wide)
    axes = axes_of(call) or list(range(call.rank()))
    mean = call.op("reduce_mean", value, axes=axes, keepdims=1)
    total = call.op("reduce_sum_square", call.op("sub", value, mean), axes=axes, keepdims=keep)
    count = " * ".join(f"({value.shape[axis]})" for axis in axes)
    spread = call.op("div", total, degrees_of_freedom(call, count, wide))
    mean = mean if keep else call.op("squeeze", mean, axes=axes)
    return [call.cast(each, call.dtype) for each in (spread, mean)]


def degrees_of_freedom(call: Call, count: str, dtype: torch.dtype) -> Value:
    correction = call.get("correction", 1)
    if isinstance(correction, float) and correction.is_integer():
        correction = int(correction)
    if isinstance(correction, (int, str)):
        return call.number(f"max({count} - ({correction}), 0)", dtype)
    left, zero = call.op("sub", call.number(count, dtype), call.number(correction, dtype)), call.number(0, dtype)
    return call.op("where", call.op("greater", left, zero), left, zero)  # of NaN, 0


def vector_norm(call: Call) -> Value:
    value, order, keep = call.tensor("self", call.dtype), call["ord"], int(call["keepdim"])
    axes = axes_of(call)
    if order == 0:
        value = call.cast(call.op("not_equal", value, call.number(0, call.dtype)), call.dtype)
        return call.op("reduce_sum", value, axes=axes, keepdims=keep)
    if order in (1, 2):
        return call.op(f"reduce_l{int(order)}", value, axes=axes, keepdims=keep)
    magnitude, dtype = call.op("abs", value), torch.float64  # f32 does not hold 1 / order, nor the powers
    if math.isinf(order):
        return call.op("reduce_max" if order > 0 else "reduce_min", magnitude, axes=axes, keepdims=keep)
    powers = call.op("pow", call.cast(magnitude, dtype), call.number(order, dtype))
    total = call.op("reduce_sum", powers, axes=axes, keepdims=keep)
    return call.cast(call.op("pow", total, call.number(1 / order, dtype)), call.dtype)


def softmax(composite: str) -> Operator:
    return lambda call: call.op(composite, call.tensor("self", call.dtype), axis=call["dim"])


def batch_norm(call: Call) -> list[Value]:
    """Inference: the statistics are arguments."""
    empty = call.op("expand", call.number(0, call.result[1].dtype), shape=[0])
    return [with_statistics(call), empty, empty]


def with_statistics(call: Call) -> Value:
    value = call.tensor("input")
    channels = call.example("input").shape[1]
    ones = torch.ones(channels)
    scale = call.tensor("weight") if call["weight"] is not None else call.converter.constant(ones)
    shift = call.tensor("bias") if call["bias"] is not None else call.converter.constant(ones * 0)
    mean, spread = call.tensor("running_mean"), call.tensor("running_var")
    return call.op("batch_norm", value, scale, shift, mean, spread, epsilon=float(call["eps"]))


def instance_norm(call: Call) -> Value:
    if not call["use_input_stats"]:
        return with_statistics(call)
    return call.op("instance_norm", call["input"], call["weight"], call["bias"], epsilon=float(call["eps"]))


def layer_norm(call: Call) -> Value:
    axis = -len(call["normalized_shape"])
    return call.op("layer_norm", call["input"], call["weight"], call["bias"], axis=axis, epsilon=float(call["eps"]))


def layer_norm_with_statistics(call: Call) -> list[Value | None]:
    axes = list(range(call.rank("input") - len(call["normalized_shape"]), call.rank("input")))
    return [layer_norm(call), *statistics(call, call.tensor("input"), axes, keepdims=1)]


def statistics(call: Call, value: Value, axes: list[int], keepdims: int) -> list[Value | None]:
    """The mean and 1 / sqrt(variance + epsilon), results 1 and 2; None for one that the model does not read."""
    if not (call.is_read(1) or call.is_read(2)):
        return [None, None]
    dtype = call.result[1].dtype
    value = call.cast(value, dtype)
    mean = call.op("reduce_mean", value, axes=axes, keepdims=1)
    centred = call.op("sub", value, mean)
    variance = call.op("reduce_mean", call.op("mul", centred, centred), axes=axes, keepdims=keepdims)
    spread = call.op("rsqrt", call.op("add", variance, call.number(float(call["eps"]), dtype)))
    return [mean if keepdims else call.op("squeeze", mean, axes=axes), spread]


def rms_norm(call: Call) -> Value:
    epsilon = call.get("eps", torch.finfo(computing(call.dtype)).eps)
    return call.op(
        "rms_norm", call["input"], call["weight"], axis=-len(call["normalized_shape"]), epsilon=float(epsilon)
    )


def group_norm(call: Call) -> Value:
    return _group_norm(call, call["num_groups"])


def group_norm_with_statistics(call: Call) -> list[Value | None]:
    value, groups = call.tensor("input"), call["group"]
    grouped = value
    if call.is_read(1) or call.is_read(2):
        grouped = call.reshape(value, [call["N"], groups, f"floordiv(({call['C']}) * ({call['HxW']}), {groups})"])
    return [_group_norm(call, call["group"]), *statistics(call, grouped, [2], keepdims=0)]


def _group_norm(call: Call, groups: int) -> Value:
    operands = (call["input"], call["weight"], call["bias"])
    return call.op("group_norm", *operands, num_groups=groups, epsilon=float(call["eps"]))


# ----------------------------------------------------------------------------------------------------------------------
# Products and windows
# ----------------------------------------------------------------------------------------------------------------------


def add_product(call: Call) -> Value:
    """beta self + alpha (mat1 mat2), rounded once."""
    names = ("mat1", "mat2") if "mat1" in call else ("batch1", "batch2") if "batch1" in call else ("mat", "vec")
    dtype, alpha, beta = computing(call.dtype), call.get("alpha", 1), call.get("beta", 1)
    parts = []
    if alpha != 0 or names[0] == "batch1":  # PyTorch's batches alone multiply by an alpha of 0
        product = call.op("matmul", *(call.tensor(name, dtype) for name in names))
        parts.append(scaled(call, product, alpha))
    if beta != 0:
        parts.append(scaled(call, call.tensor("self", dtype), beta))
    if len(parts) == 2:
        return call.cast(call.op("add", *parts), call.dtype)
    alone = call.cast(parts[0] if parts else call.number(0, dtype), call.dtype)
    return call.op("expand", alone, shape=[extent_of(extent) for extent in call.result.shape])


def linear(call: Call) -> Value:
    return call.op("linear", call["input"], call["weight"], call["bias"])


def attention(call: Call) -> Any:
    if call.get("dropout_p", 0.0) != 0:
        raise call.fail("dropout in attention\nhint: use model.eval()")
    attributes: dict[str, Any] = {"is_causal": int(call.get("is_causal", False))}
    if call["scale"] is not None:
        attributes["scale"] = float(call["scale"])
    result = call.op(
        "scaled_dot_product_attention", call["query"], call["key"], call["value"], call["attn_mask"], **attributes
    )
    return [result] + [None] * 8 if isinstance(call.result, (list, tuple)) else result


def paddings(call: Call, dilations: Sequence[int]) -> list[int]:
    """At the beginnings, then at the ends. "same" keeps the extents: dilation (kernel - 1) in all, the odd one at the
    end."""
    if call.get("padding") == "same":
        extents = zip(dilations, call.example("weight").shape[2:], strict=True)
        totals = [dilation * (kernel - 1) for dilation, kernel in extents]
        return [total // 2 for total in totals] + [total - total // 2 for total in totals]
    if call.get("padding") == "valid":
        return [0] * (2 * len(dilations))
    return call.ints("padding", len(dilations)) * 2


def convolution(call: Call) -> Value:
    window = call.rank("weight") - 2
    dilations = call.ints("dilation", window, 1)
    attributes = {
        "strides": call.ints("stride", window, 1),
        "pads": paddings(call, dilations),
        "dilations": dilations,
        "group": call["groups"],
    }
    name = "conv"
    if call.get("transposed", "output_padding" in call):
        name = "conv_transpose"
        attributes["output_padding"] = call.ints("output_padding", window)
    value, weight, bias = call["input"], call["weight"], call["bias"]
    is_single = len(value.shape) == window + 1
    value = call.op("unsqueeze", value, axes=[0]) if is_single else value
    if isinstance(attributes["group"], str):
        result = measured_groups(call, name, (value, weight, bias), attributes)
    else:
        result = call.op(name, value, weight, bias, **attributes)
    return call.op("squeeze", result, axes=[0]) if is_single else result
