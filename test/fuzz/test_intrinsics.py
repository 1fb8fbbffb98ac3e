"""Mutated files of intrinsics are used or refused with one error: never a signal, never late, never other results.

PYTHONPATH=test python test/fuzz/test_intrinsics.py FIRST COUNT FOLDER tries others and keeps what goes wrong.
"""

import os
import random
import re
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import perpend
import pytest
from cli.test_intrinsics import INTRINSIC, TRACE
from mutated_text import mutate_line, replace_one
from onnx import TensorProto, helper

COUNT, BATCHES = 120, 3
SECONDS, BYTES = 240, 6 << 30

DRAW = np.random.default_rng(1)
LEFT, RIGHT = DRAW.integers(-4, 4, (7, 5)).astype(np.float32), DRAW.integers(-4, 4, (5, 24)).astype(np.float32)


def product() -> onnx.ModelProto:
    a, b, y = (
        helper.make_tensor_value_info(*it)
        for it in (("a", TensorProto.FLOAT, [7, 5]), ("b", TensorProto.FLOAT, [5, 24]), ("y", TensorProto.FLOAT, None))
    )
    graph = helper.make_graph([helper.make_node("MatMul", ["a", "b"], ["y"])], "small", [a, b], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


ENTRIES = ['["_", "1"]', '["1", "_"]', '["1"]', "[]", '"depth"', '"8"', '["avx2"]', '"lanes"', "@columns", "unit", "7"]
OPERATIONS = [
    "memref.load",
    "vector.load",
    "arith.addf",
    "arith.mulf",
    "vector.fma",
    "llvm.add",
    "func.call",
    "math.exp",
]


def mutated(draw: random.Random) -> str:
    """Other entries, operations, values, types, numbers and lines; mostly one."""
    text = INTRINSIC
    values = re.findall(r"%\w+", text)
    changes = [
        lambda t: replace_one(draw, t, r"(?<= = )(\[.*\]|\".*\")(?=,\n)", lambda _: draw.choice(ENTRIES)),
        lambda t: replace_one(draw, t, r"\[\"[^\]]*\"\]", lambda _: draw.choice(ENTRIES)),
        lambda t: replace_one(draw, t, r"(?<= )[a-z]+\.[a-z]+(?= )", lambda _: draw.choice(OPERATIONS)),
        lambda t: replace_one(draw, t, r"%\w+(?!\w*:)", lambda _: draw.choice(values)),
        lambda t: replace_one(draw, t, r"\b8\b", lambda _: draw.choice(["4", "16", "7", "0", "depth", "1"])),
        lambda t: replace_one(draw, t, r"\b(depth|f32)\b", lambda _: draw.choice(["f64", "i32", "depth", "n", "f16"])),
        lambda t: replace_one(draw, t, r"(?<=[\[<])[?1](?=[,\]x])", lambda _: draw.choice("?128")),
        lambda t: mutate_line(draw, t),
        lambda t: mutate_line(draw, t),
    ]
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        text = draw.choice(changes)(text)
    return text


def complaint(text: str, folder: Path) -> str:
    """What is wrong with how a file ends; empty when all is well."""
    path = folder / "mutated.mlir"
    path.write_text(text)
    try:
        schedule = perpend.Schedule(product(), target="x86-64-v3", intrinsics=path)
    except perpend.CompileError as error:
        said = str(error)
        isPlaced = said.startswith(f"{path}:") or "mutated.mlir" in said.split("\n")[0]
        return "" if isPlaced and "perpend bug" not in said else f"an error without a place: {said}"
    try:
        schedule.replay(TRACE)
    except perpend.ScheduleError as error:
        return "" if "perpend bug" not in str(error) else str(error)
    result = schedule.build(threads=1)(LEFT, RIGHT)
    return "" if np.array_equal(result, LEFT @ RIGHT) else "other results"


def try_all(first: int, count: int, folder: Path) -> None:
    """Prints each number before it is tried, and what is wrong."""
    for number in range(first, first + count):
        text = mutated(random.Random(f"{os.environ.get('PERPEND_SEED', '1')} {number}"))
        print(number, flush=True)
        if wrong := complaint(text, folder):
            print(f"WRONG {number}: {wrong}\n{text}", flush=True)


def limit_resources() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def complaints(first: int, count: int, folder: Path) -> str:
    """What a process of its own says of these numbers; empty when all is well."""
    command = [sys.executable, __file__, "try", str(first), str(count), str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit_resources, env=environment)
    if done.returncode:
        return f"status {done.returncode} at {done.stdout.splitlines()[-1:]}: {done.stderr[-2000:]}"
    _, wrong, text = done.stdout.partition("WRONG ")
    return wrong + text


def test_the_file_that_is_mutated_is_used(tmp_path: Path) -> None:
    assert complaint(INTRINSIC, tmp_path) == ""


@pytest.mark.parametrize("batch", range(BATCHES))
def test_mutated_intrinsics(batch: int, tmp_path: Path) -> None:
    """PERPEND_SEED draws others."""
    assert complaints(batch * (COUNT // BATCHES), COUNT // BATCHES, tmp_path) == ""


def main(first: int, count: int, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for begin in range(first, first + count, 50):
        if wrong := complaints(begin, min(50, first + count - begin), folder):
            (folder / f"{begin}.txt").write_text(wrong)
            print(f"--- {begin}: {wrong[:3000]}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "try":
        try_all(int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
    else:
        main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
