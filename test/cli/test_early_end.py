"""Limits of time and memory, and interruptions: a clear end, and nothing left behind."""

import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from cli.tool import PERPEND, reject, save, succeed, value
from onnx import helper, numpy_helper


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    """Takes seconds to compile: constants that are folded, product by product."""
    size, count = 1024, 40
    weight = numpy_helper.from_array(np.eye(size, dtype=np.float32), "w")
    nodes = [helper.make_node("MatMul", [f"t{i}" if i else "w", "w"], [f"t{i + 1}"]) for i in range(count)]
    nodes.append(helper.make_node("MatMul", ["x", f"t{count}"], ["y"]))
    return save(tmp_path / "slow.onnx", nodes, [value("x", ["n", size])], [value("y", ["n", size])], [weight])


def files_of(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_time_limit(tmp_path: Path, slow: Path) -> None:
    start = time.monotonic()
    message = reject("compile", slow, "-o", "slow.so", "--max-time", 1, folder=tmp_path)
    assert "more than 1 s" in message and "--max-time" in message and "hint: " in message
    assert time.monotonic() - start < 30
    assert files_of(tmp_path) == {"slow.onnx"}


def test_memory_limit(tmp_path: Path, slow: Path) -> None:
    message = reject("compile", slow, "-o", "slow.so", "--max-mem", 12, folder=tmp_path)
    assert "memory" in message and "--max-mem" in message and "hint: " in message
    assert files_of(tmp_path) == {"slow.onnx"}


def test_limits_that_are_not_reached(tmp_path: Path, tiny: Path) -> None:
    succeed("compile", tiny, "-o", "tiny.so", "--max-time", 300, "--max-mem", 4000, folder=tmp_path)
    assert files_of(tmp_path) == {"tiny.onnx", "tiny.so", "tiny.h"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_measurement(tmp_path: Path, tiny: Path, number: signal.Signals) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = subprocess.Popen(
        [PERPEND, "bench", tiny, "--time", "60000"], cwd=tmp_path, env={"TMPDIR": str(temporary)}
    )
    deadline = time.monotonic() + 60
    while not list(temporary.glob("*/model.so")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert process.poll() is None
    process.send_signal(number)
    assert process.wait(timeout=30) == -number
    assert files_of(temporary) == set()
