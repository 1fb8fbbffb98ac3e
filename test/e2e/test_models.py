"""Real models, compiled by the tool and run from the artifact, against what ONNX Runtime computed."""

import os
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from e2e.models import GOLDEN, Arrays, Model, assert_close, peak_bytes, run_library, run_tool

ITEMS = [1, 2, 7]  # of a batch
IMAGE_SIZES = [(240, 320), (97, 161), (352, 256)]


def parameters(models: list[Model]) -> list[object]:
    """One test parameter for each model."""
    return [pytest.param(m, id=m.file) for m in models]


def require(model: Model) -> None:
    if not model.path.exists():
        pytest.skip(f"{model.path} is not here")


def compile_model(model: Model, folder: Path, *options: str) -> Path:
    run_tool("compile", model.path, "-o", "model.so", *options, folder=folder)
    return folder / "model.so"


def run_reference(model: Model, inputs: Arrays) -> Arrays:
    session = onnxruntime.InferenceSession(model.path, providers=["CPUExecutionProvider"])
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


@pytest.mark.parametrize("model", parameters(GOLDEN))
def test_golden_unoptimised(tmp_path: Path, model: Model) -> None:
    require(model)
    if model.folder != "mnist-8" and not os.environ.get("PERPEND_LONG"):
        pytest.skip("a long test")
    inputs, outputs = model.golden()
    assert_close(run_library(compile_model(model, tmp_path, "-O0"), inputs, list(outputs)), outputs)


@pytest.mark.parametrize("model", parameters([model for model in GOLDEN if model.batch]))
def test_batches_from_one_artifact(tmp_path: Path, model: Model) -> None:
    """Every item of a batch is another input, so that items that are mixed up show."""
    require(model)
    library = compile_model(model, tmp_path, "--dim", f"{model.batch}:0=n")
    inputs, outputs = model.golden()
    first = inputs[model.batch][:1]
    items = [np.roll(first, 3 * item, axis=1 if first.ndim < 4 else 2) for item in range(max(ITEMS))]
    expected = [run_reference(model, {model.batch: item}) for item in items]
    expected[0] = {name: array[:1] for name, array in outputs.items()}
    for count in ITEMS:
        got = run_library(library, {model.batch: np.concatenate(items[:count])}, list(outputs))
        for item in range(count):
            assert_close({name: array[item : item + 1] for name, array in got.items()}, expected[item])


def test_image_sizes_from_one_artifact(tmp_path: Path) -> None:
    model = next(model for model in GOLDEN if model.folder == "bodypix-mobilenetv1")
    require(model)
    library = compile_model(model, tmp_path)
    generator = np.random.default_rng(4)
    for height, width in IMAGE_SIZES:
        inputs: Arrays = {"input": generator.uniform(-1, 1, (1, height, width, 3)).astype(np.float32)}
        expected = run_reference(model, inputs)
        assert_close(run_library(library, inputs, list(expected)), expected)
