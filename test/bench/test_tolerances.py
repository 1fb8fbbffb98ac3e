"""Which deviations a comparison takes for right."""

import argparse
from pathlib import Path

import models
import onnx
import pytest


@pytest.mark.parametrize(
    ("text", "tolerance"),
    [
        ("t (float[2] x) => (float[2] y) { y = Relu (x) }", models.TOLERANCES["f32"]),
        ("t (float16[2] x) => (float16[2] y) { y = Relu (x) }", models.TOLERANCES["f16"]),
        ("t (float[2] x, float s) => (float[2] y) { q = QuantizeLinear (x, s) y = DequantizeLinear (q, s) }", 0.25),
        ("t (uint8[2] q, float s) => (float[2] y) { y = DequantizeLinear (q, s) }", models.TOLERANCES["f32"]),
    ],
    ids=["f32", "f16", "bytes between", "narrow weights"],
)
def test_by_model(text: str, tolerance: float, tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 20]>\n' + text), tmp_path / "model.onnx")
    options = argparse.Namespace(tolerance=None, precision="f32")
    assert models.tolerance_of(tmp_path / "model.onnx", options) == tolerance
    options.precision = "bf16"
    assert models.tolerance_of(tmp_path / "model.onnx", options) >= models.TOLERANCES["bf16"]
    options.tolerance = 0.5
    assert models.tolerance_of(tmp_path / "model.onnx", options) == 0.5
