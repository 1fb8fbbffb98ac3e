"""Windows whose padding or extents follow from symbols: transposed convolutions, short-time Fourier transforms.

One compiled model does all extents. Expected are ONNX Runtime's results.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import perpend
import pytest
from onnx import helper

FILTER = np.sin(np.arange(4 * 2 * 3 * 2, dtype=np.float32)).reshape(4, 2, 3, 2)


def model_of(operator: str, inputs: dict[str, tuple[type, list[Any]]], **attributes: Any) -> onnx.ModelProto:
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), shape)
        for name, (kind, shape) in inputs.items()
    ]
    node = helper.make_node(operator, list(inputs), ["y"], "node", **attributes)
    result = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", infos, [result])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def expect_same(model: onnx.ModelProto, all_feeds: list[dict[str, np.ndarray]]) -> None:
    compiled = perpend.compile(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for feeds in all_feeds:
        (expected,) = session.run(None, feeds)
        got = compiled(**feeds)
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(got, expected, 1e-4, 1e-4)


def image(height: int, width: int) -> np.ndarray:
    return np.cos(np.arange(2 * 4 * height * width, dtype=np.float32)).reshape(2, 4, height, width)


SIZES = [(4, 4), (5, 3), (3, 7)]
PADDED = {
    "smaller": {"output_shape": [4, 3]},
    "much smaller": {"output_shape": [2, 1], "strides": [2, 3]},
    "dilated": {"output_shape": [7, 4], "strides": [2, 2], "dilations": [2, 1]},
    "upper": {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
    "upper, less": {"auto_pad": "SAME_UPPER", "strides": [1, 1], "dilations": [1, 2]},
    "lower": {"auto_pad": "SAME_LOWER", "strides": [2, 1]},
    "valid": {"auto_pad": "VALID", "strides": [2, 1]},
    "numbers": {"pads": [1, 0, 0, 1], "strides": [3, 2], "output_padding": [2, 1]},
}
LARGER = {
    "fixed": {"output_shape": [17, 16], "strides": [2, 2]},
    "automatic": {"auto_pad": "SAME_UPPER", "strides": [4, 3]},
}


def transposed(window: list[Any], size: tuple[Any, Any] = ("h", "w"), **attributes: Any) -> onnx.ModelProto:
    inputs = {"x": (np.float32, ["n", 4, *size]), "filter": (np.float32, [4, 2, *window])}
    return model_of("ConvTranspose", inputs, **attributes)


@pytest.mark.parametrize("form", PADDED)
@pytest.mark.parametrize("window", [[3, 2], ["kh", "kw"]])
def test_padding_of_transposed_convolutions(form: str, window: list[Any]) -> None:
    """The filter's window are numbers, or symbols, too."""
    model = transposed(window, **PADDED[form])
    expect_same(model, [{"x": image(*size), "filter": FILTER} for size in SIZES])


@pytest.mark.parametrize("form", LARGER)
@pytest.mark.parametrize("window", [[3, 2], ["kh", "kw"]])
def test_transposed_convolutions_that_end_before_their_result(form: str, window: list[Any]) -> None:
    """ONNX says how large the result is, ONNX Runtime makes smaller ones: expected is what numbers give."""
    compiled = perpend.compile(transposed(window, **LARGER[form]))
    for size in [*SIZES, (1, 1)]:
        expected = perpend.compile(transposed([3, 2], size, **LARGER[form]))(image(*size), FILTER)
        np.testing.assert_allclose(compiled(image(*size), FILTER), expected, 1e-5, 1e-5)


def test_groups_of_transposed_convolutions() -> None:
    inputs = {"x": (np.float32, ["n", "c", "h", "w"]), "filter": (np.float32, ["c", "o", "kh", "kw"])}
    model = model_of("ConvTranspose", inputs, group=2, output_shape=[6, 6], strides=[2, 2])
    expect_same(model, [{"x": image(3, 3), "filter": FILTER}])
    with pytest.raises(ValueError, match="do not fit"):
        perpend.compile(model)(image(3, 3)[:, :3], FILTER[:3])


@pytest.mark.parametrize("has_window", [True, False])
@pytest.mark.parametrize("shape", [[2, 24], ["n", "x"], ["n", "x", 1]])
def test_transforms_of_signals_without_a_last_dimension(shape: list[Any], has_window: bool) -> None:
    inputs = {"signal": (np.float32, shape), "step": (np.int64, []), "window": (np.float32, [8])}
    if not has_window:
        del inputs["window"]
        inputs |= {"": (np.float32, [8]), "length": (np.int64, [])}
    model = model_of("STFT", inputs, onesided=1)
    for value in list(model.graph.input):
        if value.name in ("", "step", "length"):
            model.graph.input.remove(value)
    for name, number in {"step": 4, "length": 8}.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(number), name))
    signal = np.sin(np.arange(48, dtype=np.float32) ** 1.3).reshape(2, 24, *shape[2:])
    feeds = {"signal": signal, "window": np.hanning(8).astype(np.float32)}
    expect_same(model, [{name: feeds[name] for name in inputs if name in feeds}])
