"""Programs as PyTorch's quantisers leave them, against eager PyTorch, element for element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import perpend
import pytest
import torch
import torch.ao.quantization.fx._decomposed  # which registers the operators
from python.torch_functions import Function

q: Any = torch.ops.quantized_decomposed
BYTES = (-128, 127, torch.int8)
KINDS = [BYTES, (0, 255, torch.uint8), (-32768, 32767, torch.int16), (-128, 127, torch.float8_e4m3fn)]


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def same(function: Callable[..., Any], *inputs: torch.Tensor) -> None:
    """Exported: no rounding differs."""
    expected = function(*inputs)
    got = perpend.compile(Function(function), example_inputs=inputs)(*inputs)
    torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)


def rows(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(3, 8).to(dtype)


def levels(dtype: torch.dtype = torch.int8) -> torch.Tensor:
    return torch.randint(-60, 60, (3, 8)).to(dtype)


@pytest.mark.parametrize(("low", "high", "kind"), KINDS, ids=str)
def test_one_scale(low: int, high: int, kind: torch.dtype) -> None:
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        same(lambda x: q.quantize_per_tensor.default(x, 0.05, 3, low, high, kind).float(), rows(dtype))
    for out in (None, torch.float16, torch.bfloat16, torch.float64):
        same(lambda x, out=out: q.dequantize_per_tensor.default(x, 0.05, 3, low, high, kind, out_dtype=out),
             levels(kind))  # fmt: skip
    same(lambda x: q.quantize_per_tensor.default(x, 0.05, 3, low, high, kind).float(), torch.randn(0, 4))
    same(lambda x: q.quantize_per_tensor.default(x, 0.05, 3, low, high, kind).float(), torch.tensor(0.72))


@pytest.mark.parametrize("kind", [torch.float64, torch.float32])
def test_one_scale_in_a_tensor(kind: torch.dtype) -> None:
    scale, zero = torch.tensor([0.05], dtype=kind), torch.tensor([3])
    ends = (torch.tensor(-100), torch.tensor(90))
    for s, z in ((scale, zero), (scale[0], zero[0].int())):
        same(lambda x, s, z: q.quantize_per_tensor.tensor(x, s, z, *BYTES), rows(), s, z)
        same(lambda x, s, z: q.dequantize_per_tensor.tensor(x, s, z, *BYTES), levels(), s, z)
        same(lambda x, s, z, a, b: q.quantize_per_tensor.tensor2(x, s, z, a, b, torch.int8), rows(), s, z, *ends)
        same(lambda x, s, z, a, b: q.dequantize_per_tensor.tensor2(x, s, z, a, b, torch.int8), levels(), s, z, *ends)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("zeros", [torch.int64, torch.float32])
def test_a_scale_for_each_channel(axis: int, zeros: torch.dtype) -> None:
    count = rows().shape[axis]
    scales, points = torch.rand(count) + 0.01, torch.randint(-5, 5, (count,)).to(zeros)
    same(lambda x, s, z: q.quantize_per_channel.default(x, s, z, axis, *BYTES), rows(), scales, points)
    same(lambda x, s, z: q.dequantize_per_channel.default(x, s, z, axis, *BYTES), levels(), scales, points)
    same(lambda x, s: q.dequantize_per_channel.default(x, s, None, axis, *BYTES, out_dtype=torch.float16), levels(),
         scales)  # fmt: skip


def test_a_scale_for_each_group() -> None:
    scales, points = torch.rand(3, 2) + 0.01, torch.randint(-3, 3, (3, 2))
    ends = (-8, 7, torch.int8)
    same(lambda x, s, z: q.quantize_per_channel_group.default(x, s, z, *ends, 4), rows(), scales, points)
    for size, s in ((4, scales), (128, scales[:, :1])):
        same(lambda x, s, size=size: q.dequantize_per_channel_group.default(x, s, None, *ends, size, torch.float32),
             levels(), s)  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_scales_of_the_data(dtype: torch.dtype) -> None:
    """Of all elements, or of each row, as dynamic quantisation chooses them."""

    def whole(x: torch.Tensor) -> Any:
        scale, zero = q.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8)
        level = q.quantize_per_tensor.tensor(x, scale, zero, *BYTES)
        return scale, zero, level, q.dequantize_per_tensor.tensor(level, scale, zero, *BYTES)

    def by_row(x: torch.Tensor) -> Any:
        scales, zeros = q.choose_qparams_per_token_asymmetric.default(x, torch.int8)
        level = q.quantize_per_token.default(x, scales, zeros, *BYTES)
        return scales, zeros, level, q.dequantize_per_token.default(level, scales, zeros, *BYTES, torch.float32)

    for x in (rows(dtype), rows(dtype).abs() + 1, rows(dtype) * 0, -rows(dtype).abs() - 1):
        same(whole, x)
        same(by_row, x)
        same(lambda x: q.choose_qparams_symmetric.tensor(x, 0, 255, 1e-5, torch.uint8), x)
        same(lambda x: q.choose_qparams_per_token.default(x, torch.int8), x)


def test_fake_quantisation() -> None:
    scales, points = torch.rand(8) + 0.01, torch.randint(-3, 3, (8,))
    one, zero, ends = torch.tensor([0.05]), torch.tensor([3], dtype=torch.int32), (-128, 127)
    same(lambda x, s, z: q.fake_quant_per_channel.default(x, s, z, 1, *ends), rows(), scales, points)
    same(lambda x: torch.fake_quantize_per_tensor_affine(x, 0.05, 3, *ends), rows())
    same(lambda x, s, z: torch.fake_quantize_per_tensor_affine(x, s, z, *ends), rows(), one, zero)
    for z in (points.int(), points.float() + 0.3):
        same(lambda x, s, z: torch.fake_quantize_per_channel_affine(x, s, z, 1, *ends), rows(), scales, z)
    same(lambda x, s, z: torch._fake_quantize_learnable_per_tensor_affine(x, s, z, *ends, 1.0), rows(), one,
         zero.float() + 0.3)  # fmt: skip
    same(lambda x, s, z: torch._fake_quantize_learnable_per_channel_affine(x, s, z, 1, *ends, 1.0), rows(), scales,
         points.float())  # fmt: skip
    switched = torch.ops.aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams
    for is_on in (1, 0):
        same(lambda x, s, z, on: switched(x, s, z, on, *ends), rows(), one, zero, torch.tensor([is_on]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_fake_quantisation_of_every_type(dtype: torch.dtype) -> None:
    """The scale and its inverse are f32. NaN becomes the least level."""
    ends, scale, zero = (0, 255), torch.tensor([0.037]), torch.tensor([3], dtype=torch.int32)
    x = torch.cat([torch.linspace(-1, 11, 997), (torch.arange(-8, 300) + 0.5) * 0.037, torch.tensor([float("nan")])])
    x = x.to(dtype)
    same(lambda x: torch.fake_quantize_per_tensor_affine(x, 0.037, 3, *ends), x)
    same(lambda x, s, z: torch.fake_quantize_per_tensor_affine(x, s, z, *ends), x, scale, zero)
    same(lambda x, s, z: torch.fake_quantize_per_channel_affine(x[None], s, z, 0, *ends), x, scale, zero)
    same(lambda x, s, z: torch.fake_quantize_per_channel_affine(x[None], s, z, 0, *ends), x, scale, zero + 0.25)


def test_a_layer_between_bytes() -> None:
    """For every batch, exported and under torch.compile."""
    weight = torch.randint(-100, 100, (4, 8), dtype=torch.int8)

    def layer(x: torch.Tensor) -> torch.Tensor:
        x = q.dequantize_per_tensor.default(q.quantize_per_tensor.default(x, 0.05, 3, *BYTES), 0.05, 3, *BYTES)
        real = q.dequantize_per_channel.default(weight, torch.full((4,), 0.01), None, 0, *BYTES)
        y = torch.nn.functional.linear(x, real)
        return q.dequantize_per_tensor.default(q.quantize_per_tensor.default(y, 0.1, 0, *BYTES), 0.1, 0, *BYTES)

    free = torch.export.Dim.DYNAMIC
    model = perpend.compile(Function(layer), example_inputs=(rows(),), dynamic_shapes=(({0: free},),))
    compiled = torch.compile(layer, backend="perpend")
    for batch in (3, 1, 7):
        x = torch.randn(batch, 8)
        with torch.no_grad():
            for got in (model(x), compiled(x)):
                torch.testing.assert_close(got, layer(x), rtol=1e-5, atol=1e-5)
