"""Operators that become a loop or a branch have no derivative: one error names the node. What stays outside counts."""

from __future__ import annotations

import numpy as np
import onnx
import perpend
import pytest

TRAINING = "ai.onnx.preview.training"
HEADER = f'<ir_version: 13, opset_import: ["" : 27, "com.microsoft" : 1, "{TRAINING}" : 1]>\n'
STEP = """
    body = step (int64 i, bool go, float[n, n] c) => (bool on, float[n, n] next) {
      next = MatMul(c, x)
      on = Identity(go)
    }"""
# The nodes from x [n, n] to y, the first of which that a run repeats or chooses, and the operator that it becomes.
REFUSED = [
    (
        """shape = Constant <value_ints = [1, 2, 2]> () t = Reshape(x, shape)
        y, state = LinearAttention <q_num_heads = 1, kv_num_heads = 1, update_rule = "linear"> (t, t, t)""",
        "y",
        "LinearAttention",
        "graph.loop",
    ),
    (f"three = Constant <value_int = 3> () y = Loop <{STEP}> (three, , x)", "y", "Loop", "graph.loop"),
    (
        """sum = ReduceSum <keepdims = 0> (x) c = Cast <to = 9> (sum)
        y = If (c) <then_branch = t () => (float[n, n] a) { a = Exp(x) },
                    else_branch = e () => (float[n, n] b) { b = Neg(x) }>""",
        "y",
        "If",
        "graph.if",
    ),
]


def model_of(nodes: str, inputs: str = "float[n, n] x") -> onnx.ModelProto:
    text = f'g ({inputs}) => (float[n, n] d) {{\n{nodes}\nd = {TRAINING}.Gradient <xs = ["x"], y = "y"> (x)\n}}'
    return onnx.parser.parse_model(HEADER + text)


@pytest.mark.parametrize(("nodes", "name", "operator", "primitive"), REFUSED, ids=[row[2] for row in REFUSED])
def test_one_error_names_the_node(nodes: str, name: str, operator: str, primitive: str) -> None:
    for load in (perpend.import_model, perpend.compile):
        with pytest.raises(perpend.CompileError) as raised:
            load(model_of(nodes))
        said = str(raised.value)
        assert f"node 'd' (Gradient): no derivative of node '{name}' ({operator}) ({primitive})\n" in said
        assert said.count("no derivative") == 1 and said.count("\nhint: ") == 1


@pytest.mark.parametrize(
    ("nodes", "name", "operator", "function"),
    [
        ("det = Det(x) y = Exp(det)", "det", "Det", "matrix.pivots"),
        ("two = Constant <value_ints = [1, 2, 2]> () r = Reshape(x, two) y = Det(r)", "y", "Det", "matrix.pivots"),
        ("inverse = com.microsoft.Inverse(x) y = MatMul(inverse, x)", "inverse", "Inverse", "matrix.inverse"),
    ],
)
def test_one_error_names_the_node_of_a_library_call(nodes: str, name: str, operator: str, function: str) -> None:
    with pytest.raises(perpend.CompileError) as raised:
        perpend.compile(model_of(nodes))
    said = str(raised.value)
    text = f"the derivative of node '{name}' ({operator}): no derivative of the library function {function}\n"
    assert f"node 'd' (Gradient): {text}" in said
    assert said.count("no derivative") == 1 and said.count("\nhint: ") == 1


def test_a_loop_that_the_variable_does_not_enter() -> None:
    model = model_of("det = Det(z) y = Mul(x, det)", "float[n, n] x, float[n, n] z")
    x, z = np.ones((2, 2), np.float32), np.array([[2, 1], [1, 3]], np.float32)
    for gradient in (perpend.compile(model)(x, z), perpend.import_model(model).evaluate(x, z)[0]):
        np.testing.assert_allclose(gradient, np.full((2, 2), 5), 1e-6)
