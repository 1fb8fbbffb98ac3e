"""The folders of compiled models: gone with their process, or with the next one where that was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import perpend
import pytest

PROGRAM = """
import os, sys, perpend
model = perpend.compile(sys.argv[1])
print("made", flush=True)
sys.stdin.read()
"""
TEXT = '<ir_version: 8, opset_import: ["" : 17]> f (float[n] x) => (float[n] y) { y = Relu (x) }'


@pytest.fixture
def model(tmp_path: Path) -> Path:
    onnx.save(onnx.parser.parse_model(TEXT), tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


def start(model: Path, temporary: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROGRAM, str(model)]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def started(model: Path, temporary: Path) -> subprocess.Popen[str]:
    process = start(model, temporary)
    assert process.stdout and process.stdout.readline() == "made\n"
    return process


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


def test_nothing_is_left_at_the_end(model: Path, temporary: Path) -> None:
    process = started(model, temporary)
    assert len(names(temporary)) == 1
    process.communicate(timeout=60)
    assert process.returncode == 0 and names(temporary) == set()


def test_models_hold_no_files(model: Path) -> None:
    """Only their process does, one."""
    models = [perpend.compile(model)]
    before = len(names(Path("/proc/self/fd")))
    models += [perpend.compile(model) for _ in range(8)]
    assert len(names(Path("/proc/self/fd"))) == before
    assert all(model(np.array([-1.0], np.float32))[0] == 0 for model in models)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_next_process_removes_what_a_killed_one_left(model: Path, temporary: Path, number: int) -> None:
    living, killed = started(model, temporary), started(model, temporary)
    killed.send_signal(number)
    killed.communicate(timeout=60)
    assert killed.returncode == -number, "as without perpend"
    (temporary / "perpend-of-others").mkdir()
    assert len(names(temporary)) == 3
    started(model, temporary).communicate(timeout=60)
    assert len(names(temporary)) == 2 and "perpend-of-others" in names(temporary)
    assert list(temporary.glob("*/*/model.so")), "that of the living process"
    living.communicate(timeout=60)
    assert names(temporary) == {"perpend-of-others"}


def test_a_process_that_is_killed_while_it_compiles(model: Path, temporary: Path) -> None:
    size, count = 1024, 40  # constants that are folded for seconds, product by product
    products = " ".join(f"t{i + 1} = MatMul (t{i}, t0)" for i in range(count))
    declared = f"f (float[n, {size}] x) => (float[n, {size}] y)"
    text = f'<ir_version: 8, opset_import: ["" : 17]> {declared} {{ {products} y = MatMul (x, t{count}) }}'
    given = onnx.parser.parse_model(text)
    given.graph.initializer.append(onnx.numpy_helper.from_array(np.eye(size, dtype=np.float32), "t0"))
    slow = model.with_name("slow.onnx")
    onnx.save(given, slow)
    process = start(slow, temporary)
    deadline = time.monotonic() + 60
    while not list(temporary.glob("*/lock")) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert process.poll() is None
    process.terminate()
    output, _ = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM and output == ""
    started(model, temporary).communicate(timeout=60)
    assert names(temporary) == set()
