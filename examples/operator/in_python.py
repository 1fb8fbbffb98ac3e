"""Compiles and runs a model with an operator whose kernel is a Python function."""

from __future__ import annotations

import numpy as np
import perpend
from onnx import parser

MODEL = """<ir_version: 10, opset_import: ["" : 17, "com.example" : 1]>
demo (float[n, m] x) => (float[n, m] y) {
  doubled = Add (x, x)
  y = com.example.CumulativeMaximum <least = 0.0> (doubled)
}"""


def cumulative_maximum(x: np.ndarray, least: float) -> np.ndarray:
    """The largest element so far along the rows of a matrix."""
    return np.maximum(np.maximum.accumulate(x, axis=1), np.float32(least))


def main() -> None:
    operator = perpend.Operator(
        "com.example",
        "CumulativeMaximum",
        cumulative_maximum,
        inputs=[("f32", ["rows", "columns"])],
        outputs=[("f32", ["rows", "columns"])],
        attributes={"least": -1e30},
    )
    compiled = perpend.compile(parser.parse_model(MODEL), operators=[operator])
    print(compiled(np.array([[-1, 1, 0.5], [2, 1, 3]], np.float32)).tolist())


if __name__ == "__main__":
    main()
