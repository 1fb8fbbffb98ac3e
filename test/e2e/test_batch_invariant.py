"""--batch-invariant: the bits of a row depend neither on how many rows run with it nor on which of them it is."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import perpend
import pytest
from cli.tool import succeed
from onnx import TensorProto, helper, numpy_helper

Arrays = list[np.ndarray]
ROWS = 130  # several blocks of any size, and a rest
COUNTS = [*range(1, 18), 31, 32, 33, 64, 129]


def products(random: np.random.Generator) -> onnx.ModelProto:
    """Two products with a norm and a softmax of their rows; 77 columns fill no vector."""
    shapes = {"w1": (96, 256), "w2": (256, 77), "scale": (77,)}
    weights = [numpy_helper.from_array(random.standard_normal(s).astype(np.float32), n) for n, s in shapes.items()]
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "w2"], ["c"]),
        helper.make_node("LayerNormalization", ["c", "scale"], ["d"]),
        helper.make_node("Softmax", ["d"], ["y"]),
    ]
    return model_of(nodes, weights, columns=96)


def packed_numbers(random: np.random.Generator, bits: int, has_zeros: bool) -> onnx.ModelProto:
    """A product with weights of `bits` bits in groups of 32."""
    depth, columns, groups = 96, 64, 3
    numbers = random.integers(0, 256, (columns, groups, 32 * bits // 8)).astype(np.uint8)
    scales = random.standard_normal(columns * groups).astype(np.float32)
    weights = [numpy_helper.from_array(numbers, "w"), numpy_helper.from_array(scales, "s")]
    if has_zeros:
        zeros = random.integers(0, 256, columns * ((groups * bits + 7) // 8)).astype(np.uint8)
        weights.append(numpy_helper.from_array(zeros, "z"))
    inputs = ["x", *(weight.name for weight in weights)]
    attributes = {"K": depth, "N": columns, "bits": bits, "block_size": 32}
    node = helper.make_node("MatMulNBits", inputs, ["y"], domain="com.microsoft", **attributes)
    return model_of([node], weights, columns=depth)


def model_of(nodes: list[onnx.NodeProto], weights: list[onnx.TensorProto], columns: int) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", columns])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", None])
    graph = helper.make_graph(nodes, "rows", [x], [y], weights)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets)


def differing(run: Callable[[np.ndarray], np.ndarray], whole: np.ndarray, x: np.ndarray) -> list[tuple[int, int]]:
    """The (first row, number of rows) whose results differ from those of the whole batch."""
    places = [(first, count) for count in COUNTS for first in {0, ROWS - count}]
    return [(f, c) for f, c in places if not np.array_equal(run(x[f : f + c]), whole[f : f + c])]


def compiled(model: onnx.ModelProto, folder: Path, **options: object) -> Callable[[np.ndarray], np.ndarray]:
    onnx.save(model, folder / "rows.onnx")
    program = perpend.compile(folder / "rows.onnx", **options)
    return lambda x: np.array(program(x))


@pytest.mark.parametrize("target", ["host", "x86-64-v3", "x86-64-v2"])
@pytest.mark.parametrize("precision", ["f32", "bf16", "int8"])
def test_rows_of_products(target: str, precision: str, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    model, x = products(random), random.standard_normal((ROWS, 96)).astype(np.float32)
    options = {"target": target, "precision": precision, "batch_invariant": True}
    run = compiled(model, tmp_path, **options)
    whole = run(x)
    assert differing(run, whole, x) == []
    for rows in (1, 4):  # an artifact for so many rows computes the same
        assert np.array_equal(compiled(model, tmp_path, dims={"n": rows}, **options)(x[:rows]), whole[:rows])


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("has_zeros", [False, True])
@pytest.mark.parametrize("precision", ["f32", "int8"])
def test_rows_of_packed_numbers(bits: int, has_zeros: bool, precision: str, tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    model, x = packed_numbers(random, bits, has_zeros), random.standard_normal((ROWS, 96)).astype(np.float32)
    run = compiled(model, tmp_path, batch_invariant=True, precision=precision)
    assert differing(run, run(x), x) == []


def test_the_default_is_faster_instead(tmp_path: Path) -> None:
    """Without the option, blocks of few rows add up in several chains, so the tests above have something to find."""
    random = np.random.default_rng(3)
    model, x = products(random), random.standard_normal((ROWS, 96)).astype(np.float32)
    run = compiled(model, tmp_path, target="x86-64-v3")
    assert differing(run, run(x), x) != []


SUMS = """
func.func @main(%x: tensor<4x35xf32> {graph.name = "x"}) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.call_kernel @grown(%x) : (tensor<4x35xf32>) -> tensor<4xf32>
  %1 = graph.call_kernel @weighted(%x) : (tensor<4x35xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
func.func private @grown(%x: !tile.buffer<[4, 35] x f32>, %y: !tile.buffer<[4] x f32>) attributes {tile.kernel} {
  tile.for %i in 4 parallel { tile.for %k in 35 {
    tile.block "sum" spatial(%vi in 4 = %i) reduced(%vk in 35 = %k) {
      tile.init {
        %one = arith.constant 1.0 : f32
        tile.store %one, %y[%vi] : !tile.buffer<[4] x f32>
      }
      %s = tile.load %y[%vi] : !tile.buffer<[4] x f32>
      %v = tile.load %x[%vi, %vk] : !tile.buffer<[4, 35] x f32>
      %p = arith.mulf %s, %v : f32
      %n = arith.addf %s, %p : f32
      tile.store %n, %y[%vi] : !tile.buffer<[4] x f32>
    }
  } }
  return
}
func.func private @weighted(%x: !tile.buffer<[4, 35] x f32>, %y: !tile.buffer<[4] x f32>) attributes {tile.kernel} {
  tile.for %i in 4 parallel { tile.for %k in 35 {
    tile.block "sum" spatial(%vi in 4 = %i) reduced(%va in 5 = floordiv(%k, 7), %vb in 7 = mod(%k, 7)) {
      tile.init {
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %y[%vi] : !tile.buffer<[4] x f32>
      }
      %s = tile.load %y[%vi] : !tile.buffer<[4] x f32>
      %v = tile.load %x[%vi, %va * 7 + %vb] : !tile.buffer<[4, 35] x f32>
      %c = arith.index_cast %va : index to i32
      %w = arith.sitofp %c : i32 to f32
      %p = arith.mulf %w, %v : f32
      %n = arith.addf %s, %p : f32
      tile.store %n, %y[%vi] : !tile.buffer<[4] x f32>
    }
  } }
  return
}
"""


def test_what_is_no_plain_sum(tmp_path: Path) -> None:
    """A value that grows by a multiple of itself, and a sum whose terms know their iteration, have no lanes."""
    (tmp_path / "sums.mlir").write_text(SUMS)
    assert "agree" in succeed("check", "sums.mlir", "--batch-invariant", folder=tmp_path)


@pytest.mark.parametrize("length", [1, 15, 16, 17, 31, 100, 1000])
def test_zeros_that_follow_change_no_sum(length: int, tmp_path: Path) -> None:
    """Rows of a softmax, of which masked elements are 0, as with keys of later tokens."""
    nodes = [helper.make_node("Softmax", ["x"], ["y"])]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "length"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", "length"])
    model = helper.make_model(helper.make_graph(nodes, "rows", [x], [y]), opset_imports=[helper.make_opsetid("", 17)])
    run = perpend.compile(model, batch_invariant=True)
    rows = np.random.default_rng(length).standard_normal((3, length)).astype(np.float32)
    longer = np.full((3, length + 37), -np.inf, np.float32)
    longer[:, :length] = rows
    np.testing.assert_array_equal(run(longer)[:, :length], run(rows))
