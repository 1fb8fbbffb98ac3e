"""Models for Cortex-M: objects that programs are linked from, their headers, and that they compute the same in an
emulated board as on this machine."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from cli.small_models import save_convolutions
from cli.tool import BUILD, DIGITS, USAGE_ERROR, reject, save, save_tiny, succeed, value
from onnx import TensorProto, helper, numpy_helper

TARGETS = ("cortex-m4", "cortex-m7", "cortex-m55")
missing = (
    ""
    if (BUILD / "lib/cortex-m/runner.o").exists() and shutil.which("qemu-system-arm")
    else "qemu-system-arm or the runner's files for cortex-m are not there"
)
emulated = pytest.mark.skipif(bool(missing), reason=missing)
DIM = ("--dim", "n=2")


def save_integers(folder: Path) -> Path:
    """Sums of products of bytes, divisions and remainders of 32 and of 64 bits."""
    generator = np.random.default_rng(3)
    weights = [
        numpy_helper.from_array(generator.integers(-128, 128, (37, 21)).astype(np.int8), "w"),
        numpy_helper.from_array(np.array(3, np.uint8), "zero"),
        numpy_helper.from_array(np.array([7], np.int32), "seven"),
        numpy_helper.from_array(np.array([10**10 + 1], np.int64), "large"),
    ]
    nodes = [
        helper.make_node("MatMulInteger", ["x", "w", "zero"], ["sums"]),
        helper.make_node("Div", ["sums", "seven"], ["quotient"]),
        helper.make_node("Mod", ["sums", "seven"], ["rest"]),
        helper.make_node("Cast", ["sums"], ["wide"], to=TensorProto.INT64),
        helper.make_node("Mul", ["wide", "large"], ["products"]),
        helper.make_node("Div", ["products", "wide.seven"], ["parts"]),
        helper.make_node("Cast", ["seven"], ["wide.seven"], to=TensorProto.INT64),
    ]
    nodes.insert(4, nodes.pop())
    outputs = [value(name, ["n", 21], TensorProto.INT32) for name in ("quotient", "rest")]
    outputs.append(value("parts", ["n", 21], TensorProto.INT64))
    return save(folder / "integers.onnx", nodes, [value("x", ["n", 37], TensorProto.UINT8)], outputs, weights)


def save_quantised(folder: Path) -> Path:
    """A convolution and a product of bytes, each with a residue of channels that fills no word."""
    generator = np.random.default_rng(7)

    def weights(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array(generator.integers(-127, 128, shape).astype(np.int8), name)

    def number(name: str, content: float, kind: type) -> onnx.TensorProto:
        return numpy_helper.from_array(np.array(content, kind), name)

    nodes = [
        helper.make_node("QuantizeLinear", ["x", "sx", "zx"], ["q"]),
        helper.make_node("QLinearConv", ["q", "sx", "zx", "w", "sw", "zw", "sy", "zy"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Flatten", ["c"], ["f"]),
        helper.make_node("QLinearMatMul", ["f", "sy", "zy", "v", "sw", "zw", "sz", "zz"], ["y"]),
    ]
    constants = [weights("w", 11, 6, 3, 3), weights("v", 11 * 5 * 7, 9), number("sx", 0.02, np.float32)]
    constants += [number("zx", -3, np.int8), number("sw", 0.01, np.float32), number("zw", 0, np.int8)]
    constants += [number("sy", 0.05, np.float32), number("zy", 4, np.int8), number("sz", 0.3, np.float32)]
    constants += [number("zz", -7, np.int8)]
    inputs, outputs = [value("x", [2, 6, 5, 7])], [value("y", [2, 9], TensorProto.INT8)]
    return save(folder / "quantised.onnx", nodes, inputs, outputs, constants)


def save_pooled(folder: Path) -> Path:
    """Convolutions whose results only pooling reads: maxima of floats, which are whole numbers, so that sums are exact
    in any order; and means of bytes behind a map."""
    generator = np.random.default_rng(11)

    def weights(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array(generator.integers(-127, 128, shape).astype(np.int8), name)

    def number(name: str, content: float, kind: type) -> onnx.TensorProto:
        return numpy_helper.from_array(np.array(content, kind), name)

    floats = numpy_helper.from_array(generator.integers(-8, 9, (24, 3, 3, 3)).astype(np.float32), "f")
    nodes = [
        helper.make_node("Mul", ["x", "sixteen"], ["m"]),
        helper.make_node("Round", ["m"], ["i"]),
        helper.make_node("Conv", ["i", "f"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["largest"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("QuantizeLinear", ["largest", "sx", "zx"], ["q"]),
        helper.make_node("QLinearConv", ["q", "sx", "zx", "w", "sw", "zw", "sy", "zy"], ["b"]),
        helper.make_node("DequantizeLinear", ["b", "sy", "zy"], ["d"]),
        helper.make_node("AveragePool", ["d"], ["mean"], kernel_shape=[3, 3], strides=[3, 3]),
        helper.make_node("QuantizeLinear", ["mean", "sy", "zy"], ["y"]),
    ]
    constants = [floats, weights("w", 10, 24, 2, 2), number("sx", 4, np.float32), number("zx", -3, np.int8)]
    constants += [number("sw", 0.01, np.float32), number("zw", 0, np.int8), number("sy", 0.5, np.float32)]
    constants += [number("zy", 4, np.int8), number("sixteen", 16, np.float32)]
    inputs, outputs = [value("x", [1, 3, 27, 31])], [value("y", [1, 10, 4, 4], TensorProto.INT8)]
    return save(folder / "pooled.onnx", nodes, inputs, outputs, constants)


@pytest.mark.parametrize("name", ["m.o", "m.a"])
def test_a_model_is_one_function_with_its_memory(tmp_path: Path, name: str) -> None:
    out = succeed("compile", DIGITS, "-o", tmp_path / name, "--target", "cortex-m4", *DIM, folder=tmp_path)
    assert f"header {tmp_path / 'm.h'}" in out
    header = (tmp_path / "m.h").read_text()
    assert "int32_t perpend_run_m(const float in_image[128], float out_probabilities[20]);" in header
    sizes = subprocess.run(["llvm-size-19", "-A", tmp_path / name], capture_output=True, text=True, check=True).stdout
    section = {line.split()[0]: int(line.split()[1]) for line in sizes.splitlines() if line.startswith(".")}
    arena = section[".bss.perpend_arena_m"]
    assert f"#define PERPEND_ARENA_BYTES_M {arena}\n" in header
    assert section[".perpend.weights"] > 90_000
    symbols = subprocess.run(["llvm-nm-19", tmp_path / name], capture_output=True, text=True, check=True).stdout
    needed = {line.split()[1] for line in symbols.splitlines() if line.split()[:1] == ["U"]}
    assert not needed & {"malloc", "free", "printf", "perpend_pool_v4"}
    named = header.split("compiler: ")[1].split(". */")[0]
    assert needed == (set() if named == "none" else set(named.split(", ")))


def test_objects_of_two_models_go_together(tmp_path: Path) -> None:
    """No symbol is in both, and the tables of neither are in the program."""
    for name, model in (("one", DIGITS), ("two", save_tiny(tmp_path))):
        succeed("compile", model, "-o", tmp_path / f"{name}.o", "--target", "cortex-m4", *DIM, folder=tmp_path)
    linked = tmp_path / "both.elf"
    link = ["ld.lld-19", "--unresolved-symbols=ignore-all", "-e", "perpend_run_one", "-u", "perpend_run_two"]
    subprocess.run([*link, tmp_path / "one.o", tmp_path / "two.o", "-o", linked], check=True)
    assert b"perpend.tables" in (tmp_path / "one.o").read_bytes()
    sections = subprocess.run(["llvm-size-19", "-A", linked], capture_output=True, text=True, check=True).stdout
    assert ".perpend.weights" in sections and ".perpend.tables" not in sections


@emulated
@pytest.mark.parametrize("target", TARGETS)
def test_digits_agree_with_the_interpreter(tmp_path: Path, target: str) -> None:
    out = succeed("check", DIGITS, "--target", target, "--against", "interpreter", *DIM, folder=tmp_path)
    assert out.splitlines()[0].startswith("emulated by qemu-system-arm (mps")
    assert out.splitlines()[0].endswith(f": code for {target}") and out.endswith("the outputs agree\n")


@emulated
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("make", [save_convolutions, save_integers, save_quantised, save_pooled])
def test_results_are_those_of_this_machine(tmp_path: Path, target: str, make) -> None:  # type: ignore[no-untyped-def]
    model = make(tmp_path)
    results: dict[str, dict[str, np.ndarray]] = {}
    for machine in ("x86-64-v3", target):
        folder = tmp_path / machine
        folder.mkdir()
        dims = ["--dim", "n=3"] if "n" in symbols_of(model) else []
        succeed("run", model, "--target", machine, "--output-dir", folder, "--seed", 5, *dims, folder=tmp_path)
        results[machine] = {path.stem: np.load(path) for path in folder.glob("*.npy")}
    assert results[target].keys() == results["x86-64-v3"].keys() and results[target]
    for name, array in results[target].items():
        other = results["x86-64-v3"][name]
        if array.dtype.kind == "f":
            np.testing.assert_allclose(array, other, rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(array, other)
            assert len(np.unique(array)) > 1


def symbols_of(model: Path) -> set[str]:
    graph = onnx.load(model).graph
    return {dim.dim_param for tensor in graph.input for dim in tensor.type.tensor_type.shape.dim if dim.dim_param}


def memory_of(out: str) -> dict[str, float]:
    """Bytes of the arena and the stack, from the summary of a compilation."""
    units = {"bytes": 1, "kB": 1e3, "MB": 1e6}
    found = {kind: re.search(rf"{kind} ([\d.]+) (bytes|kB|MB)", out) for kind in ("arena", "stack")}
    return {kind: float(match[1]) * units[match[2]] for kind, match in found.items() if match}


def test_what_pooling_reads_is_never_all_there(tmp_path: Path) -> None:
    """The convolution of floats has 24 * 27 * 31 results of 4 bytes, 80,352 bytes; of these, two lines."""
    out = succeed("compile", save_pooled(tmp_path), "-o", "m.o", "--target", "cortex-m4", folder=tmp_path)
    memory = memory_of(out)
    assert memory["arena"] < 40_000 and 24 * 2 * 30 * 4 < memory["stack"] < 12_000


def test_the_stack_is_in_the_summary_and_the_header(tmp_path: Path) -> None:
    model = save_pooled(tmp_path)
    out = succeed("compile", model, "-o", "m.o", "--target", "cortex-m4", folder=tmp_path)
    header = (tmp_path / "m.h").read_text()
    stack, arena = (int(re.findall(rf"#define PERPEND_{kind}_BYTES_M (\d+)", header)[0]) for kind in ("STACK", "ARENA"))
    assert memory_of(out)["stack"] == pytest.approx(stack, rel=0.05)
    assert memory_of(out)["arena"] == pytest.approx(arena, rel=0.05)
    kilobytes = (arena + stack) // 1024
    fits = f"cortex-m4,ram={kilobytes + 1}K"
    assert f"target {fits}\n" in succeed("compile", model, "-o", "m.o", "--target", fits, folder=tmp_path)
    text = reject("compile", model, "-o", "n.o", "--target", f"cortex-m4,ram={kilobytes}K", folder=tmp_path)
    assert f"the model needs {arena + stack} bytes of memory (arena {arena}, stack {stack}), and there are " in text
    assert "hint: give its inputs smaller dimensions" in text and not (tmp_path / "n.o").exists()


def test_what_a_processor_cannot_have_is_one_error(tmp_path: Path) -> None:
    for target, extension in (("cortex-m4,+mve.fp", "mve.fp"), ("cortex-m7,+mve", "mve")):
        text = reject("compile", DIGITS, "-o", "m.o", "--target", target, *DIM, folder=tmp_path, code=USAGE_ERROR)
        assert f"target '{target}': a {target.split(',')[0]} cannot have '{extension}'\nhint: leave it out" in text
    succeed("compile", DIGITS, "-o", "m.o", "--target", "cortex-m55,-mve.fp,+mve.fp", *DIM, folder=tmp_path)
    text = reject(
        "compile", DIGITS, "-o", "m.o", "--target", "x86-64-v3,ram=1M", *DIM, folder=tmp_path, code=USAGE_ERROR
    )
    assert "expected 'ram' of a processor without an operating system only\nhint: " in text


@emulated
def test_times_of_the_emulator_are_refused(tmp_path: Path) -> None:
    assert "its times say nothing" in reject("bench", DIGITS, "--target", "cortex-m4", *DIM, folder=tmp_path)
    text = reject("run", DIGITS, "--target", "cortex-m4", "--repeat", 3, *DIM, folder=tmp_path)
    assert "whose times say nothing of it" in text


def test_what_needs_a_system_is_refused(tmp_path: Path) -> None:
    def refused(model: Path, *options: object) -> str:
        return reject("compile", model, "-o", "m.o", "--target", "cortex-m4", *options, folder=tmp_path)

    assert "'image' has the shape [n, 1, 8, 8], expected numbers" in refused(DIGITS)
    nonzero = [helper.make_node("NonZero", ["x"], ["y"])]
    outputs = [value("y", [1, "k"], TensorProto.INT64)]
    text = refused(save(tmp_path / "nonzero.onnx", nonzero, [value("x", [5])], outputs))
    assert "calls of the runtime's library" in text
    nodes = [*nonzero, helper.make_node("ReduceSum", ["y"], ["sum"], keepdims=0)]
    sums = save(tmp_path / "sums.onnx", nodes, [value("x", [5])], [value("sum", [], TensorProto.INT64)])
    assert "calls of the runtime's library" in refused(sums)
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["again"]), helper.make_node("Add", ["v", "v"], ["next"])],
        "body",
        [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("v", [4])],
        [value("again", [], TensorProto.BOOL), value("next", [4])],
    )
    loop = [helper.make_node("Loop", ["count", "", "x"], ["y"], body=body)]
    inputs = [value("count", [], TensorProto.INT64), value("x", [4])]
    assert "data decides sizes" in refused(save(tmp_path / "loop.onnx", loop, inputs, [value("y", [4])]))
    assert "contains its weights" in refused(DIGITS, *DIM, "--weights", "beside")
    text = reject("compile", DIGITS, "-o", "m.o", "--target", "cortex-m4,cortex-m7", *DIM, folder=tmp_path)
    assert "nothing chooses among machines" in text
    text = reject("compile", DIGITS, "--exe", "-o", "m", "--target", "cortex-m4", *DIM, folder=tmp_path)
    assert "there are no programs for cortex-m" in text
    text = reject("compile", DIGITS, "-o", "m.so", "--target", "cortex-m4", *DIM, folder=tmp_path, code=USAGE_ERROR)
    assert "expected a name ending in .o or .a" in text


def test_without_an_emulator_one_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    text = reject("run", DIGITS, "--target", "cortex-m4", *DIM, folder=tmp_path)
    assert "'qemu-system-arm' is not installed" in text and "hint: apt-get install qemu-system-arm" in text
