"""Modules of text are input like any other: errors for what they cannot mean, and no native code of their own."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from cli.tool import BUILD, ROOT, perpend, reject, save, save_tiny, succeed, value
from onnx import helper, numpy_helper

N = '#graph.shape<["n"]>'


def write(folder: Path, text: str) -> str:
    (folder / "m.mlir").write_text(text)
    return "m.mlir"


def stopped(folder: Path, model: Path, phase: str) -> str:
    succeed("compile", model, "--stop-after", phase, "-o", "stopped.mlir", "--target", "x86-64-v3", folder=folder)
    return (folder / "stopped.mlir").read_text()


# --- Extents of intrinsics -------------------------------------------------------------------------------------------


CONV = """func.func @main(%x: tensor<1x4x4x8xf32>, %w: tensor<1x1x3x3x8x16xf32>) -> tensor<1x400x400x16xf32> {
  %r = tile.conv %x, %w strides [1, 1] dilations [1, 1]
     : (tensor<1x4x4x8xf32>, tensor<1x1x3x3x8x16xf32>) -> tensor<1x400x400x16xf32>
  return %r : tensor<1x400x400x16xf32>
}
"""
PRODUCT = """func.func @main(%x: tensor<3x?xf32, #graph.shape<[3, "k"]>>, %w: tensor<1x8x16xf32>) -> tensor<3x16xf32> {
  %r = tile.matmul %x, %w
     : (tensor<3x?xf32, #graph.shape<[3, "k"]>>, tensor<1x8x16xf32>) -> tensor<3x16xf32>
  return %r : tensor<3x16xf32>
}
"""
# Of the graph level a convolution pads: where windows end outside, positions count as 0.
PADDED = """func.func @main(%x: tensor<1x4x4x8xf32>, %w: tensor<3x3x8x16xf32>) -> tensor<1x9x9x16xf32> {
  %r = graph.conv %x, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last
     : (tensor<1x4x4x8xf32>, tensor<3x3x8x16xf32>) -> tensor<1x9x9x16xf32>
  return %r : tensor<1x9x9x16xf32>
}
"""


@pytest.mark.parametrize("start", [[], ["--start-from", "fuse"]])
def test_windows_outside_the_input(tmp_path: Path, start: list[str]) -> None:
    message = reject("compile", write(tmp_path, CONV), "-o", "x.so", *start, folder=tmp_path)
    assert "do not fit a result of shape [1, 400, 400, 16]" in message


@pytest.mark.parametrize("start", [[], ["--start-from", "fuse"]])
def test_extents_that_cannot_be_proved_are_requirements(tmp_path: Path, start: list[str]) -> None:
    succeed("compile", write(tmp_path, PRODUCT), "-o", "x.so", *start, folder=tmp_path)
    succeed("run", "x.so", "--symbol", "k=8", folder=tmp_path)
    for extent in [7, 4096]:
        assert "k" in reject("run", "x.so", "--symbol", f"k={extent}", folder=tmp_path)
    succeed("check", "m.mlir", "--symbol", "k=8", folder=tmp_path)


def test_a_phase_that_does_not_run_is_no_end(tmp_path: Path) -> None:
    options = ["--start-from", "fuse", "--stop-after", "pack"]
    message = reject("compile", write(tmp_path, PRODUCT), *options, folder=tmp_path)
    assert "--stop-after: the phase 'pack' does not run: the compilation starts from 'fuse'" in message


def test_a_convolution_that_pads_is_not_packed(tmp_path: Path) -> None:
    write(tmp_path, PADDED)
    text = succeed("compile", "m.mlir", "--start-from", "pack", "--stop-after", "pack", folder=tmp_path)
    assert "graph.conv" in text and "tile.conv" not in text


SUM = """module {
  func.func @main(%x: tensor<?xf32, N>, %y: tensor<?xf32, #graph.shape<["m"]>>) -> tensor<?xf32, N> {
    %0 = graph.call_kernel @kernel_0(%x, %y) {graph.symbols = #graph.shape<["n", "m"]>}
       : (tensor<?xf32, N>, tensor<?xf32, #graph.shape<["m"]>>) -> tensor<?xf32, N>
    return %0 : tensor<?xf32, N>
  }
  func.func private @kernel_0(%x: tensor<?xf32, N>, %y: tensor<?xf32, #graph.shape<["m"]>>) -> tensor<?xf32, N>
      attributes {tile.kernel, tile.schedule = {}, graph.symbols = ["n", "m"]} {
    %0 = graph.map (%x, %y) : (tensor<?xf32, N>, tensor<?xf32, #graph.shape<["m"]>>) -> tensor<?xf32, N> {
    ^bb0(%a: f32, %b: f32):
      %1 = arith.addf %a, %b : f32
      graph.yield %1 : f32
    }
    return %0 : tensor<?xf32, N>
  }
}
""".replace("N", N)


@pytest.mark.parametrize("phase", ["simplify", "schedule"])
def test_extents_in_kernels_are_requirements(tmp_path: Path, phase: str) -> None:
    succeed("compile", write(tmp_path, SUM), "-o", "x.so", "--start-from", phase, folder=tmp_path)
    succeed("run", "x.so", "--symbol", "n=5", "--symbol", "m=5", folder=tmp_path)
    message = reject("run", "x.so", "--symbol", "n=5", "--symbol", "m=4", folder=tmp_path)
    assert "expected 5, got 4" in message or "m = n" in message, message


@pytest.mark.parametrize("schedule", [[], ["--tile-schedule-blocks"]])
def test_kernels_of_blocks(tmp_path: Path, schedule: list[str]) -> None:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Softmax", ["p"], ["y"])]
    weights = [numpy_helper.from_array(np.ones((5, 7), np.float32), "w")]
    model = save(tmp_path / "rows.onnx", nodes, [value("x", ["n", 5])], [value("y", None)], weights)
    options = ["--unpacked", "--stop-after", "fuse", "-o", "rows.mlir"]
    succeed("compile", model, *options, folder=tmp_path)
    command = [str(BUILD / "bin" / "perpend-opt"), "--tile-build-blocks", *schedule, "rows.mlir"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    blocks = write(tmp_path, done.stdout)
    assert done.stdout.count("tile.block") >= 6
    for n in (0, 1, 5):
        assert "the outputs agree" in succeed("check", blocks, "--symbol", f"n={n}", folder=tmp_path)
    succeed("compile", blocks, "-o", "rows.so", "--start-from", "schedule", folder=tmp_path)
    succeed("run", "rows.so", "--symbol", "n=3", folder=tmp_path)
    for options in (["--stop-after", "fuse"], ["--override-phase", "fuse:rows.mlir", "-o", "x.so"]):
        message = reject("compile", blocks, *options, folder=tmp_path)
        assert (
            "does not run: the compilation starts from 'schedule', because the module has a kernel of blocks" in message
        )
    assert "scf.for" in succeed("compile", blocks, "--stop-after", "tile", "--dump-phases", ".", folder=tmp_path)
    assert not (tmp_path / "4-fuse.mlir").exists() and (tmp_path / "6-tile.mlir").exists()
    text = done.stdout.replace("tile.buffer<[n, 7] x f32>", "tile.buffer<[n, 8] x f32>")
    assert "has other operands and results" in reject("check", write(tmp_path, text), folder=tmp_path)
    text = re.sub(r"math\.exp (%\w+) : f32", r"llvm.intr.exp(\1) : (f32) -> f32", done.stdout)
    message = reject("check", write(tmp_path, text), folder=tmp_path)
    assert "'llvm.intr.exp' is no operation of a kernel of blocks" in message
    before, _, behind = done.stdout.rpartition("tile.store ")
    message = reject("check", write(tmp_path, before + behind.partition("\n")[2]), folder=tmp_path)
    assert re.search(r"kernel '\w+': the block '\w+' stores nothing\nhint: ", message)


# --- Symbols ---------------------------------------------------------------------------------------------------------

INSIDE = f"""func.func @main(%x: tensor<1xf32>) -> tensor<f32> {{
  %b = graph.broadcast %x dims [0] : tensor<1xf32> -> tensor<?xf32, {N}>
  %s = graph.reduce sum %b dims [0] : tensor<?xf32, {N}> -> tensor<f32>
  return %s : tensor<f32>
}}
"""
EXTENT = """func.func @main(%x: tensor<3xf32>) -> tensor<3xi64> {
  %r = graph.generate () : () -> tensor<3xi64> {
  ^bb0(%i: index):
    %e = graph.extent "n"
    %v = arith.index_cast %e : index to i64
    graph.yield %v : i64
  }
  return %r : tensor<3xi64>
}
"""
REQUIRED = """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32>
    attributes {graph.requirements = #graph.shape<["n"]>} {
  return %x : tensor<3xf32>
}
"""


@pytest.mark.parametrize("text", [INSIDE, EXTENT, REQUIRED])
@pytest.mark.parametrize("command", [["check"], ["run"], ["compile", "-o", "x.so"], ["inspect"]])
def test_symbols_that_nothing_binds(tmp_path: Path, text: str, command: list[str]) -> None:
    message = reject(command[0], write(tmp_path, text), *command[1:], folder=tmp_path)
    assert "the symbol 'n' is used, which no input has and no operator before defines" in message
    assert "one dimension of an input must be n" in message


@pytest.mark.parametrize("phase", ["fuse", "schedule", "tile", "plan"])
def test_symbols_in_kernels_that_nothing_binds(tmp_path: Path, phase: str) -> None:
    x, y = helper.make_tensor_value_info("x", 1, ["n"]), helper.make_tensor_value_info("y", 1, [])
    model = save(tmp_path / "m.onnx", [helper.make_node("ReduceSum", ["x"], ["y"], keepdims=0)], [x], [y])
    text = stopped(tmp_path, model, phase)
    attribute = "tile.extent = #graph.shape<[1]>" if "tile.extent" in text else "tile.kernel"
    assert attribute in text
    write(tmp_path, text.replace(attribute, attribute.replace("[1]", '["q"]') + ', other = #graph.shape<["q"]>'))
    message = reject("compile", model, "-o", "x.so", "--override-phase", f"{phase}:m.mlir", folder=tmp_path)
    assert "expected one of its symbols (n), got 'q'\nhint: list it in its attribute graph.symbols" in message


# --- Constants -------------------------------------------------------------------------------------------------------


def test_weights_without_contents(tmp_path: Path) -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %c = graph.constant dense_resource<w> : tensor<4xf32> : tensor<4xf32>
      return %x, %c : tensor<4xf32>, tensor<4xf32>
    }"""
    for command in [["compile", "-o", "x.so"], ["check"], ["inspect"]]:
        message = reject(command[0], write(tmp_path, text), *command[1:], folder=tmp_path)
        assert "C2: the resource 'w' has no contents" in message and "hint: " in message
    resources = '{-# dialect_resources: { builtin: { w: "0x040000000000803F" } } #-}'
    message = reject("compile", write(tmp_path, text + resources), "-o", "x.so", folder=tmp_path)
    assert "C2: the resource 'w' has 4 bytes" in message


KERNEL = """module {
  func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    %0 = graph.call_kernel @kernel_0(%x) : (tensor<3xf32>) -> tensor<3xf32>
    return %0 : tensor<3xf32>
  }
  func.func private @kernel_0(%x: tensor<3xf32>) -> tensor<3xf32> attributes {tile.kernel, tile.schedule = {}} {
    %c = graph.constant dense<VALUE> : tensor<3xf32> : tensor<3xf32>
    %0 = graph.map (%x, %c) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32> {
    ^bb0(%a: f32, %b: f32):
      %1 = arith.addf %a, %b : f32
      graph.yield %1 : f32
    }
    return %0 : tensor<3xf32>
  }
}
"""


def test_constants_inside_kernels(tmp_path: Path) -> None:
    write(tmp_path, KERNEL.replace("VALUE", "2.0"))
    succeed("compile", "m.mlir", "-o", "x.so", "--start-from", "schedule", folder=tmp_path)
    write(tmp_path, KERNEL.replace("VALUE", "[1.0, 2.0, 3.0]"))
    message = reject("compile", "m.mlir", "-o", "x.so", "--start-from", "schedule", folder=tmp_path)
    assert "kernel 'kernel_0': a constant of different elements has no memory here" in message
    assert "make it an input of the kernel" in message


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("attributes {tile.kernel, ", "attributes {", "@main and kernels"),
        ("%1 = arith.addf %a, %b : f32", "%1 = llvm.fadd %a, %b : f32", "'llvm.fadd' is no scalar code"),
        (
            "%0 = graph.map (%x, %c)",
            "func.call @main(%x) : (tensor<3xf32>) -> tensor<3xf32>\n%0 = graph.map (%x, %c)",
            "no operator of a kernel",
        ),
    ],
)
def test_kernels_that_hold_something_else(tmp_path: Path, before: str, after: str, message: str) -> None:
    text = KERNEL.replace("VALUE", "2.0")
    assert before in text
    write(tmp_path, text.replace(before, after))
    assert message in reject("compile", "m.mlir", "-o", "x.so", "--start-from", "schedule", folder=tmp_path)


BLOCKS = """module {
  func.func @main(%x: tensor<20xf32>) -> tensor<20xf32> {
    %0 = graph.call_kernel @twice(%x) : (tensor<20xf32>) -> tensor<20xf32>
    return %0 : tensor<20xf32>
  }
  func.func private @twice(%x: !tile.buffer<[20] x f32>, %y: !tile.buffer<[20] x f32>)
      attributes {tile.kernel, tile.schedule = {}, tile.scheduled, tile.work = #graph.shape<[20, 160, 0]>} {
    tile.for %o in 5 {
      tile.for %i in INNER {
        tile.block "twice" spatial(%v in 20 = %i + 4*%o)WHERE {
          %1 = tile.load %x[%v] : !tile.buffer<[20] x f32>
          %2 = arith.addf %1, %1 : f32
          tile.store %2, %y[%v] : !tile.buffer<[20] x f32>
        }
      }
    }
    return
  }
}
"""


@pytest.mark.parametrize(
    ("inner", "where", "message"),
    [
        ("4", "", ""),
        ("5", "", "block 'twice': expected iterator 0 below 20, got 20"),
        ("5", " where(%i + 4*%o < 20)", ""),
        ("min(4, 20 - 4*%o)", "", ""),
        ("min(5, 21 - 4*%o)", "", "block 'twice': expected iterator 0 below 20, got 20"),
    ],
)
def test_loops_that_leave_iterators(tmp_path: Path, inner: str, where: str, message: str) -> None:
    module = write(tmp_path, BLOCKS.replace("INNER", inner).replace("WHERE", where))
    command = ("compile", module, "-o", "x.so", "--start-from", "tile")
    if message:
        assert message in reject(*command, folder=tmp_path)
        assert not (tmp_path / "perpend-repro.mlir").exists()
    else:
        succeed(*command, folder=tmp_path)


# --- Scratch memory of kernels ---------------------------------------------------------------------------------------


def rows(folder: Path) -> Path:
    nodes = [helper.make_node("Softmax", ["x"], ["y"])]
    return save(folder / "rows.onnx", nodes, [value("x", ["n", "m"])], [value("y", ["n", "m"])])


@pytest.mark.parametrize("phase", ["tile", "plan"])
def test_scratch_memory_as_text(tmp_path: Path, phase: str) -> None:
    text = stopped(tmp_path, rows(tmp_path), phase)
    assert 'tile.scratch = #graph.shape<["m"]>' in text
    following = {"tile": "plan", "plan": "lower"}[phase]
    succeed("compile", write(tmp_path, text), "-o", "x.so", "--start-from", following, folder=tmp_path)
    assert "y: f32 [3, 5]" in succeed("run", "x.so", "--symbol", "n=3", "--symbol", "m=5", folder=tmp_path)


SCRATCH = 'tile.scratch = #graph.shape<["m"]>'


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (SCRATCH, "tile.scratch = 3", "expected buffers, the symbols and the range of units, got type "),
        (SCRATCH, "tile.scratch = #graph.shape<[]>", "expected buffers, the symbols and the range of units, got type "),
        (SCRATCH, 'tile.scratch = #graph.shape<["m", "m"]>', "the scratch memory of tile.scratch and the range"),
        (SCRATCH, 'tile.scratch = #graph.shape<["q"]>', "expected one of its symbols (n, m), got 'q'"),
        (SCRATCH, "tile.lanes = 1", "expected buffers, the symbols and the range of units, got type "),
        ("%arg3: memref<?xf32>", "%arg3: memref<?xi64>", "different type"),
    ],
)
def test_wrong_scratch_memory(tmp_path: Path, before: str, after: str, message: str) -> None:
    text = stopped(tmp_path, rows(tmp_path), "tile")
    assert before in text
    write(tmp_path, text.replace(before, after))
    assert message in reject("compile", "m.mlir", "-o", "x.so", "--start-from", "plan", folder=tmp_path)


NO_SCRATCH = "C3: expected a room, or a buffer of"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("parts [n]", "parts [1]", NO_SCRATCH),
        ("floordiv(m + 15, 16) + 64]", "floordiv(m + 15, 16)]", NO_SCRATCH),
        (" scratch %0 : !host.memory<host>", "", NO_SCRATCH),
        (" scratch %0 : !host.memory<host>", " scratch %arg0 : !host.place<[n, m] x f32>", NO_SCRATCH),
        (SCRATCH, 'tile.scratch = #graph.shape<["2*m"]>', NO_SCRATCH),
        ("live [0, 0]", "live [0, 0] at 0", "P2: an offset needs a size that is a number"),
        ("live [0, 0]", "live [1, 1]", "P1: expected a buffer that lives in [0, 0], got [1, 1]"),
    ],
)
def test_wrong_plans_of_scratch_memory(tmp_path: Path, before: str, after: str, expected: str) -> None:
    text = stopped(tmp_path, rows(tmp_path), "plan")
    assert before in text, text
    write(tmp_path, text.replace(before, after))
    message = reject("compile", "m.mlir", "-o", "x.so", "--start-from", "lower", folder=tmp_path)
    assert expected in message and "\nhint: " in message


# --- Host programs ---------------------------------------------------------------------------------------------------


def test_a_host_program_is_a_model(tmp_path: Path) -> None:
    """It is compiled from where it is, and the interpreter runs it. Another plan than ours is as good."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("MatMul", ["a", "w"], ["y"])]
    weights = [numpy_helper.from_array(np.eye(5, dtype=np.float32) * 2, "w")]
    model = save(tmp_path / "two.onnx", nodes, [value("x", [3, 5])], [value("y", None)], weights)
    text = stopped(tmp_path, model, "plan")
    assert text.count("host.launch") == 2 and " at 0 : <host>" in text
    for other in [
        text,
        text.replace(" at 0 : <host>", " at 4096 : <host>"),
        text.replace(" at 0 : <host>", " : <host>"),
    ]:
        write(tmp_path, other)
        assert "the outputs agree" in succeed("check", "m.mlir", folder=tmp_path)
        succeed("compile", "m.mlir", "-o", "x.so", folder=tmp_path)
        np.save(tmp_path / "x.npy", np.ones((3, 5), np.float32))
        succeed("run", "x.so", "--input", "x.npy", "--output-dir", "out", folder=tmp_path)
        np.testing.assert_array_equal(np.load(tmp_path / "out/y.npy"), np.full((3, 5), 4, np.float32))
    assert "'m.mlir' is a host program\nhint: " in reject("inspect", "m.mlir", folder=tmp_path)
    assert "define" in succeed("inspect", "m.mlir", "--stage", "llvm", folder=tmp_path)
    message = reject("compile", "m.mlir", "--stop-after", "fuse", folder=tmp_path)
    assert "does not run: the compilation starts from 'lower', because main is a host program" in message
    assert "the outputs agree" in succeed("check", model, "--against", "plan", folder=tmp_path)


VIEW = """host.entry @main(%x: !host.place<[n] x f32>, %c: !host.place<[] x i64>, %y: !host.room)
    attributes {inputs = 2 : i64, output_types = [tensor<?xf32, #graph.shape<["k"]>>], symbols = ["n", "k"],
                data_symbols = ["k"]} {
  host.extent "n" of %x dim 0 times 1 plus 0 : !host.place<[n] x f32>
  host.read "k" from %c : <[] x i64>
  %o = host.reserve %y : !host.room to <[RESERVED] x f32>
  %v = host.place %x [0] : !host.place<[n] x f32> to <[TAKEN] x f32>
  host.copy %v to %o : <[TAKEN] x f32> to <[RESERVED] x f32>
  %z = host.content %y : !host.room to <[k] x f32>
  host.return
}
"""


@pytest.mark.parametrize(
    ("reserved", "taken", "most", "beyond", "expected"),
    [
        ("k", "k", 3, 4, "expected a value inside of its memory, got 16"),  # the place in the input
        ("2", "k", 2, 3, "expected a target as large as the value, got 12"),
        (
            "2",
            "1",
            2,
            10000,
            "expected a value inside of its memory, got 40000",
        ),  # the room, which may have spare bytes
    ],
)
def test_places_that_only_a_run_can_refuse(
    tmp_path: Path, reserved: str, taken: str, most: int, beyond: int, expected: str
) -> None:
    write(tmp_path, VIEW.replace("RESERVED", reserved).replace("TAKEN", taken))
    succeed("compile", "m.mlir", "-o", "x.so", folder=tmp_path)
    np.save(tmp_path / "x.npy", np.ones(3, np.float32))
    for k in [0, 1, most, beyond]:
        np.save(tmp_path / "c.npy", np.array(k, np.int64))
        arguments = ["run", "x.so", "--input", "x.npy", "--input", "c.npy"]
        if k <= most:
            succeed(*arguments, folder=tmp_path)
        else:
            assert expected in reject(*arguments, folder=tmp_path)


# --- Native code -----------------------------------------------------------------------------------------------------


def build_object(folder: Path, name: str, source: str) -> Path:
    compiler = shutil.which("clang-19") or shutil.which("cc")
    assert compiler
    (folder / f"{name}.c").write_text(source)
    command = [compiler, "-O2", "-fPIC", "-I", ROOT / "runtime/include", "-c", f"{name}.c", "-o", f"{name}.o"]
    subprocess.run(command, check=True, cwd=folder)
    return folder / f"{name}.o"


def test_a_module_alone_runs_no_native_code(tmp_path: Path) -> None:
    source = """#include <stdio.h>
    __attribute__((constructor)) static void run(void) { FILE *file = fopen("ran", "w"); if (file) fclose(file); }"""
    path = build_object(tmp_path, "evil", source)
    identity = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { return %x : tensor<3xf32> }"
    write(tmp_path, f'module attributes {{graph.objects = ["{path}"]}} {{ {identity} }}')
    for arguments in [["check"], ["run"], ["inspect"], ["compile", "-o", "x.so"], ["bench"]]:
        message = reject(arguments[0], "m.mlir", *arguments[1:], folder=tmp_path)
        assert f"the module wants the native code of '{path}'" in message and "add --operators FILE.json" in message
    model = save_tiny(tmp_path)
    for phase in ["simplify", "fuse", "plan"]:
        text = re.sub(
            r"^module.*{$",
            f'module attributes {{graph.objects = ["{path}"]}} {{',
            stopped(tmp_path, model, phase),
            flags=re.M,
        )
        assert "graph.objects" in text
        write(tmp_path, text)
        arguments = ["compile", model, "-o", "x.so", "--override-phase", f"{phase}:m.mlir"]
        assert "the module wants the native code" in reject(*arguments, folder=tmp_path)
    assert not (tmp_path / "ran").exists()


def test_the_command_line_names_native_code(tmp_path: Path) -> None:
    example = ROOT / "examples/operator"
    build_object(tmp_path, "cumulative_maximum", (example / "cumulative_maximum.c").read_text())
    shutil.copy(example / "operators.json", tmp_path)
    node = helper.make_node("CumulativeMaximum", ["x"], ["y"], domain="com.example", least=0.0)
    graph = helper.make_graph([node], "cumulative", [value("x", ["n", "m"])], [value("y", ["n", "m"])])
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    onnx.save(helper.make_model(graph, opset_imports=sets, ir_version=8), tmp_path / "m.onnx")
    mine = ["--operators", "operators.json"]
    for phase, following in [("simplify", "layout"), ("plan", "lower")]:
        succeed("compile", "m.onnx", *mine, "--stop-after", phase, "-o", "m.mlir", folder=tmp_path)
        start = ["m.mlir", "-o", "x.so", "--start-from", following]
        assert "the module wants the native code" in reject("compile", *start, folder=tmp_path)
        succeed("compile", *start, *mine, folder=tmp_path)
        succeed("run", "x.so", folder=tmp_path)
        succeed("compile", "m.onnx", *mine, "-o", "x.so", "--override-phase", f"{phase}:m.mlir", folder=tmp_path)
    succeed("compile", "m.onnx", *mine, "--stop-after", "simplify", "-o", "m.mlir", folder=tmp_path)
    succeed("check", "m.mlir", *mine, folder=tmp_path)


# --- Limits ----------------------------------------------------------------------------------------------------------


def test_what_is_sorted_has_a_limit(tmp_path: Path) -> None:
    nodes = [helper.make_node("TopK", ["x", "k"], ["y", "i"])]
    one = helper.make_tensor("k", 7, [1], [1])
    outputs = [value("y", [1]), value("i", [1], 7)]
    model = save(tmp_path / "m.onnx", nodes, [value("x", ["n"])], outputs, [one])
    assert "n <= 4294967295" in succeed("inspect", model, folder=tmp_path)
    model = save(tmp_path / "m.onnx", nodes, [value("x", [2**32])], outputs, [one])
    assert "expected at most 4294967295 elements, got 4294967296" in reject("inspect", model, folder=tmp_path)
    assert perpend("inspect", model, folder=tmp_path).returncode == 1
