"""Products of few rows with what the run computes: one token with the keys and values of those before it."""

import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import perpend
import pytest
from cli.tool import PERPEND, runs_here
from onnx import TensorProto, helper

GENERATOR = np.random.default_rng(0)
HEADS, SIZE = 3, 32
TARGETS = ["host", "x86-64-v4", "x86-64-v3", "x86-64-v2"]
TYPES = {np.float32: (TensorProto.FLOAT, 1e-5), np.float16: (TensorProto.FLOAT16, 5e-3)}


def attention(rows: int, length: int | str, element: type, grows: bool) -> onnx.ModelProto:
    """Of so many tokens. With `grows`, keys and values get those of the last token first."""
    kind = TYPES[element][0]
    keys, values = ("all_keys", "all_values") if grows else ("keys", "values")
    nodes = [
        helper.make_node("Transpose", [keys], ["columns"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["queries", "columns"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["parts"], axis=-1),
        helper.make_node("MatMul", ["parts", values], ["y"]),
    ]
    shapes = {"queries": [1, HEADS, rows, SIZE], "keys": [1, HEADS, length, SIZE], "values": [1, HEADS, length, SIZE]}
    if grows:
        nodes[:0] = [
            helper.make_node("Concat", ["keys", "key"], ["all_keys"], axis=2),
            helper.make_node("Concat", ["values", "value"], ["all_values"], axis=2),
        ]
        shapes |= {"key": [1, HEADS, 1, SIZE], "value": [1, HEADS, 1, SIZE]}
    inputs = [helper.make_tensor_value_info(name, kind, shape) for name, shape in shapes.items()]
    y = helper.make_tensor_value_info("y", kind, [1, HEADS, rows, SIZE])
    graph = helper.make_graph(nodes, "attention", inputs, [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def reference(queries: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    scores = queries.astype(np.float64) @ keys.astype(np.float64).swapaxes(-1, -2)
    parts = np.exp(scores - scores.max(-1, keepdims=True))
    return parts / parts.sum(-1, keepdims=True) @ values.astype(np.float64)


def draw(element: type, *shape: int) -> np.ndarray:
    return GENERATOR.uniform(-1, 1, shape).astype(element)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize(("rows", "length"), [(1, 37), (1, "n"), (2, 1), (2, "n"), (4, 37), (7, 37), (8, "n"), (9, 37)])
def test_attention(rows: int, length: int | str, element: type, target: str) -> None:
    if not runs_here(target):
        pytest.skip(f"this machine is no {target}")
    compiled = perpend.compile(attention(rows, length, element, grows=False), target=target)
    for n in (1, 5, 70) if length == "n" else (int(length),):
        inputs = [draw(element, 1, HEADS, count, SIZE) for count in (rows, n, n)]
        tolerance = TYPES[element][1]
        np.testing.assert_allclose(compiled(*inputs), reference(*inputs), tolerance, tolerance)


@pytest.mark.parametrize("element", TYPES)
def test_one_token_more(element: type) -> None:
    compiled = perpend.compile(attention(1, "n", element, grows=True))
    for n in (0, 1, 40):
        keys, values = (draw(element, 1, HEADS, n + 1, SIZE) for _ in range(2))
        queries = draw(element, 1, HEADS, 1, SIZE)
        got = compiled(queries, keys[:, :, :-1], values[:, :, :-1], keys[:, :, -1:], values[:, :, -1:])
        tolerance = TYPES[element][1]
        np.testing.assert_allclose(got, reference(queries, keys, values), tolerance, tolerance)


def kernels_of(folder: Path, rows: int) -> list[str]:
    onnx.save(attention(rows, 64, np.float32, grows=False), folder / "model.onnx")
    command = [str(PERPEND), "compile", str(folder / "model.onnx"), "--stop-after", "fuse", "--target", "x86-64-v4"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    return re.findall(r"call_kernel @(\w+)", text)


def test_keys_and_values_of_one_token_are_not_moved(tmp_path: Path) -> None:
    """No kernel packs them: two products, and the softmax between."""
    assert len(kernels_of(tmp_path, 1)) == 3
    assert not any("transpose" in name for name in kernels_of(tmp_path, 1))
    assert any("transpose" in name for name in kernels_of(tmp_path, 9))
