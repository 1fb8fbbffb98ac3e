"""Chains of reductions over rows, with something between or behind them that moves elements: the same values in one
kernel or in several.

A chain that went on through a padding once read before the start of a row.
"""

import numpy as np
import onnx
import onnxruntime
import perpend
import pytest
from onnx import TensorProto, helper, numpy_helper

BETWEEN = {
    "pad before": [("Pad", ["a", "before"], {})],
    "pad behind": [("Pad", ["a", "behind"], {})],
    "pad and cut": [("Pad", ["a", "before"], {}), ("Slice", ["p0", "one", "end", "one"], {})],
    "gather": [("Gather", ["a", "i"], {"axis": 1})],
    "concat": [("Concat", ["a", "a"], {"axis": 1})],
    "transpose": [("Transpose", ["a"], {"perm": [1, 0]})],
    "normalise": [("LayerNormalization", ["a", "scale"], {})],
    "reshape": [("Reshape", ["a", "flat"], {})],
}
CONSTANTS = {
    "before": np.array([0, 5, 0, 0]),
    "behind": np.array([0, 0, 0, 3]),
    "one": np.array([1]),
    "end": np.array([6]),
    "scale": np.linspace(1, 2, 7, dtype=np.float32),
    "flat": np.array([-1]),
}


def model(between: list, is_last: bool = False) -> onnx.ModelProto:
    nodes, value = [helper.make_node("Softmax", ["x"], ["a"])], "a"
    for number, (operator, inputs, attributes) in enumerate(between):
        value = f"p{number}"
        nodes.append(helper.make_node(operator, inputs, [value], **attributes))
    nodes.append(helper.make_node("Identity" if is_last else "Softmax", [value], ["y"]))
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 7]),
        helper.make_tensor_value_info("i", TensorProto.INT64, ["k"]),
    ]
    output = helper.make_empty_tensor_value_info("y")
    used = {name for _, names, _ in between for name in names}
    constants = [numpy_helper.from_array(value, name) for name, value in CONSTANTS.items() if name in used]
    graph = helper.make_graph(nodes, "chain", inputs, [output], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("is_last", [False, True], ids=["between", "last"])
@pytest.mark.parametrize("name", BETWEEN)
def test_what_stands_between_reductions_or_behind(name: str, is_last: bool) -> None:
    text = model(BETWEEN[name], is_last)
    reference = onnxruntime.InferenceSession(text.SerializeToString(), providers=["CPUExecutionProvider"])
    compiled = perpend.compile(text)
    for rows in [1, 2, 13]:
        feeds = {
            "x": np.random.default_rng(rows).standard_normal((rows, 7), np.float32),
            "i": np.array([6, 0, 3], np.int64),
        }
        expected = reference.run(None, feeds)[0]
        got = compiled(**{name: value for name, value in feeds.items() if name in {i.name for i in compiled.inputs}})
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
