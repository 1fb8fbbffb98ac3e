"""perpend run: inputs, outputs and their errors."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from cli.tool import DIGITS, GOOD, USAGE_ERROR, perpend, reject, save, succeed, value
from onnx import helper, numpy_helper


def test_run_computes(tmp_path: Path, library: Path, tiny: Path) -> None:
    generator = np.random.default_rng(2)
    rows = generator.standard_normal((3, 5)).astype(np.float32)
    np.save(tmp_path / "x.npy", rows)
    weights = {w.name: numpy_helper.to_array(w) for w in onnx.load(tiny).graph.initializer}
    for model in [library, tiny]:
        text = succeed("run", model, "--input", "x=x.npy", "--output-dir", "out", "--repeat", 3, folder=tmp_path)
        assert "y: f32 [3, 7]  min 0, max" in text and "NaN: 0" in text and "3 runs: " in text
        expected = np.maximum(rows @ weights["w"] + weights["b"], 0)
        np.testing.assert_allclose(np.load(tmp_path / "out" / "y.npy"), expected, rtol=1e-5, atol=1e-5)


def test_run_random_inputs_repeat(tmp_path: Path, library: Path) -> None:
    outputs = [succeed("run", library, "--seed", seed, "--symbol", "n=2", folder=tmp_path) for seed in [1, 1, 2]]
    assert outputs[0] == outputs[1] != outputs[2]


def test_a_library_that_is_empty(tmp_path: Path) -> None:
    (tmp_path / "m.so").write_bytes(b"")
    for command in ["run", "inspect", "bench"]:
        assert "the library 'm.so' is empty\nhint: compile" in reject(command, "m.so", folder=tmp_path)


def test_the_older_name_of_seed(tmp_path: Path, library: Path) -> None:
    outputs = [succeed("run", library, flag, 7, folder=tmp_path) for flag in ["--seed", "--random"]]
    assert outputs[0] == outputs[1]
    for command in ["run", "check", "bench"]:
        text = succeed(command, "--help", folder=tmp_path)
        assert "--seed SEED " in text and "--random" not in text


def test_symbols_and_files_that_disagree(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Relu", ["z"], ["w"])]
    inputs, outputs = ([value(name, ["n", "m"]) for name in names] for names in ["xz", "yw"])
    model = save(tmp_path / "m.onnx", nodes, inputs, outputs)
    np.save(tmp_path / "x.npy", np.zeros((3, 5), np.float32))
    for command in ["run", "bench", "check"]:
        message = reject(command, model, "--input", "x=x.npy", "--symbol", "n=4", folder=tmp_path)
        assert "option '--symbol': dimension 0 of the input 'x' is n = 4, and its file has 3" in message
        assert "hint: " in message
    text = succeed("run", model, "--input", "x=x.npy", "--symbol", "n=3", folder=tmp_path)
    assert "w: f32 [3, 5]" in text
    message = reject("bench", model, "--against", "onnxruntime", "--input", "x.npy", folder=tmp_path, code=USAGE_ERROR)
    assert "option '--input' is not for --against" in message and "hint: " in message


def test_counts_that_mean_nothing(tmp_path: Path, library: Path) -> None:
    message = reject("run", library, "--repeat", 0, folder=tmp_path, code=USAGE_ERROR)
    assert "option '--repeat': expected N, a whole number of at least 1, got '0'" in message
    message = reject("bench", library, "--threads", "1,0", folder=tmp_path, code=USAGE_ERROR)
    assert "expected numbers of at least 1, such as 1,2, got '1,0'" in message
    assert "y: f32" in succeed("run", library, "--threads", 0, folder=tmp_path)
    assert "(default 0: all usable cores)" in succeed("run", "--help", folder=tmp_path)
    assert "(default 0: never)" in succeed("compile", "--help", folder=tmp_path)


def test_help_states_defaults(tmp_path: Path) -> None:
    lines = succeed("compile", "--help", folder=tmp_path).splitlines()
    for flag, default in {"--target": "host", "-O0..3": "3", "--precision": "f32", "--plan": "best"}.items():
        (line,) = (line for line in lines if line.strip().startswith(flag))
        assert line.endswith(f" (default {default})")
    assert "(default: as many as --budget allows)" in succeed("tune", "--help", folder=tmp_path)


def save_branches(folder: Path) -> Path:
    """One branch needs five elements, the other none."""
    filters = numpy_helper.from_array(np.ones((1, 1, 5), np.float32), "w")
    branches = {
        "then_branch": helper.make_graph(
            [helper.make_node("Conv", ["x", "w"], ["a"], name="wide")], "then", [], [value("a", None)]
        ),
        "else_branch": helper.make_graph([helper.make_node("Neg", ["x"], ["b"])], "else", [], [value("b", None)]),
    }
    nodes = [helper.make_node("If", ["c"], ["y"], **branches)]
    inputs = [value("c", [], onnx.TensorProto.BOOL), value("x", [1, 1, "n"])]
    return save(folder / "branches.onnx", nodes, inputs, [value("y", None)], [filters])


def test_a_branch_that_does_not_run_has_no_requirements(tmp_path: Path) -> None:
    model = save_branches(tmp_path)
    for condition in [False, True]:
        np.save(tmp_path / f"{condition}.npy", np.array(condition))
    assert "y: f32 [1, 1, 2]" in succeed("run", model, "--input", "c=False.npy", folder=tmp_path)
    for command in ["run", "check", "bench"]:
        message = reject(command, model, "--input", "c=True.npy", folder=tmp_path)
        assert "node 'wide': the sizes do not fit: expected n >= 4, got 2" in message
        assert "made up: 'x' (--input" in message and "n=2 (--symbol NAME=N" in message
    text = succeed("run", model, "--input", "c=True.npy", "--symbol", "n=7", folder=tmp_path)
    assert "y: f32 [1, 1, 3]" in text
    np.save(tmp_path / "x.npy", np.zeros((1, 1, 2), np.float32))
    assert "made up" not in reject("run", model, "--input", "c=True.npy", "--input", "x=x.npy", folder=tmp_path)


def test_a_branch_that_cannot_run(tmp_path: Path) -> None:
    """Said once by each command, and an error of the runs that reach it."""
    model = save_branches(tmp_path)
    for condition in [False, True]:
        np.save(tmp_path / f"{condition}.npy", np.array(condition))
    short = ["--dim", "n=2"]
    for command, options in {"compile": ["-o", "x.so"], "check": ["--input", "c=False.npy"], "inspect": []}.items():
        done = perpend(command, model, *short, *options, folder=tmp_path)
        assert done.returncode == GOOD
        assert done.stderr.count("warning: ") == 1
        assert re.match(r"warning: .*a run that chooses the then branch will be an error: node 'wide'", done.stderr)
    assert "y: f32 [1, 1, 2]" in succeed("run", "x.so", "--input", "c=False.npy", folder=tmp_path)
    message = reject("run", "x.so", "--input", "c=True.npy", folder=tmp_path)
    assert "the condition chooses the then branch, which cannot run: node 'wide' (Conv)" in message


def test_wrong_inputs(tmp_path: Path, library: Path) -> None:
    def wrong(argument: str, array: Any) -> str:
        np.save(tmp_path / "x.npy", array)
        return reject("run", library, "--input", argument, folder=tmp_path)

    good = np.zeros((3, 5), np.float32)
    message = wrong("z=x.npy", good)
    assert "'z'" in message and "x" in message
    assert "f32" in (message := wrong("x.npy", good.astype(np.float64))) and "f64" in message
    assert "5" in (message := wrong("x.npy", np.zeros((3, 6), np.float32))) and "6" in message
    assert "rank" in wrong("x.npy", np.zeros(5, np.float32))
    (tmp_path / "x.npy").write_text("no array")
    message = reject("run", library, "--input", "x.npy", folder=tmp_path)
    assert message.startswith("error: x.npy: expected a .npy file") and message.count("hint: ") == 1
    message = reject("run", library, "--input", "nothing.npy", folder=tmp_path)
    assert message.startswith("error: cannot read 'nothing.npy': No such file") and message.count("hint: ") == 1
    assert "missing.npy" in reject("run", library, "--input", "missing.npy", folder=tmp_path)
    np.save(tmp_path / "x.npy", good)
    assert "given twice" in reject("run", library, "--input", "x.npy", "--input", "x=x.npy", folder=tmp_path)
    assert "one more" in reject("run", library, "--input", "x.npy", "--input", "x.npy", folder=tmp_path)
    assert "symbols: n" in reject("run", library, "--symbol", "m=3", folder=tmp_path)
    assert "expected [NAME=]FILE.npy, got '=x.npy'" in reject("run", library, "--input", "=x.npy", folder=tmp_path)


def test_damaged_library(tmp_path: Path, library: Path) -> None:
    (tmp_path / "cut.so").write_bytes(library.read_bytes()[:3000])
    assert "cut.so" in reject("run", "cut.so", folder=tmp_path)


def test_zero_size_tensors(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Concat", ["x", "z"], ["c"], axis=0)]
    inputs = [value("x", [0, 4]), value("z", [2, 4])]
    model = save(tmp_path / "m.onnx", nodes, inputs, [value("y", [0, 4]), value("c", [2, 4])])
    text = succeed("run", model, folder=tmp_path)
    assert "y: f32 [0, 4]" in text and "c: f32 [2, 4]" in text
    assert "the outputs agree" in succeed("check", model, folder=tmp_path)


def test_digits(tmp_path: Path) -> None:
    succeed("compile", DIGITS, "-o", "digits.so", folder=tmp_path)
    assert "[3, 10]" in succeed("run", "digits.so", "--symbol", "n=3", folder=tmp_path)
    text = succeed("check", DIGITS, "--against", "interpreter,onnxruntime", "--symbol", "n=3", folder=tmp_path)
    assert text.count("the outputs agree") == 2


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("f32", "input 0: expected a ranked tensor, got 'f32'"),
        ("tensor<*xf32>", "input 0: expected a ranked tensor"),
        ("tensor<?xf32>", "input 0: a dimension of 'tensor<?xf32>' has no expression"),
        ("tensor<4xi3>", "input 0: elements of type 'i3' cannot be passed"),
        ("tensor<4xcomplex<f32>>", "input 0: elements of type 'complex<f32>' cannot be passed"),
        ("tensor<" + "1x" * 40 + "f32>", "input 0: expected at most 32 dimensions, got 40"),
    ],
)
def test_types_that_cannot_be_passed(tmp_path: Path, argument: str, expected: str) -> None:
    model = tmp_path / "m.mlir"
    model.write_text(f"func.func @main(%a: {argument}) -> {argument} {{ return %a : {argument} }}")
    message = reject("compile", model, "-o", "m.so", folder=tmp_path)
    assert expected in message and "hint: " in message
    assert not (tmp_path / "m.so").exists()


def test_operator_of_another_level(tmp_path: Path) -> None:
    model = tmp_path / "m.mlir"
    model.write_text(
        "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = arith.addf %a, %a : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}"
    )
    assert "'arith.addf' is not an operator of the graph level" in reject(
        "compile", model, "-o", "m.so", folder=tmp_path
    )


def test_name_that_is_no_identifier(tmp_path: Path) -> None:
    message = reject("compile", DIGITS, "-o", "m.so", "--name", "../x", folder=tmp_path)
    assert "is not an identifier" in message and "hint: try --name" in message


NEGATE = """func.func @main(%a: tensor<?xf32, #graph.shape<["{0}"]>>) -> tensor<?xf32, #graph.shape<["{0}"]>> {{
  %0 = graph.map (%a) : (tensor<?xf32, #graph.shape<["{0}"]>>) -> tensor<?xf32, #graph.shape<["{0}"]>> {{
  ^bb0(%x: f32):
    %y = arith.negf %x : f32
    graph.yield %y : f32
  }}
  return %0 : tensor<?xf32, #graph.shape<["{0}"]>>
}}"""


def test_dimension_linear_in_a_symbol(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text(NEGATE.format("2*n + 1"))
    succeed("compile", "m.mlir", "-o", "m.so", folder=tmp_path)
    for extent in (1, 3, 7):
        np.save(tmp_path / "x.npy", np.ones(extent, np.float32))
        assert f"f32 [{extent}]" in succeed("run", "m.so", "--input", "x.npy", folder=tmp_path)
    for extent, message in ((6, "expected 2*n + 1, a multiple of 2 plus 1, got 6"), (0, "expected at least 1, got 0")):
        np.save(tmp_path / "x.npy", np.ones(extent, np.float32))
        assert message in reject("run", "m.so", "--input", "x.npy", folder=tmp_path)


def test_extents_that_a_model_does_not_take_are_not_assumed(tmp_path: Path) -> None:
    """A window of 17 needs as many pixels; a batch stays small."""
    weights = [numpy_helper.from_array(np.ones((1, 1, 17, 3), np.float32), "w")]
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"])]
    outputs = [value("y", ["b", 1, "h1", "w1"])]
    save(tmp_path / "window.onnx", nodes, [value("x", ["b", 1, "h", "w"])], outputs, weights)
    text = succeed("bench", "window.onnx", "--time", 0, folder=tmp_path)
    assert "input  x: f32 [2, 1, 32, 4]" in text
    text = succeed("bench", "window.onnx", "--time", 0, "--symbol", "h=20", folder=tmp_path)
    assert "input  x: f32 [2, 1, 20, 4]" in text
    assert "got 2" in reject("run", "window.onnx", "--symbol", "h=2", folder=tmp_path)


def test_symbols_of_files_are_solved_for(tmp_path: Path) -> None:
    """A file of 2*n + 1 elements gives n to inputs that are made up; one that is n itself goes before."""
    text = """func.func @main(%a: T1 {graph.name = "a"}, %b: T2 {graph.name = "b"}) -> T2 { return %b : T2 }"""
    for name, expression in {"T1": "2*n + 1", "T2": "n"}.items():
        text = text.replace(name, f'tensor<?xf32, #graph.shape<["{expression}"]>>')
    (tmp_path / "m.mlir").write_text(text)
    np.save(tmp_path / "a.npy", np.ones(7, np.float32))
    assert "f32 [3]" in succeed("run", "m.mlir", "--input", "a=a.npy", folder=tmp_path)
    np.save(tmp_path / "b.npy", np.ones(4, np.float32))
    message = reject("run", "m.mlir", "--input", "a=a.npy", "--input", "b=b.npy", folder=tmp_path)
    assert "got 7" in message
    np.save(tmp_path / "a.npy", np.ones(6, np.float32))
    assert "got 6" in reject("run", "m.mlir", "--input", "a=a.npy", folder=tmp_path)


def test_symbol_that_no_dimension_gives(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text(NEGATE.format("n*m"))
    message = reject("compile", "m.mlir", "-o", "m.so", folder=tmp_path)
    assert "no input has a dimension that gives 'm'" in message and "hint: " in message


def test_a_loop_of_one_iteration_that_swaps_its_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it yields are its arguments, which its simplification read after they were gone."""
    text = """swapped (float[n] x, float[m] y) => (float[a] u, float[b] v) {
      once = Constant <value_int = 1> ()
      go = Constant <value = bool {1}> ()
      u, v = Loop (once, go, x, y) <body =
        b (int64 i, bool c, float[k] p, float[l] q) => (bool o, float[l] s, float[k] t)
        { o = Identity(c) s = Identity(q) t = Identity(p) }>
    }"""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    onnx.save(model, tmp_path / "swapped.onnx")
    monkeypatch.setenv("MALLOC_PERTURB_", "165")  # memory that is free holds no types any more
    np.save(tmp_path / "x.npy", np.arange(2, dtype=np.float32))
    np.save(tmp_path / "y.npy", np.arange(3, dtype=np.float32))
    succeed("run", "swapped.onnx", "--input", "x.npy", "--input", "y.npy", "--output-dir", "out", folder=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "u.npy"), np.arange(3))
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "v.npy"), np.arange(2))
