"""Lists of axes, positions and extents that have any length, where the rank of the result is known all the same.

Every extent of every input is a symbol: one compiled model does all lengths that the operator takes. Expected are ONNX
Runtime's results.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime
import perpend
import pytest
from onnx import helper

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 7 - 1
WIDE = np.arange(6, dtype=np.float32).reshape(1, 2, 1, 3)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def model_of(
    operator: str, inputs: Mapping[str, np.ndarray], ranks: list[int | None], opset: int = 18, **attributes: Any
) -> onnx.ModelProto:
    """Of one node, whose results have these ranks; none: no shape is declared."""
    types = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in inputs.items()}
    infos = [
        helper.make_tensor_value_info(name, types[name], [f"{name}{dim}" for dim in range(array.ndim)])
        for name, array in inputs.items()
    ]
    first = types[next(iter(inputs))]
    results = [
        helper.make_tensor_value_info(f"y{i}", first, None if rank is None else [f"y{i}_{dim}" for dim in range(rank)])
        for i, rank in enumerate(ranks)
    ]
    node = helper.make_node(operator, list(inputs), [info.name for info in results], "node", **attributes)
    graph = helper.make_graph([node], "g", infos, results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def expect_same(model: onnx.ModelProto, all_feeds: list[dict[str, np.ndarray]]) -> None:
    """Of one compiled model, with each of the feeds."""
    compiled = perpend.compile(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for feeds in all_feeds:
        (expected,) = session.run(None, feeds)
        got = compiled(**feeds)
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(got, expected, 1e-5, 1e-5)


def reject(model: onnx.ModelProto, feeds: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        perpend.compile(model)(**feeds)


AXES = [ints(1), ints(-1, 0), ints(2, 0, 1), ints()]


@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMax", "ReduceMean", "ReduceL2", "ReduceLogSumExp"])
@pytest.mark.parametrize("noop", [0, 1])
def test_reductions_that_keep_the_rank(operator: str, noop: int) -> None:
    model = model_of(operator, {"x": X, "axes": ints(1)}, [None], noop_with_empty_axes=noop)
    expect_same(model, [{"x": X, "axes": axes} for axes in AXES[: 3 if noop and operator != "ReduceSum" else 4]])


@pytest.mark.parametrize(("rank", "axes"), [(2, [ints(1), ints(-1)]), (1, [ints(-1, 0), ints(1, 2)]), (0, AXES[2:])])
def test_reductions_of_a_declared_rank(rank: int, axes: list[np.ndarray]) -> None:
    model = model_of("ReduceSum", {"x": X, "axes": ints(1)}, [rank], keepdims=0)
    expect_same(model, [{"x": X, "axes": each} for each in axes])
    reject(model, {"x": X, "axes": ints(0, 1, 2)[: 2 - rank or 2]}, f"expected {3 - rank} different axes")


def test_axes_that_are_none() -> None:
    model = model_of("ReduceSum", {"x": X, "axes": ints(1)}, [None])
    for axis in (3, -4):
        reject(model, {"x": X, "axes": ints(0, axis)}, "an axis is not one of a tensor of rank 3")
    model = model_of("ReduceSum", {"x": X, "axes": ints(1)}, [1], keepdims=0)
    reject(model, {"x": X, "axes": ints(1, -2)}, "expected 2 different axes")


def test_slices() -> None:
    names = ["starts", "ends", "axes", "steps"]
    lists = [
        [ints(1), ints(3), ints(2), ints(1)],
        [ints(-1, 0), ints(-9, 2), ints(1, -1), ints(-2, 1)],
        [ints(0, 1, 0), ints(2, 9, 4), ints(0, 1, 2), ints(1, 1, 3)],
        [ints(), ints(), ints(), ints()],
    ]
    for count in (2, 3, 4):
        kept = names[:count]
        model = model_of("Slice", {"x": X, **dict.fromkeys(kept, ints(1))}, [None])
        some = [each for each in lists if count == 4 or not len(each[0]) or (each[3] > 0).all()]
        expect_same(model, [{"x": X, **dict(zip(kept, each[:count], strict=True))} for each in some])
    for short in range(4):
        feeds = {name: ints(1)[: 0 if index == short else 1] for index, name in enumerate(names)}
        reject(model, {"x": X, **feeds}, "expected")
    four = {"x": X, "starts": ints(0, 0, 0, 0), "ends": ints(1, 1, 1, 1)}
    reject(model_of("Slice", four, [None]), four, "an axis is not one")


def test_pads_of_axes() -> None:
    inputs = {"x": X, "pads": ints(1), "value": np.array(5, np.float32), "axes": ints(1)}
    model = model_of("Pad", inputs, [None], mode="constant")
    lists = [(ints(1, 2), ints(1)), (ints(0, 1, 2, 0), ints(-1, 0)), (ints(1, -1, 0, 0, 1, -2), ints(2, 0, 1))]
    expect_same(model, [inputs | {"pads": pads, "axes": axes} for pads, axes in lists])
    reject(model, inputs | {"pads": ints(1, 2, 3)}, "expected")


@pytest.mark.parametrize(
    ("rank", "shapes"), [(2, [ints(6, 4), ints(0, -1)]), (4, [ints(2, 1, -1, 2)]), (1, [ints(-1)])]
)
def test_reshape_to_a_declared_rank(rank: int, shapes: list[np.ndarray]) -> None:
    model = model_of("Reshape", {"x": X, "shape": ints(1)}, [rank])
    expect_same(model, [{"x": X, "shape": shape} for shape in shapes])
    reject(model, {"x": X, "shape": ints(*[1] * (rank + 1))}, f"'shape', dimension 0: expected (at most )?{rank}")


@pytest.mark.parametrize(
    ("rank", "shapes"),
    [(4, [ints(4, 1), ints(5, 2, 4, 1), ints(), ints(1)]), (5, [ints(2, 1, 2, 4, 3), ints(1, 2, 1, 1, 1)])],
)
def test_expand_to_a_declared_rank(rank: int, shapes: list[np.ndarray]) -> None:
    """Extents of the input that are 1 follow the shape, those of the shape the input."""
    model = model_of("Expand", {"x": WIDE, "shape": ints(1)}, [rank])
    expect_same(model, [{"x": WIDE, "shape": shape} for shape in shapes])
    reject(model, {"x": WIDE, "shape": ints(*[1] * (rank - 4), 1, 3, 1, 3)}, "must be 1 or as in the shape")
    reject(model, {"x": WIDE, "shape": ints(*[1] * (rank + 1))}, "expected|more than 4 extents")


@pytest.mark.parametrize(
    ("operator", "rank", "axes"),
    [("Squeeze", 3, [ints(0), ints(-2)]), ("Squeeze", 2, [ints(2, 0)]), ("Unsqueeze", 6, [ints(0, -1), ints(3, 1)])],
)
def test_dimensions_of_1(operator: str, rank: int, axes: list[np.ndarray]) -> None:
    model = model_of(operator, {"x": WIDE, "axes": ints(1)}, [rank])
    expect_same(model, [{"x": WIDE, "axes": each} for each in axes])
    with pytest.raises(perpend.CompileError, match=r"(?s)the number of axes, axes0, is not known.*hint: say it as"):
        perpend.compile(model_of(operator, {"x": WIDE, "axes": ints(1)}, [None]))
    if len(axes[0]) == 2:
        reject(model, {"x": WIDE, "axes": ints(0, 0)}, "expected 2 different axes")


def test_constants_of_a_declared_rank() -> None:
    model = model_of("ConstantOfShape", {"shape": ints(1)}, [3])
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    expect_same(model, [{"shape": ints(2, 0, 3)}, {"shape": ints(1, 2, 3)}])


def test_indices_of_unknown_length() -> None:
    indices = ints(0, 1, 1, 2).reshape(2, 2)
    model = model_of("GatherND", {"x": X, "indices": indices}, [2])
    expect_same(model, [{"x": X, "indices": indices}, {"x": X, "indices": indices[:1]}])
    reject(model, {"x": X, "indices": indices[:, :1]}, "do not fit together")
    updates = -np.arange(8, dtype=np.float32).reshape(2, 4)
    model = model_of("ScatterND", {"x": X, "indices": indices, "updates": updates}, [None])
    expect_same(model, [{"x": X, "indices": indices, "updates": updates}])
    reject(model, {"x": X, "indices": indices[:, :1], "updates": updates}, "expected")


def test_a_grid_and_columns_of_a_declared_rank() -> None:
    theta = np.float32([[[1, 0.5, 0], [0, 2, -1]]])
    expect_same(model_of("AffineGrid", {"theta": theta, "size": ints(1)}, [4], opset=20),
                [{"theta": theta, "size": ints(1, 1, 2, 3)}])  # fmt: skip
    columns = np.arange(20, dtype=np.float32).reshape(1, 5, 4) + 1
    inputs = {"x": columns, "image": ints(5, 5), "block": ints(1, 5)}
    columns = np.arange(25, dtype=np.float32).reshape(1, 5, 5)
    expect_same(model_of("Col2Im", inputs, [4]), [inputs | {"x": columns}])


def test_values_of_nodes_in_the_middle() -> None:
    """The model declares the rank of a value that is no output."""
    model = model_of("Reshape", {"x": X, "shape": ints(1)}, [2])
    model.graph.value_info.append(model.graph.output[0])
    model.graph.node.append(helper.make_node("Neg", ["y0"], ["z"]))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("z", onnx.TensorProto.FLOAT, None))
    expect_same(model, [{"x": X, "shape": ints(3, 8)}])


REDUCTIONS = ["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_dimensions_for_a_scalar(count: int) -> None:
    """The extents that there are none of were read all the same."""
    feeds = {"x": np.array(3, np.float32), "axes": np.arange(count)}
    model = model_of("Unsqueeze", feeds, [count])
    expect_same(model, [feeds, {**feeds, "axes": np.arange(count)[::-1] - count}])
    fixed = model_of("Unsqueeze", feeds, [count])
    fixed.graph.input[1].type.tensor_type.shape.dim[0].dim_value = count
    expect_same(fixed, [feeds])
    reject(model, {**feeds, "axes": np.full(count, count)}, "an axis is not one of a tensor of rank")


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("keepdims", [0, 1])
def test_reductions_of_a_scalar(name: str, keepdims: int) -> None:
    """By no axes, or, as ONNX Runtime takes them, by 0 or -1: the result is a scalar."""
    x = np.array(3, np.float32)
    model = model_of(f"Reduce{name}", {"x": x, "axes": ints(0)}, [0], keepdims=keepdims)
    expect_same(model, [{"x": x, "axes": ints(*axes)} for axes in ((), (0,), (-1,))])
    reject(model, {"x": x, "axes": ints(1)}, "an axis is not one of a tensor of rank 1")


def test_no_dimensions_of_a_scalar_to_drop() -> None:
    feeds = {"x": np.array(3, np.float32), "axes": ints()}
    expect_same(model_of("Squeeze", feeds, [0]), [feeds])
