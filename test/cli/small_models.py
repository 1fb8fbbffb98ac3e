"""Small models for artifacts of several machines, and what reference values they have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from cli.tool import save, value
from onnx import TensorProto, helper, numpy_helper


def save_integers(folder: Path) -> Path:
    """Sums of products of bytes, divisions, shifts and remainders: the same bits everywhere."""
    generator = np.random.default_rng(3)
    weights = [
        numpy_helper.from_array(generator.integers(-128, 128, (37, 21)).astype(np.int8), "w"),
        numpy_helper.from_array(np.array(3, np.uint8), "zero"),
        numpy_helper.from_array(np.array([7], np.int32), "seven"),
    ]
    nodes = [
        helper.make_node("MatMulInteger", ["x", "w", "zero"], ["sums"]),
        helper.make_node("Div", ["sums", "seven"], ["quotient"]),
        helper.make_node("Mod", ["sums", "seven"], ["rest"]),
        helper.make_node("ReduceSum", ["rest"], ["total"]),
        helper.make_node("TopK", ["quotient", "two"], ["most", "places"]),
    ]
    weights.append(numpy_helper.from_array(np.array([2], np.int64), "two"))
    outputs = [value("quotient", ["n", 21], TensorProto.INT32), value("total", None, TensorProto.INT32)]
    outputs += [value(name, None, kind) for name, kind in (("most", TensorProto.INT32), ("places", TensorProto.INT64))]
    return save(folder / "integers.onnx", nodes, [value("x", ["n", 37], TensorProto.UINT8)], outputs, weights)


def save_quantised(folder: Path) -> Path:
    """A product of bytes with whole tiles."""
    weights = np.random.default_rng(6).integers(-128, 128, (64, 32)).astype(np.int8)
    nodes = [helper.make_node("MatMulInteger", ["x", "w"], ["y"])]
    outputs = [value("y", [48, 32], TensorProto.INT32)]
    inputs = [value("x", [48, 64], TensorProto.UINT8)]
    return save(folder / "bytes.onnx", nodes, inputs, outputs, [numpy_helper.from_array(weights, "w")])


def save_convolutions(folder: Path) -> Path:
    """A stem, a depthwise and a pointwise convolution, with an average at the end."""
    generator = np.random.default_rng(4)

    def weight(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array((generator.standard_normal(shape) / 3).astype(np.float32), name)

    weights = [weight("w0", 16, 3, 3, 3), weight("w1", 16, 1, 3, 3), weight("w2", 24, 16, 1, 1), weight("b2", 24)]
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["c0"], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("Clip", ["c0", "zero", "six"], ["r0"]),
        helper.make_node("Conv", ["r0", "w1"], ["c1"], group=16, pads=[1, 1, 1, 1]),
        helper.make_node("Sigmoid", ["c1"], ["s1"]),
        helper.make_node("Conv", ["s1", "w2", "b2"], ["c2"]),
        helper.make_node("GlobalAveragePool", ["c2"], ["p"]),
        helper.make_node("Flatten", ["p"], ["y"]),
    ]
    weights += [
        numpy_helper.from_array(np.array(number, np.float32), name) for name, number in (("zero", 0), ("six", 6))
    ]
    return save(folder / "conv.onnx", nodes, [value("x", ["n", 3, 19, 23])], [value("y", ["n", 24])], weights)


def save_loop(folder: Path) -> Path:
    """Doubles x while it is small, at most n times, and gathers what it passes."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["state", "state"], ["next"]),
            helper.make_node("ReduceMax", ["next"], ["largest"], keepdims=0),
            helper.make_node("Less", ["largest", "limit"], ["again"]),
            helper.make_node("Identity", ["next"], ["passed"]),
        ],
        "body",
        [value("i", [], TensorProto.INT64), value("c", [], TensorProto.BOOL), value("state", ["k"])],
        [value("again", [], TensorProto.BOOL), value("next", ["k"]), value("passed", ["k"])],
    )
    nodes = [helper.make_node("Loop", ["n", "", "x"], ["last", "all"], body=body)]
    weights = [numpy_helper.from_array(np.array(40, np.float32), "limit")]
    inputs = [value("n", [], TensorProto.INT64), value("x", ["k"])]
    return save(folder / "loop.onnx", nodes, inputs, [value("last", ["k"]), value("all", None)], weights)


def save_product(folder: Path, weights: np.ndarray | None = None) -> Path:
    """By default of small whole numbers, with exact sums in every order and type."""
    if weights is None:
        weights = np.random.default_rng(7).integers(-9, 10, (64, 32)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    constants = [numpy_helper.from_array(weights, "w")]
    return save(folder / "product.onnx", nodes, [value("x", [48, 64])], [value("y", [48, 32])], constants)


def save_doubles(folder: Path) -> Path:
    weights = np.random.default_rng(11).standard_normal((64, 32))
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    constants = [numpy_helper.from_array(weights, "w")]
    inputs, outputs = ([value(name, [48, count], TensorProto.DOUBLE)] for name, count in (("x", 64), ("y", 32)))
    return save(folder / "doubles.onnx", nodes, inputs, outputs, constants)


def save_pairs(
    folder: Path, cases: Sequence[tuple[int, int, int]], is_signed: bool
) -> tuple[Path, dict[str, np.ndarray]]:
    """Products of bytes, many of them the least or the greatest, and inputs for them."""
    left = np.int8 if is_signed else np.uint8
    generator = np.random.default_rng(13)

    def extreme(least: int, greatest: int, *shape: int) -> np.ndarray:
        numbers = generator.integers(least, greatest + 1, shape)
        return np.choose(generator.integers(0, 3, shape), [np.full(shape, least), np.full(shape, greatest), numbers])

    nodes, inputs, outputs, weights, values = [], [], [], [], {}
    for number, (m, k, n) in enumerate(cases):
        nodes.append(helper.make_node("MatMulInteger", [f"x{number}", f"w{number}"], [f"y{number}"]))
        inputs.append(value(f"x{number}", [m, k], helper.np_dtype_to_tensor_dtype(np.dtype(left))))
        outputs.append(value(f"y{number}", [m, n], TensorProto.INT32))
        weights.append(numpy_helper.from_array(extreme(-128, 127, k, n).astype(np.int8), f"w{number}"))
        values[f"x{number}"] = extreme(np.iinfo(left).min, np.iinfo(left).max, m, k).astype(left)
    return save(folder / "pairs.onnx", nodes, inputs, outputs, weights), values


def save_small_integers(folder: Path) -> tuple[Path, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Products of f32, inputs and results: bf16 and sums of f32 hold all of these. Odd rows, depths that are no
    multiple of 4, columns of a part of a panel."""
    cases = [
        (1, 64, 16),
        (2, 6, 8),
        (3, 17, 5),
        (7, 23, 12),
        (8, 131, 64),
        (9, 7, 21),
        (17, 64, 37),
        (5, 1, 8),
        (33, 50, 3),
    ]
    generator = np.random.default_rng(17)
    nodes, inputs, outputs, weights, values, results = [], [], [], [], {}, {}
    for number, (m, k, n) in enumerate(cases):
        x, w = (generator.integers(-8, 9, shape).astype(np.float32) for shape in ((m, k), (k, n)))
        nodes.append(helper.make_node("MatMul", [f"x{number}", f"w{number}"], [f"y{number}"]))
        inputs.append(value(f"x{number}", [m, k]))
        outputs.append(value(f"y{number}", [m, n]))
        weights.append(numpy_helper.from_array(w, f"w{number}"))
        values[f"x{number}"], results[f"y{number}"] = x, x @ w
    return save(folder / "integers.onnx", nodes, inputs, outputs, weights), values, results
