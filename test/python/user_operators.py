"""Operators with kernels in Python, and models that call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx
import perpend
from onnx import parser
from perpend import Operator

HEAD = '<ir_version: 10, opset_import: ["" : 20, "mine" : 1]>\n'
COUNT = HEAD + "count (float[n, m] x) => (float[n, m] y) { a = mine.Twice (x)\n b = mine.Twice (x)\n y = Add (a, b) }"


def model(text: str) -> onnx.ModelProto:
    return parser.parse_model(text)


def twice(kernel: Callable[..., Any], **options: Any) -> Operator:
    return Operator("mine", "Twice", kernel, inputs=[("f32", ["a", "b"])], outputs=[("f32", ["a", "b"])], **options)


def raise_(error: BaseException) -> Any:
    raise error


def both_runs(operator: Operator) -> list[Callable[..., Any]]:
    module = perpend.import_model(model(COUNT), operators=[operator])
    return [perpend.compile(model(COUNT), operators=[operator]), lambda x: module.evaluate(x)[0]]
