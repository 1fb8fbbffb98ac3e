"""Inputs whose length follows from the node, and gates whose extent a run decides."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import perpend
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def model_of(operator: str, inputs: dict[str, np.ndarray], outputs: int = 1, **attributes: Any) -> onnx.ModelProto:
    """Of one node; the first input has numbers as extents, the others symbols. Inputs named "_" are left out."""
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype),
                                      [f"{name}{i}" for i in range(array.ndim)] if name != "x" else array.shape)
        for name, array in inputs.items() if not name.startswith("_")
    ]  # fmt: skip
    names = ["" if name.startswith("_") else name for name in inputs]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(operator, names, results, "node", **attributes)
    graph = helper.make_graph([node], "g", infos, [onnx.ValueInfoProto(name=name) for name in results])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


CASES = {
    "Tile": ({"x": X, "repeats": np.int64([2, 1, 3])}, 1, {}),
    "Split": ({"x": X, "parts": np.int64([1, 3])}, 2, {"axis": 2}),
    "Pad": ({"x": X, "pads": np.int64([0, 1, 2, 0, 0, 1])}, 1, {}),
    "CenterCropPad": ({"x": X, "size": np.int64([5, 2])}, 1, {"axes": [1, 2]}),
    "Resize": ({"x": X, "_roi": X, "_scales": X, "sizes": np.int64([2, 6, 8])}, 1, {}),
}


@pytest.mark.parametrize("operator", CASES)
def test_vectors_with_one_element_for_each_dimension(operator: str) -> None:
    inputs, outputs, attributes = CASES[operator]
    model = model_of(operator, inputs, outputs, **attributes)
    feeds = {name: array for name, array in inputs.items() if not name.startswith("_")}
    results = perpend.compile(model)(*feeds.values())
    expected = ReferenceEvaluator(model).run(None, feeds)
    for result, wanted in zip(results if outputs > 1 else [results], expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-6)


@pytest.mark.parametrize("operator", CASES)
def test_other_lengths_are_refused(operator: str) -> None:
    inputs, outputs, attributes = CASES[operator]
    name = list(inputs)[-1]
    for longer in (np.append(inputs[name], 1), inputs[name][:-1]):
        with pytest.raises(ValueError, match=f"input '{name}', dimension 0: expected"):
            perpend.compile(model_of(operator, inputs, outputs, **attributes))(X, longer)


@pytest.mark.parametrize("decay", [1, 2, 6])
@pytest.mark.parametrize("beta", [1, 2])
def test_gates_of_linear_attention(decay: int, beta: int) -> None:
    """One number for all, one for each of 2 heads, or one for each of 2 * 3 elements: the same model, other extents."""
    shapes = {
        "q": (2, 5, 6),
        "k": (2, 5, 6),
        "v": (2, 5, 8),
        "state": (2, 2, 3, 4),
        "g": (2, 5, decay),
        "b": (2, 5, beta),
    }
    rng = np.random.default_rng(decay)
    feeds = {name: rng.random(shape, dtype=np.float32) for name, shape in shapes.items()}

    def build(symbolic: bool) -> onnx.ModelProto:
        infos = [
            helper.make_tensor_value_info(
                name, TensorProto.FLOAT, [f"{name}{i}" for i in range(len(s))] if symbolic else s
            )
            for name, s in shapes.items()
        ]
        node = helper.make_node("LinearAttention", list(shapes), ["y", "z"], "node", q_num_heads=2, kv_num_heads=2)
        graph = helper.make_graph([node], "g", infos, [onnx.ValueInfoProto(name=name) for name in "yz"])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 27)], ir_version=13)

    fixed, free = (perpend.compile(build(symbolic))(*feeds.values()) for symbolic in (False, True))
    for result, wanted in zip(free, fixed, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)
    feeds["g"] = rng.random((2, 5, 4), dtype=np.float32)
    with pytest.raises(ValueError, match="got"):
        perpend.compile(build(True))(*feeds.values())


def test_number_of_dimensions_that_only_the_user_knows():
    """An input without a shape: refused, unless the option says how many dimensions it has."""
    infos = [onnx.ValueInfoProto(name="x"), onnx.ValueInfoProto(name="y")]
    infos[0].type.tensor_type.elem_type = TensorProto.FLOAT
    graph = helper.make_graph([helper.make_node("Transpose", ["x"], ["y"])], "g", infos[:1], infos[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with pytest.raises(perpend.CompileError, match=r"'x': its rank is unknown\nhint: .*'x:rank'"):
        perpend.compile(model)
    with pytest.raises(perpend.CompileError, match="'x:rank' must be a number of at most 32"):
        perpend.compile(model, dims={"x:rank": 33})
    run = perpend.compile(model, dims={"x:rank": 3, "x:1": 3})
    for x in (X, X[:0], X[..., :1]):
        np.testing.assert_array_equal(run(x), x.T)
