"""What an accelerator's vector unit does for a model: each value once, in few and long rows."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import perpend
import pytest
from cli.tool import BUILD
from conformance.onnx_foreign import missing
from onnx import TensorProto, helper
from python.test_accelerators import expect, floats, model_of, node

pytestmark = pytest.mark.skipif(bool(missing("quoin")), reason=missing("quoin") or "it is there")


def instructions_of(model: Any, folder: Path, target: str = "quoin:c1") -> list[str]:
    path = folder / "program.qn"
    perpend.import_model(model).compile(str(path), {"target": target})
    run = subprocess.run([BUILD / "bin" / "quoin-dis", path], capture_output=True, text=True, check=True, timeout=120)
    return [line.strip() for line in run.stdout.splitlines()]


def names_of(instructions: list[str]) -> list[str]:
    return [line.split()[0] for line in instructions if line]


def test_nests_of_a_chain_share_values(tmp_path: Path) -> None:
    """The difference from the mean is there once, and what is multiplied and shifted is one instruction."""
    x = floats(16, 64)
    nodes = [node("LayerNormalization", "x scale shift", axis=-1)]
    model = model_of(nodes, {"x": x}, {"scale": floats(64), "shift": floats(64)})
    assert expect(model, {"x": x}) == []
    names = [name.split(".")[0] for name in names_of(instructions_of(model, tmp_path))]
    assert names.count("sub") == 1 and names.count("fma") == 1


def test_powers_may_be_subnormal(tmp_path: Path) -> None:
    x = np.array([[0, -87, -88, -95, -103, -104, -np.inf, -1000]], np.float32)
    model = model_of([node("Softmax", "x")], {"x": x})
    assert expect(model, {"x": x}) == []
    names = names_of(instructions_of(model, tmp_path))
    assert "exp" in names and "sel" not in names
    (got,) = perpend.compile(model, target="quoin:t1")(x)
    wanted = np.exp(x.astype(np.float64)) / np.exp(x.astype(np.float64)).sum()
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=2e-45)


@pytest.mark.parametrize("perm", [(0, 2, 3, 1), (0, 3, 1, 2), (2, 0, 3, 1)])
def test_rows_of_moves_are_long(perm: tuple[int, ...], tmp_path: Path) -> None:
    x = floats(2, 3, 40, 64) if perm != (0, 3, 1, 2) else floats(2, 40, 64, 3)
    model = model_of([node("Transpose", "x", perm=list(perm))], {"x": x})
    assert expect(model, {"x": x}) == []
    moves = [line for line in instructions_of(model, tmp_path) if line.startswith("mov")]
    assert moves and all(int(re.findall(r"e0=(\d+)", line)[0]) >= 16 for line in moves)


def test_what_lies_together_is_one_row(tmp_path: Path) -> None:
    x, w = floats(1, 8, 30, 32), floats(8, 1, 3, 3)
    lines = instructions_of(model_of([node("Conv", "x w", group=8)], {"x": x}, {"w": w}), tmp_path)
    for line in lines:
        extents = {name: int(value) for name, value in re.findall(r"(e[012])=(\d+)", line)}
        rows = re.findall(r"s1=\((\d+),(\d+)", line)
        if line.startswith(("ld.2d", "ld.3d", "st.2d", "st.3d")) and rows:
            assert not all(int(pitch) == extents["e0"] for pitch in rows[0]), line


def test_results_of_products_are_rounded_as_they_are_drained(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    x = random.standard_normal((33, 48)).astype(np.float16)
    w = random.standard_normal((48, 40)).astype(np.float16)
    kinds = {"x": TensorProto.FLOAT16, "y": TensorProto.FLOAT16}
    shapes = {"x": (33, 48), "y": (33, 40)}
    x_info, y_info = (helper.make_tensor_value_info(name, kinds[name], shapes[name]) for name in ("x", "y"))
    nodes = [node("MatMul", "x w", "p"), node("Mul", "p c")]
    weights = [onnx.numpy_helper.from_array(w, "w"), onnx.numpy_helper.from_array(np.array(0.3, np.float16), "c")]
    graph = helper.make_graph(nodes, "g", [x_info], [y_info], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    (wanted,) = perpend.import_model(model).evaluate(x)
    (got,) = perpend.compile(model, target="quoin:c1")(x)
    np.testing.assert_allclose(got.astype(np.float32), wanted.astype(np.float32), rtol=2e-3, atol=2e-3)
    lines = instructions_of(model, tmp_path)
    drains = [line for line in lines if line.startswith("drain")]
    assert drains and all("f32->f16" in line for line in drains)
    assert not [line for line in lines if line.startswith("cvt")]


@pytest.mark.parametrize("scale", [0.7, 0.0])
def test_scales_of_columns_are_applied_as_sums_are_drained(scale: float, tmp_path: Path) -> None:
    """A scale, a shift and both limits are one instruction, unless a scale is 0, by which no shift can be divided."""
    x, w = floats(90, 48).astype(np.float16), (0.1 * floats(48, 40)).astype(np.float16)
    numbers = {"s": 0.5 + np.abs(floats(40)), "b": floats(40)}
    numbers["s"][3] = scale
    nodes = [
        node("MatMul", "x w", "p"),
        node("Cast", "p", "wide", to=TensorProto.FLOAT),
        node("Mul", "wide s", "m"),
        node("Add", "m b", "a"),
        node("Cast", "a", "h", to=TensorProto.FLOAT16),
        node("Max", "h zero", "r"),
        node("Min", "r six"),
    ]
    limits = {"zero": np.array(0, np.float16), "six": np.array(6, np.float16)}
    model = model_of(nodes, {"x": x}, {"w": w, **numbers, **limits})
    (wanted,), (got,) = perpend.import_model(model).evaluate(x), perpend.compile(model, target="quoin:c1")(x)
    np.testing.assert_allclose(got.astype(np.float32), wanted.astype(np.float32), rtol=4e-3, atol=4e-3)
    vectors = [line.split()[0] for line in instructions_of(model, tmp_path) if line.startswith(("drain", "fma", "min"))]
    assert any(name.startswith("drain") for name in vectors)
    assert all(name.startswith("drain") for name in vectors) == (scale != 0)


@pytest.mark.parametrize("target", ["quoin:t1", "quoin:c8"])
@pytest.mark.parametrize("extents", [(12, 11), (2, 9), (40, 3)])
def test_products_skip_borders(extents: tuple[int, int], target: str, tmp_path: Path) -> None:
    """Images of long pixels are loaded between zeros; no kernel copies them with their border."""
    x, w = floats(2, 16, *extents), 0.1 * floats(24, 16, 3, 5)
    model = model_of([node("Conv", "x w", pads=[1, 2, 1, 2])], {"x": x}, {"w": w})
    assert expect(model, {"x": x}, target) == []
    assert any(line.startswith("ld.fill") for line in instructions_of(model, tmp_path, target))


def test_a_sum_and_its_activation_are_one_instruction(tmp_path: Path) -> None:
    """It rounds once, as the sum alone would, and what is no number stays that."""
    a, b = floats(37, 61).astype(np.float16), floats(37, 61).astype(np.float16)
    a[0, :6] = [np.nan, np.inf, -np.inf, -0.0, 65504, 6e-8]
    b[0, :6] = [1, -np.inf, 3, -0.0, 65504, -1.2e-7]
    model = model_of([node("Add", "a b", "s"), node("Relu", "s")], {"a": a, "b": b})
    (wanted,), (got,) = perpend.import_model(model).evaluate(a, b), perpend.compile(model, target="quoin:c1")(a, b)
    np.testing.assert_array_equal(got, wanted)
    assert not np.signbit(got[0, 3])
    names = names_of(instructions_of(model, tmp_path))
    assert "addrelu" in names and not {"add", "max"} & set(names)
    # Behind a product, too, where the sum with a value is no bias; a sum that others read stays.
    w, v = floats(61, 40).astype(np.float16), floats(37, 40).astype(np.float16)
    nodes = [node("MatMul", "a w", "p"), node("Add", "p v", "s"), node("Relu", "s", "r"), node("Max", "r v")]
    model = model_of(nodes, {"a": floats(37, 61).astype(np.float16), "v": v}, {"w": w})
    given = (floats(37, 61).astype(np.float16), v)
    (wanted,), (got,) = perpend.import_model(model).evaluate(*given), perpend.compile(model, target="quoin:c1")(*given)
    np.testing.assert_allclose(got.astype(np.float32), wanted.astype(np.float32), rtol=2e-3, atol=4e-3)
    assert "addrelu" in names_of(instructions_of(model, tmp_path))
    nodes = [node("Add", "a b", "s"), node("Relu", "s", "r"), node("Mul", "r s")]
    model = model_of(nodes, {"a": a[1:], "b": b[1:]})
    assert "addrelu" not in names_of(instructions_of(model, tmp_path))
    (wanted,), (got,) = (
        perpend.import_model(model).evaluate(a[1:], b[1:]),
        perpend.compile(model, target="quoin:c1")(a[1:], b[1:]),
    )
    np.testing.assert_array_equal(got, wanted)
