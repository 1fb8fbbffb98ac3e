"""Programs for an accelerator: models as instructions, in its simulator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import perpend
import pytest
from cli.tool import USAGE_ERROR, reject, succeed
from conformance.onnx_foreign import missing
from onnx import TensorProto, helper

pytestmark = pytest.mark.skipif(bool(missing("quoin")), reason=missing("quoin") or "it is there")

TYPES = {
    np.dtype(np.float16): TensorProto.FLOAT16,
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.int32): TensorProto.INT32,
    np.dtype(np.int64): TensorProto.INT64,
}
TYPES[np.dtype(np.float64)] = TensorProto.DOUBLE
RANDOM = np.random.default_rng(7)


def model_of(nodes: Sequence[Any], inputs: dict[str, np.ndarray], weights: dict[str, np.ndarray] | None = None) -> Any:
    """Its output is y, of the type of the first input."""
    first = next(iter(inputs.values()))
    graph = helper.make_graph(
        list(nodes),
        "g",
        [helper.make_tensor_value_info(name, TYPES[value.dtype], value.shape) for name, value in inputs.items()],
        [helper.make_tensor_value_info("y", TYPES[first.dtype], None)],
        [onnx.numpy_helper.from_array(value, name) for name, value in (weights or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def expect(model: Any, inputs: dict[str, np.ndarray], target: str = "quoin:t1") -> list[str]:
    """What the scalar core ran. The outputs are those of the interpreter."""
    (wanted,) = perpend.import_model(model).evaluate(*inputs.values())
    compiled = perpend.compile(model, target=target)
    (got,) = compiled(*inputs.values())
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5)
    (again,) = compiled(*inputs.values())
    np.testing.assert_array_equal(again, got)
    return [line for line in compiled.report.units if line.startswith("the scalar core")]


def floats(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def node(operator: str, inputs: str, output: str = "y", **attributes: Any) -> Any:
    return helper.make_node(operator, inputs.split(), output.split(), **attributes)


# Extents are primes, or more than a memory holds, so that tiles have rests.
ON_UNITS = {
    "map": (
        [node("Mul", "a b", "p"), node("Exp", "p", "e"), node("Relu", "e")],
        {"a": floats(7, 131), "b": floats(131)},
        {},
    ),
    "product": ([node("MatMul", "a b")], {"a": floats(37, 101)}, {"b": floats(101, 53)}),
    "batches": ([node("MatMul", "a b")], {"a": floats(3, 17, 29), "b": floats(3, 29, 19)}, {}),
    "softmax": ([node("Softmax", "x")], {"x": floats(5, 211)}, {}),
    "convolution": (
        [node("Conv", "x w b", pads=[1, 2, 1, 0], strides=[2, 1])],
        {"x": floats(1, 5, 17, 13)},
        {"w": floats(11, 5, 3, 3), "b": floats(11)},
    ),
    "depthwise": (
        [node("Conv", "x w", group=6, pads=[1, 1, 1, 1])],
        {"x": floats(1, 6, 12, 11)},
        {"w": floats(6, 1, 3, 3)},
    ),
    "pool": ([node("MaxPool", "x", kernel_shape=[3, 3], strides=[2, 2])], {"x": floats(1, 3, 15, 17)}, {}),
    "transpose": ([node("Transpose", "x", perm=[2, 0, 3, 1])], {"x": floats(3, 5, 7, 11)}, {}),
    "slices": (
        [node("Split", "x", "u", num_outputs=1, axis=1), node("Concat", "u x", axis=1)],
        {"x": floats(3, 5, 7)},
        {},
    ),
    "large": ([node("ReduceSum", "x axes", keepdims=0)], {"x": floats(3, 20011)}, {"axes": np.array([1])}),
    "integers": (
        [node("Mul", "a b", "p"), node("Add", "p c")],
        {"a": np.arange(-9, 12, dtype=np.int32).reshape(3, 7), "b": np.full((7,), 5, np.int32)},
        {"c": np.array(-70000, np.int32)},
    ),
}


ON_UNITS |= {
    "coordinates": (
        [node("Resize", "x roi scales", mode="linear", coordinate_transformation_mode="half_pixel")],
        {"x": floats(1, 2, 5, 7)},
        {"roi": np.zeros(0, np.float32), "scales": np.array([1, 1, 2.6, 3.3], np.float32)},
    ),
    "triangle": ([node("Trilu", "x", upper=0)], {"x": floats(2, 101, 67)}, {}),
    "moves of long integers": (
        [node("Transpose", "x", "t", perm=[1, 0]), node("Concat", "t t", axis=0)],
        {"x": np.arange(35).reshape(5, 7) * 2**40 - 9},
        {},
    ),
    "choices of long integers": (
        [node("Greater", "x zero", "g"), node("Where", "g x c")],
        {"x": np.arange(-17, 18).reshape(5, 7).astype(np.int32)},
        {"zero": np.array(0, np.int32), "c": np.array(-70000, np.int32)},
    ),
    "a triangle of long integers": ([node("Trilu", "x", upper=1)], {"x": np.arange(35).reshape(5, 7) * 2**40 - 9}, {}),
    "truths that do not change": (
        [node("Greater", "x zero", "g"), node("Pad", "g pads", "p"), node("Where", "p c d")],
        {"x": floats(3, 3)},
        {"pads": np.array([1, 2, 1, 2]), "zero": np.array(0, np.float32), "c": floats(5, 7), "d": floats(5, 7)},
    ),
    "moves of doubles": (
        [node("Pad", "x pads value")],
        {"x": RANDOM.standard_normal((3, 5))},
        {"pads": np.array([1, 0, 2, 3]), "value": np.array(0.1)},
    ),
}


@pytest.mark.parametrize("name", ON_UNITS)
def test_units_compute(name: str) -> None:
    nodes, inputs, weights = ON_UNITS[name]
    assert expect(model_of(nodes, inputs, weights), inputs) == []


def test_zeros_keep_their_sign() -> None:
    a, b = np.array([4, -4, 4, -4], np.float32), np.array([2, 2, -2, -2], np.float32)
    compiled = perpend.compile(model_of([node("Mod", "a b", fmod=0)], {"a": a, "b": b}), target="quoin:t1")
    (got,) = compiled(a, b)
    np.testing.assert_array_equal(np.signbit(got), [False, False, True, True])
    assert compiled.report.units == ["the units run 1 of 1 kernels"]


def test_the_scalar_core_runs_what_no_unit_does() -> None:
    inputs = {"x": RANDOM.standard_normal((4, 9))}
    (line,) = expect(model_of([node("Sin", "x", "s"), node("Floor", "s", "f"), node("Add", "f x")], inputs), inputs)
    assert "is no element that a unit has" in line


def loop_of(count: str) -> Any:
    body = helper.make_graph(
        [node("Add", "v step", "next"), node("Identity", "go", "on")],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", TensorProto.FLOAT, [3]),
        ],
        [
            helper.make_tensor_value_info("on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", TensorProto.FLOAT, [3]),
        ],
    )
    return node("Loop", f"{count} true x", body=body)


def test_data_decides_steps() -> None:
    inputs = {"x": floats(3), "n": np.array(4, np.int64)}
    weights = {"true": np.array(True), "step": np.array([1, 2, 3], np.float32)}
    (line,) = expect(model_of([loop_of("n")], inputs, weights), inputs)
    assert "the whole model" in line


# Functions of the runtime's library: the first output is compared.
CALLS = {
    "top-k": ([node("TopK", "x k", "y i", axis=1, largest=0)], {"x": floats(3, 2003)}, {"k": np.array([997])}),
    "sort": (
        [node("TopK", "x k", "v i", axis=0), node("Gather", "v first")],
        {"x": floats(1009, 2)},
        {"k": np.array([1009]), "first": np.array([0, 28])},
    ),
    "spectrum": ([node("DFT", "x", axis=1)], {"x": floats(2, 17, 1)}, {}),
    "spectrum of a power of two": ([node("DFT", "x", axis=1, inverse=1)], {"x": floats(2, 16, 2)}, {}),
    "determinant": ([node("Det", "x")], {"x": floats(2, 5, 5)}, {}),
    "units around": (
        [node("Relu", "x", "r"), node("TopK", "r k", "v i", axis=1), node("MatMul", "v w")],
        {"x": floats(7, 1033)},
        {"k": np.array([1000]), "w": floats(1000, 5)},
    ),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("target", ["quoin:t1", "quoin:c8"])
def test_the_scalar_core_calls_functions_of_the_library(name: str, target: str) -> None:
    nodes, inputs, weights = CALLS[name]
    lines = expect(model_of(nodes, inputs, weights), inputs, target)
    assert sum("a function of the library" in line for line in lines) == 1


def test_calls_in_a_program_that_data_decides() -> None:
    x = np.array([3, 1, 3, 2, 1, 3], np.float32)
    compiled = perpend.compile(model_of([node("Unique", "x", "y")], {"x": x}), target="quoin:t1")
    for each in (x, np.zeros_like(x), np.arange(6, dtype=np.float32)):
        (got,) = compiled(each)
        np.testing.assert_array_equal(got, np.unique(each))


def test_calls_read_what_they_have_not_written() -> None:
    x = np.arange(5577) * 7919 % 389
    compiled = perpend.compile(model_of([node("Unique", "x", "y")], {"x": x}), target="quoin:t1")
    (got,) = compiled(x)
    np.testing.assert_array_equal(got, np.arange(389))


def test_lists_inside_of_a_program() -> None:
    inputs = {"x": floats(4, 3)}
    nodes = [node("SplitToSequence", "x", "s", axis=0), node("ConcatFromSequence", "s", axis=1)]
    expect(model_of(nodes, inputs), inputs)


def test_a_call_that_refuses_its_data() -> None:
    torch = pytest.importorskip("torch")

    class Cholesky(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return torch.linalg.cholesky(x) + 1

    x = torch.eye(3)
    compiled = perpend.compile(Cholesky(), example_inputs=(x,), target="quoin:t1")
    with pytest.raises(RuntimeError, match="positive"):
        compiled((-x).numpy())
    np.testing.assert_allclose(compiled(x.numpy()), np.eye(3) + 1)


def test_data_decides_sizes() -> None:
    x = np.array([[0, 3, 0], [5, 0, 7]], np.float32)
    model = model_of([node("NonZero", "x", "at"), node("Cast", "at", to=TensorProto.FLOAT)], {"x": x})
    compiled = perpend.compile(model, target="quoin:t1")
    for each in (x, np.zeros_like(x), np.ones_like(x)):
        (got,) = compiled(each)
        np.testing.assert_array_equal(got, np.nonzero(each))


def test_a_program_that_is_saved_runs_again(tmp_path: Path) -> None:
    inputs = {"x": floats(2, 5)}
    model = model_of([node("Tanh", "x")], inputs)
    perpend.import_model(model).compile(str(tmp_path / "m.qn"), {"target": "quoin:c8"})
    (got,) = perpend.load(tmp_path / "m.qn")(inputs["x"])
    np.testing.assert_allclose(got, np.tanh(inputs["x"]), rtol=1e-6)


def test_other_shapes_and_types_are_refused() -> None:
    inputs = {"x": floats(2, 5)}
    compiled = perpend.compile(model_of([node("Tanh", "x")], inputs), target="quoin:t1")
    with pytest.raises(ValueError, match=r"input 'x': expected float32 \[2, 5\], got float32 \[5, 2\]"):
        compiled(floats(5, 2))
    with pytest.raises(ValueError, match=r"expected 1 inputs, got 2"):
        compiled(floats(2, 5), floats(2, 5))


def test_commands(tmp_path: Path) -> None:
    path, program = tmp_path / "m.onnx", tmp_path / "m.qn"
    onnx.save(model_of([node("Softmax", "x")], {"x": floats(4, 6)}), path)
    assert "the units run 1 of 1 kernels" in succeed(
        "compile", path, "--target", "quoin:t1", "-o", program, folder=tmp_path
    )
    checked = succeed("check", path, "--target", "quoin:t1", folder=tmp_path)
    assert checked.startswith("simulated: a program for qn-t1\n") and "the outputs agree" in checked
    assert "y: f32 [4, 6]" in succeed("run", program, folder=tmp_path)
    assert "quoin:c8" in succeed("targets", folder=tmp_path)


def test_what_programs_cannot_have(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(model_of([node("Tanh", "x")], {"x": floats(4, 6)}), path)
    compiled = ["compile", path, "-o", tmp_path / "m.so", "--target"]
    assert "quoin has no configuration" in reject(*compiled, "quoin:t9", folder=tmp_path, code=USAGE_ERROR)
    assert "expected a name ending in .qn" in reject(*compiled, "quoin:t1", folder=tmp_path, code=USAGE_ERROR)
    for option, value, reason in [("checked", True, "--checked is for"), ("weights", "beside", "contains its weights")]:
        with pytest.raises(perpend.CompileError, match=reason):
            perpend.compile(onnx.load(path), target="quoin:t1", **{option: value})
    planned = tmp_path / "planned.mlir"
    succeed("compile", path, "--target", "quoin:t1", "--stop-after", "plan", "-o", planned, folder=tmp_path)
    text = reject("compile", planned, "--target", "quoin:t1", "-o", tmp_path / "m.qn", folder=tmp_path)
    assert "the compilation starts from 'lower'" in text
    symbolic = onnx.load(path)
    symbolic.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    with pytest.raises(perpend.CompileError, match="the symbol 'n'"):
        perpend.compile(symbolic, target="quoin:t1")
    (tmp_path / "cut.qn").write_bytes(b"\x7fELF" + bytes(80))
    assert "cut.qn" in reject("run", tmp_path / "cut.qn", folder=tmp_path)


def test_a_module_returns_what_it_returns_elsewhere() -> None:
    torch = pytest.importorskip("torch")

    class Several(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any, by: Any, power: int = 2) -> Any:
            return {"product": x * by, "count": 3, "parts": [x**power, None, (by - 1).sum()]}

    x, by = torch.randn(3, 4).bfloat16(), torch.randn(4).bfloat16()
    compiled = perpend.compile(Several(), example_inputs=(x, by), target="quoin:t1")
    wanted, got = Several()(x, by), compiled(x, by=by)
    assert set(got) == set(wanted) and got["count"] == 3 and got["parts"][1] is None
    for a, b in [(wanted["product"], got["product"]), (wanted["parts"][0], got["parts"][0])]:
        torch.testing.assert_close(b, a)
    assert got["parts"][2].shape == ()
    got["product"] += 1  # results are the caller's
    with pytest.raises(TypeError, match="got also 'other'"):
        compiled(x, other=by)


def test_a_module_of_arrays_returns_arrays() -> None:
    torch = pytest.importorskip("torch")
    x = floats(2, 3)
    got = perpend.compile(torch.nn.Tanh(), example_inputs=(torch.tensor(x),), target="quoin:t1")(x)
    assert isinstance(got, np.ndarray)
    np.testing.assert_allclose(got, np.tanh(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", ["quoin:t1", "aarch64"])
def test_torch_compile_runs_on_this_machine(target: str) -> None:
    torch = pytest.importorskip("torch")
    with torch.no_grad(), pytest.raises(ValueError, match=f"runs models on this machine, got '{target}'"):
        torch.compile(torch.nn.Linear(4, 2), backend="perpend", options={"target": target})(torch.ones(3, 4))


@pytest.mark.parametrize("target", ["quoin:t1", "quoin:c8"])
def test_a_condition_on_data_is_a_step(target: str) -> None:
    torch = pytest.importorskip("torch")

    class Checked(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Parameter(torch.randn(40, 64))
            self.last = torch.nn.Linear(64, 64)

        def forward(self, tokens: Any) -> Any:
            torch.ops.aten._assert_async.msg((tokens < 40).all(), "expected tokens below 40")
            rows = self.table[tokens]
            return self.last(rows * torch.rsqrt((rows * rows).mean(-1, keepdim=True)))

    net, tokens = Checked().eval(), torch.arange(16) * 2
    compiled = perpend.compile(net, example_inputs=(tokens,), target=target)
    assert any(line.startswith("the units run") for line in compiled.report.units)
    with torch.no_grad():
        torch.testing.assert_close(compiled(tokens), net(tokens), rtol=2e-5, atol=2e-5)
    tokens[5] = 40
    with pytest.raises(RuntimeError, match=r"node '.*': expected tokens below 40.*, got 1"):
        compiled(tokens)
    tokens[5] = 39
    compiled(tokens)


def test_a_number_that_decides_more_than_a_condition() -> None:
    x = np.array([[0, 3, 0], [5, 0, 7]], np.float32)
    compiled = perpend.compile(model_of([node("NonZero", "x", "at"), node("Cast", "at", to=1)], {"x": x}), "quoin:t1")
    assert ["the scalar core runs the whole model" in line and "number" in line for line in compiled.report.units] == [
        True
    ]
