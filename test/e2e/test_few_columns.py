"""Convolutions to few channels, whose sums have a lane for each element of a word."""

import numpy as np
import onnx
import perpend
import pytest
from onnx import helper, numpy_helper

GENERATOR = np.random.default_rng(0)
SIZE, WINDOW = 21, 3


def conv(channels: int, columns: int, stride: int) -> tuple[onnx.ModelProto, np.ndarray]:
    """From channels last to channels last."""
    weights = GENERATOR.standard_normal((columns, channels, WINDOW, WINDOW)).astype(np.float32)
    nodes = [
        helper.make_node("Transpose", ["x"], ["planes"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["planes", "w"], ["sums"], strides=[stride, stride]),
        helper.make_node("Transpose", ["sums"], ["y"], perm=[0, 2, 3, 1]),
    ]
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, SIZE, SIZE, channels])
    y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "conv", [x], [y], [numpy_helper.from_array(weights, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), weights


def reference(x: np.ndarray, weights: np.ndarray, stride: int) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(x[0], (WINDOW, WINDOW), axis=(0, 1))[::stride, ::stride]
    with np.errstate(invalid="ignore"):
        return np.einsum("ijcrs,ocrs->ijo", windows.astype(np.float64), weights.astype(np.float64))[None]


@pytest.mark.parametrize("target", ["host", "x86-64-v3", "x86-64-v2"])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(("channels", "columns"), [(8, 1), (12, 2), (16, 1), (6, 1), (33, 1), (5, 3), (2, 8), (6, 4)])
def test_an_infinite_number_stays_in_its_windows(channels: int, columns: int, stride: int, target: str) -> None:
    """Zeros that fill up words are not multiplied by what lies beside the window."""
    model, weights = conv(channels, columns, stride)
    compiled = perpend.compile(model, target=target)
    x = GENERATOR.standard_normal((1, SIZE, SIZE, channels)).astype(np.float32)
    np.testing.assert_allclose(compiled(x), reference(x, weights, stride), 1e-4, 1e-4)
    x[0, 7, 9, 0] = np.inf
    x[0, 12, 4, -1] = -np.inf
    got, expected = compiled(x), reference(x, weights, stride)
    assert (np.isfinite(got) == np.isfinite(expected)).all()
    np.testing.assert_allclose(got[np.isfinite(got)], expected[np.isfinite(got)], 1e-4, 1e-4)
