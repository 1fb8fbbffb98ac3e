"""Limits of time and memory, and interruptions: a clear end, and nothing left behind."""

import re
import resource
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from cli.tool import DIGITS, PERPEND, USAGE_ERROR, perpend, reject, save, succeed, value
from onnx import helper, numpy_helper


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    """Takes seconds to compile: as many kernels as products, since each has another number of columns."""
    rows, count = 16, 300
    weights = [numpy_helper.from_array(np.eye(rows, 17 + i, dtype=np.float32), f"w{i}") for i in range(count)]
    nodes = [helper.make_node("MatMul", ["x", f"w{i}"], [f"y{i}"]) for i in range(count)]
    outputs = [value(f"y{i}", ["n", 17 + i]) for i in range(count)]
    return save(tmp_path / "slow.onnx", nodes, [value("x", ["n", rows])], outputs, weights)


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


@pytest.mark.parametrize("megabytes", range(4, 41))
def test_every_memory_limit(tmp_path: Path, megabytes: int) -> None:
    """Enough, or the one error: wherever memory ends, also where a thread would begin."""
    done = perpend("compile", DIGITS, "-o", "digits.so", "--max-mem", megabytes, folder=tmp_path)
    assert "terminate" not in done.stderr and "perpend bug" not in done.stderr
    if done.returncode == 0:
        assert done.stderr == "" and files_of(tmp_path) == {"digits.so", "digits.h"}
    else:
        assert done.returncode == 1
        assert re.fullmatch(
            rf"error: more than {megabytes} MB of memory are needed, the limit of --max-mem\nhint: .*\n", done.stderr
        )
        assert files_of(tmp_path) == set()


def test_memory_that_ends_in_an_operation(tmp_path: Path) -> None:
    """MLIR does not check whether it has memory for an operation: two of five such compilations crashed."""
    for _ in range(12):
        message = reject("compile", DIGITS, "-o", "digits.so", "--max-mem", 14, folder=tmp_path)
        assert message.startswith("error: more than 14 MB of memory are needed, the limit of --max-mem\nhint: ")


def limit_threads() -> None:
    """No thread begins: each would have a stack larger than the memory that the process may have."""
    resource.setrlimit(resource.RLIMIT_AS, (1 << 38, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 40, resource.RLIM_INFINITY))


def without_threads(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [PERPEND, *(str(argument) for argument in arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300, preexec_fn=limit_threads)


def test_a_system_without_threads(tmp_path: Path, tiny: Path) -> None:
    """The compiler goes on without; a limit of time needs one."""
    done = without_threads("compile", DIGITS, "-o", "digits.so", folder=tmp_path)
    assert done.returncode == 0 and done.stderr == ""
    done = without_threads("run", "digits.so", "--symbol", "n=3", folder=tmp_path)
    assert done.returncode == 0 and done.stderr == ""
    done = without_threads("compile", tiny, "-o", "tiny.so", "--max-time", 300, folder=tmp_path)
    assert done.returncode == USAGE_ERROR and done.stderr.count("error: ") == 1
    assert "option '--max-time': the system has no thread" in done.stderr and "hint: " in done.stderr


def test_a_system_without_memory(tmp_path: Path) -> None:
    """A limit that the tool did not ask for."""
    some = subprocess.run(
        [PERPEND, "compile", DIGITS, "-o", "digits.so"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (12 << 20, resource.RLIM_INFINITY)),
    )
    assert some.returncode == 1
    assert some.stderr.startswith("error: the system gives this process no more memory\nhint: ")
    assert files_of(tmp_path) == set()


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
