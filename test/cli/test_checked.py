"""compile --checked: what would leave a tensor's memory is an error of the run."""

import re
from pathlib import Path

import numpy as np
import pytest
from cli.tool import DIGITS, reject, save, save_tiny, succeed, value
from onnx import helper, numpy_helper

# Reads 'x' at an index that the data give.
GATHER = """
module {
  func.func @main(%x: tensor<?xf32, #graph.shape<["n"]>> {graph.name = "x"},
                  %at: tensor<4xi64> {graph.name = "at"}) -> (tensor<4xf32> {graph.name = "y"}) {
    %y = graph.generate (%at, %x) : (tensor<4xi64>, tensor<?xf32, #graph.shape<["n"]>>) -> tensor<4xf32> {
    ^bb0(%i: index, %places: tensor<4xi64>, %values: tensor<?xf32, #graph.shape<["n"]>>):
      %place = graph.load %places[%i] : tensor<4xi64> -> i64
      %index = arith.index_cast %place : i64 to index
      %value = graph.load %values[%index] : tensor<?xf32, #graph.shape<["n"]>> -> f32
      graph.yield %value : f32
    } loc("picking")
    return %y : tensor<4xf32>
  }
}
"""


def run(library: str, at: list[int], folder: Path) -> list[str]:
    np.save(folder / "x.npy", np.arange(5, dtype=np.float32))
    np.save(folder / "at.npy", np.array(at, np.int64))
    return ["run", library, "--input", "x.npy", "--input", "at.npy", "--output-dir", "."]


@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_an_index_of_the_data_is_checked(tmp_path: Path, level: str) -> None:
    (tmp_path / "gather.mlir").write_text(GATHER)
    succeed("compile", "gather.mlir", "-o", "gather.so", "--checked", level, folder=tmp_path)
    for wrong in [5, -1, 100000000, 2**62, -(2**63)]:
        message = reject(*run("gather.so", [0, 4, wrong, 1], tmp_path), folder=tmp_path)
        assert re.search(r"node 'picking': kernel 'load_index_cast_\w+' leaves input ", message)
        assert "('x', f32 [n]): expected an element from 0 to less than n, got " + str(wrong) in message
        assert "hint: the code that computes this position is wrong" in message
    succeed(*run("gather.so", [0, 4, 2, 1], tmp_path), folder=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), np.array([0, 4, 2, 1], np.float32))


def test_a_checked_artifact_says_so(tmp_path: Path) -> None:
    path = save_tiny(tmp_path)
    succeed("compile", path, "-o", "checked.so", "--checked", folder=tmp_path)
    succeed("compile", path, "-o", "plain.so", folder=tmp_path)
    assert "\nchecked  " in succeed("inspect", "checked.so", folder=tmp_path)
    assert "\nchecked  " not in succeed("inspect", "plain.so", folder=tmp_path)


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_registers_that_move_memory_are_not_used(tmp_path: Path, precision: str) -> None:
    weights = [numpy_helper.from_array(np.ones((64, 64), np.float32), "w")]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    model = save(tmp_path / "product.onnx", nodes, [value("x", [40, 64])], [value("y", [40, 64])], weights)
    options = ["--target", "sapphirerapids", "--precision", precision, "--stop-after", "lower"]
    assert "llvm.x86.tile" in succeed("compile", model, *options, folder=tmp_path)
    assert "llvm.x86.tile" not in succeed("compile", model, *options, "--checked", folder=tmp_path)


def test_scratch_memory_is_checked(tmp_path: Path) -> None:
    nodes = [helper.make_node("Softmax", ["x"], ["y"])]
    model = save(tmp_path / "rows.onnx", nodes, [value("x", ["n", "m"])], [value("y", ["n", "m"])])
    for symbols in [["n=0", "m=5"], ["n=1", "m=0"], ["n=7", "m=17"]]:
        chosen = [part for symbol in symbols for part in ("--symbol", symbol)]
        assert "agree" in succeed("check", model, "--checked", *chosen, folder=tmp_path)
    succeed("compile", model, "-o", "plan.mlir", "--stop-after", "plan", folder=tmp_path)
    text = (tmp_path / "plan.mlir").read_text()
    # The argument behind the symbols.
    wrong, count = re.subn(r"(memref\.store %\w+, %arg3)\[(%\w+)\]", r"\1[%wrong]", text, count=1)
    assert count == 1, text
    body = wrong.index("{\n", wrong.index("tile.kernel")) + 2
    wrong = wrong[:body] + "    %wrong = arith.constant 17 : index\n" + wrong[body:]
    (tmp_path / "wrong.mlir").write_text(wrong)
    succeed("compile", "wrong.mlir", "-o", "wrong.so", "--start-from", "lower", "--checked", folder=tmp_path)
    succeed("run", "wrong.so", "--symbol", "n=3", "--symbol", "m=18", folder=tmp_path)
    message = reject("run", "wrong.so", "--symbol", "n=3", "--symbol", "m=17", folder=tmp_path)
    assert "leaves its scratch buffer 0: expected an element from 0 to less than m, got 17" in message


@pytest.mark.parametrize("options", [["-O0"], ["-O1"], ["-O3"], ["-O3", "--target", "x86-64"]])
def test_checked_models_are_right(tmp_path: Path, options: list[str]) -> None:
    for symbol in ["n=0", "n=1", "n=7"]:
        text = succeed("check", DIGITS, "--checked", "--symbol", symbol, *options, folder=tmp_path)
        assert "agree" in text or "ok" in text.lower()


# A mistake of a phase, made by hand: of each kind of access one.
@pytest.mark.parametrize(
    ("pattern", "replacement", "expected"),
    [
        (r"(tile\.call_intrinsic [^\n]* extents\(%\w+, )%\w+", r"\1%wrong", "leaves input "),
        (r"(memref\.store %\w+, %arg\d+)\[%\w+\]", r"\1[%wrong]", "leaves output 0 ("),
        (r"(memref\.load %alloca\w*|memref\.load %cast\w*)\[%\w+\]", r"\1[%wrong]", "leaves memory that it allocates"),
    ],
)
def test_mistakes_of_the_tile_level_are_found(tmp_path: Path, pattern: str, replacement: str, expected: str) -> None:
    succeed("compile", save_tiny(tmp_path), "-o", "plan.mlir", "--stop-after", "plan", folder=tmp_path)
    text = (tmp_path / "plan.mlir").read_text()
    kernel = text.index("func.func private @")
    name = text[kernel:].split("@")[1].split("(")[0]
    wrong, count = re.subn(pattern, replacement, text[kernel:], count=1)
    assert count == 1, text
    body = wrong.index("{\n", wrong.index("tile.kernel")) + 2
    wrong = wrong[:body] + "    %wrong = arith.constant 100000 : index\n" + wrong[body:]
    (tmp_path / "wrong.mlir").write_text(text[:kernel] + wrong)
    succeed("compile", "wrong.mlir", "-o", "wrong.so", "--start-from", "lower", "--checked", folder=tmp_path)
    np.save(tmp_path / "x.npy", np.ones((30, 5), np.float32))
    message = reject("run", "wrong.so", "--input", "x.npy", folder=tmp_path)
    assert expected in message and f"kernel '{name}'" in message
