"""Mutated modules of text end with a message: never with a signal, never late, never with all memory.

python test_text_modules.py FIRST COUNT FOLDER tries others and keeps what goes wrong.
"""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from differential import PROGRAM
from hostile_models import valid_models
from mutated_text import mutated, without_locations

COUNT, BATCHES = 120, 6
SECONDS, WALL_SECONDS, BYTES = 20, 600, 3 << 30
TARGET = ["--target", "x86-64-v3"]
# Phases behind which the module is text that can be given again, and the phase that comes next.
STARTS = {
    "": "",
    "simplify": "layout",
    "layout": "pack",
    "pack": "fuse",
    "fuse": "schedule",
    "schedule": "tile",
    "tile": "plan",
    "plan": "lower",
}
LOOPS = ["tile", "plan"]  # of kernels, which may load from anywhere: such code is not run


def limit_resources():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def perpend(folder: Path, *arguments: str):
    return subprocess.run(
        [PROGRAM, *arguments],
        cwd=folder,
        capture_output=True,
        timeout=WALL_SECONDS,
        preexec_fn=limit_resources,
        check=False,
    )


def complaint_about(done) -> str:
    said = done.stderr.decode(errors="replace")
    if done.returncode < 0:
        return f"{signal.Signals(-done.returncode).name}: {said[-300:]}"
    errors = sum(line.startswith("error: ") for line in said.splitlines())
    if "perpend bug" in said or "Stack dump" in said or "Assertion" in said:
        return f"its own mistake: {said[:600]}"
    if (done.returncode, errors) not in [(0, 0), (1, 1)]:
        return f"status {done.returncode} with {errors} errors: {said[:600]}"
    return ""


def complaint(folder: Path, text: str, phase: str) -> str:
    """What is wrong with how the compiler or the compiled module ends; empty when all is well."""
    (folder / "m.mlir").write_text(text)
    start = ["--start-from", STARTS[phase]] if phase else []
    done = perpend(folder, "compile", "m.mlir", "-o", "m.so", *start, *TARGET)
    if (wrong := complaint_about(done)) or done.returncode or phase in LOOPS:
        return wrong
    return complaint_about(perpend(folder, "check", "m.mlir", *TARGET) if not phase else perpend(folder, "run", "m.so"))


def valid_texts(folder: Path) -> list[tuple[str, str]]:
    """Small modules behind each phase."""
    texts = []
    for model in valid_models():
        (folder / "m.onnx").write_bytes(model.SerializeToString())
        for phase in STARTS:
            level = ["--stop-after", phase] if phase else ["--stop-after", "simplify", "-O", "0"]
            done = perpend(folder, "compile", "m.onnx", *level, *TARGET)
            assert done.returncode == 0
            texts.append((phase, without_locations(done.stdout.decode())))
    return texts


def draw_module(texts: list[tuple[str, str]], number: int) -> tuple[str, str]:
    phase, text = texts[number * 7919 % len(texts)]
    return phase, mutated(text, f"{os.environ.get('PERPEND_SEED', '1')} {number}")


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    return valid_texts(tmp_path_factory.mktemp("valid"))


def test_the_modules_that_are_mutated_compile(texts: list[tuple[str, str]], tmp_path: Path) -> None:
    complaints = [complaint(tmp_path, text, phase) for phase, text in texts]
    assert [text for text in complaints if text] == []


@pytest.mark.parametrize("batch", range(BATCHES))
def test_mutated_modules(texts: list[tuple[str, str]], batch: int, tmp_path: Path) -> None:
    """PERPEND_SEED draws others."""
    complaints = {}
    for number in range(batch, COUNT, BATCHES):
        phase, text = draw_module(texts, number)
        complaints[number] = complaint(tmp_path, text, phase)
    assert {number: text for number, text in complaints.items() if text} == {}


def main(first: int, count: int, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    texts = valid_texts(folder)
    for number in range(first, first + count):
        phase, text = draw_module(texts, number)
        try:
            wrong = complaint(folder, text, phase)
        except subprocess.TimeoutExpired:
            wrong = "it does not end"
        if wrong:
            (folder / f"{number}-{phase or 'none'}.mlir").write_text(text)
            print(f"--- {number} (start from {STARTS[phase] or 'the beginning'}): {wrong}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
