"""Malformed models end with a message: never with a signal, never late, never with all memory."""

import os
import resource
import signal
import subprocess
from pathlib import Path

import onnxruntime
import pytest
from differential import PROGRAM
from hostile_models import hostile_models, valid_models

CORPUS = Path(__file__).parent / "corpus"
MODELS, BATCHES = 280, 20  # more than 200 of them are malformed
SECONDS, WALL_SECONDS, BYTES = 60, 900, 2 << 30


def limit_resources():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def compile_model(folder: Path, data: bytes):
    (folder / "model.onnx").write_bytes(data)
    command = [PROGRAM, "compile", "model.onnx", "-o", "model.so", "--target", "x86-64-v3"]
    return subprocess.run(
        command, cwd=folder, capture_output=True, timeout=WALL_SECONDS, preexec_fn=limit_resources, check=False
    )


# What ONNX Runtime says of models that are understood all the same.
UNDERSTOOD = [
    "Field 'name' of",  # graphs without a name
    "Invalid tensor data type 0",  # types of values inside graphs are derived
    "inferred and declared dimension",  # shapes that a body declares for its results are derived, too
    "Field 'type' of 'attr' is required",  # as the next
    "type field and data field mismatch",  # a type that is absent is that of the data
    "expect a float",  # a number that is absent is 0, as protocol buffers have it
    "is an outer scope value being returned directly",  # a branch may give what it can read
    "string_normalizer.cc",  # names of locales: letters change case as Unicode says, everywhere
]


def refusal_elsewhere(data: bytes) -> str:
    """What ONNX Runtime says against a model; empty when it takes it."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        return str(error)
    return ""


def complaint(folder: Path, data: bytes) -> str:
    """What is wrong with how the compiler ends, or with that it takes the model; empty when all is well."""
    done = compile_model(folder, data)
    if bad_end := complaint_about(done):
        return bad_end
    is_whole = done.returncode == 0 and b"branch will be an error" not in done.stderr
    refusal = refusal_elsewhere(data) if is_whole else ""
    if not refusal or any(reason in refusal for reason in UNDERSTOOD):
        return ""
    return f"compiled, but ONNX Runtime refuses it: {refusal[:300]}"


def complaint_about(done) -> str:
    said = done.stderr.decode(errors="replace")
    if done.returncode < 0:
        return f"{signal.Signals(-done.returncode).name}: {said[-300:]}"
    errors = sum(line.startswith("error: ") for line in said.splitlines())
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


@pytest.mark.parametrize("batch", range(BATCHES))
def test_inputs_that_the_fuzzers_keep(batch, tmp_path):
    files = sorted(CORPUS.iterdir())
    assert len(files) > BATCHES
    complaints = {
        path.name: complaint_about(compile_model(tmp_path, path.read_bytes())) for path in files[batch::BATCHES]
    }
    assert {name: text for name, text in complaints.items() if text} == {}
