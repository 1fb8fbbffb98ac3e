"""What is computed of a product's left factor is done between its load and its feed, in place of a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import perpend
import pytest
import torch
from conformance.onnx_foreign import missing
from onnx import TensorProto, helper
from python.test_accelerator_inlays import written, written_by
from python.test_accelerators import expect, floats, model_of, node

pytestmark = pytest.mark.skipif(bool(missing("quoin")), reason=missing("quoin") or "it is there")

TARGETS = ["quoin:t1", "quoin:c8"]
ROWS, SUM, COLUMNS = 83, 130, 40
NORM = [node("Mul", "a s", "n1"), node("Add", "n1 t", "n2"), node("Relu", "n2", "m")]
# `a` has two readers, so that what is computed of it is not part of the kernel before.
BEFORE = node("MatMul", "x w", "a")
AFTER = [node("MatMul", "m z", "p"), node("MatMul", "a v", "q"), node("Sub", "p q")]
WEIGHTS = {
    "w": floats(16, SUM) / 4,
    "z": floats(SUM, COLUMNS) / 12,
    "v": floats(SUM, COLUMNS) / 12,
    "s": floats(SUM),
    "t": floats(SUM),
    "r": floats(ROWS, 1),
    "wide": floats(SUM, 3 * COLUMNS) / 12,
}
JOINED = {  # what is between both products
    "a scale, a shift and a relu": [*NORM, *AFTER],
    "a function": [node("Sigmoid", "a", "m"), *AFTER],
    "a value twice": [node("Sigmoid", "a", "g"), node("Mul", "a g", "m"), *AFTER],
    "one number": [node("Mul", "a one", "m"), *AFTER],
    "several nodes behind": [
        *NORM,
        node("MatMul", "m z", "p1"),
        node("Tanh", "p1", "p2"),
        node("Mul", "p2 p2", "p"),
        *AFTER[1:],
    ],
}
APART = {
    "rows have their own scale": [node("Mul", "a r", "m"), *AFTER],
    "two readers": [*NORM, *AFTER[:2], node("Sub", "p q", "d"), node("MatMul", "m v", "e"), node("Add", "d e")],
    "a right factor": [*NORM, node("Transpose", "m", "k", perm=[1, 0]), node("MatMul", "a k")],
    "two tiles": [node("Sigmoid", "x2", "b"), node("Add", "a b", "m"), *AFTER],
    "other columns of each tile of the sum": [*NORM, node("Reshape", "m back", "k"), node("MatMul", "k z2")],
}


def weights_of(nodes: list[Any], more: dict[str, np.ndarray] | None = None) -> dict[str, np.ndarray]:
    weights = WEIGHTS | {"one": np.array(0.3, np.float32)} | (more or {})
    return {name: value for name, value in weights.items() if any(name in each.input for each in nodes)}


def saved(model: Any, target: str, folder: Path) -> int:
    """Bytes that are not written to LLB."""
    joined, apart = (written(model, each, folder) for each in (target, f"{target},-prologues"))
    return apart - joined


@pytest.mark.parametrize("name", JOINED)
@pytest.mark.parametrize("target", TARGETS)
def test_what_is_computed_of_a_factor(name: str, target: str, tmp_path: Path) -> None:
    nodes, x = [BEFORE, *JOINED[name]], floats(ROWS, 16)
    model = model_of(nodes, {"x": x}, weights_of(nodes))
    assert expect(model, {"x": x}, target) == []
    assert saved(model, target, tmp_path) >= 4 * ROWS * SUM


@pytest.mark.parametrize("name", APART)
@pytest.mark.parametrize("target", TARGETS)
def test_what_stays_a_kernel(name: str, target: str, tmp_path: Path) -> None:
    nodes, inputs = [BEFORE, *APART[name]], {"x": floats(ROWS, 16)}
    if name == "two tiles":
        inputs["x2"] = floats(ROWS, SUM)
    more = {"back": np.array([ROWS * 10, SUM // 10]), "z2": floats(SUM // 10, COLUMNS)}
    model = model_of(nodes, inputs, weights_of(nodes, more))
    assert expect(model, inputs, target) == []
    assert saved(model, target, tmp_path) == 0


@pytest.mark.parametrize("shape", [(700, 96, 64), (31, 1100, 48), (1000, 1100, 300), (5, 64, 1030), (16, 17, 16)])
@pytest.mark.parametrize("target", TARGETS)
def test_tiles_of_all_sizes(shape: tuple[int, int, int], target: str) -> None:
    """Factors that are loaded in pieces of the sum, or held for all of it; several tiles along each axis."""
    rows, length, columns = shape
    x = floats(rows, 16)
    weights = {
        "w": floats(16, length) / 4,
        "z": floats(length, columns) / 32,
        "v": floats(length, columns) / 32,
        "s": floats(length),
        "t": floats(length),
    }
    assert expect(model_of([BEFORE, *NORM, *AFTER], {"x": x}, weights), {"x": x}, target) == []


CONVOLUTIONS: dict[str, dict[str, Any]] = {
    "points": {"kernel_shape": [1, 1]},
    "strides": {"kernel_shape": [1, 1], "strides": [2, 3]},
    "windows": {"kernel_shape": [3, 2]},
    "windows apart": {"kernel_shape": [2, 2], "strides": [2, 2]},
    "dilations": {"kernel_shape": [3, 3], "dilations": [2, 1]},
    "a border": {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]},
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("channels", [16, 48, 33])
@pytest.mark.parametrize("target", TARGETS)
def test_convolutions(name: str, channels: int, target: str) -> None:
    """Of a value that another convolution reads as it is. Zeros of a border are not computed of."""
    x = floats(2, 16, 15, 13)
    weights = {
        "w": floats(channels, 16, 1, 1) / 4,
        "s": floats(channels, 1, 1),
        "t": floats(channels, 1, 1),
        "z": floats(24, channels, *CONVOLUTIONS[name]["kernel_shape"]) / 16,
    }
    attributes = CONVOLUTIONS[name]
    nodes = [node("Conv", "x w", "a"), *NORM, node("Conv", "m z", "p", **attributes)]
    nodes += [node("Conv", "a z", "q", **attributes), node("Sub", "p q")]
    assert expect(model_of(nodes, {"x": x}, weights), {"x": x}, target) == []


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_read_lives_until_the_product(target: str, tmp_path: Path) -> None:
    """Of a chain: each value is read only by the step that becomes part of the next product."""
    rows, length, layers = 200, 64, 4
    nodes, weights, x = [], {}, floats(rows, length)
    for layer in range(layers):
        weights |= {f"w{layer}": floats(length, length) / 8, f"s{layer}": floats(length), f"t{layer}": floats(length)}
        nodes += [
            node("MatMul", f"{f'm{layer - 1}' if layer else 'x'} w{layer}", f"a{layer}"),
            node("Concat", f"a{layer} x", f"c{layer}", axis=1),
            node("Softmax", f"c{layer}", f"e{layer}"),
            node("Slice", f"e{layer} zero count one", f"b{layer}"),
            node("Mul", f"b{layer} s{layer}", f"n{layer}"),
            node("Add", f"n{layer} t{layer}", f"m{layer}"),
        ]
    weights |= {"zero": np.array([0]), "count": np.array([length]), "one": np.array([1]), "w": floats(length, 32)}
    nodes.append(node("MatMul", f"m{layers - 1} w"))
    model = model_of(nodes, {"x": x}, weights)
    assert expect(model, {"x": x}, target) == []
    if target == "quoin:c8":  # of small memories, others of the values have the space
        assert saved(model, target, tmp_path) > 0


class DenseLayer(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first, self.norm = torch.nn.Conv2d(16, channels, 1), torch.nn.BatchNorm2d(channels)
        self.points, self.other = torch.nn.Conv2d(channels, 32, 1), torch.nn.Conv2d(channels, 32, 3, padding=1)
        for values in (self.norm.weight.data, self.norm.running_var):
            values.uniform_(0.5, 1.5)
        for values in (self.norm.bias.data, self.norm.running_mean):
            values.normal_()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = self.first(x)
        result: torch.Tensor = self.points(torch.relu(self.norm(a))) - self.other(a)
        return result


@pytest.mark.parametrize("target", TARGETS)
def test_halves(target: str, tmp_path: Path) -> None:
    """Rounded where the model rounds: the factor has the bits that the kernel would have stored."""
    torch.manual_seed(5)
    net, x = DenseLayer(48).half().eval(), torch.randn(2, 16, 9, 14).half()
    module = perpend.import_model(net, example_inputs=(x,))
    sizes, outputs = [], []
    for each in (target, f"{target},-prologues"):
        sizes.append(written_by(module, each, tmp_path))
        outputs.append(perpend.load(str(tmp_path / "program.qn"))(x.numpy())[0])
    np.testing.assert_array_equal(*outputs)
    assert sizes[1] - sizes[0] >= 2 * x[:, 0].numel() * 48
    with torch.no_grad():
        wanted = net.float()(x.float()).numpy()
    np.testing.assert_allclose(outputs[0].astype(np.float32), wanted, rtol=4e-3, atol=8e-3)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("types", [["INT32", "FLOAT"], ["FLOAT16", "FLOAT"], ["INT64", "INT32", "FLOAT"]])
@pytest.mark.parametrize("operands", ["m z", "k m"])
def test_conversions_that_change_values(types: list[str], target: str, operands: str) -> None:
    """A factor is loaded in place of one of a wider type, which has the same values, and of no other."""
    names = ["x", *(f"c{number}" for number in range(len(types) - 1)), "m"]
    nodes = [
        helper.make_node("Cast", [before], [after], to=getattr(TensorProto, name))
        for before, after, name in zip(names, names[1:], types, strict=False)
    ]
    weights = {"z": floats(SUM, COLUMNS), "k": floats(COLUMNS, ROWS)}
    used = {name: value for name, value in weights.items() if name in operands.split()}
    inputs = {"x": 3 * floats(ROWS, SUM)}
    expect(model_of([*nodes, node("MatMul", operands)], inputs, used), inputs, target)
