"""Compiles a model with an operator of its own. Compile the operator first, in this folder:

clang-19 -O2 -fPIC -I ../../runtime/include -c cumulative_maximum.c
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import perpend
from onnx import TensorProto, helper


def model(least: float):  # type: ignore[no-untyped-def]
    """y = CumulativeMaximum(2 x)"""
    graph = helper.make_graph(
        [
            helper.make_node("Add", ["x", "x"], ["doubled"]),
            helper.make_node(
                "CumulativeMaximum", ["doubled"], ["y"], domain="com.example", name="largest", least=least
            ),
        ],
        "demo",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "m"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", "m"])],
    )
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=10)


def main(descriptions: str) -> None:
    compiled = perpend.compile(model(least=0.0), operators=[descriptions])
    x = np.array([[-1, 1, 0.5], [2, 1, 3]], np.float32)
    print(compiled(x).tolist())
    print(perpend.import_model(model(least=-4.0), operators=[descriptions]).evaluate(x)[0].tolist())


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).with_name("operators.json")))
