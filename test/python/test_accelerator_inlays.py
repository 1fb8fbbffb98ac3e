"""Values lie inside of larger ones from the beginning, in place of being copied there."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import perpend
import pytest
from cli.tool import BUILD
from conformance.onnx_foreign import missing
from python.test_accelerators import expect, floats, model_of, node

pytestmark = pytest.mark.skipif(bool(missing("quoin")), reason=missing("quoin") or "it is there")

TARGETS = ["quoin:t1", "quoin:c8"]
ROWS, COLUMNS = 48, 32
WEIGHTS = {
    "w": floats(COLUMNS, 2 * COLUMNS) / 6,
    "z": floats(2 * COLUMNS, COLUMNS) / 8,
    "v": floats(3 * COLUMNS, COLUMNS) / 10,
    "t": floats(4 * COLUMNS, COLUMNS) / 12,
    "n": floats(5 * COLUMNS, COLUMNS) / 12,
    "u": floats(COLUMNS, 16) / 6,
    "k": floats(3 * COLUMNS, 16) / 10,
    "square": floats(ROWS, ROWS) / 7,
    "more": floats(16, COLUMNS),
    "shape": np.array([ROWS // 2, 4 * COLUMNS]),
    "back": np.array([ROWS, COLUMNS]),
    "zero": np.array([0]),
    "one": np.array([1]),
    "eight": np.array([8]),
    "forty": np.array([40]),
}
BEFORE = [node("MatMul", "x w", "a"), node("MatMul", "a z", "b"), node("Concat", "a b", "c", axis=1)]
PRODUCT = node("MatMul", "c v", "q")
SUM = [PRODUCT, node("Add", "p q")]
NETS = {  # what is done with a, b, and c, both side by side
    "a chain": [
        node("Relu", "c", "d"),
        node("MatMul", "d v", "e"),
        node("Concat", "c e", "f", axis=1),
        node("Sigmoid", "f", "g"),
        node("MatMul", "g t"),
    ],
    "the other way round": [node("Concat", "b a", "f", axis=1), node("Sub", "f c", "g"), node("MatMul", "g v")],
    "rows": [node("Softmax", "a", "s"), node("MatMul", "s z", "p"), *SUM],
    "columns": [node("ReduceMax", "a zero", "m"), node("MatMul", "m z", "p"), *SUM],
    "across": [node("Transpose", "a", "s", perm=[1, 0]), node("MatMul", "s c", "p"), node("Relu", "p")],
    "a right factor": [node("MatMul", "square a", "s"), node("MatMul", "s z", "p"), *SUM],
    "a table": [node("Gather", "a i", "s"), node("MatMul", "s z", "p"), *SUM],
    "some columns": [
        node("Slice", "a eight forty one", "s"),
        node("MatMul", "s u", "p"),
        PRODUCT,
        node("Concat", "p q", axis=1),
    ],
    "rows of another length": [
        node("Relu", "a", "r"),
        node("Reshape", "a shape", "s"),
        node("MatMul", "s t", "p"),
        node("ReduceMean", "p zero", "m"),
        PRODUCT,
        node("Add", "q m"),
    ],
    "twice": [node("Concat", "a a b", "f", axis=1), node("MatMul", "f n", "p"), *SUM],
    "rows behind rows": [
        node("Concat", "b more", "f", axis=0),
        node("MatMul", "f u", "p"),
        node("MatMul", "c k", "q"),
        node("Concat", "p q", axis=0),
    ],
    "written over": [PRODUCT, node("Add", "q b", "r"), node("MatMul", "r u")],
    "a result": [PRODUCT, node("Concat", "q c", axis=1)],
}
# Elements of a row that need no copy at least, if others than those of c: with f there are more, beside a table fewer.
INSIDE = {"a chain": 7 * COLUMNS, "a table": COLUMNS}


def verify(program: Path) -> None:
    command = [BUILD / "bin" / "quoin-verify", program]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


def written(model: Any, target: str, folder: Path) -> int:
    """Bytes, to LLB."""
    return written_by(perpend.import_model(model), target, folder)


def written_by(module: perpend.Module, target: str, folder: Path) -> int:
    path, report = folder / "program.qn", folder / "report.json"
    module.compile(str(path), {"target": target})
    verify(path)
    command = [BUILD / "bin" / "quoin-sim", path, "--mode=time", "--scalar-cycles=0", f"--json={report}"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return sum(int(core["memories"]["LLB"]["written"]) for core in json.loads(report.read_text())["cores"])


def saved(model: Any, target: str, folder: Path) -> int:
    """Bytes that are not written to LLB because values lie inside of others, beside no copies of constants."""
    inside, apart = (written(model, f"{target},-ahead{each}", folder) for each in ("", ",-sharing"))
    return apart - inside


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("target", TARGETS)
def test_values_inside_of_others(name: str, target: str, tmp_path: Path) -> None:
    nodes = [*BEFORE, *NETS[name]]
    inputs = {"x": floats(ROWS, COLUMNS)}
    if name == "a table":
        inputs["i"] = np.arange(ROWS)[::-1] // 2
    weights = {each: value for each, value in WEIGHTS.items() if any(each in one.input for one in nodes)}
    model = model_of(nodes, inputs, weights)
    assert expect(model, inputs, target) == []
    assert saved(model, target, tmp_path) >= 4 * ROWS * INSIDE.get(name, 3 * COLUMNS)


def dense_block(channels: int, growth: int, layers: int) -> tuple[list[Any], dict[str, np.ndarray]]:
    """Each layer reads all results before it, and adds its own. The second convolution has a border."""
    nodes, weights = [node("Relu", "x", "c0")], {}
    for layer in range(layers):
        weights |= {
            f"s{layer}": floats(1, channels, 1, 1),
            f"w{layer}": floats(16, channels, 1, 1) / 4,
            f"v{layer}": floats(growth, 16, 3, 3) / 8,
        }
        nodes += [
            node("Mul", f"c{layer} s{layer}", f"m{layer}"),
            node("Relu", f"m{layer}", f"r{layer}"),
            node("Conv", f"r{layer} w{layer}", f"h{layer}"),
            node("Relu", f"h{layer}", f"g{layer}"),
            node("Conv", f"g{layer} v{layer}", f"y{layer}", pads=[1, 1, 1, 1]),
            node("Concat", f"c{layer} y{layer}", f"c{layer + 1}", axis=1),
        ]
        channels += growth
    weights["last"] = floats(16, channels, 3, 3) / 20
    return [*nodes, node("Conv", f"c{layers} last", pads=[1, 1, 1, 1])], weights


@pytest.mark.parametrize("growth", [16, 32, 12])
@pytest.mark.parametrize("target", TARGETS)
def test_dense_blocks(target: str, growth: int, tmp_path: Path) -> None:
    """Rows of 12 elements do not end at lines of memory: these stay copies."""
    x = floats(2, 16, 7, 9)
    nodes, weights = dense_block(16, growth, 3)
    model = model_of(nodes, {"x": x}, weights)
    assert expect(model, {"x": x}, target) == []
    assert (saved(model, target, tmp_path) > 0) == (growth != 12)


def test_a_border_around_what_lies_inside(tmp_path: Path) -> None:
    """The first convolution with a border reads a value before it is a part of another one, and stays copied."""
    weights = {"v": floats(32, 16, 3, 3) / 8, "w": floats(16, 48, 3, 3) / 16}
    nodes = [node("Relu", "x", "a"), node("Conv", "a v", "b", pads=[1, 1, 1, 1]), node("Concat", "a b", "c", axis=1)]
    model = model_of([*nodes, node("Conv", "c w", pads=[1, 1, 1, 1])], {"x": floats(2, 16, 7, 9)}, weights)
    x = floats(2, 16, 7, 9)
    for target in TARGETS:
        assert expect(model, {"x": x}, target) == []
        assert saved(model, target, tmp_path) == 0


@pytest.mark.parametrize("axis", ["zero", "one"])
@pytest.mark.parametrize("target", TARGETS)
def test_what_a_scalar_kernel_reads_lies_apart(target: str, axis: str, tmp_path: Path) -> None:
    """No unit reads backwards, which is known when instructions are chosen: all values then lie apart after all."""
    nodes = [*BEFORE, node("Slice", f"a last first {axis} back", "s"), node("MatMul", "s z", "p"), *SUM]
    inputs = {"x": floats(ROWS, COLUMNS)}
    constants = WEIGHTS | {"last": np.array([-1]), "first": np.array([-1000]), "back": np.array([-1])}
    model = model_of(nodes, inputs, {each: constants[each] for each in [*"zvw", "last", "first", "back", axis]})
    (refused,) = expect(model, inputs, target)
    assert "an operand that is read backwards" in refused
    assert saved(model, target, tmp_path) == 0


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("columns", [7, 32, 40])
def test_rows_times_themselves(target: str, columns: int) -> None:
    """Both factors of each product are the same."""
    inputs = {"x": floats(6, 27, columns)}
    nodes = [node("Relu", "x", "r"), node("Transpose", "r", "t", perm=[0, 2, 1]), node("MatMul", "r t")]
    assert expect(model_of(nodes, inputs), inputs, target) == []
    nodes[2] = node("MatMul", "t r")
    assert expect(model_of(nodes, inputs), inputs, target) == []
