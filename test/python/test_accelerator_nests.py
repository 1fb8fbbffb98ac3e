"""What units compute although it is no map and no reduction of their types, in the simulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import perpend
import pytest
from conformance.onnx_foreign import missing
from onnx import NodeProto, TensorProto, helper
from python.test_accelerators import expect, floats, model_of, node

pytestmark = pytest.mark.skipif(bool(missing("quoin")), reason=missing("quoin") or "it is there")

TARGETS = ["quoin:t1", "quoin:c8"]
RANDOM = np.random.default_rng(5)


def of_integers(model: Any) -> Any:
    """With a result of integers."""
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    return model


def values_of(operator: str) -> np.ndarray:
    """Near 0, near the ends of the domain, large ones, and what is no number."""
    few = np.array([0, -0.0, 1, -1, 2, 1e-30, -1e-30, 1e-4, 0.5, -0.75, 1e10, -1e25, 3e38, np.inf, -np.inf, np.nan])
    near = {"Acosh": 1 + np.logspace(-7, 30, 500), "Atanh": 1 - np.logspace(-7, 0, 500)}
    many = near.get(operator, np.logspace(-20, 30, 500))
    return np.concatenate([few, many, -many]).astype(np.float32)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("operator", ["Asinh", "Acosh", "Atanh"])
def test_areas_without_doubles(operator: str, target: str) -> None:
    x = values_of(operator)
    compiled = perpend.compile(model_of([node(operator, "x")], {"x": x}), target=target)
    (got,) = compiled(x)
    with np.errstate(all="ignore"):
        wanted = getattr(np, f"arc{operator[1:].lower()}")(x.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(got, wanted, rtol=5e-7, atol=0)
    is_number = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(got)[is_number], np.signbit(wanted)[is_number])
    assert compiled.report.units[0] == "the units run 1 of 1 kernels"


def test_the_logarithm_of_one_more_without_doubles() -> None:
    x = np.concatenate([np.linspace(-90, 90, 1999), [0.0, -0.0, np.inf]]).astype(np.float32)
    assert expect(model_of([node("Softplus", "x")], {"x": x}), {"x": x}) == []


def ties() -> np.ndarray:
    """Rows with equal elements, with NaN, and one that falls."""
    x = RANDOM.integers(-4, 5, (6, 37)).astype(np.float32)
    x[1, 5] = x[1, 30] = np.nan
    x[2] = -np.arange(37)
    x[3] = 0
    return x


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
def test_arguments_of_extrema(operator: str, axis: int, last: int, target: str) -> None:
    x = ties()
    model = of_integers(model_of([node(operator, "x", axis=axis, select_last_index=last)], {"x": x}))
    assert expect(model, {"x": x}, target) == []


def test_hardmax() -> None:
    x = floats(5, 41)
    assert expect(model_of([node("Hardmax", "x")], {"x": x}), {"x": x}) == []


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("operator", ["ReduceMax", "ReduceMin"])
def test_extrema_of_integers_of_64_bits(operator: str, axis: int, target: str) -> None:
    """Equal high words with low ones of both signs, and the first and the last integer."""
    x = RANDOM.integers(-(2**63), 2**63 - 1, (8, 19))
    x[1] = (7 << 32) + np.arange(19) * 0x0F000000
    x[2] = (-7 << 32) + np.arange(19)[::-1] * 0x0F000000
    x[3], x[4] = -(2**63), 2**63 - 1
    x[5, ::2], x[6] = 0, np.arange(19) - 9
    model = model_of([node(operator, "x axes", keepdims=0)], {"x": x}, {"axes": np.array([axis])})
    compiled = perpend.compile(model, target=target)
    (got,) = compiled(x)
    np.testing.assert_array_equal(got, x.max(axis) if operator == "ReduceMax" else x.min(axis))
    assert compiled.report.units == ["the units run 1 of 1 kernels"]


@pytest.mark.parametrize("target", TARGETS)
def test_floats_as_integers_of_64_bits(target: str) -> None:
    few = [
        0,
        0.9,
        -0.9,
        1.5,
        -1.5,
        2**31,
        -(2**31),
        2**32,
        -(2**32),
        2**32 + 2**31,
        2**31 - 128,
        2**62,
        -(2**63),
        1e-30,
    ]
    x = np.concatenate([few, np.logspace(-2, 18.9, 400), -np.logspace(-2, 18.9, 400)]).astype(np.float32)
    nodes = [node("Cast", "x", "i", to=TensorProto.INT64), node("Less", "i limit", "l"), node("Where", "l i zero")]
    weights = {"limit": np.array(2**62), "zero": np.array(0)}
    compiled = perpend.compile(of_integers(model_of(nodes, {"x": x}, weights)), target=target)
    (got,) = compiled(x)
    np.testing.assert_array_equal(got, np.where(x.astype(np.int64) < 2**62, x.astype(np.int64), 0))
    assert compiled.report.units == ["the units run 1 of 1 kernels"]


@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceProd", "ReduceMax", "ReduceLogSumExp"])
def test_reductions_of_nothing(operator: str) -> None:
    x = np.zeros((3, 0, 5), np.float32)
    model = model_of([node(operator, "x axes")], {"x": x}, {"axes": np.array([1])})
    (wanted,) = perpend.import_model(model).evaluate(x)
    compiled = perpend.compile(model, target="quoin:t1")
    (got,) = compiled(x)
    np.testing.assert_array_equal(got, wanted)
    assert not [line for line in compiled.report.units if line.startswith("the scalar core")]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("index", [np.int64, np.int32])
@pytest.mark.parametrize("axis", [0, 1])
def test_the_last_update_of_an_element_stays(axis: int, index: type[np.generic], target: str) -> None:
    i = RANDOM.integers(-7, 7, (5, 6)).astype(index)
    i[:, 2] = 3
    inputs = {"x": floats(7, 11), "i": i, "u": floats(5, 6)}
    assert expect(model_of([node("ScatterElements", "x i u", axis=axis)], inputs), inputs, target) == []


@pytest.mark.parametrize("target", TARGETS)
def test_updates_of_rows(target: str) -> None:
    inputs = {"x": floats(6, 5, 12), "i": np.array([[0, 1], [5, 4], [0, 1], [-1, 0]]), "u": floats(4, 12)}
    assert expect(model_of([node("ScatterND", "x i u")], inputs), inputs, target) == []


def test_pixels_back_in_their_places() -> None:
    inputs = {"x": floats(1, 2, 3, 3), "i": RANDOM.permutation(72)[:18].reshape(1, 2, 3, 3)}
    model = model_of([node("MaxUnpool", "x i", kernel_shape=[2, 2], strides=[2, 2])], inputs)
    assert expect(model, inputs) == []


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("result", ["values", "places"])
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_short_sort(axis: int, largest: int, result: str, target: str) -> None:
    """Equal elements in their order; NaN is above all numbers, and -0 is 0."""
    x = ties()
    x[3, ::3] = -0.0
    outputs = "y i" if result == "values" else "v y"
    model = model_of([node("TopK", "x k", outputs, axis=axis, largest=largest)], {"x": x}, {"k": np.array([4])})
    assert expect(model if result == "values" else of_integers(model), {"x": x}, target) == []


def values(names: str, kind: int, shape: list[int]) -> list[Any]:
    return [helper.make_tensor_value_info(name, kind, shape) for name in names.split()]


def loop(body: list[NodeProto], size: int) -> list[NodeProto]:
    """`v`, of so many numbers, becomes `next` in each iteration `n`; the result is the last one, and each of them."""

    def carried(names: str) -> list[Any]:
        return values(names, TensorProto.FLOAT, [size])

    body += [node("Identity", "next", "kept"), node("Identity", "go", "on")]
    graph = helper.make_graph(
        body,
        "body",
        values("n", TensorProto.INT64, [])
        + values("go", TensorProto.BOOL, [])
        + values("v", TensorProto.FLOAT, [size]),
        values("on", TensorProto.BOOL, []) + values("next kept", TensorProto.FLOAT, [size]),
    )
    return [node("Loop", "count true first", "last all", body=graph), node("Add", "all last")]


@pytest.mark.parametrize("target", TARGETS)
def test_loops_of_few_iterations(target: str) -> None:
    """A sum so far, and all of them: each iteration reads its own row."""
    nodes = loop([node("Gather", "x n", "row"), node("Mul", "v row", "m"), node("Add", "m row", "next")], 3)
    weights = {"count": np.array(5), "true": np.array(True), "first": np.ones(3, np.float32)}
    assert expect(model_of(nodes, {"x": floats(5, 3)}, weights), {"x": floats(5, 3)}, target) == []


def test_loops_with_sizes_of_their_own() -> None:
    """Each iteration measures how much it takes."""
    body = [node("Add", "n one", "end"), node("Unsqueeze", "n zeros", "from"), node("Unsqueeze", "end zeros", "to")]
    nodes = loop([*body, node("Slice", "x from to", "part"), node("Add", "v part", "next")], 1)
    weights = {"count": np.array(4), "true": np.array(True), "first": np.ones(1, np.float32), "one": np.array(1)}
    inputs = {"x": floats(5)}
    assert expect(model_of(nodes, inputs, weights | {"zeros": np.array([0])}), inputs) == []


def branches() -> Any:
    graphs = [
        helper.make_graph([node(operator, "x w", "r")], name, [], values("r", TensorProto.FLOAT, [2, 7]))
        for name, operator in (("one", "Mul"), ("other", "Sub"))
    ]
    return node("If", "c", then_branch=graphs[0], else_branch=graphs[1])


@pytest.mark.parametrize("condition", [False, True])
def test_a_choice_of_branches(condition: bool) -> None:
    inputs = {"x": floats(2, 7), "n": np.array(-1 if condition else 1, np.float32)}
    model = model_of(
        [node("Less", "n zero", "c"), branches()], inputs, {"w": floats(7), "zero": np.array(0, np.float32)}
    )
    assert expect(model, inputs) == []


@pytest.mark.parametrize("kind", [TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64])
def test_bits_of_a_type_that_units_do_not_have(kind: int) -> None:
    """They are moved, and are elements of another type where they arrive."""
    wide = helper.tensor_dtype_to_np_dtype(kind)
    other = {TensorProto.UINT16: TensorProto.INT16, TensorProto.UINT32: TensorProto.INT32}.get(kind, TensorProto.INT64)
    x = RANDOM.integers(0, np.iinfo(wide).max, (5, 7), dtype=wide)
    nodes = [node("Transpose", "x", "t"), node("BitCast", "t", to=other)]
    graph = helper.make_graph(nodes, "g", values("x", kind, [5, 7]), values("y", other, [7, 5]))
    compiled = perpend.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 26)]), target="quoin:t1")
    (got,) = compiled(x)
    np.testing.assert_array_equal(got, x.T.view(got.dtype))
    assert not [line for line in compiled.report.units if line.startswith("the scalar core")]
