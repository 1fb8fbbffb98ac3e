"""Mutated traces are done or refused with one error: never a signal, never late, never half done, never other results.

python test_traces.py FIRST COUNT FOLDER tries others and keeps what goes wrong.
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
from mutated_text import NUMBERS, mutate_line, replace_one
from onnx import TensorProto, helper, numpy_helper

COUNT, BATCHES = 240, 4
SECONDS, BYTES = 240, 6 << 30
ROWS = 5  # what n is

PRODUCT = """\
%product = get_block "contract"
%out = cache_write %product, "local"
%i, %j = get_loops %out
%i0, %i1 = split %i, [_, 4]
%j0, %j1 = split %j, [_, 8]
reorder %j0, %i0, %i1, %j1
compute_at %product, %i0
%panel = cache_read %product, 1, "local"
compute_at %panel, %j0
%a, %b, %x, %y, %k = get_loops %product
%init = decompose_reduction %product, %x
reorder %k, %x, %y
unroll %x
vectorize %y
annotate %k, "note", [1, "two"]
unroll %i1
vectorize %j1
parallel %j0
"""
SUM = """\
%product = get_block "contract"
%i, %j, %k = get_loops %product
%k0, %k1 = split %k, [2, _]
%part = rfactor %k1, 0
%u = add_unit_loop %product
%f = fuse %i, %j
unannotate %f, "note"
set_scope %part, "local"
%all = get_output_blocks
"""


def models() -> dict[str, onnx.ModelProto]:
    def model(nodes, inputs, weights=()):
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        graph = helper.make_graph(nodes, "small", values, [y], list(weights))
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    scale = numpy_helper.from_array(np.arange(8, dtype=np.float32), "s")
    return {
        "product": model([helper.make_node("MatMul", ["a", "b"], ["y"])], {"a": [7, 5], "b": [5, 6]}),
        "rows": model([helper.make_node("MatMul", ["a", "b"], ["y"])], {"a": ["n", 8], "b": [8, 16]}),
        "softmax": model([helper.make_node("Softmax", ["a"], ["y"])], {"a": ["n", 9]}),
        "norm": model([helper.make_node("LayerNormalization", ["a", "s"], ["y"])], {"a": [3, 8]}, [scale]),
    }


def rows_of(blocks: list[str]) -> str:
    """All blocks for one row, then the next."""
    inner = [f'%{name} = get_block "{name}"\ncompute_at %{name}, %f\n' for name in reversed(blocks[:-1])]
    return f"""\
%last = get_block "{blocks[-1]}"
%i, %j = get_loops %last
%f = fuse %i
%j0, %j1 = split %j, [_, 4]
{"".join(inner)}vectorize %j1
parallel %f
"""


def drop_character(draw: random.Random, text: str) -> str:
    at = draw.randrange(len(text))
    return text[:at] + draw.choice(["", "(", '"', "<", "%", ",", "\\", "\0", "é", "_"]) + text[at + 1 :]


def mutated(text: str, draw: random.Random, blocks: list[str]) -> str:
    """Other numbers, values, blocks, primitives, operands and lines."""
    names = [primitive.name for primitive in perpend._perpend.primitives()]
    values = [*re.findall(r"%\w+", text), "%nothing"]
    changes = [
        lambda t: replace_one(draw, t, r"(?<=[\[ ])\d+", lambda _: str(draw.choice([*NUMBERS, 1, 2, 3, 4, 6, 9]))),
        lambda t: replace_one(draw, t, r"%\w+(?=.*$)", lambda _: draw.choice(values)),
        lambda t: replace_one(draw, t, r'(?<=get_block )"\w+"', lambda _: f'"{draw.choice(blocks)}"'),
        lambda t: replace_one(
            draw, t, r"^(?:.* = )?\w+", lambda found: f"{found[0].rpartition(' ')[0]} {draw.choice(names)}"
        ),
        lambda t: replace_one(draw, t, r", [^,\n]+", lambda _: ""),
        lambda t: replace_one(
            draw, t, r"$", lambda _: draw.choice([", 1", ", %i", ', "local"', ", [_, 2]", ", [2, 1]"])
        ),
        lambda t: mutate_line(draw, t),
        lambda t: mutate_line(draw, t),
        lambda t: drop_character(draw, t),
    ]
    for _ in range(draw.choice([1, 1, 1, 1, 2, 4])):
        lines = draw.choice(changes[:6] if draw.random() < 0.8 else changes[6:])
        if lines in changes[:6]:
            several = text.split("\n")
            at = draw.randrange(len(several))
            several[at] = lines(several[at])
            text = "\n".join(several)
        else:
            text = lines(text)
    return text


def inputs_of(model: perpend.Model) -> list[np.ndarray]:
    draw = np.random.default_rng(1)
    shapes = [[ROWS if isinstance(extent, str) else extent for extent in info.shape] for info in model.inputs]
    return [draw.integers(-4, 4, shape).astype(np.float32) for shape in shapes]


class Kernel:
    """A model of one kernel, and what it computes."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.module = perpend.import_model(model)
        self.blocks = re.findall(r'tile.block "(\w+)"', perpend.Schedule(self.module, target="x86-64-v3").mod)
        built = perpend.compile(self.module, "x86-64-v3", threads=1)
        self.inputs = inputs_of(built)
        self.expected = built(*self.inputs)

    def traces(self) -> list[str]:
        return [PRODUCT, PRODUCT, SUM] if "contract" in self.blocks else [rows_of(self.blocks)]

    def complaint(self, trace: str, builds: bool) -> str:
        """What is wrong with how a trace ends; empty when all is well."""
        schedule = perpend.Schedule(self.module, target="x86-64-v3")
        before = schedule.mod
        try:
            schedule.replay(trace)
        except perpend.ScheduleError as error:
            if not re.match(r"line \d+, column \d+: ", str(error)) or "perpend bug" in str(error):
                return f"an error without a place: {error}"
            return "" if (schedule.mod, schedule.trace) == (before, "") else f"half done: {schedule.trace}"
        again = perpend.Schedule(self.module, target="x86-64-v3")
        again.replay(schedule.trace)
        if (again.mod, again.trace) != (schedule.mod, schedule.trace):
            return f"other than what its own trace does:\n{schedule.trace}"
        return self.difference(schedule) if builds else ""

    def difference(self, schedule: perpend.Schedule) -> str:
        try:
            result = schedule.build(threads=1)(*self.inputs)
        except perpend.CompileError as error:
            said = str(error)
            return "" if "hint: " in said and "perpend bug" not in said else f"does not compile: {said}"
        close = np.allclose(result, self.expected, rtol=1e-5, atol=1e-5)
        return "" if close else f"other results:\n{schedule.trace}"


def draw_trace(number: int, kernels: dict[str, Kernel]) -> tuple[str, str]:
    draw = random.Random(f"{os.environ.get('PERPEND_SEED', '1')} {number}")
    name = draw.choice(list(kernels))
    return name, mutated(draw.choice(kernels[name].traces()), draw, kernels[name].blocks)


def try_all(first: int, count: int) -> None:
    """Prints each number before it is tried, and what is wrong."""
    kernels = {name: Kernel(model) for name, model in models().items()}
    for number in range(first, first + count):
        name, trace = draw_trace(number, kernels)
        print(f"{number} {name}", flush=True)
        if wrong := kernels[name].complaint(trace, builds=number % 3 == 0):
            print(f"WRONG {number} {name}: {wrong}\n{trace}", flush=True)


def limit_resources() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def complaints(first: int, count: int) -> str:
    """What a process of its own says of these numbers; empty when all is well."""
    command = [sys.executable, __file__, "try", str(first), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit_resources)
    if done.returncode:
        return f"status {done.returncode} at {done.stdout.splitlines()[-1:]}: {done.stderr[-2000:]}"
    _, wrong, text = done.stdout.partition("WRONG ")
    return wrong + text


@pytest.mark.parametrize("name", ["product", "rows", "softmax", "norm"])
def test_the_traces_that_are_mutated_do_something(name: str) -> None:
    kernel = Kernel(models()[name])
    trace = kernel.traces()[0]
    perpend.Schedule(kernel.module, target="x86-64-v3").replay(trace)
    assert kernel.complaint(trace, builds=True) == ""


@pytest.mark.parametrize("batch", range(BATCHES))
def test_mutated_traces(batch: int) -> None:
    """PERPEND_SEED draws others."""
    assert complaints(batch * (COUNT // BATCHES), COUNT // BATCHES) == ""


def main(first: int, count: int, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for begin in range(first, first + count, 50):
        if wrong := complaints(begin, min(50, first + count - begin)):
            (folder / f"{begin}.txt").write_text(wrong)
            print(f"--- {begin}: {wrong[:3000]}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "try":
        try_all(int(sys.argv[2]), int(sys.argv[3]))
    else:
        main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
