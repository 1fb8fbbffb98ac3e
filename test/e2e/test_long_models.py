"""The time to compile grows in proportion to the number of kernels."""

from pathlib import Path
from time import process_time

import numpy as np
import onnx
import perpend
import pytest
from onnx import helper, numpy_helper


def chain(count: int) -> onnx.ModelProto:
    """count times a product and a tangent; each product has weights of its own, so that no two calls are equal."""
    generator = np.random.default_rng(0)
    nodes, weights, value = [], [], "x0"
    for i in range(count):
        weights.append(numpy_helper.from_array(generator.standard_normal((8, 8)).astype(np.float32) / 3, f"w{i}"))
        nodes.append(helper.make_node("MatMul", [value, f"w{i}"], [f"y{i}"]))
        nodes.append(helper.make_node("Tanh", [f"y{i}"], [value := f"x{i + 1}"]))
    inputs = [helper.make_tensor_value_info("x0", onnx.TensorProto.FLOAT, ["n", 8])]
    outputs = [helper.make_tensor_value_info(value, onnx.TensorProto.FLOAT, ["n", 8])]
    return helper.make_model(helper.make_graph(nodes, "chain", inputs, outputs, weights))


@pytest.mark.alone
def test_four_times_the_kernels_take_less_than_seven_times_the_time(tmp_path: Path) -> None:
    """LLVM's time for the function that calls the kernels is quadratic: 12 times before it was limited."""
    times = []
    for count in (250, 1000):
        onnx.save(chain(count), tmp_path / "chain.onnx")
        start = process_time()
        compiled = perpend.compile(str(tmp_path / "chain.onnx"))
        times.append(process_time() - start)
        x = np.ones((3, 8), np.float32)
        assert np.isfinite(compiled(x0=x)[0]).all()
    assert times[1] < 7 * times[0]
