"""Inputs whose dimensions turn out to be 1 where the model has a larger extent (docs/decisions/0009)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import perpend
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

Nodes = list[tuple[str, list[str], list[str], dict[str, Any]]]


def model_of(nodes: Nodes, ranks: dict[str, int], outputs: list[str], types: dict[str, int] | None = None,
             **constants: Any) -> onnx.ModelProto:  # fmt: skip
    """The dimensions of input x are x0, x1, ..."""
    infos = [
        helper.make_tensor_value_info(
            name, (types or {}).get(name, TensorProto.FLOAT), [f"{name}{i}" for i in range(rank)]
        )
        for name, rank in ranks.items()
    ]
    arrays = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    graph = helper.make_graph(
        [helper.make_node(kind, reads, writes, **attributes) for kind, reads, writes, attributes in nodes],
        "repeats", infos, [onnx.ValueInfoProto(name=name) for name in outputs], arrays,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def ramp(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) - 3


def agree(model: onnx.ModelProto, *inputs: np.ndarray) -> None:
    """The compiled model and the interpreter with the reference, twice: the second run finds its memory."""
    names = [info.name for info in model.graph.input]
    expected = ReferenceEvaluator(model).run(None, dict(zip(names, inputs, strict=True)))
    compiled, module = perpend.compile(model), perpend.Module.from_onnx(model.SerializeToString())
    for run in (compiled, compiled, module.evaluate):
        results = run(*inputs)
        results = list(results) if isinstance(results, list | tuple) else [results]
        for result, wanted in zip(results, expected, strict=True):
            assert result.shape == wanted.shape
            if wanted.dtype == np.float32:
                np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)
            else:
                assert (result == wanted).all()


def repeating(model: onnx.ModelProto, folder: Path) -> dict[str, list[int]]:
    """What the descriptor says."""
    path = folder / "model.so"
    report = perpend.Module.from_onnx(model.SerializeToString()).compile(str(path), {})
    return {x["name"]: x["repeats"] for x in json.loads(report.descriptor)["inputs"] if "repeats" in x}


ADD: Nodes = [("Add", ["x", "y"], ["z"], {})]


@pytest.mark.parametrize("shapes", [
    [(4, 3), (4, 3)], [(4, 3), (1, 3)], [(4, 3), (4, 1)], [(4, 3), (1, 1)], [(1, 3), (4, 3)], [(1, 3), (4, 1)],
    [(1, 1), (4, 3)], [(1, 1), (1, 1)], [(0, 3), (1, 3)], [(1, 3), (0, 1)], [(4, 0), (1, 1)],
])  # fmt: skip
def test_either_operand(shapes: list[tuple[int, ...]]) -> None:
    agree(model_of(ADD, {"x": 2, "y": 2}, ["z"]), *(ramp(*shape) for shape in shapes))


def test_ranks_that_differ() -> None:
    model = model_of(ADD, {"x": 3, "y": 1}, ["z"])
    agree(model, ramp(2, 3, 5), ramp(1))
    agree(model, ramp(2, 3, 1), ramp(5))


def test_other_extents_are_refused() -> None:
    model = model_of(ADD, {"x": 2, "y": 2}, ["z"])
    with pytest.raises(ValueError, match="input 'y', dimension 0: expected 5 or 1, got 4"):
        perpend.compile(model)(ramp(5, 3), ramp(4, 3))
    with pytest.raises(ValueError, match="got"):
        perpend.Module.from_onnx(model.SerializeToString()).evaluate(ramp(5, 3), ramp(4, 3))


@pytest.mark.parametrize("shapes", [[(4,), (1,), (1,)], [(1,), (4,), (1,)], [(1,), (1,), (4,)], [(4,), (4,), (1,)]])
def test_three_operands(shapes: list[tuple[int]]) -> None:
    nodes: Nodes = [("Max", ["x", "y", "z"], ["all"], {})]
    agree(model_of(nodes, {"x": 1, "y": 1, "z": 1}, ["all"]), *(ramp(*shape) for shape in shapes))


def test_what_two_of_three_make_is_no_result(tmp_path: Path) -> None:
    """Where x and y are 1 their sum is, whatever z is: one of them must not repeat."""
    nodes: Nodes = [("Add", ["x", "y"], ["sum"], {}), ("Mul", ["sum", "z"], ["product"], {})]
    model = model_of(nodes, {"x": 1, "y": 1, "z": 1}, ["sum", "product"])
    assert repeating(model, tmp_path) == {"y": [0], "z": [0]}
    agree(model, ramp(4), ramp(1), ramp(1))
    with pytest.raises(ValueError, match="got"):
        perpend.compile(model)(ramp(1), ramp(1), ramp(4))


@pytest.mark.parametrize(("nodes", "constants"), [
    ([("ReduceSum", ["y"], ["t"], {})], {}),
    ([("Shape", ["y"], ["t"], {})], {}),
    ([("Size", ["y"], ["t"], {})], {}),
    ([("Concat", ["y", "y"], ["t"], {"axis": 0})], {}),
    ([("Gather", ["y", "zero"], ["t"], {})], {"zero": 0}),
    ([("Slice", ["y", "zero", "one"], ["t"], {})], {"zero": [0], "one": [1]}),
    ([("CumSum", ["y", "zero"], ["t"], {})], {"zero": 0}),
    ([("Softmax", ["y"], ["t"], {"axis": 0})], {}),
    ([("ArgMax", ["y"], ["t"], {"axis": 0})], {}),
    ([("Reshape", ["y", "flat"], ["t"], {})], {"flat": [-1]}),
    ([("MatMul", ["y", "y"], ["t"], {})], {}),
    ([("NonZero", ["y"], ["t"], {})], {}),
    ([("Tile", ["y", "twice"], ["t"], {})], {"twice": [2, 1]}),
    ([("Identity", ["y"], ["t"], {})], {}),
])  # fmt: skip
def test_uses_that_need_the_extent(nodes: Nodes, constants: dict[str, Any], tmp_path: Path) -> None:
    model = model_of(nodes + ADD, {"x": 2, "y": 2}, ["z", "t"], **constants)
    assert 0 not in repeating(model, tmp_path).get("y", [])


@pytest.mark.parametrize(("nodes", "rank"), [
    ([("Unsqueeze", ["y", "axes"], ["t"], {}), ("Transpose", ["t"], ["u"], {"perm": [1, 0]}),
      ("Add", ["x", "u"], ["z"], {})], 1),
    ([("Exp", ["y"], ["t"], {}), ("Cast", ["t"], ["u"], {"to": TensorProto.FLOAT}), ("Add", ["x", "u"], ["z"], {})], 2),
    ([("ReduceMax", ["y", "axes"], ["t"], {}), ("Add", ["x", "t"], ["z"], {})], 2),
    ([("Greater", ["y", "x"], ["t"], {}), ("Where", ["t", "x", "y"], ["z"], {})], 2),
    ([("Greater", ["y", "level"], ["t"], {}), ("Where", ["t", "x", "level"], ["z"], {})], 2),
    ([("Gemm", ["x", "x", "y"], ["z"], {"transB": 1})], 2),
    ([("MatMul", ["y", "weight"], ["t"], {}), ("Add", ["x", "t"], ["z"], {})], 2),
])  # fmt: skip
def test_ways_to_a_larger_operand(nodes: Nodes, rank: int, tmp_path: Path) -> None:
    model = model_of(
        nodes, {"x": 2, "y": rank}, ["z"], axes=[0], level=np.float32(0.5), weight=np.eye(3, dtype=np.float32)
    )
    kind = model.graph.node[0].op_type
    wide = 3 if kind in ("MatMul", "ReduceMax") else 1
    agree(model, ramp(3, 3), ramp(*([wide] if rank == 1 else [1, wide])))


def test_batches_of_convolutions() -> None:
    nodes: Nodes = [("Conv", ["y", "filter"], ["t"], {}), ("Add", ["x", "t"], ["z"], {})]
    model = model_of(nodes, {"x": 3, "y": 3}, ["z"], filter=np.ones((1, 1, 2), np.float32))
    agree(model, ramp(3, 1, 4), ramp(1, 1, 5))


def test_masks_of_attention() -> None:
    nodes: Nodes = [
        ("MatMul", ["q", "k"], ["scores"], {}), ("Where", ["mask", "scores", "low"], ["masked"], {}),
        ("Softmax", ["masked"], ["weights"], {"axis": -1}), ("MatMul", ["weights", "v"], ["z"], {}),
    ]  # fmt: skip
    ranks = {"q": 4, "k": 4, "mask": 4, "v": 4}
    model = model_of(nodes, ranks, ["z"], {"mask": TensorProto.BOOL}, low=np.float32(-9))
    for mask in [(1, 1, 1, 6), (2, 1, 5, 6), (1, 3, 5, 6), (2, 3, 1, 6)]:
        agree(model, ramp(2, 3, 5, 4) / 99, ramp(2, 3, 4, 6) / 99, np.arange(np.prod(mask)).reshape(mask) % 3 > 0,
              ramp(2, 3, 6, 4))  # fmt: skip


def test_texts() -> None:
    nodes: Nodes = [("StringConcat", ["x", "y"], ["z"], {}), ("Equal", ["x", "y"], ["same"], {})]
    model = model_of(nodes, {"x": 2, "y": 1}, ["z", "same"], {"x": TensorProto.STRING, "y": TensorProto.STRING})
    words = np.array([["a", "b", ""], ["ü", "a", "a"]], dtype=object)
    agree(model, words, np.array(["a"], dtype=object))
    agree(model, words[:, :1], np.array(["a", "c", "a"], dtype=object))


def test_an_extent_that_is_a_number_of_the_model(tmp_path: Path) -> None:
    """x meets a constant of three elements, so 3 and 1 are its extents."""
    model = model_of([("Add", ["x", "c"], ["z"], {})], {"x": 2}, ["z"], c=np.float32([1, 2, 3]))
    assert repeating(model, tmp_path) == {"x": [1]}
    agree(model, ramp(2, 3))
    agree(model, ramp(2, 1))
    with pytest.raises(ValueError, match="expected at least 3, got 2"):
        perpend.compile(model)(ramp(2, 2))


def test_names_that_two_inputs_share(tmp_path: Path) -> None:
    """Who gives two dimensions one name says that they are equal."""
    model = model_of(ADD, {"x": 1, "y": 1}, ["z"])
    for info in model.graph.input:
        info.type.tensor_type.shape.dim[0].dim_param = "n"
    assert repeating(model, tmp_path) == {}


@pytest.mark.parametrize("declared", [
    "[]", "[1]", '[#graph.shape<["m"]>, #graph.shape<[]>]', '[#graph.shape<["k"]>]', '"n"',
])  # fmt: skip
def test_declarations_that_do_not_fit(declared: str) -> None:
    vector = 'tensor<?xf32, #graph.shape<["n"]>>'
    text = f"""func.func @main(%x: {vector} {{graph.repeats = {declared}}},
        %y: tensor<?xf32, #graph.shape<["m"]>>) -> {vector} {{
      return %x : {vector}
    }}"""
    with pytest.raises(perpend.CompileError, match=r"'graph\.repeats' does not fit its dimensions"):
        perpend.Module.from_text(text).compile("unused.so", {})


def test_extents_that_a_reshape_leaves() -> None:
    """Reshape's -1 is a quotient here, 1 or not, and no dimension of an input could be repeated in its place."""
    nodes: Nodes = [
        ("Shape", ["y"], ["rows"], {"start": 0, "end": 1}),
        ("Concat", ["rows", "open"], ["shape"], {"axis": 0}),
        ("Reshape", ["x", "shape"], ["split"], {}),
        ("Mul", ["split", "y"], ["z"], {}),
    ]
    model = model_of(nodes, {"x": 1, "y": 2}, ["z"], open=np.array([-1], np.int64))
    agree(model, ramp(6), ramp(3, 2))
    agree(model, ramp(3), ramp(3, 2))
    agree(model, ramp(3), ramp(3, 1))
    agree(model, ramp(3), ramp(3, 0))
    with pytest.raises(ValueError, match=r"node 'z'.*expected an extent that is 1 or that of the other tensor"):
        perpend.compile(model)(ramp(12), ramp(3, 2))


def test_a_concat_repeats_nothing() -> None:
    model = model_of([("Concat", ["x", "y"], ["z"], {"axis": 1})], {"x": 2, "y": 2}, ["z"])
    agree(model, ramp(5, 3), ramp(5, 4))
    for rows in ((1, 5), (5, 1)):
        with pytest.raises(ValueError, match=r"dimension 0: expected \d, got \d"):
            perpend.compile(model)(ramp(rows[0], 3), ramp(rows[1], 4))
