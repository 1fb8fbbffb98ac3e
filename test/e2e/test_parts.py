"""Kernels whose units are parts of a long last dimension: every extent, and any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import perpend
import pytest
from numpy.typing import NDArray

generator = np.random.default_rng(0)
# Around the ends of chunks and parts, primes, 0 and 1.
EXTENTS = [0, 1, 2, 63, 255, 256, 257, 1009, 4095, 4096, 4097, 8192, 12289, 70001]


def compiled(text: str) -> list[Any]:
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 20]>\n' + text)
    return [perpend.compile(model, threads=threads) for threads in (1, 2, 5)]


def expect(models: list[Any], expected: NDArray[Any], *inputs: NDArray[Any]) -> None:
    alone, *together = (model(*inputs) for model in models)
    np.testing.assert_allclose(alone, expected, 2e-6, 2e-5)
    for other in together:
        np.testing.assert_array_equal(other, alone)


def normal(*shape: int) -> NDArray[np.float32]:
    return generator.standard_normal(shape).astype(np.float32)


def test_columns() -> None:
    text = """t (float[r, n] x) => (float[n] y) <int64[1] axis = {0}> {
      sums = ReduceSum <keepdims = 0> (x, axis)
      y = Neg (sums)
    }"""
    models = compiled(text)
    for n in EXTENTS:
        for r in (0, 1, 7, 600):
            rows = r if r * n < 2_000_000 else 40
            x = generator.integers(-9, 10, (rows, n)).astype(np.float32)  # sums are exact
            expect(models, -x.sum(0), x)


@pytest.mark.parametrize("n", [100_000, 99_991, 6000])
def test_columns_of_a_known_number(n: int) -> None:
    text = f"""t (float[2, 100, {n}] x) => (float[2, {n}] y) <int64[1] axis = {{1}}> {{
      y = ReduceMax <keepdims = 0> (x, axis)
    }}"""
    x = normal(2, 100, n)
    expect(compiled(text), x.max(1), x)


def test_repeated_rows() -> None:
    models = compiled(
        "t (float[3, n] x, float[n] b, float[3, 1] c) => (float[3, n] y) { s = Add (x, b)\n y = Mul (s, c) }"
    )
    for n in EXTENTS:
        x, b, c = normal(3, n), normal(n), normal(3, 1)
        expect(models, (x + b) * c, x, b, c)


@pytest.mark.parametrize("n", [100_000, 99_991])
def test_rows_of_a_known_length(n: int) -> None:
    text = f"t (float[{n}] b, float[3, 1] c) => (float[3, {n}] y) {{ s = Sub (b, c)\n y = Sqrt (s) }}"
    b, c = np.abs(normal(n)) + 5, normal(3, 1)
    expect(compiled(text), np.sqrt(b - c), b, c)


@pytest.mark.parametrize("pads", ["0, 5, 0, 9", "1, 0, 1, 0", "1, 3, 0, 0"])
def test_padded_and_joined_rows(pads: str) -> None:
    text = f"""t (float[2, 50000] x) => (float[a, b] y) <int64[4] pads = {{{pads}}}> {{
      p = Pad (x, pads)
      y = Concat <axis = 1> (p, p)
    }}"""
    x, numbers = normal(2, 50000), [int(pad) for pad in pads.split(",")]
    padded = np.pad(x, [(numbers[0], numbers[2]), (numbers[1], numbers[3])])
    expect(compiled(text), np.concatenate([padded, padded], 1), x)
