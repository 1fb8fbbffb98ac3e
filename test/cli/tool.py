"""The perpend tool and small models, for the tests of its commands.

The tool under test is build/bin/perpend, or bin/perpend of what PERPEND_BUILD names.
"""

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PERPEND_BUILD", ROOT / "build"))
PERPEND = BUILD / "bin" / "perpend"
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
VERSION = re.findall('^#define PERPEND_VERSION "(.*)"', (ROOT / "runtime/include/perpend.h").read_text(), re.M)[0]
COMMANDS = ["compile", "run", "check", "bench", "inspect", "tune", "db", "llm", "tokenize", "targets"]
F32 = TensorProto.FLOAT
GOOD, USER_ERROR, USAGE_ERROR = 0, 1, 2


def perpend(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(PERPEND), *(str(argument) for argument in arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300)


def succeed(*arguments: object, folder: Path) -> str:
    done = perpend(*arguments, folder=folder)
    assert done.returncode == GOOD, done.stderr
    assert done.stderr == ""
    return done.stdout


def sets_of(target: str) -> set[str]:
    """The instruction sets of a line of `perpend targets`."""
    text = subprocess.run([str(PERPEND), "targets"], capture_output=True, text=True, check=True).stdout
    line = re.search(rf"^{re.escape(target)}\b.* isa (.*)$", text, re.M)
    assert line
    return set(line[1].split()) - {"sse2"}


def runs_here(target: str) -> bool:
    """Whether this processor has what the target has."""
    return sets_of(target) <= sets_of("host")


def reject(*arguments: object, folder: Path, code: int = USER_ERROR) -> str:
    """What the tool says; one error, never a trace of the stack."""
    done = perpend(*arguments, folder=folder)
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stderr.count("error: ") == 1, done.stderr
    assert done.stderr.startswith("error: ")
    assert "perpend bug" not in done.stderr and "Stack dump" not in done.stderr
    return done.stderr


def value(name: str, shape: Sequence[int | str] | None, kind: int = F32) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def save(
    path: Path, nodes: list[Any], inputs: list[Any], outputs: list[Any], weights: Sequence[Any] = (), opset: int = 17
) -> Path:
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, list(weights))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return path


def save_tiny(folder: Path) -> Path:
    """y = relu(x @ w + b), with a symbolic number of rows."""
    generator = np.random.default_rng(1)
    weights = [
        numpy_helper.from_array(generator.standard_normal((5, 7)).astype(np.float32), "w"),
        numpy_helper.from_array(generator.standard_normal(7).astype(np.float32), "b"),
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"], name="matmul"),
        helper.make_node("Add", ["product", "b"], ["sum"], name="add"),
        helper.make_node("Relu", ["sum"], ["y"], name="relu"),
    ]
    return save(folder / "tiny.onnx", nodes, [value("x", ["n", 5])], [value("y", ["n", 7])], weights)
