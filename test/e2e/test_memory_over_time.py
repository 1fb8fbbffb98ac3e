"""Runs of one artifact with random extents use no more memory at the end than after the first of them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import perpend
import pytest
from e2e.model_texts import NUMBERS, SIZES_FROM_DATA
from onnx import parser

RUNS = 100_000 if os.environ.get("PERPEND_LONG") else 3000
MOST_ROWS = 40

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
@pytest.mark.parametrize(("text", "feed"), [(NUMBERS, symbolic_feed), (SIZES_FROM_DATA, dependent_feed)])
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
