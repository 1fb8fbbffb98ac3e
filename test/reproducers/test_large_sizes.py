"""Sizes that 63 bits cannot hold, or that no expression of bearable length gives, are errors and not less memory."""

from __future__ import annotations

import numpy as np
import onnx
import perpend
import pytest
from onnx import TensorProto, helper


def outer_sum(
    vectors: int, parts: int
) -> tuple[list[onnx.NodeProto], list[onnx.ValueInfoProto], list[onnx.TensorProto]]:
    """The sum "t" of vectors along a dimension each; a vector is put together of parts with symbols of their own."""
    nodes, inputs, constants = [], [], []
    for v in range(vectors):
        names = [f"x{v}_{p}" for p in range(parts)]
        inputs += [helper.make_tensor_value_info(n, TensorProto.FLOAT, [f"s_{n}"]) for n in names]
        others = [d for d in range(vectors) if d != v]
        constants.append(helper.make_tensor(f"axes{v}", TensorProto.INT64, [len(others)], others))
        nodes.append(helper.make_node("Concat", names, [f"c{v}"], axis=0))
        nodes.append(helper.make_node("Unsqueeze", [f"c{v}", f"axes{v}"], [f"u{v}"]))
    nodes.append(helper.make_node("Sum", [f"u{v}" for v in range(vectors)], ["t"]))
    return nodes, inputs, constants


def model_of(
    nodes: list[onnx.NodeProto], inputs: list[onnx.ValueInfoProto], constants: list[onnx.TensorProto]
) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name="y")], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def scalar(name: str) -> onnx.TensorProto:
    return helper.make_tensor(name, TensorProto.INT64, [], [0])


def test_a_size_of_too_many_terms() -> None:
    nodes, inputs, constants = outer_sum(4, 6)
    nodes += [helper.make_node("CumSum", ["t", "zero"], ["s"]), helper.make_node("ReduceMax", ["s"], ["y"], keepdims=0)]
    with pytest.raises(perpend.CompileError, match=r"where an element lies .* too long an expression\nhint: "):
        perpend.compile(model_of(nodes, inputs, [*constants, scalar("zero")]))


def test_a_requirement_of_too_many_terms() -> None:
    nodes, inputs, constants = outer_sum(4, 6)
    inputs.append(helper.make_tensor_value_info("q", TensorProto.FLOAT, ["q"]))
    nodes += [helper.make_node("Shape", ["q"], ["qs"]), helper.make_node("Reshape", ["t", "qs"], ["f"], "f"),
              helper.make_node("Add", ["f", "q"], ["y"])]  # fmt: skip
    with pytest.raises(perpend.CompileError, match=r"node 'f': .* too long an expression\nhint: "):
        perpend.compile(model_of(nodes, inputs, constants))


@pytest.mark.parametrize("extent", [2**31, 2**33])
def test_a_product_of_extents_that_overflows(extent: int) -> None:
    """2^33 times 2^33 elements of 4 bytes are 0 bytes modulo 2^64."""
    nodes = [helper.make_node("MatMul", ["a", "b"], ["p"]), helper.make_node("CumSum", ["p", "zero"], ["s"]),
             helper.make_node("ReduceMax", ["s"], ["y"], keepdims=0)]  # fmt: skip
    shapes = {"a": ["n", "k"], "b": ["k", "m"]}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    model = perpend.compile(model_of(nodes, inputs, [scalar("zero")]))
    assert model(np.ones((3, 2), np.float32), np.ones((2, 4), np.float32)) == 6
    with pytest.raises(MemoryError, match="do not fit 64 bits of memory"):
        model(np.zeros((extent, 0), np.float32), np.zeros((0, extent), np.float32))
