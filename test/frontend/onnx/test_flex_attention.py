"""FlexAttention with graphs that change scores and probabilities, against the formula in numpy."""

import numpy as np
import perpend
import pytest
from onnx import TensorProto, helper


def modifier(nodes, rank=4):
    declared = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * rank) for name in ("s", "t")]
    return helper.make_graph(nodes, "modifier", declared[:1], declared[1:])


def model_of(heads=2, **modifiers):
    node = helper.make_node("FlexAttention", ["q", "k", "v"], ["y"], domain="ai.onnx.preview", **modifiers)
    tensors = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["b", count, length, size])
        for name, count, length, size in [("q", 4, "l", 8), ("k", heads, "s", 8), ("v", heads, "s", 5)]
    ]
    tensors.append(helper.make_tensor_value_info("bias", TensorProto.FLOAT, ["s"]))
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "flex", tensors, [output])
    sets = [helper.make_opsetid("", 22), helper.make_opsetid("ai.onnx.preview", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=10)


def test_modifiers_see_the_values_around_them():
    model = model_of(
        score_mod=modifier([helper.make_node("Add", ["s", "bias"], ["t"])]),
        prob_mod=modifier([helper.make_node("Mul", ["s", "s"], ["t"])]),
    )
    generator = np.random.default_rng(4)
    q, k, v, bias = (
        generator.standard_normal(shape).astype(np.float32)
        for shape in [(2, 4, 7, 8), (2, 2, 3, 8), (2, 2, 3, 5), (3,)]
    )
    keys, values = np.repeat(k, 2, axis=1), np.repeat(v, 2, axis=1)
    scores = np.exp(q @ keys.swapaxes(2, 3) / np.sqrt(np.float32(8)) + bias)
    expected = (scores / scores.sum(axis=-1, keepdims=True)) ** 2 @ values
    for opt_level in (0, 3):
        got = perpend.compile(model, opt_level=opt_level)(q, k, v, bias)
        np.testing.assert_allclose(got, expected, 1e-4, 1e-5)


def test_a_modifier_must_keep_the_shape():
    transposed = modifier([helper.make_node("Transpose", ["s"], ["t"])])
    with pytest.raises(perpend.CompileError, match="score_mod: expected a result of the shape"):
        perpend.compile(model_of(score_mod=transposed))
