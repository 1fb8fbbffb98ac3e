"""Malformed models end with a message: never with a signal, never late, never with all memory."""

import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("onnx")

from differential import PROGRAM
from hostile_models import hostile_models, valid_models

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="perpend is not built")

MODELS, BATCHES = 200, 20
SECONDS, BYTES = 60, 2 << 30


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def compile_model(folder: Path, data: bytes):
    (folder / "model.onnx").write_bytes(data)
    command = [PROGRAM, "compile", "model.onnx", "-o", "model.so", "--target", "x86-64-v3"]
    return subprocess.run(
        command, cwd=folder, capture_output=True, timeout=SECONDS, preexec_fn=limit_memory, check=False
    )


def complaint(folder: Path, data: bytes) -> str:
    """What is wrong with how the compiler ends; empty when it ends well."""
    try:
        done = compile_model(folder, data)
    except subprocess.TimeoutExpired:
        return f"no end after {SECONDS} s"
    said = done.stderr.decode(errors="replace")
    if done.returncode < 0:
        return f"{signal.Signals(-done.returncode).name}: {said[-300:]}"
    errors = said.count("error: ")
    if "perpend bug" in said or "Stack dump" in said:
        return f"its own mistake: {said[:300]}"
    if (done.returncode, errors) not in [(0, 0), (1, 1)]:
        return f"status {done.returncode} with {errors} errors: {said[:600]}"
    return ""


@pytest.mark.parametrize("number", range(len(valid_models())))
def test_the_models_that_are_mutated_compile(number, tmp_path):
    done = compile_model(tmp_path, valid_models()[number].SerializeToString())
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("batch", range(BATCHES))
def test_hostile_models(batch, tmp_path):
    """PERPEND_SEED draws others."""
    models = hostile_models(MODELS, os.environ.get("PERPEND_SEED", "1"))[batch::BATCHES]
    complaints = {name: complaint(tmp_path, data) for name, data in models}
    assert {name: text for name, text in complaints.items() if text} == {}
