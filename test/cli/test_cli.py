"""The perpend tool as its user sees it: commands, files, exit codes, and what each error says.

The tool under test is build/bin/perpend, or bin/perpend of what PERPEND_BUILD names.
"""

import itertools
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PERPEND_BUILD", ROOT / "build"))
PERPEND = BUILD / "bin" / "perpend"
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
COMMANDS = ["compile", "run", "check", "bench", "inspect", "targets"]
F32 = TensorProto.FLOAT
GOOD, USER_ERROR, USAGE_ERROR = 0, 1, 2


def perpend(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(PERPEND), *(str(argument) for argument in arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300)


def succeed(*arguments: object, folder: Path) -> str:
    done = perpend(*arguments, folder=folder)
    assert done.returncode == GOOD, done.stderr
    assert done.stderr == ""
    return done.stdout


def reject(*arguments: object, folder: Path, code: int = USER_ERROR) -> str:
    """What the tool says; one error, never a trace of the stack."""
    done = perpend(*arguments, folder=folder)
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stderr.count("error: ") == 1, done.stderr
    assert done.stderr.startswith("error: ")
    assert "perpend bug" not in done.stderr and "Stack dump" not in done.stderr
    return done.stderr


def value(name: str, shape: Sequence[int | str] | None, kind: int = F32) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def save(path: Path, nodes: list[Any], inputs: list[Any], outputs: list[Any], weights: Sequence[Any] = ()) -> Path:
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, list(weights))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def save_tiny(folder: Path) -> Path:
    """y = relu(x @ w + b), with a symbolic number of rows."""
    generator = np.random.default_rng(1)
    weights = [
        numpy_helper.from_array(generator.standard_normal((5, 7)).astype(np.float32), "w"),
        numpy_helper.from_array(generator.standard_normal(7).astype(np.float32), "b"),
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"], name="matmul"),
        helper.make_node("Add", ["product", "b"], ["sum"], name="add"),
        helper.make_node("Relu", ["sum"], ["y"], name="relu"),
    ]
    return save(folder / "tiny.onnx", nodes, [value("x", ["n", 5])], [value("y", ["n", 7])], weights)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return save_tiny(tmp_path)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    succeed("compile", save_tiny(folder), "-o", "tiny.so", folder=folder)
    return folder / "tiny.so"


# Help and usage


def test_help_of_every_command(tmp_path: Path) -> None:
    for command in COMMANDS:
        text = succeed(command, "--help", folder=tmp_path)
        assert text.startswith(f"usage: perpend {command}")
        assert f"  perpend {command}" in text.split("examples:")[1]
    overview = succeed("--help", folder=tmp_path)
    assert all(f"  {command}" in overview for command in COMMANDS)


def test_help_of_compile_lists_the_compilers_options(tmp_path: Path) -> None:
    text = succeed("compile", "--help", folder=tmp_path)
    for line in (ROOT / "src" / "Options.def").read_text().splitlines():
        if line.startswith("OPTION("):
            flag = line.split(",")[1].strip().strip('"')
            assert ("--" if len(flag) > 1 else "-") + flag in text


def test_version_and_targets(tmp_path: Path) -> None:
    assert succeed("--version", folder=tmp_path).startswith("perpend 0.")
    text = succeed("targets", folder=tmp_path)
    assert text.startswith("host = ") and "\nx86-64-v3: 16 vectors of 32 bytes" in text


def test_misspelt_words_get_a_suggestion(tmp_path: Path, tiny: Path) -> None:
    assert "did you mean 'compile'?" in reject("compil", folder=tmp_path, code=USAGE_ERROR)
    assert "did you mean" not in reject("optimum", folder=tmp_path, code=USAGE_ERROR)
    message = reject("compile", tiny, "-o", "x.so", "--targt", "host", folder=tmp_path, code=USAGE_ERROR)
    assert "unknown option '--targt'" in message and "did you mean '--target'?" in message
    message = reject("compile", tiny, "--stop-after", "fues", folder=tmp_path, code=USAGE_ERROR)
    assert "did you mean 'fuse'?" in message
    message = reject("compile", tiny, "-o", "x.so", "--target", "haswel", folder=tmp_path, code=USAGE_ERROR)
    assert "did you mean 'haswell'?" in message


def test_usage_errors(tmp_path: Path, tiny: Path) -> None:
    def usage(*arguments: object) -> str:
        return reject(*arguments, folder=tmp_path, code=USAGE_ERROR)

    assert "a model is missing" in usage("compile")
    assert "unexpected argument 'b.onnx'" in usage("compile", tiny, "b.onnx")
    assert "no output" in usage("compile", tiny)
    assert "expected a name ending in .so or .a" in usage("compile", tiny, "-o", "tiny")
    assert "expected a value" in usage("compile", tiny, "-o")
    assert "expected 0..3, got '7'" in usage("compile", tiny, "-o", "x.so", "-O7")
    assert "takes no value" in usage("compile", tiny, "-o", "x.so", "--times=yes")
    assert "unknown reference 'numpy'" in usage("check", tiny, "--against", "numpy")
    assert "stages: graph" in usage("inspect", tiny, "--stage", "nowhere")
    assert perpend(folder=tmp_path).returncode == USAGE_ERROR


# Models that are no models


def test_missing_file(tmp_path: Path) -> None:
    for command in ["compile", "run", "check", "bench", "inspect"]:
        output = ["-o", "x.so"] if command == "compile" else []
        message = reject(command, "nothing.onnx", *output, folder=tmp_path)
        assert "cannot read 'nothing.onnx': No such file" in message
    assert "is a folder" in reject("inspect", ".", folder=tmp_path)


def test_not_a_protobuf(tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("this is no model")
    message = reject("compile", "text.onnx", "-o", "x.so", folder=tmp_path)
    assert "text.onnx" in message and "ONNX" in message
    (tmp_path / "empty.onnx").write_bytes(b"")
    assert "ONNX" in reject("compile", "empty.onnx", "-o", "x.so", folder=tmp_path)


def test_truncated_models(tmp_path: Path, tiny: Path) -> None:
    whole = tiny.read_bytes()
    for size in range(1, len(whole), 37):
        (tmp_path / "cut.onnx").write_bytes(whole[:size])
        done = perpend("inspect", "cut.onnx", folder=tmp_path)
        assert done.returncode == USER_ERROR and done.stderr.startswith("error: "), (size, done.stderr)
        assert "perpend bug" not in done.stderr


def test_unknown_operators_are_listed_together(tmp_path: Path) -> None:
    names = ["Alpha", "Beta", "Gamma", "Delta", "Epsilon"]
    nodes = [helper.make_node(name, ["x"], [f"{name}_out"], name=f"my_{name}", domain="strange") for name in names]
    model = save(tmp_path / "m.onnx", nodes, [value("x", [2])], [value("Alpha_out", [2])])
    message = reject("compile", model, "-o", "x.so", folder=tmp_path)
    assert "5 operators" in message
    assert all(name in message and f"my_{name}" in message for name in names)
    assert "hint: " in message


def test_unsupported_types(tmp_path: Path) -> None:
    for kind, name in [(TensorProto.STRING, "string"), (TensorProto.COMPLEX64, "complex64")]:
        nodes = [helper.make_node("Identity", ["x"], ["y"])]
        model = save(tmp_path / "m.onnx", nodes, [value("x", [2], kind)], [value("y", [2], kind)])
        message = reject("compile", model, "-o", "x.so", folder=tmp_path)
        assert "input 'x'" in message and name in message.lower()


def test_cyclic_graph(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Add", ["x", "b"], ["a"], name="first"),
        helper.make_node("Add", ["x", "a"], ["b"], name="second"),
    ]
    message = reject(
        "compile", save(tmp_path / "m.onnx", nodes, [value("x", [2])], [value("b", [2])]), "-o", "x.so", folder=tmp_path
    )
    assert "cycle" in message and "'first'" in message and "'second'" in message


def test_external_data_stays_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.bin").write_bytes(bytes(8))
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.bin").symlink_to(tmp_path / "secret.bin")
    for location in ["../secret.bin", str(tmp_path / "secret.bin"), "link.bin"]:
        weight = TensorProto(name="w", data_type=F32, dims=[2], data_location=TensorProto.EXTERNAL)
        weight.external_data.add(key="location", value=location)
        nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
        model = save(inside / "m.onnx", nodes, [value("x", [2])], [value("y", [2])], [weight])
        message = reject("compile", model, "-o", "x.so", folder=tmp_path)
        assert "'w'" in message and "folder" in message


def test_absurd_dimensions(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    model = save(tmp_path / "m.onnx", nodes, [value("x", ["n", 1000000])], [value("y", ["n", 1000000])])
    message = reject("compile", model, "-o", "x.so", "--dim", "n=1000000", folder=tmp_path)
    assert "'x'" in message and "4.00E+12 bytes" in message
    message = reject("compile", model, "-o", "x.so", "--dim", "n=9000000000000000000", folder=tmp_path)
    assert "perpend bug" not in message
    assert "no input has the dimension 'm'" in reject("compile", model, "-o", "x.so", "--dim", "m=3", folder=tmp_path)
    message = reject("run", model, "--symbol", "n=100000000000", folder=tmp_path)
    assert "no memory" in message


def test_shapes_that_do_not_fit_name_the_node(tmp_path: Path) -> None:
    nodes = [helper.make_node("MatMul", ["x", "z"], ["y"], name="wrong")]
    model = save(tmp_path / "m.onnx", nodes, [value("x", [2, 3]), value("z", [4, 5])], [value("y", None)])
    assert "node 'wrong'" in reject("compile", model, "-o", "x.so", folder=tmp_path)


def test_module_text_with_errors(tmp_path: Path) -> None:
    (tmp_path / "bad.mlir").write_text("func.func @main( {\n")
    assert "bad.mlir:1:" in reject("compile", "bad.mlir", "-o", "x.so", folder=tmp_path)
    (tmp_path / "empty.mlir").write_text("module {}\n")
    assert "no function @main" in reject("compile", "empty.mlir", "-o", "x.so", folder=tmp_path)


# compile


def test_compile_writes_library_and_header(tmp_path: Path, tiny: Path) -> None:
    text = succeed("compile", tiny, "-o", "tiny.so", "--name", "my_model", folder=tmp_path)
    assert "tiny.so: " in text and "weights" in text and "arena" in text and "target " in text and "isa " not in text
    assert ", isa " in succeed("compile", tiny, "-o", "tiny.so", "--name", "my_model", "--times", folder=tmp_path)
    assert (tmp_path / "tiny.so").read_bytes()[:4] == b"\x7fELF"
    assert "perpend_module_my_model" in (tmp_path / "tiny.h").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tiny.h", "tiny.onnx", "tiny.so"]


def test_compile_static_library_and_program(tmp_path: Path, tiny: Path) -> None:
    succeed("compile", tiny, "-o", "tiny.a", folder=tmp_path)
    assert (tmp_path / "tiny.a").read_bytes()[:7] == b"!<arch>"
    succeed("compile", tiny, "-o", "tiny", "--exe", folder=tmp_path)
    rows = np.ones((3, 5), np.float32)
    np.save(tmp_path / "x.npy", rows)
    subprocess.run([tmp_path / "tiny", "--input", "x.npy", "--output-dir", "program"], cwd=tmp_path, check=True)
    succeed("run", tiny, "--input", "x.npy", "--output-dir", "tool", folder=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "program/y.npy"), np.load(tmp_path / "tool/y.npy"))


def test_compile_times(tmp_path: Path, tiny: Path) -> None:
    text = succeed("compile", tiny, "-o", "tiny.so", "--times", folder=tmp_path)
    assert all(f"  {phase} " in text for phase in phase_names(tmp_path))
    assert "  fuse " not in succeed("compile", tiny, "-o", "tiny.so", folder=tmp_path)


def phase_names(folder: Path) -> list[str]:
    message = reject("compile", "m.onnx", "--stop-after", "?", folder=folder, code=USAGE_ERROR)
    return message.rsplit("phases: ", 1)[1].strip().split(", ")


def dumped(folder: Path, phase: str) -> Path:
    (found,) = [path for path in folder.iterdir() if path.stem.split("-")[-1] == phase]
    return found


def test_dumped_phases_start_again(tmp_path: Path, tiny: Path) -> None:
    succeed("compile", tiny, "-o", "whole.so", "--name", "same", "--dump-phases", "phases", folder=tmp_path)
    names = phase_names(tmp_path)
    assert len(names) == len(list((tmp_path / "phases").iterdir()))
    np.save(tmp_path / "x.npy", np.arange(15, dtype=np.float32).reshape(3, 5))
    succeed("run", "whole.so", "--input", "x.npy", "--output-dir", "whole", folder=tmp_path)
    for before, phase in itertools.pairwise(names):
        arguments = [dumped(tmp_path / "phases", before), "-o", f"{phase}.so", "--name", "same", "--start-from", phase]
        succeed("compile", *arguments, folder=tmp_path)
        succeed("run", f"{phase}.so", "--input", "x.npy", "--output-dir", phase, folder=tmp_path)
        np.testing.assert_array_equal(np.load(tmp_path / "whole/y.npy"), np.load(tmp_path / phase / "y.npy"))
    assert (tmp_path / "whole.so").read_bytes() == (tmp_path / f"{names[1]}.so").read_bytes()


def test_stop_after_and_override_phase(tmp_path: Path, tiny: Path) -> None:
    text = succeed("compile", tiny, "--stop-after", "simplify", folder=tmp_path)
    assert "func.func @main" in text
    succeed("compile", tiny, "--stop-after", "simplify", "-o", "part.mlir", folder=tmp_path)
    changed = (tmp_path / "part.mlir").read_text().replace("arith.maximumf", "arith.minimumf")
    assert "arith.minimumf" in changed
    (tmp_path / "changed.mlir").write_text(changed)
    succeed("compile", tiny, "-o", "tiny.so", "--override-phase", "simplify:changed.mlir", folder=tmp_path)
    succeed("run", "tiny.so", "--random", 3, "--symbol", "n=4", "--output-dir", "out", folder=tmp_path)
    result = np.load(tmp_path / "out" / "y.npy")
    assert (result <= 0).all() and (result < 0).any()


def test_module_text_is_a_model(tmp_path: Path) -> None:
    """The text holds all weights, those that are resources too."""
    weight = numpy_helper.from_array(np.random.default_rng(3).standard_normal((64, 96)).astype(np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    model = save(tmp_path / "m.onnx", nodes, [value("x", ["n", 64])], [value("y", ["n", 96])], [weight])
    succeed("compile", model, "--stop-after", "simplify", "-o", "m.mlir", folder=tmp_path)
    assert "the outputs agree" in succeed("check", "m.mlir", folder=tmp_path)
    for name in ["m.onnx", "m.mlir"]:
        succeed("run", name, "--random", 1, "--symbol", "n=3", "--output-dir", f"{name}.out", folder=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "m.onnx.out/y.npy"), np.load(tmp_path / "m.mlir.out/y.npy"))
    assert "needs an .onnx file" in reject("compile", "m.mlir", "-o", "x.so", "--dim", "n=3", folder=tmp_path)
    text = succeed("inspect", "m.mlir", "--stage", "graph", folder=tmp_path)
    assert "dense_resource<" in text and "{-#" not in text and len(text) < 5000


def test_modules_from_files_are_checked(tmp_path: Path, tiny: Path) -> None:
    succeed("compile", tiny, "--stop-after", "simplify", "-o", "part.mlir", folder=tmp_path)
    message = reject("compile", tiny, "-o", "x.so", "--override-phase", "fuse:part.mlir", folder=tmp_path)
    assert "not one behind the phase 'fuse'" in message and "main only calls kernels" in message
    message = reject("compile", "part.mlir", "-o", "x.so", "--start-from", "lower", folder=tmp_path)
    assert "not one behind the phase 'plan'" in message


def test_internal_errors_leave_a_reproducer(tmp_path: Path, tiny: Path) -> None:
    """A kernel with an operation that no phase lowers."""
    succeed("compile", tiny, "--stop-after", "tile", "-o", "tile.mlir", folder=tmp_path)
    head, mark, tail = (tmp_path / "tile.mlir").read_text().rpartition("    return")
    assert mark
    product = """    %first = arith.constant 0 : index
    %place = memref.alloca() : memref<4xi32>
    %factor = arith.constant 3 : i32
    %old = memref.atomic_rmw muli %factor, %place[%first] : (i32, memref<4xi32>) -> i32
"""
    (tmp_path / "tile.mlir").write_text(head + product + mark + tail)
    done = perpend("compile", "tile.mlir", "-o", "x.so", "--start-from", "plan", folder=tmp_path)
    assert done.returncode == USER_ERROR
    assert "perpend bug" in done.stderr and "in phase: lower\n" in done.stderr
    assert "memref.atomic_rmw muli" in (tmp_path / "perpend-repro.mlir").read_text()
    replay = done.stderr.rsplit("replay: perpend ", 1)[1].split()
    again = perpend(*replay, folder=tmp_path)
    assert again.returncode == USER_ERROR and "in phase 'lower')" in again.stderr
    assert not (tmp_path / "x.so").exists()


def test_same_input_same_bytes(tmp_path: Path, tiny: Path) -> None:
    for name in ["a", "b"]:
        succeed("compile", tiny, "-o", f"{name}.so", "--name", "m", folder=tmp_path)
    assert (tmp_path / "a.so").read_bytes() == (tmp_path / "b.so").read_bytes()


# run


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
    outputs = [succeed("run", library, "--random", seed, "--symbol", "n=2", folder=tmp_path) for seed in [1, 1, 2]]
    assert outputs[0] == outputs[1] != outputs[2]


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
    assert "x.npy" in reject("run", library, "--input", "x.npy", folder=tmp_path)
    assert "missing.npy" in reject("run", library, "--input", "missing.npy", folder=tmp_path)
    np.save(tmp_path / "x.npy", good)
    assert "given twice" in reject("run", library, "--input", "x.npy", "--input", "x=x.npy", folder=tmp_path)
    assert "one more" in reject("run", library, "--input", "x.npy", "--input", "x.npy", folder=tmp_path)
    assert "symbols: n" in reject("run", library, "--symbol", "m=3", folder=tmp_path)
    assert "at least 0" in reject("run", library, "--symbol", "n=-1", folder=tmp_path)


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


# check, bench, inspect


@pytest.mark.parametrize("against", ["interpreter", "onnxruntime", "interpreter,onnxruntime"])
def test_check(tmp_path: Path, tiny: Path, against: str) -> None:
    text = succeed("check", tiny, "--against", against, "--symbol", "n=3", "--seed", 5, folder=tmp_path)
    assert text.count("the outputs agree") == len(against.split(","))
    assert "ok       y: f32 [3, 7]  max abs error" in text


def test_check_without_onnxruntime(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERPEND_PYTHON", "no-such-python")
    assert "no-such-python" in reject("check", tiny, "--against", "onnxruntime", folder=tmp_path)


def test_check_sees_a_difference(tmp_path: Path, tiny: Path) -> None:
    """A phase is overridden by one that computes something else; the interpreter sees the model as it is."""
    succeed("compile", tiny, "--stop-after", "simplify", "-o", "part.mlir", folder=tmp_path)
    text = (tmp_path / "part.mlir").read_text()
    (tmp_path / "changed.mlir").write_text(text.replace("arith.maximumf", "arith.minimumf"))
    done = perpend("check", tiny, "--override-phase", "simplify:changed.mlir", folder=tmp_path)
    assert done.returncode == USER_ERROR
    assert "DIFFERS  y: f32" in done.stdout and "the outputs DIFFER" in done.stdout
    assert "first difference: " in done.stdout


def test_bench(tmp_path: Path, library: Path) -> None:
    text = succeed(
        "bench", library, "--threads", "1,2", "--time", 100, "--json", "b.json", "--profile", folder=tmp_path
    )
    assert "median ms" in text and "us/run" in text
    rows = json.loads((tmp_path / "b.json").read_text())["rows"]
    assert [row["threads"] for row in rows] == [1, 2]
    assert all(row["runs"] > 0 and row["median_ms"] >= row["least_ms"] > 0 for row in rows)


def test_bench_runs_once_without_time(tmp_path: Path, library: Path) -> None:
    header, row = succeed("bench", library, "--time", 0, folder=tmp_path).splitlines()
    assert header.split()[:2] == ["threads", "runs"] and row.split()[:2] == ["1", "1"]


def test_inspect(tmp_path: Path, library: Path, tiny: Path) -> None:
    for model in [library, tiny]:
        text = succeed("inspect", model, folder=tmp_path)
        assert "input    x: f32 [n, 5]" in text and "output   y: f32 [n, 7]" in text
        assert "symbols  n\n" in text and "kernels: " in text and "weights  " in text


def test_inspect_stages(tmp_path: Path, tiny: Path) -> None:
    for stage, words in {
        "graph": "graph.contract",
        "fuse": "graph.call_kernel",
        "tile": "memref",
        "llvm": "define",
        "asm": ".text",
    }.items():
        assert words in succeed("inspect", tiny, "--stage", stage, folder=tmp_path), stage


def test_inspect_page(tmp_path: Path) -> None:
    assert succeed("inspect", DIGITS, "--html", "report.html", folder=tmp_path) == "wrote report.html\n"
    page = (tmp_path / "report.html").read_text()
    assert page.startswith("<!doctype html>") and "<svg" in page and page.count("<details>") > 5
    assert "http" not in page.replace("http://www.w3.org", "")
    assert len(page) < 2_000_000


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
    for extent, message in ((6, "expected 5, got 6"), (0, "expected at least 1, got 0")):
        np.save(tmp_path / "x.npy", np.ones(extent, np.float32))
        assert message in reject("run", "m.so", "--input", "x.npy", folder=tmp_path)


def test_symbol_that_no_dimension_gives(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text(NEGATE.format("n*m"))
    message = reject("compile", "m.mlir", "-o", "m.so", folder=tmp_path)
    assert "no input has a dimension that gives 'm'" in message and "hint: " in message
