"""Operators that ONNX had on trial before operator set 10, and copies between devices, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import perpend
import pytest
from onnx import helper

X = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
CASES: list[tuple[str, list[np.ndarray], dict[str, Any]]] = [
    ("ScaledTanh", [X], {"alpha": 0.5, "beta": 1.5}),
    ("ParametricSoftplus", [X], {"alpha": 0.5, "beta": 1.5}),
    ("Scale", [X], {"scale": 2.5}),
    ("Scale", [X], {}),
    ("DynamicSlice", [X, np.array([1, -4]), np.array([3, 1000])], {}),
    ("DynamicSlice", [X, np.array([1], np.int32), np.array([-1], np.int32), np.array([1], np.int32)], {}),
]


@pytest.mark.parametrize(("op", "inputs", "attributes"), CASES)
def test_operator(op: str, inputs: list[np.ndarray], attributes: dict[str, Any]) -> None:
    names = [f"input{index}" for index in range(len(inputs))]
    types = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in zip(names, inputs, strict=True)
    ]
    node = helper.make_node(op, names, ["output"], "node", **attributes)
    output = helper.make_tensor_value_info("output", onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "operator", types, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=4)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, dict(zip(names, inputs, strict=True)))[0]
    result = perpend.compile(model)(*inputs)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, 2e-6, 2e-6)


@pytest.mark.parametrize("op", ["MemcpyFromHost", "MemcpyToHost"])
def test_copies_between_devices_are_none(op: str) -> None:
    text = f'<ir_version: 8, opset_import: ["" : 17]> f (float[n] x) => (float[n] y) {{ y = {op} (x) }}'
    np.testing.assert_array_equal(perpend.compile(onnx.parser.parse_model(text))(X[0]), X[0])
