"""Runs of one artifact with random extents use no more memory at the end than after the first of them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import perpend
import pytest
from onnx import parser

RUNS = 100_000 if os.environ.get("PERPEND_LONG") else 3000
MOST_ROWS = 40

SYMBOLIC = """symbolic (float[n, 6] x, float[6, 9] w) => (float[n, 9] y) {
  p = MatMul (x, w)
  r = Relu (p)
  y = Softmax <axis = 1> (r)
}"""
# The number of iterations, of the columns of NonZero and of the rows that are kept depend on the data.
DATA_DEPENDENT = """dependent (float[n, 6] x, int64 count, bool[n] mask)
    => (int64[2, k] places, float[m, 6] rows, float[c, n, 6] all) <bool yes = {1}> {
  places = NonZero (x)
  rows = Compress <axis = 0> (x, mask)
  last, all = Loop (count, yes, x) <
    body = body (int64 i, bool go, float[n, 6] h) => (bool again, float[n, 6] next, float[n, 6] out) {
      again = Identity (go)
      next = Tanh (h)
      out = Neg (next)
    }>
}"""
Feed = Callable[[np.random.Generator], dict[str, Any]]


def symbolic_feed(draw: np.random.Generator) -> dict[str, Any]:
    rows = int(draw.integers(0, MOST_ROWS + 1))
    return {"x": draw.standard_normal((rows, 6), np.float32), "w": draw.standard_normal((6, 9), np.float32)}


def dependent_feed(draw: np.random.Generator) -> dict[str, Any]:
    rows = int(draw.integers(0, MOST_ROWS + 1))
    x = np.maximum(draw.standard_normal((rows, 6), np.float32), 0)
    return {"x": x, "count": np.int64(draw.integers(0, 9)), "mask": draw.random(rows) < draw.random()}


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.alone
@pytest.mark.parametrize(("text", "feed"), [(SYMBOLIC, symbolic_feed), (DATA_DEPENDENT, dependent_feed)])
def test_memory_is_flat(text: str, feed: Feed, tmp_path: Path) -> None:
    model = parser.parse_model('<ir_version: 8, opset_import: ["" : 18]>\n' + text)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    compiled = perpend.compile(str(tmp_path / "model.onnx"))
    draw = np.random.default_rng(0)
    warm = 0
    for number in range(RUNS):
        results = compiled(**feed(draw))
        if number == RUNS // 10:
            warm = resident_bytes()
    assert len(results) > 0
    assert abs(resident_bytes() - warm) <= 0.05 * warm
