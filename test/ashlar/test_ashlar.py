"""A second accelerator: models run on its units, and on its scalar core where its units cannot."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from cli.tool import BUILD, DIGITS, PERPEND
from conformance.onnx_foreign import missing
from onnx import TensorProto, helper, numpy_helper

TOOL = BUILD / "bin" / "perpend-ashlar"
pytestmark = pytest.mark.skipif(bool(missing("quoin")), reason="the scalar runtime was not built")
RANDOM = np.random.default_rng(3)


def node(operator: str, inputs: str, output: str, **attributes: Any) -> Any:
    return helper.make_node(operator, inputs.split(), output.split(), **attributes)


def save(path: Path, nodes: list[Any], shape: Sequence[int | str], weights: dict[str, np.ndarray]) -> Path:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), path)
    return path


def run(*arguments: object, folder: Path) -> tuple[int, str]:
    command = [str(TOOL), *(str(argument) for argument in arguments), "--target", "ashlar:one"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300)
    return done.returncode, done.stdout + done.stderr


def floats(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


CONVOLUTIONS = (
    [
        node("Conv", "x w b", "c", pads=[2, 2, 2, 2]),
        node("Relu", "c", "r"),
        node("MaxPool", "r", "p", kernel_shape=[2, 2], strides=[2, 2]),
        node("Reshape", "p s", "f"),
        node("Gemm", "f v d", "y"),
    ],
    [1, 1, 14, 14],
    {
        "w": floats(19, 1, 5, 5),
        "b": floats(19),
        "s": np.array([1, -1]),
        "v": floats(931, 10),
        "d": floats(10),
    },
)
# Extents are primes, or more rows and columns than a memory has.
MODELS = {
    "convolutions": CONVOLUTIONS,
    "product": (
        [node("MatMul", "x w", "p"), node("Add", "p b", "y")],
        [601, 37],
        {"w": floats(37, 53), "b": floats(53)},
    ),
    "row": ([node("MatMul", "x w", "y")], [1, 37], {"w": floats(37, 1)}),
    "batches": ([node("MatMul", "x w", "y")], [3, 5, 7], {"w": floats(3, 7, 11)}),
    "sum": ([node("ReduceSum", "x a", "y", keepdims=0)], [5, 7, 11], {"a": np.array([0, 2])}),
    "moves": ([node("Transpose", "x", "t", perm=[2, 0, 1]), node("Concat", "t t", "y", axis=1)], [3, 5, 7], {}),
    "a call of the library": ([node("TopK", "x k", "y i", axis=0)], [2003, 2], {"k": np.array([1000])}),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_models_are_right(name: str, level: str, tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", *MODELS[name])
    status, text = run("check", path, level, folder=tmp_path)
    assert status == 0 and "simulated: a program for ashlar" in text and "the outputs agree" in text, text


def test_a_classifier(tmp_path: Path) -> None:
    status, text = run("check", DIGITS, "--dim", "n=3", folder=tmp_path)
    assert status == 0 and "the outputs agree" in text, text


def test_products_and_sums_are_for_the_units(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", *CONVOLUTIONS)
    status, text = run("compile", path, "-O0", "-o", tmp_path / "m.ashlar", folder=tmp_path)
    others = [line for line in text.splitlines() if line.startswith("the scalar core runs")]
    assert status == 0 and "the units run 6 of 8 kernels" in text, text
    assert len(others) == 2 and all("maximum" in line or "window_reduce" in line for line in others)


def test_what_programs_cannot_have(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", [node("NonZero", "x", "n"), node("Cast", "n", "y", to=1)], [3, 5], {})
    status, text = run("compile", path, "-o", tmp_path / "m.ashlar", folder=tmp_path)
    assert status == 1 and "data decides sizes" in text and "hint: " in text
    (tmp_path / "cut.ashlar").write_bytes(b"ashlar1\0" + bytes(20))
    status, text = run("run", tmp_path / "cut.ashlar", folder=tmp_path)
    assert status != 0 and "error: " in text


def test_perpend_knows_only_its_own_accelerators() -> None:
    done = subprocess.run([str(PERPEND), "targets"], capture_output=True, text=True, check=True)
    assert "ashlar" not in done.stdout
