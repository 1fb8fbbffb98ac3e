"""A build that is not complete is named as such, with the command that completes it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run_with_build(build: Path, *command: str) -> str:
    """What a test runner prints when it fails, as it must."""
    for name in ["perpend", "count_allocations"]:  # what ./dev demo leaves out is perpend-opt
        (build / "bin").mkdir(exist_ok=True)
        (build / "bin" / name).touch()
    environment = {**os.environ, "PERPEND_BUILD": str(build)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode != 0, done.stdout
    return done.stdout + done.stderr


def test_lit(tmp_path: Path) -> None:
    lit = Path(sys.executable).with_name("lit")
    text = run_with_build(tmp_path, str(lit), "test/graph/verify.mlir")
    assert f"{tmp_path}/bin/perpend-opt is missing\nhint: ./dev build\n" in text
    assert "command not found" not in text


def test_pytest(tmp_path: Path) -> None:
    pytest_command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    text = run_with_build(tmp_path, *pytest_command, "test/cli/test_usage.py::test_version_and_targets")
    assert f"not built: {tmp_path}/python/perpend/_perpend*.so\nhint: ./dev build\n" in text


def test_pytest_says_nothing_of_a_complete_build() -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "test/cli/test_usage.py",
        "-k",
        "nothing",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "not built" not in done.stdout
