"""perpend compile: artifacts, phases, reproducers."""

import itertools
import os
import pty
import re
import stat
import subprocess
from pathlib import Path

import numpy as np
import pytest
from cli.tool import PERPEND, USAGE_ERROR, USER_ERROR, perpend, reject, save, succeed, value
from onnx import helper, numpy_helper


def test_compile_writes_library_and_header(tmp_path: Path, tiny: Path) -> None:
    text = succeed("compile", tiny, "-o", "tiny.so", "--name", "my_model", folder=tmp_path)
    assert re.match(r"tiny\.so: .*, header tiny\.h\n", text)
    assert "weights" in text and "arena" in text and "target " in text and "isa " not in text
    assert ", isa " in succeed("compile", tiny, "-o", "tiny.so", "--name", "my_model", "--times", folder=tmp_path)
    assert (tmp_path / "tiny.so").read_bytes()[:4] == b"\x7fELF"
    assert "perpend_module_my_model" in (tmp_path / "tiny.h").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tiny.h", "tiny.onnx", "tiny.so"]


def test_a_terminal_shows_the_phase(tmp_path: Path, tiny: Path) -> None:
    """In a line that the next one overwrites; pipes get nothing of it."""
    terminal, inner = pty.openpty()
    command = [PERPEND, "compile", tiny, "-o", tmp_path / "tiny.so"]
    try:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=inner)
        shown = os.read(terminal, 10_000).decode()
    finally:
        os.close(inner)
        os.close(terminal)
    phases = re.findall(r"\x1b\[Kcompiling: ([a-z]+)\r", shown)
    assert phases == ["simplify", "layout", "pack", "fuse", "schedule", "tile", "plan", "lower", "emit"]
    assert shown.endswith("\r\x1b[K")
    assert perpend("compile", tiny, "-o", tmp_path / "tiny.so", folder=tmp_path).stderr == ""


def test_compile_static_library_and_program(tmp_path: Path, tiny: Path) -> None:
    succeed("compile", tiny, "-o", "tiny.a", folder=tmp_path)
    assert (tmp_path / "tiny.a").read_bytes()[:7] == b"!<arch>"
    succeed("compile", tiny, "-o", "tiny", "--exe", folder=tmp_path)
    rows = np.ones((3, 5), np.float32)
    np.save(tmp_path / "x.npy", rows)
    subprocess.run([tmp_path / "tiny", "--input", "x.npy", "--output-dir", "program"], cwd=tmp_path, check=True)
    succeed("run", tiny, "--input", "x.npy", "--output-dir", "tool", folder=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "program/y.npy"), np.load(tmp_path / "tool/y.npy"))


def test_an_archive_has_the_name_of_its_file(tmp_path: Path, tiny: Path) -> None:
    """Exporters give every model one name; two archives in a program were one model without a word of the linker."""
    for output, name in [("first.a", "first"), ("2-nd model.a", "m_2_nd_model"), ("named.a", "mine")]:
        options = ["--name", "mine"] if name == "mine" else []
        succeed("compile", tiny, "-o", output, *options, folder=tmp_path)
        assert f"perpend_module_{name}(" in (tmp_path / output).with_suffix(".h").read_text()


def test_a_program_has_the_words_of_the_tool(tmp_path: Path, tiny: Path) -> None:
    succeed("compile", tiny, "-o", "tiny", "--exe", folder=tmp_path)
    np.save(tmp_path / "x.npy", np.ones((3, 5), np.float32))
    np.save(tmp_path / "wide.npy", np.ones((3, 6), np.float32))
    (tmp_path / "empty.npy").touch()
    for options in [
        ["--input", "x.npy", "--input", "x.npy"],
        ["--input", "x.npy", "--input", "x=x.npy"],
        ["--input", "z=x.npy"],
        ["--input", "wide.npy"],
        ["--input", "none.npy"],
        ["--input", "empty.npy"],
        ["--input", "x.npy", "--output-dir"],
        ["--input", "x.npy", "--wrong", "3"],
    ]:
        done = subprocess.run([tmp_path / "tiny", *options], cwd=tmp_path, capture_output=True, text=True)
        told = perpend("run", tiny, *options, folder=tmp_path).stderr
        assert done.returncode == 1 and done.stdout == ""
        assert done.stderr == told != "", options


def test_folders_have_the_permissions_of_the_umask(tmp_path: Path, tiny: Path) -> None:
    before = os.umask(0o022)
    try:
        for mask, mode in [(0o022, 0o755), (0o077, 0o700), (0o002, 0o775)]:
            os.umask(mask)
            succeed("run", tiny, "--output-dir", f"out{mask}", folder=tmp_path)
            succeed("compile", tiny, "-o", "tiny.so", "--dump-phases", f"phases{mask}", folder=tmp_path)
            for name in [f"out{mask}", f"phases{mask}"]:
                assert stat.S_IMODE((tmp_path / name).stat().st_mode) == mode
    finally:
        os.umask(before)


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
    succeed("run", "tiny.so", "--seed", 3, "--symbol", "n=4", "--output-dir", "out", folder=tmp_path)
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
        succeed("run", name, "--seed", 1, "--symbol", "n=3", "--output-dir", f"{name}.out", folder=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "m.onnx.out/y.npy"), np.load(tmp_path / "m.mlir.out/y.npy"))
    assert "dimensions cannot be set for a module in text" in reject(
        "compile", "m.mlir", "-o", "x.so", "--dim", "n=3", folder=tmp_path
    )
    text = succeed("inspect", "m.mlir", "--stage", "graph", folder=tmp_path)
    assert "dense_resource<" in text and "{-#" not in text and len(text) < 5000


def test_modules_from_files_are_checked(tmp_path: Path, tiny: Path) -> None:
    succeed("compile", tiny, "--stop-after", "simplify", "-o", "part.mlir", folder=tmp_path)
    message = reject("compile", tiny, "-o", "x.so", "--override-phase", "fuse:part.mlir", folder=tmp_path)
    assert "not one behind the phase 'fuse'" in message and "main calls kernels" in message
    message = reject("compile", "part.mlir", "-o", "x.so", "--start-from", "lower", folder=tmp_path)
    assert "not one behind the phase 'plan'" in message


def test_modules_from_files_hold_what_their_phase_says(tmp_path: Path) -> None:
    """The first two phases have a sentence each."""
    weight = numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), "w")
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"])]
    model = save(tmp_path / "m.onnx", nodes, [value("x", ["n", 3, 8, 8])], [value("y", ["n", 4, 6, 6])], [weight])

    def refusal(text: str, phase: str, *more: str) -> str:
        (tmp_path / "part.mlir").write_text(text)
        succeed("compile", "part.mlir", "-o", "good.so", "--start-from", phase, "-O0", folder=tmp_path)
        return reject("compile", "part.mlir", "-o", "x.so", "--start-from", phase, *more, folder=tmp_path)

    simplified = succeed("compile", model, "--stop-after", "simplify", folder=tmp_path)
    head, mark, tail = simplified.partition("    return")
    useless = (
        head + "    %useless = graph.transpose %arg0 [0, 2, 3, 1] : " + useless_type(simplified) + "\n" + mark + tail
    )
    message = refusal(useless, "layout")
    assert "not one behind the phase 'simplify'" in message and "something needs the results" in message
    message = refusal(simplified, "pack")
    assert "not one behind the phase 'layout'" in message and "channels of every convolution come last" in message


def useless_type(text: str) -> str:
    """From the type of the input to that of a transpose."""
    found = re.search(r"%arg0: (tensor<\?x3x8x8xf32, (#graph.shape<[^>]*>|[^>]*)>)", text)
    assert found
    return f'{found[1]} -> tensor<?x8x8x3xf32, #graph.shape<["n", 8, 8, 3]>>'


def test_what_an_error_says_does_not_make_it_a_bug(tmp_path: Path, tiny: Path) -> None:
    """Whose mistake it is does not hang on words that a user may have written."""
    done = perpend("compile", tiny, "-o", "x.so", "--name", "perpend bug", folder=tmp_path)
    assert done.returncode == USER_ERROR and "is not an identifier" in done.stderr
    assert "in phase" not in done.stderr and not (tmp_path / "perpend-repro.mlir").exists()


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("grain = 4 : i32", "grain: expected an integer of 64 bits"),
        ("grain = 0 : i64", "grain: expected at least 1, got 0"),
        ("rws = 4 : i64", "'rws' is no entry: expected grain or estimate"),
    ],
)
def test_schedules_that_a_kernel_cannot_have(tmp_path: Path, entry: str, message: str) -> None:
    refusal = refused_schedule(tmp_path, "matmul", entry)
    assert re.search(r"kernel '\w*matmul\w*': tile.schedule: " + re.escape(message) + "\nhint: ", refusal)


def refused_schedule(folder: Path, kernel: str, entries: str) -> str:
    """What is said of a product and its sum, compiled with this schedule of the kernel."""
    weight = numpy_helper.from_array(np.ones((5, 3), np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("ReduceSum", ["p"], ["y"], keepdims=0)]
    model = save(folder / "m.onnx", nodes, [value("x", ["n", 5])], [value("y", [])], [weight])
    succeed("compile", model, "--stop-after", "schedule", "-o", "s.mlir", "--target", "x86-64-v3", folder=folder)
    pattern = rf"(@\w*{kernel}\w*\(.*?tile\.schedule = )\{{[^}}]*\}}"
    text, count = re.subn(pattern, lambda match: match[1] + "{" + entries + "}", (folder / "s.mlir").read_text())
    assert count == 1
    (folder / "s.mlir").write_text(text)
    return reject("compile", model, "-o", "x.so", "--override-phase", "schedule:s.mlir", folder=folder)


def test_the_code_of_a_concatenation_is_shallow(tmp_path: Path) -> None:
    """Whatever the number of its parts: they are halved until one is left."""
    nodes = [helper.make_node("Concat", ["x"] * 100, ["y"], axis=0)]
    model = save(tmp_path / "m.onnx", nodes, [value("x", ["n", 4])], [value("y", ["m", 4])])
    text = succeed("compile", model, "--stop-after", "tile", folder=tmp_path)
    depths = [len(line) - len(line.lstrip()) for line in text.splitlines()]
    assert text.count("memref.load") >= 100 and max(depths) < 40


def test_internal_errors_leave_a_reproducer(tmp_path: Path, tiny: Path) -> None:
    """A kernel with an operation that no phase lowers."""
    succeed("compile", tiny, "--stop-after", "tile", "-o", "tile.mlir", folder=tmp_path)
    head, mark, tail = (tmp_path / "tile.mlir").read_text().rpartition("    return")
    assert mark
    product = """    %rows = arith.constant dense<1.0> : vector<2x3xf32>
    %first = arith.constant dense<0.0> : vector<3xf32>
    %sums:2 = vector.scan <add>, %rows, %first {inclusive = true, reduction_dim = 0 : i64}
      : vector<2x3xf32>, vector<3xf32>
    %place = memref.alloca() : memref<3xf32>
    %zero = arith.constant 0 : index
    vector.store %sums#1, %place[%zero] : memref<3xf32>, vector<3xf32>
"""
    (tmp_path / "tile.mlir").write_text(head + product + mark + tail)
    done = perpend("compile", "tile.mlir", "-o", "x.so", "--start-from", "plan", folder=tmp_path)
    assert done.returncode == USER_ERROR
    assert "perpend bug" in done.stderr and "in phase: lower\n" in done.stderr
    assert "vector.scan <add>" in (tmp_path / "perpend-repro.mlir").read_text()
    replay = done.stderr.rsplit("replay: perpend ", 1)[1].split()
    again = perpend(*replay, folder=tmp_path)
    assert again.returncode == USER_ERROR and "in phase 'lower')" in again.stderr
    assert not (tmp_path / "x.so").exists()


def test_a_reproducer_of_blocks(tmp_path: Path, tiny: Path) -> None:
    """A module of blocks begins behind the phases that make them; no phase lowers roots of 8 bits."""
    text = succeed("compile", tiny, "--stop-after", "schedule", folder=tmp_path)
    head, mark, tail = text.partition("tile.store ")
    number, rest = tail.split(",", 1)
    root = f"""%less = arith.truncf {number} : f32 to f8E4M3FN
        %root = math.cbrt %less : f8E4M3FN
        %more = arith.extf %root : f8E4M3FN to f32
        """
    (tmp_path / "blocks.mlir").write_text(head + root + mark + "%more," + rest)
    done = perpend("compile", "blocks.mlir", "-o", "x.so", folder=tmp_path)
    assert "perpend bug" in done.stderr and "in phase: lower\n" in done.stderr
    replay = done.stderr.rsplit("replay: perpend ", 1)[1].split()
    assert "in phase 'lower')" in perpend(*replay, folder=tmp_path).stderr


def test_same_input_same_bytes(tmp_path: Path, tiny: Path) -> None:
    for name in ["a", "b"]:
        succeed("compile", tiny, "-o", f"{name}.so", "--name", "m", folder=tmp_path)
    assert (tmp_path / "a.so").read_bytes() == (tmp_path / "b.so").read_bytes()


def test_functions_of_lanes_cost_one_call_at_each_level(tmp_path: Path) -> None:
    """A call for each lane made the code of -O1 four times as long as that of -O2, and its compilation quadratic."""
    names = ["x", *(f"x{i}" for i in range(12))]
    nodes = [
        helper.make_node(operator, [before], [after])
        for (before, after), operator in zip(itertools.pairwise(names), itertools.cycle(["Sin", "Relu"]))
    ]
    save(tmp_path / "sines.onnx", nodes, [value("x", ["n", 4])], [value(names[-1], ["n", 4])])
    sizes = []
    for level in (1, 2):
        succeed("compile", "sines.onnx", "-o", "s.so", f"-O{level}", folder=tmp_path)
        sizes.append((tmp_path / "s.so").stat().st_size)
    assert sizes[0] < 1.3 * sizes[1]
