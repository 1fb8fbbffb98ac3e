"""Fourier transforms in compiled models: any length and any number of threads, and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import perpend
import pytest
import torch
from e2e.test_gradients import expect_as_torch, with_gradient
from numpy.typing import NDArray

generator = np.random.default_rng(0)
# The kind of number, and how exact sums of it are.
ELEMENTS = [("float", np.float32, 1e-6), ("double", np.float64, 1e-14), ("float16", np.float16, 2e-3)]


def model(text: str, opset: int = 20) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>\n' + text)


def normal(*shape: int) -> NDArray[np.float64]:
    return generator.standard_normal(shape)


def expect_close(got: NDArray[Any], expected: NDArray[Any], tolerance: float) -> None:
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, 0, tolerance * max(float(np.abs(expected).max(initial=0)), 1e-30))


def parts(spectrum: NDArray[np.complex128]) -> NDArray[np.float64]:
    return np.stack([spectrum.real, spectrum.imag], -1)


@pytest.mark.parametrize(("name", "kind", "tolerance"), ELEMENTS)
def test_lengths_known_at_run_time(name: str, kind: Any, tolerance: float) -> None:
    text = f"""t ({name}[b, n, c, 1] x, {name}[b, k, c, 2] z, int64 m)
        => ({name}[b, n, c, 2] y, {name}[b, h, c, 2] half, {name}[b, m, c, 1] back) <int64 axis = {{1}}> {{
      y = DFT (x, , axis)
      half = DFT <onesided = 1> (x, m, axis)
      back = DFT <onesided = 1, inverse = 1> (z, m, axis)
    }}"""
    run = perpend.compile(model(text))
    for b, n, c, m in [(2, 12, 3, 12), (1, 1, 1, 1), (3, 37, 1, 36), (1, 64, 9, 101), (0, 5, 2, 4), (2, 100, 5, 74)]:
        x, z = normal(b, n, c).astype(kind), normal(b, m // 2 + 1, c, 2).astype(kind)
        y, half, back = run(x=x[..., None], z=z, m=np.array(m))
        wide, spectrum = x.astype(np.float64), z[..., 0] + 1j * z[..., 1].astype(np.float64)
        expect_close(y, parts(np.fft.fft(wide, axis=1)), tolerance)
        expect_close(half, parts(np.fft.rfft(wide, m, axis=1)), tolerance)
        expect_close(back[..., 0], np.fft.irfft(spectrum, m, axis=1), tolerance)


def test_threads_do_not_change_results() -> None:
    text = (
        """t (float[b, n, c, 2] x) => (float[b, n, c, 2] y) <int64 axis = {1}> { y = DFT <inverse = 1> (x, , axis) }"""
    )
    compiled = [perpend.compile(model(text), threads=threads) for threads in (1, 2, 5)]
    for shape in [(1, 4096, 40, 2), (70, 400, 1, 2), (5, 30011, 1, 2)]:
        x = normal(*shape).astype(np.float32)
        alone, *together = (run(x=x) for run in compiled)
        for other in together:
            np.testing.assert_array_equal(alone, other)
        expect_close(alone, parts(np.fft.ifft(x[..., 0] + 1j * x[..., 1].astype(np.float64), axis=1)), 1e-6)


def test_lengths_of_nothing() -> None:
    text = """t (float[b, n, 2] x) => (float[b, n, 2] y) <int64 axis = {1}> { y = DFT (x, , axis) }"""
    run = perpend.compile(model(text))
    for shape in [(2, 0, 2), (0, 3, 2), (0, 0, 2)]:
        assert run(x=np.zeros(shape, np.float32)).shape == shape


def test_the_last_dimension_is_checked_when_it_is_known() -> None:
    run = perpend.compile(model("t (float[n, p] x) => (float[n, 2] y) <int64 axis = {0}> { y = DFT (x, , axis) }"))
    for count in (1, 2):
        x = normal(6, count).astype(np.float32)
        expect_close(run(x=x), parts(np.fft.fft(x[:, 0] + (1j * x[:, 1] if count == 2 else 0))), 1e-6)
    with pytest.raises(ValueError, match="the last dimension is neither 1 nor 2"):
        run(x=np.zeros((6, 3), np.float32))


def test_gradients() -> None:
    text = """g (float[n, 1] unused) => (float loss)
        <int64 axis = {1}, int64 shorter = {5}, int64 longer = {12}> {
      whole = DFT (w, , axis)
      cut = DFT <onesided = 1> (w, shorter, axis)
      filled = DFT <inverse = 1> (whole, longer, axis)
      real = DFT <onesided = 1, inverse = 1> (filled, , axis)
      a = ReduceSumSquare <keepdims = 0> (cut)
      cubes = Mul (real, real)
      thirds = Mul (cubes, real)
      b = ReduceSum <keepdims = 0> (thirds)
      loss = Add (a, b)
    }"""

    def loss(unused: Any, w: Any) -> torch.Tensor:
        filled = torch.fft.ifft(torch.fft.fft(w[..., 0], dim=1), 12, dim=1)
        cut = torch.fft.rfft(w[..., 0], 5, dim=1)
        real = torch.fft.irfft(filled, dim=1)
        return (cut.abs() ** 2).sum() + (real**3).sum()

    weights = {"w": normal(3, 7, 2, 1).astype(np.float32)}
    data = [{"unused": np.zeros((1, 1), np.float32)}]
    expect_as_torch(with_gradient(text, weights, opset=20), data, weights, loss)
