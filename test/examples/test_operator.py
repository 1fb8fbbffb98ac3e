"""The example of an operator that a user brings."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import perpend
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/operator"


@pytest.fixture(scope="module")
def descriptions(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("operator")
    compiler = shutil.which("clang-19") or shutil.which("cc")
    assert compiler
    source, target = EXAMPLE / "cumulative_maximum.c", folder / "cumulative_maximum.o"
    command = [compiler, "-std=c99", "-O2", "-fPIC", "-Wall", "-Werror", "-I", ROOT / "runtime/include"]
    subprocess.run([*command, "-c", source, "-o", target], check=True)
    return shutil.copy(EXAMPLE / "operators.json", folder)


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("operator_demo", EXAMPLE / "demo.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_compiled_and_interpreted(demo: ModuleType, descriptions: str) -> None:
    x = np.array([[-1, 1, 0.5], [2, 1, 3]], np.float32)
    compiled = perpend.compile(demo.model(least=0.0), operators=[descriptions])
    assert compiled(x).tolist() == [[0, 2, 2], [4, 4, 6]]
    assert compiled(np.zeros((0, 5), np.float32)).shape == (0, 5)
    module = perpend.import_model(demo.model(least=-4.0), operators=[descriptions])
    assert module.evaluate(x)[0].tolist() == [[-2, 2, 2], [4, 4, 6]]


def test_errors(demo: ModuleType, descriptions: str) -> None:
    with pytest.raises(perpend.CompileError, match=r"com\.example\.CumulativeMaximum-1"):
        perpend.compile(demo.model(least=0.0))
    with pytest.raises(perpend.CompileError, match=r"input 0: expected f32 \[rows, columns\], got f32 \[n\]"):
        model = demo.model(least=0.0)
        del model.graph.input[0].type.tensor_type.shape.dim[1]
        perpend.compile(model, operators=[descriptions])
    compiled = perpend.compile(demo.model(least=0.0), operators=[descriptions])
    with pytest.raises(ValueError, match="node 'largest': row 1 has a NaN"):
        compiled(np.array([[1.0], [np.nan]], np.float32))
    assert compiled(np.ones((1, 1), np.float32)).tolist() == [[2]]


def test_in_python() -> None:
    command, environment = [sys.executable, EXAMPLE / "in_python.py"], {**os.environ}
    environment["PYTHONPATH"] = str(Path(perpend.__file__).parents[1])
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.stdout == "[[0.0, 2.0, 2.0], [4.0, 4.0, 6.0]]\n", done.stderr
