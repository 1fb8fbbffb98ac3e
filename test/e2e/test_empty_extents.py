"""Extents that are 0 at run time: one artifact per model, called with 0, 1, 2 and 7, against ONNX Runtime or numpy."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
import perpend
import pytest
from onnx import helper, numpy_helper

EXTENTS = [0, 1, 2, 7]
Node = tuple[str, list[str], list[str], dict[str, Any]]
Array = np.ndarray[Any, Any]

WEIGHTS = np.random.default_rng(3)


def weights(*shape: int) -> Array:
    return WEIGHTS.standard_normal(shape).astype(np.float32)


def model_of(nodes: list[Node], inputs: dict[str, list[Any]], constants: dict[str, Array]) -> onnx.ModelProto:
    infos = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims) for name, dims in inputs.items()]
    graph = helper.make_graph(
        [helper.make_node(kind, given, made, **attributes) for kind, given, made, attributes in nodes],
        "g",
        infos,
        [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    return onnx.shape_inference.infer_shapes(model)


def points_of(inputs: dict[str, list[Any]]) -> list[dict[str, Array]]:
    """Inputs for every choice of the symbols."""
    symbols = sorted({dim for dims in inputs.values() for dim in dims if isinstance(dim, str)})
    data = np.random.default_rng(5)
    points = []
    for extents in itertools.product(EXTENTS, repeat=len(symbols)):
        given = dict(zip(symbols, extents, strict=True))
        shapes = {name: [given.get(dim, dim) for dim in dims] for name, dims in inputs.items()}
        points.append({name: data.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()})
    return points


def compiled(model: onnx.ModelProto, level: int) -> Callable[[dict[str, Array]], Array]:
    library = perpend.compile(model, target="host", opt_level=level)
    return lambda feeds: library(**feeds)


CASES: dict[str, tuple[list[Node], dict[str, list[Any]], dict[str, Array]]] = {
    "elementwise": (
        [("Mul", ["x", "w"], ["a"], {}), ("Tanh", ["a"], ["b"], {}), ("Add", ["b", "x"], ["y"], {})],
        {"x": ["n", 5]},
        {"w": weights(5)},
    ),
    "product": ([("MatMul", ["x", "w"], ["y"], {})], {"x": ["n", 9]}, {"w": weights(9, 33)}),
    "batched_product": ([("MatMul", ["a", "b"], ["y"], {})], {"a": ["b", "n", "k"], "b": ["b", "k", 17]}, {}),
    "attention": (
        [
            ("Transpose", ["k"], ["t"], {"perm": [0, 2, 1]}),
            ("MatMul", ["q", "t"], ["s"], {}),
            ("Softmax", ["s"], ["p"], {"axis": -1}),
            ("MatMul", ["p", "k"], ["y"], {}),
        ],
        {"q": ["b", "n", 8], "k": ["b", "m", 8]},
        {},
    ),
    "cache": (
        [("Concat", ["past", "x"], ["c"], {"axis": 1}), ("Mul", ["c", "c"], ["y"], {})],
        {"past": ["b", "p", 4], "x": ["b", "n", 4]},
        {},
    ),
    "normalisation": (
        [("LayerNormalization", ["x", "s", "o"], ["y"], {"axis": -1})],
        {"x": ["n", "m", 16]},
        {"s": weights(16), "o": weights(16)},
    ),
    "convolution": (
        [
            ("Conv", ["x", "w", "o"], ["a"], {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
            ("Relu", ["a"], ["b"], {}),
            ("MaxPool", ["b"], ["y"], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
        ],
        {"x": ["n", 3, 11, 13]},
        {"w": weights(20, 3, 3, 3), "o": weights(20)},
    ),
    "image_size": (
        [
            ("Conv", ["x", "w"], ["a"], {"pads": [1, 1, 1, 1]}),
            ("AveragePool", ["a"], ["y"], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
        ],
        {"x": [2, 3, "h", "w0"]},
        {"w": weights(8, 3, 3, 3)},
    ),
    "movement": (
        [
            ("Transpose", ["x"], ["t"], {"perm": [2, 0, 1]}),
            ("Reshape", ["t", "shape"], ["r"], {}),
            ("Reshape", ["r", "back"], ["y"], {}),
        ],
        {"x": ["n", "m", 6]},
        {"shape": np.array([6, -1]), "back": np.array([-1])},
    ),
    "merged_dimensions": (
        [
            ("Transpose", ["x"], ["t"], {"perm": [1, 0, 2]}),
            ("Reshape", ["t", "s"], ["r"], {}),
            ("Exp", ["r"], ["y"], {}),
        ],
        {"x": ["n", "m", 6]},
        {"s": np.array([-1, 6])},
    ),
    "without_first": (
        [
            ("Slice", ["x", "one", "end", "zero"], ["a"], {}),
            ("Slice", ["x", "zero", "minus", "zero"], ["b"], {}),
            ("Sub", ["a", "b"], ["y"], {}),
        ],
        {"x": ["n", 5]},
        {"zero": np.array([0]), "one": np.array([1]), "minus": np.array([-1]), "end": np.array([2**40])},
    ),
    "last_two": (
        [("Slice", ["x", "from", "end", "zero"], ["y"], {})],
        {"x": ["n", 5]},
        {"zero": np.array([0]), "from": np.array([-2]), "end": np.array([2**40])},
    ),
    "reversed": (
        [("Slice", ["x", "last", "end", "zero", "step"], ["y"], {})],
        {"x": ["n", 5]},
        {"zero": np.array([0]), "last": np.array([-1]), "end": np.array([-(2**40)]), "step": np.array([-2])},
    ),
    "lookup": (
        [("Cast", ["x"], ["i"], {"to": onnx.TensorProto.INT64}), ("Gather", ["table", "i"], ["y"], {})],
        {"x": ["n", "m"]},
        {"table": weights(3, 4)},
    ),
    "padding": (
        [("Pad", ["x", "pads"], ["a"], {}), ("Neg", ["a"], ["y"], {})],
        {"x": ["n", "m"]},
        {"pads": np.array([1, 0, 2, 3])},
    ),
    "shape_of": (
        [("Shape", ["x"], ["s"], {}), ("Expand", ["one", "s"], ["e"], {}), ("Add", ["e", "x"], ["y"], {})],
        {"x": ["n", 3, "m"]},
        {"one": np.float32([1])},
    ),
    "cumulative": ([("CumSum", ["x", "axis"], ["y"], {})], {"x": ["n", "m"]}, {"axis": np.array(1)}),
}


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("name", CASES)
def test_against_onnxruntime(name: str, level: int) -> None:
    nodes, inputs, constants = CASES[name]
    model = model_of(nodes, inputs, constants)
    run = compiled(model, level)
    reference = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for feeds in points_of(inputs):
        got = run(feeds)
        try:
            expected = reference.run(None, feeds)[0]
        except onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument:
            assert any(array.size == 0 for array in feeds.values()) and got.size == 0
            continue
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


REDUCTIONS: dict[str, Callable[[Array, Any], Array]] = {
    "ReduceSum": lambda x, axes: x.sum(axes),
    "ReduceProd": lambda x, axes: x.prod(axes),
    "ReduceMean": lambda x, axes: x.sum(axes) / np.float32(np.prod([x.shape[axis] for axis in axes])),
    "ReduceMax": lambda x, axes: x.max(axes, initial=-np.inf),
    "ReduceMin": lambda x, axes: x.min(axes, initial=np.inf),
    "ReduceL2": lambda x, axes: np.sqrt((x * x).sum(axes)),
}


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("kind", REDUCTIONS)
def test_reductions_over_nothing(kind: str, axes: tuple[int, ...], level: int) -> None:
    """A sum of nothing is 0, a product 1, a maximum the least value, a mean NaN."""
    inputs = {"x": ["n", 6, "m"]}
    nodes: list[Node] = [(kind, ["x", "axes"], ["y"], {"keepdims": 0})]
    run = compiled(model_of(nodes, inputs, {"axes": np.array(axes)}), level)
    for feeds in points_of(inputs):
        with np.errstate(invalid="ignore"):
            expected = np.asarray(REDUCTIONS[kind](feeds["x"], axes), np.float32)
        got = run(feeds)
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_what_is_indexed_must_exist() -> None:
    """An element of a dimension without elements is refused when the inputs are bound, where any is asked for."""
    nodes: list[Node] = [("Gather", ["x", "zero"], ["y"], {"axis": 1})]
    run = compiled(model_of(nodes, {"x": ["n", "m"]}, {"zero": np.array(0)}), 3)
    assert run({"x": np.ones((0, 2), np.float32)}).shape == (0,)
    np.testing.assert_array_equal(run({"x": np.ones((3, 1), np.float32)}), np.ones(3))
    with pytest.raises(ValueError, match="dimension 1: expected at least 1, got 0"):
        run({"x": np.ones((3, 0), np.float32)})


def test_indices_into_nothing() -> None:
    nodes: list[Node] = [("Cast", ["i"], ["j"], {"to": onnx.TensorProto.INT64}), ("Gather", ["x", "j"], ["y"], {})]
    run = compiled(model_of(nodes, {"x": ["n", 3], "i": ["m"]}, {}), 3)
    assert run({"x": np.ones((0, 3), np.float32), "i": np.ones(0, np.float32)}).shape == (0, 3)
    with pytest.raises(ValueError, match=r"do not fit together: node 'y' needs .*n.* >= .*, got"):
        run({"x": np.ones((0, 3), np.float32), "i": np.ones(2, np.float32)})


def test_slice_that_broadcasts() -> None:
    """x - x[:1] takes the slice for one row, so there must be one."""
    constants = {"zero": np.array([0]), "one": np.array([1])}
    nodes: list[Node] = [("Slice", ["x", "zero", "one", "zero"], ["a"], {}), ("Sub", ["x", "a"], ["y"], {})]
    run = compiled(model_of(nodes, {"x": ["n", 5]}, constants), 3)
    x = weights(7, 5)
    np.testing.assert_array_equal(run({"x": x}), x - x[:1])
    with pytest.raises(
        ValueError, match=r"input 'x', dimension 0: node 'y' needs .*, got 0, where n = 0; hint: its shape is"
    ):
        run({"x": x[:0]})
