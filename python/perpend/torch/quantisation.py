"""The operators that PyTorch's quantisers leave in a program, as PyTorch computes them.

Those of PT2E are of the namespace quantized_decomposed, which exists once a program has imported them. Scales and zero
points that are tensors of one element are read there with item(); here they stay tensors. Training that prepares for
quantisation has ATen's fake_quantize.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor


def _number(value: Any, dtype: torch.dtype) -> Any:
    """A number, or what takes the place of one: a tensor of one element, as one without dimensions."""
    return value.reshape(()).to(dtype) if isinstance(value, Tensor) else value


def _inverse(scale: Any) -> Any:
    """In f64, then f32."""
    inverse = 1.0 / _number(scale, torch.float64)
    return inverse.to(torch.float32) if isinstance(inverse, Tensor) else inverse


def _along(values: Tensor, axis: int, rank: int) -> Tensor:
    """A vector along one dimension of a tensor."""
    shape = [1] * rank
    shape[axis] = -1
    return values.view(shape)


def quantize_per_tensor(x: Tensor, scale: Any, zero_point: Any, low: Any, high: Any, dtype: torch.dtype) -> Tensor:
    """round(x / scale) + zero point, at least `low` and at most `high`."""
    low, high, zero_point = (_number(value, torch.float32) for value in (low, high, zero_point))
    return torch.clamp(torch.round(x.to(torch.float32) * _inverse(scale)) + zero_point, low, high).to(dtype)


def dequantize_per_tensor(
    x: Tensor,
    scale: Any,
    zero_point: Any,
    low: Any,
    high: Any,
    dtype: torch.dtype,
    *,
    out_dtype: torch.dtype | None = None,
) -> Tensor:
    """(x - zero point) scale, where the difference and the product are rounded to the result's type."""
    real = out_dtype or torch.float32
    wide = torch.promote_types(real, torch.float32)
    centred = (x.to(real).to(wide) - _number(zero_point, wide)).to(real)
    return (centred.to(wide) * _number(scale, wide)).to(real)


def quantize_per_channel(
    x: Tensor, scales: Tensor, zero_points: Tensor, axis: int, low: int, high: int, dtype: torch.dtype
) -> Tensor:
    scales, zero_points = (_along(values, axis, x.dim()) for values in (scales, zero_points))
    return torch.clamp(torch.round(x.to(torch.float32) * (1.0 / scales)) + zero_points, low, high).to(dtype)


def dequantize_per_channel(
    x: Tensor,
    scales: Tensor,
    zero_points: Tensor | None,
    axis: int,
    low: int,
    high: int,
    dtype: torch.dtype,
    *,
    out_dtype: torch.dtype | None = None,
) -> Tensor:
    centred = x if zero_points is None else x - _along(zero_points, axis, x.dim())
    return (centred * _along(scales, axis, x.dim())).to(out_dtype or torch.float32)


def quantize_per_token(
    x: Tensor, scales: Tensor, zero_points: Tensor, low: int, high: int, dtype: torch.dtype
) -> Tensor:
    """The zero point is added before rounding."""
    return x.mul(1.0 / scales).add(zero_points).round().clamp(low, high).to(dtype)


def dequantize_per_token(
    x: Tensor,
    scales: Tensor,
    zero_points: Tensor,
    low: int,
    high: int,
    dtype: torch.dtype,
    output_dtype: torch.dtype = torch.float32,
) -> Tensor:
    return ((x - zero_points) * scales).to(output_dtype)


def _in_groups(x: Tensor, scales: Tensor, size: int) -> Tensor:
    """Rows of one scale each."""
    return x.reshape(-1, x.shape[-1] if size > x.shape[-1] and scales.shape[-1] == 1 else size)


def quantize_per_channel_group(
    x: Tensor, scales: Tensor, zero_points: Tensor, low: int, high: int, dtype: torch.dtype, group_size: int = 128
) -> Tensor:
    groups = _in_groups(x, scales, group_size)
    levels = quantize_per_token(groups, scales.reshape(-1, 1), zero_points.reshape(-1, 1), low, high, dtype)
    return levels.reshape(x.shape)


def dequantize_per_channel_group(
    x: Tensor,
    scales: Tensor,
    zero_points: Tensor | None,
    low: int,
    high: int,
    dtype: torch.dtype,
    group_size: int = 128,
    output_dtype: torch.dtype = torch.float32,
) -> Tensor:
    groups = _in_groups(x, scales, group_size)
    zeros = torch.zeros((), dtype=torch.int32) if zero_points is None else zero_points.reshape(-1, 1)
    return ((groups - zeros) * scales.reshape(-1, 1)).reshape(x.shape).to(output_dtype)


def choose_qparams(x: Tensor, low: int, high: int, epsilon: float, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Of the range of the elements and 0; the scale is at least epsilon."""
    zero = torch.zeros((), dtype=x.dtype)
    least, greatest = torch.minimum(x.amin(), zero), torch.maximum(x.amax(), zero)
    scale = torch.maximum((greatest - least) / float(high - low), torch.full((1,), epsilon))
    zero_point = torch.clamp(low - torch.round(least / scale).to(torch.int32), low, high)
    return scale.to(torch.float64), zero_point.to(torch.int64)


def choose_qparams_symmetric(
    x: Tensor, low: int, high: int, epsilon: float, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    zero = torch.zeros((), dtype=x.dtype)
    greatest = torch.maximum(-torch.minimum(x.amin(), zero), torch.maximum(x.amax(), zero))
    scale = torch.maximum(greatest / (float(high - low) / 2), torch.full((1,), epsilon))
    return scale.to(torch.float64), torch.full((1,), 128 if dtype == torch.uint8 else 0)


def choose_qparams_per_token(x: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    scales = x.abs().amax(dim=-1, keepdim=True)
    scales = scales.float() if scales.dtype == torch.float16 else scales
    scales = scales.clamp(min=1e-5).div(127)
    return scales, torch.zeros_like(scales)


def choose_qparams_per_token_asymmetric(x: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    low, high, zero = -128, 127, torch.zeros((), dtype=x.dtype)
    least = torch.minimum(x.amin(dim=-1, keepdim=True), zero)
    greatest = torch.maximum(x.amax(dim=-1, keepdim=True), zero)
    scale = ((greatest - least) / float(high - low)).clamp(min=torch.finfo(torch.float32).eps)
    from_least, from_greatest = least / scale, greatest / scale
    takes_least = (low + from_least) + (high + from_greatest) > 0
    zero_point = torch.where(takes_least, low - from_least, high - from_greatest)
    return scale.to(torch.float64), torch.clamp(zero_point, low, high).round().to(torch.int64)


def fake_quant_per_channel(x: Tensor, scales: Tensor, zero_points: Tensor, axis: int, low: int, high: int) -> Tensor:
    scales = _along(scales.to(torch.float32), axis, x.dim())
    zero_points = _along(zero_points.to(torch.int32), axis, x.dim())
    levels = torch.clamp(torch.round(x * (1.0 / scales)) + zero_points, low, high)
    return (levels - zero_points) * scales


def _single(number: float) -> float:
    """With the digits of f32."""
    return float(struct.unpack("f", struct.pack("f", number))[0])


def fake_quantize(
    x: Tensor, scale: Any, zero_point: Any, low: int, high: int, back_in: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor]:
    """aten.fake_quantize_per_tensor_affine: to a level, the least one for NaN, and back, with a scale and an inverse of
    f32. Zero points that are floats are added before rounding."""
    single = scale.to(torch.float32) if isinstance(scale, Tensor) else _single(scale)
    inverse = 1.0 / single if isinstance(single, Tensor) else _single(1.0 / single)
    scaled = x.to(torch.promote_types(x.dtype, torch.float32)) * inverse
    if isinstance(zero_point, Tensor) and zero_point.is_floating_point():
        level = torch.round(zero_point + scaled)
    else:
        level = torch.round(scaled) + zero_point
    level = level.to(back_in)
    kept = torch.where(level != level, low, level.clamp(low, high))
    back = (kept - zero_point) * single
    return back.to(x.dtype), (level >= low) & (level <= high)


def fake_quantize_of_tensors(
    x: Tensor, scale: Tensor, zero_point: Tensor, is_enabled: Tensor, low: int, high: int
) -> tuple[Tensor, Tensor]:
    """Where it is switched off, nothing changes."""
    result, mask = fake_quantize(x, scale.reshape(()), zero_point.reshape(()), low, high)
    is_off = is_enabled.reshape(()) == 0
    return torch.where(is_off, x, result), mask | is_off


def fake_quantize_channels(
    x: Tensor, scale: Tensor, zero_point: Tensor, axis: int, low: int, high: int
) -> tuple[Tensor, Tensor]:
    """Back in f64."""
    return fake_quantize(x, _along(scale, axis, x.dim()), _along(zero_point, axis, x.dim()), low, high, torch.float64)


def fake_quantize_learnable(
    x: Tensor, scale: Tensor, zero_point: Tensor, low: int, high: int, factor: float = 1.0
) -> Tensor:
    whole = zero_point.reshape(()).clamp(low, high).round().to(torch.int32)
    return fake_quantize(x, scale.reshape(()), whole, low, high)[0]


def fake_quantize_learnable_channels(
    x: Tensor, scale: Tensor, zero_point: Tensor, axis: int, low: int, high: int, factor: float = 1.0
) -> Tensor:
    return fake_quantize_channels(x, scale, zero_point.round().clamp(low, high).to(torch.int32), axis, low, high)[0]


def convert_element_type(x: Tensor, dtype: torch.dtype) -> Tensor:
    return x.to(dtype)


def scaled_product(
    x: Tensor,
    y: Tensor,
    x_scale: Tensor,
    y_scale: Tensor,
    bias: Tensor | None = None,
    scale_result: Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    use_fast_accum: bool = False,
) -> Any:
    """The product of matrices of floats of 8 bits, each with a scale, or one for each row of x and column of y."""
    if scale_result is not None:
        return NotImplemented
    result = (x.float() * x_scale) @ (y.float() * y_scale)
    return (result if bias is None else result + bias.float()).to(out_dtype or x.dtype)


OF_TENSORS, OF_ROWS, NOT_SWIZZLED = 0, 1, 0
"""Of PyTorch's ScalingType and SwizzleType."""


def scaled_product_by_recipe(
    x: Tensor,
    y: Tensor,
    x_scales: list[Tensor],
    x_recipes: list[int],
    x_order: list[int],
    y_scales: list[Tensor],
    y_recipes: list[int],
    y_order: list[int],
    bias: Tensor | None,
    out_dtype: torch.dtype | None,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> Any:
    """Blocks with scales of their own are not supported."""
    is_plain = len(x_recipes) == len(y_recipes) == 1 and {*x_recipes, *y_recipes} <= {OF_TENSORS, OF_ROWS}
    if not is_plain or {*x_order, *y_order} - {NOT_SWIZZLED} or contraction_dim:
        return NotImplemented
    x_scale = x_scales[0].reshape(-1, 1) if x_recipes[0] == OF_ROWS else x_scales[0].reshape(())
    y_scale = y_scales[0].reshape(1, -1) if y_recipes[0] == OF_ROWS else y_scales[0].reshape(())
    return scaled_product(x, y, x_scale, y_scale, bias, None, out_dtype)


aten: Any = torch.ops.aten

SCALED: dict[Any, Callable[..., Any]] = {
    aten._scaled_mm.default: scaled_product,
    aten._scaled_mm_v2.default: scaled_product_by_recipe,
}

FAKE: dict[Any, Callable[..., Any]] = {
    aten.fake_quantize_per_tensor_affine_cachemask.default: fake_quantize,
    aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default: fake_quantize_of_tensors,
    aten.fake_quantize_per_channel_affine_cachemask.default: fake_quantize_channels,
    aten._fake_quantize_learnable_per_tensor_affine.default: fake_quantize_learnable,
    aten._fake_quantize_learnable_per_channel_affine.default: fake_quantize_learnable_channels,
}

FORMULAS: list[Callable[..., Any]] = [
    quantize_per_tensor,
    dequantize_per_tensor,
    quantize_per_channel,
    dequantize_per_channel,
    quantize_per_token,
    dequantize_per_token,
    quantize_per_channel_group,
    dequantize_per_channel_group,
    choose_qparams,
    choose_qparams_symmetric,
    choose_qparams_per_token,
    choose_qparams_per_token_asymmetric,
    fake_quant_per_channel,
    convert_element_type,
]


def quantised_decompositions() -> dict[Any, Callable[..., Any]]:
    """Of every form of these operators that the program has registered."""
    packets = ((getattr(torch.ops.quantized_decomposed, formula.__name__, None), formula) for formula in FORMULAS)
    return {
        getattr(packet, form): formula
        for packet, formula in packets
        if packet is not None
        for form in packet.overloads()
    }
