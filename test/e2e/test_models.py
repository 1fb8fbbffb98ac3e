"""Real models, compiled by the tool and run from the artifact, against what ONNX Runtime computed."""

import os
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from e2e.models import (
    DEQUANTISED,
    GOLDEN,
    STYLE,
    Arrays,
    Model,
    assert_close,
    peak_bytes,
    run_library,
    run_tool,
)
from onnx import TensorProto, helper, numpy_helper

ITEMS = [1, 2, 7]  # of a batch
# Shapes of one image each, by folder; what the text detector adds up halves five times.
IMAGES = {
    "bodypix-mobilenetv1": [(1, 240, 320, 3), (1, 97, 161, 3), (1, 352, 256, 3)],
    "ppocrv3-det": [(1, 3, 64, 96), (1, 3, 320, 256), (1, 3, 160, 480)],
}


def parameters(models: list[Model]) -> list[object]:
    """One test parameter for each model."""
    return [pytest.param(m, id=m.file) for m in models]


def require(model: Model) -> None:
    if not model.path.exists():
        pytest.skip(f"{model.path} is not here")


def compile_model(model: Model, folder: Path, *options: str) -> Path:
    run_tool("compile", model.path, "-o", "model.so", *options, folder=folder)
    return folder / "model.so"


def run_reference(model: Model, inputs: Arrays, optimised: bool = True) -> Arrays:
    options, level = onnxruntime.SessionOptions(), onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimised else level.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.path, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


@pytest.mark.parametrize("model", parameters(GOLDEN))
def test_golden(tmp_path: Path, model: Model) -> None:
    require(model)
    peak = peak_bytes("compile", model.path, "-o", "model.so", folder=tmp_path)
    inputs, outputs = model.golden()
    assert_close(run_library(tmp_path / "model.so", inputs, list(outputs)), outputs)
    weights = model.path.stat().st_size
    assert peak <= 2 * weights + 500_000_000, f"the compiler took {peak >> 20} MiB for {weights >> 20} MiB of weights"


def test_weights_are_in_memory_twice_at_most(tmp_path: Path) -> None:
    """Packed weights replace those of the file, where elements are not aligned, and those the object file's."""
    size, count = 2400, 8
    weights = np.random.default_rng(0).standard_normal((size, size), np.float32)
    tensors = [numpy_helper.from_array(weights + i, f"w{i}") for i in range(count)]
    nodes = [helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"]) for i in range(count)]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, size]) for name in ("x0", f"x{count}")]
    graph = helper.make_graph(nodes, "odd", ends[:1], ends[1:], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "m.onnx")
    peak = peak_bytes("compile", "m.onnx", "-o", "m.so", folder=tmp_path)
    assert peak <= 2 * count * weights.nbytes + 200_000_000, f"{peak >> 20} MiB"


@pytest.mark.parametrize("model", parameters(GOLDEN))
def test_golden_unoptimised(tmp_path: Path, model: Model) -> None:
    require(model)
    if model.folder != "mnist-8" and not os.environ.get("PERPEND_LONG"):
        pytest.skip("a long test")
    inputs, outputs = model.golden()
    assert_close(run_library(compile_model(model, tmp_path, "-O0"), inputs, list(outputs)), outputs)


@pytest.mark.parametrize("model", parameters([model for model in GOLDEN if model.batch]))
def test_batches_from_one_artifact(tmp_path: Path, model: Model) -> None:
    """Every item of a batch is another input, so that items that are mixed up show. What such an input gives may depend
    on rounding (nmp's, by 7.5e-4): the reference is as sure as it agrees with itself, without its optimiser.
    """
    require(model)
    library = compile_model(model, tmp_path, "--dim", f"{model.batch}:0=n")
    inputs, outputs = model.golden()
    first = inputs[model.batch][:1]
    items = [np.roll(first, 3 * item, axis=1 if first.ndim < 4 else 2) for item in range(max(ITEMS))]
    expected = [run_reference(model, {model.batch: item}) for item in items]
    others = [run_reference(model, {model.batch: item}, optimised=False) for item in items]
    expected[0] = {name: array[:1] for name, array in outputs.items()}
    for count in ITEMS:
        got = run_library(library, {model.batch: np.concatenate(items[:count])}, list(outputs))
        for item in range(count):
            assert_close({name: array[item : item + 1] for name, array in got.items()}, expected[item], others[item])


@pytest.mark.parametrize("folder", IMAGES)
def test_image_sizes_from_one_artifact(tmp_path: Path, folder: str) -> None:
    model = next(model for model in GOLDEN if model.folder == folder)
    require(model)
    library = compile_model(model, tmp_path)
    [name], generator = model.golden()[0], np.random.default_rng(4)
    for shape in IMAGES[folder]:
        inputs: Arrays = {name: generator.uniform(-1, 1, shape).astype(np.float32)}
        expected = run_reference(model, inputs)
        assert_close(run_library(library, inputs, list(expected)), expected)


@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_dequantised_arithmetic(tmp_path: Path, level: str) -> None:
    """Equal, bit by bit, to ONNX Runtime without optimisations, and one quantum from the golden output.

    Between DequantizeLinear and QuantizeLinear the arithmetic is that of floats. The golden output is of operators that
    ONNX Runtime fuses from them: of a softmax that is 254.21 quanta its integer softmax makes 253, not 254.
    """
    require(DEQUANTISED)
    inputs, outputs = DEQUANTISED.golden()
    [name], quantum = outputs, 1 / 255
    got = run_library(compile_model(DEQUANTISED, tmp_path, level), inputs, [name])
    np.testing.assert_array_equal(got[name], run_reference(DEQUANTISED, inputs, optimised=False)[name])
    np.testing.assert_allclose(got[name], outputs[name], rtol=0, atol=1.001 * quantum)


def test_style_transfer(tmp_path: Path) -> None:
    """The one model without golden outputs."""
    require(STYLE)
    generator = np.random.default_rng(5)
    inputs: Arrays = {"inputImage": generator.uniform(0, 255, (1, 3, 720, 720)).astype(np.float32)}
    expected = run_reference(STYLE, inputs)
    assert_close(run_library(compile_model(STYLE, tmp_path), inputs, list(expected)), expected)
