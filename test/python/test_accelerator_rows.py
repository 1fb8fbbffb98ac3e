"""Rows of tables that data chooses, and integers of 64 bits: on units, in the simulator."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import onnx
import perpend
import pytest
from cli.tool import BUILD, USAGE_ERROR, reject, succeed
from conformance.onnx_foreign import missing
from onnx import TensorProto
from python.test_accelerators import expect, floats, model_of, node

pytestmark = pytest.mark.skipif(bool(missing("quoin")), reason=missing("quoin") or "it is there")

TARGETS = ["quoin:t1", "quoin:c8"]
# By the compiler, about the small model below: how many times as long it takes without, at least.
DECIDED = {"ahead": 1.02, "chains": 1.2, "cores": 1.2, "residency": 1.2}
RANDOM = np.random.default_rng(3)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("index", [np.int64, np.int32])
@pytest.mark.parametrize(
    ("table", "rows", "axis"),
    [
        ((100, 64), (8, 16), 0),
        ((100, 3), (7,), 0),  # rows of less than ld.gather takes
        ((5, 30, 20), (4, 3), 1),
        ((5, 30, 7), (11,), 2),
        ((2000, 128), (5000,), 0),  # more rows than an instruction has
        ((9,), (4, 5), 0),
        ((33, 4, 5), (6,), 0),
        ((4, 8), (1,), 0),
    ],
)
def test_rows_of_a_table(
    table: tuple[int, ...], rows: tuple[int, ...], axis: int, index: type[np.generic], target: str
) -> None:
    extent = table[axis]
    inputs = {"x": floats(*table), "i": RANDOM.integers(-extent, extent, rows).astype(index)}
    assert expect(model_of([node("Gather", "x i", axis=axis)], inputs), inputs, target) == []


@pytest.mark.parametrize("target", TARGETS)
def test_sums_of_rows(target: str) -> None:
    inputs = {"x": floats(50, 24), "i": RANDOM.integers(0, 50, (12, 5))}
    model = model_of([node("Gather", "x i", "r"), node("ReduceSum", "r n", keepdims=0)], inputs, {"n": np.array([1])})
    assert expect(model, inputs, target) == []


@pytest.mark.parametrize("target", TARGETS)
def test_rows_beside_others(target: str) -> None:
    """Each part of a concatenation has its own rows; what is behind is a matrix whose lines no cut divides."""
    inputs = {"x": floats(40, 16), "i": RANDOM.integers(0, 40, 9), "j": RANDOM.integers(0, 40, 9), "m": floats(9, 5, 7)}
    nodes = [
        node("Gather", "x i", "a"),
        node("Gather", "x j", "b"),
        node("Reshape", "m s", "c"),
        node("Concat", "a b c", axis=1),
    ]
    assert expect(model_of(nodes, inputs, {"s": np.array([9, 35])}), inputs, target) == []


def pairs() -> tuple[np.ndarray, np.ndarray]:
    """The same, next to one another, different in the high word only, of both signs."""
    a, b = RANDOM.integers(-(2**62), 2**62, (2, 6, 7))
    b[0], b[1], b[2], b[3] = a[0], a[1] + 1, a[2] ^ (1 << 32), -3
    a[3] = np.arange(7) - 3
    return a, b


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "operator", ["Add", "Sub", "Max", "Min", "Less", "Equal", "Greater", "LessOrEqual", "GreaterOrEqual"]
)
def test_integers_of_64_bits(operator: str, target: str) -> None:
    a, b = pairs()
    nodes = [node(operator, "x b", "c"), node("Cast", "c", to=TensorProto.INT64)]
    assert expect(model_of(nodes, {"x": a, "b": b}), {"x": a, "b": b}, target) == []


@pytest.mark.parametrize("target", TARGETS)
def test_a_chosen_integer_of_64_bits_is_computed_with(target: str) -> None:
    a, b = pairs()
    nodes = [node("Less", "x b", "c"), node("Where", "c x b", "d"), node("Add", "d x")]
    assert expect(model_of(nodes, {"x": a, "b": b}), {"x": a, "b": b}, target) == []


def test_cores_share_both_words_of_integers(tmp_path: Path) -> None:
    """Low words begin at lines, high words 4 bytes behind: cores that write to different lines write the same number
    of both."""
    a, b = RANDOM.integers(-(2**62), 2**62, (2, 40, 64))
    model = model_of([node("Add", "x b")], {"x": a, "b": b})
    assert expect(model, {"x": a, "b": b}, "quoin:c8") == []
    onnx.save(model, tmp_path / "m.onnx")
    cycles_on("quoin:c8", tmp_path)
    cores = json.loads((tmp_path / "m.json").read_text())["cores"]
    assert [core["memories"]["DDR"]["written"] for core in cores] == [a.nbytes // 8] * 8


def test_an_index_beyond_32_bits_is_no_small_one() -> None:
    """It is outside of the table, and so the last row: not that of its low word."""
    inputs = {"x": floats(10, 16), "i": np.array([2**32 + 3, -(2**33) + 1, 4])}
    assert expect(model_of([node("Gather", "x i")], inputs), inputs) == []


def cycles_on(target: str, folder: Path) -> int:
    succeed("compile", "m.onnx", "--target", target, "-o", "m.qn", folder=folder)
    command = [BUILD / "bin" / "quoin-sim", "m.qn", "--mode=time", "--scalar-cycles=0", "--json=m.json"]
    subprocess.run(command, check=True, capture_output=True, cwd=folder, timeout=120)
    return int(json.loads((folder / "m.json").read_text())["cycles"])


def test_a_target_without_a_decision(tmp_path: Path) -> None:
    """Results are the same, and take longer where the decision is one."""
    x = floats(8, 64, 64)
    model = model_of([node("Softmax", "x", "s", axis=-1), node("Relu", "s", "r"), node("MatMul", "r x")], {"x": x})
    onnx.save(model, tmp_path / "m.onnx")
    whole, cycles = perpend.compile(model, target="quoin:c8")(x)[0], cycles_on("quoin:c8", tmp_path)
    for left_out in ("ahead", "chains", "cores", "epilogues", "parts", "pieces", "residency", "staging", "windows"):
        (got,) = perpend.compile(model, target=f"quoin:c8,-{left_out}")(x)
        np.testing.assert_allclose(got, whole, rtol=1e-5, atol=1e-5)
        without = cycles_on(f"quoin:c8,-{left_out}", tmp_path)
        least = DECIDED.get(left_out)
        assert without > least * cycles if least else without == cycles, left_out
    said = succeed("compile", "m.onnx", "--target", "quoin:c8,-staging,-parts", "-o", "m.qn", folder=tmp_path)
    assert "target quoin:c8,-parts,-staging" in said


@pytest.mark.parametrize("change", ["+parts", "-nothing", "-"])
def test_a_wrong_decision(change: str, tmp_path: Path) -> None:
    onnx.save(model_of([node("Relu", "x")], {"x": floats(2)}), tmp_path / "m.onnx")
    said = reject(
        "compile", "m.onnx", "--target", f"quoin:c8,{change}", "-o", "m.qn", folder=tmp_path, code=USAGE_ERROR
    )
    assert f"expected '-' and a decision to leave out, got '{change}'" in said and "hint: decisions: ahead, " in said


@pytest.mark.parametrize("target", TARGETS)
def test_numbers_of_rows_are_computed_where_they_are_read(target: str) -> None:
    """Several look-ups in one kernel, the last of them at indices that another one finds."""
    inputs = {
        "x": floats(40, 16),
        "v": floats(23, 16),
        "j": RANDOM.integers(-23, 23, (9, 2)),
        "links": RANDOM.integers(-40, 40, 30),
        "k": RANDOM.integers(-30, 30, 9),
    }
    nodes = [
        node("Gather", "j zero", "j0", axis=1),
        node("Gather", "j one", "j1", axis=1),
        node("Neg", "j1", "j2"),
        node("Max", "j2 least", "j3"),
        node("Min", "j3 most", "j4"),
        node("Gather", "v j0", "a"),
        node("Gather", "v j4", "b"),
        node("Gather", "links k", "i"),
        node("Gather", "x i", "c"),
        node("Concat", "a b c", axis=1),
    ]
    weights = {"zero": np.array(0), "one": np.array(1), "least": np.array(-23), "most": np.array(22)}
    (refused,) = expect(model_of(nodes, inputs, weights), inputs, target)  # rows of `links`, not what they choose
    assert "of elements of a type that no unit has" in refused
