"""A model's file that somebody cuts short or writes to between import and compilation: an error, no signal."""

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from perpend import _perpend

ROWS = 512


def save_model(folder: Path, is_external: bool, producer: str = "") -> tuple[Path, Path]:
    """y = x @ w, with 1 MiB of weights; the model's file and that of the weights."""
    weight = np.random.default_rng(0).standard_normal((ROWS, ROWS), np.float32)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, ROWS]) for name in "xy")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    graph = helper.make_graph(nodes, "large", [x], [y], [numpy_helper.from_array(weight, "w")])
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8, producer_name=producer)
    path = folder / "model.onnx"
    onnx.save(model, path, save_as_external_data=is_external, location="weights.bin")
    return path, folder / "weights.bin" if is_external else path


@pytest.mark.parametrize("opt_level", [0, 3])  # weights are copied to the artifact, or packed before
def test_weights_that_are_cut_short_are_an_error(tmp_path: Path, opt_level: int) -> None:
    path, weights = save_model(tmp_path, is_external=True)
    module = _perpend.Module.from_file(str(path))
    os.truncate(weights, 1000)
    with pytest.raises(Exception, match=r"weights\.bin' was changed or cut short while it was read"):
        module.compile(str(tmp_path / "model.so"), {"opt_level": opt_level})
    assert not (tmp_path / "model.so").exists()


@pytest.mark.parametrize("shift", range(4))
def test_a_model_that_is_cut_short_is_an_error(tmp_path: Path, shift: int) -> None:
    """Wherever in the file its weights begin: they stay there."""
    path, _ = save_model(tmp_path, is_external=False, producer="p" * (shift + 1))
    module = _perpend.Module.from_file(str(path))
    os.truncate(path, 1000)
    with pytest.raises(Exception, match=r"model\.onnx' was changed or cut short while it was read"):
        module.compile(str(tmp_path / "model.so"), {})


def test_a_file_that_was_written_to_is_an_error(tmp_path: Path) -> None:
    path, weights = save_model(tmp_path, is_external=True)
    module = _perpend.Module.from_file(str(path))
    content = weights.read_bytes()
    with weights.open("r+b") as file:
        file.write(content[: len(content) // 2])
    os.utime(weights, ns=(1, 1))  # the clock of files is coarse
    with pytest.raises(Exception, match="was changed or cut short"):
        module.compile(str(tmp_path / "model.so"), {})
    _perpend.Module.from_file(str(path)).compile(str(tmp_path / "model.so"), {})


def test_a_file_that_was_replaced_is_none(tmp_path: Path) -> None:
    path, weights = save_model(tmp_path, is_external=True)
    module = _perpend.Module.from_file(str(path))
    (tmp_path / "new").write_bytes(b"short")
    (tmp_path / "new").replace(weights)
    module.compile(str(tmp_path / "model.so"), {})
