"""Models for macOS on AArch64: objects that programs there are linked from, their headers, what is refused, and that
they compute the same as on this machine. Without macOS, a small loader (run_macho.c) runs an object in an emulator."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from cli.small_models import save_convolutions, save_small_integers
from cli.test_cortex_m import save_integers, save_pooled, save_quantised, symbols_of
from cli.test_hand_written_kernels import CODE, INTRINSIC, compile_c
from cli.tool import DIGITS, USAGE_ERROR, reject, save, save_tiny, succeed, value
from onnx import TensorProto, helper

TARGET = "apple-m1"
DIM = ("--dim", "n=2")
COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64-static"
missing = [program for program in (COMPILER, EMULATOR) if not shutil.which(program)]
emulated = pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} not installed")
C_TYPES = {"float": np.float32, "double": np.float64} | {
    f"{sign}int{bits}_t": np.dtype(f"{sign}int{bits}").type for sign in ("", "u") for bits in (8, 16, 32, 64)
}


def output_of(*words: object) -> str:
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True).stdout


def needed_by(path: Path) -> set[str]:
    lines = output_of("llvm-nm-19", "--undefined-only", path).splitlines()
    return {line.split()[-1] for line in lines if line.split()[:1] == ["U"]}


@pytest.mark.parametrize("name", ["m.o", "m.a"])
def test_a_model_is_one_function_with_its_memory(tmp_path: Path, name: str) -> None:
    out = succeed("compile", DIGITS, "-o", tmp_path / name, "--target", TARGET, *DIM, folder=tmp_path)
    assert f"header {tmp_path / 'm.h'}" in out
    header = (tmp_path / "m.h").read_text()
    assert "int32_t perpend_run_m(const float in_image[128], float out_probabilities[20]);" in header
    text = output_of("llvm-readobj-19", "--file-headers", "--sections", "--macho-version-min", tmp_path / name)
    assert "Format: Mach-O arm64" in text and "Type: Relocatable" in text and "Platform: macos" in text
    sizes = dict(re.findall(r"Name: (\w+) .*?Size: (0x[0-9A-F]+)\n", text, re.DOTALL))
    assert int(sizes["__perpend_const"], 16) > 90_000
    arena = int(re.findall(r"#define PERPEND_ARENA_BYTES_M (\d+)", header)[0])
    assert f"extern uint8_t perpend_arena_m[{arena}];" in header and arena > 1000
    defined = output_of("llvm-nm-19", "--defined-only", "--extern-only", tmp_path / name)
    assert {"_perpend_run_m", "_perpend_arena_m"} <= set(defined.split())
    named = header.split("compiler: ")[1].split(". */")[0]
    needed = needed_by(tmp_path / name)
    assert needed == (set() if named == "none" else {f"_{each}" for each in named.split(", ")})
    assert all(not each.startswith(("_perpend", "___")) for each in needed), "nothing of a runtime or another compiler"


def test_an_archive_has_the_form_of_the_system(tmp_path: Path) -> None:
    """Linkers there look symbols up in its first member, __.SYMDEF; archives for other targets stay as they are."""
    succeed("compile", DIGITS, "-o", "m.a", "--target", TARGET, *DIM, folder=tmp_path)
    data = (tmp_path / "m.a").read_bytes()
    assert data[8:24].startswith(b"#1/") and b"__.SYMDEF" in data[:100]
    succeed("compile", DIGITS, "-o", "n.a", "--target", "cortex-m4", *DIM, folder=tmp_path)
    assert (tmp_path / "n.a").read_bytes()[8:10] == b"/ "


def test_equal_requests_give_equal_bytes(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        succeed("compile", DIGITS, "-o", "m.o", "--target", TARGET, *DIM, folder=tmp_path / folder)
    assert (tmp_path / "a/m.o").read_bytes() == (tmp_path / "b/m.o").read_bytes()


@pytest.mark.skipif(not shutil.which("ld64.lld-19"), reason="no linker for macOS")
def test_objects_of_two_models_go_together(tmp_path: Path) -> None:
    """No symbol is in both, and the tables of neither are in what they are linked to."""
    for name, model in (("one", DIGITS), ("two", save_tiny(tmp_path))):
        succeed("compile", model, "-o", tmp_path / f"{name}.o", "--target", TARGET, *DIM, folder=tmp_path)
    linked = tmp_path / "both.dylib"
    link = ["ld64.lld-19", "-arch", "arm64", "-platform_version", "macos", "11.0", "11.0", "-dylib"]
    output_of(*link, "-undefined", "dynamic_lookup", tmp_path / "one.o", tmp_path / "two.o", "-o", linked)
    assert "__perpend_tables" in output_of("llvm-readobj-19", "--sections", tmp_path / "one.o")
    sections = output_of("llvm-readobj-19", "--sections", linked)
    assert "__perpend_const" in sections and "__perpend_tables" not in sections


def run_object(
    folder: Path, model: Path, target: str, arrays: list[np.ndarray], dims: list[object]
) -> list[np.ndarray]:
    """The outputs, by the loader in the emulator."""
    succeed("compile", model, "-o", "m.o", "--target", target, *dims, folder=folder)
    parameters = re.findall(r"perpend_run_m\((.*)\);", (folder / "m.h").read_text())[0].split(", ")
    loader = folder / "run_macho"
    output_of(COMPILER, "-O1", "-static", "-fno-builtin", Path(__file__).parent / "run_macho.c", "-o", loader, "-lm")
    words, outputs = [], []
    for number, parameter in enumerate(parameters):
        kind, name, count = re.findall(r"^(?:const )?(\w+) (\w+)\[(\d+)\]$", parameter)[0]
        path = folder / f"{name}.bin"
        if number < len(arrays):
            path.write_bytes(arrays[number].tobytes())
            words.append(f"+{path}")
        else:
            words.append(f"{int(count) * np.dtype(C_TYPES[kind]).itemsize}:{path}")
            outputs.append((path, C_TYPES[kind]))
    output_of(EMULATOR, "-cpu", "max", loader, folder / "m.o", "_perpend_run_m", *words)
    return [np.fromfile(path, kind) for path, kind in outputs]


@emulated
@pytest.mark.parametrize("target", [TARGET, f"{TARGET},+i8mm,+bf16"])
@pytest.mark.parametrize("make", [save_convolutions, save_integers, save_quantised, save_pooled])
def test_results_are_those_of_this_machine(tmp_path: Path, target: str, make) -> None:  # type: ignore[no-untyped-def]
    model = make(tmp_path)
    dims: list[object] = ["--dim", "n=3"] if "n" in symbols_of(model) else []
    header = succeed("compile", model, "-o", "h.o", "--target", TARGET, *dims, folder=tmp_path) and tmp_path / "h.h"
    generator = np.random.default_rng(5)
    arrays, files = [], []
    for kind, name, count in re.findall(r"const (\w+) in_(\w+)\[(\d+)\]", header.read_text()):
        array = generator.integers(0, 100, int(count)).astype(C_TYPES[kind])
        arrays.append(array / np.float32(64) if array.dtype.kind == "f" else array)
        files.append(name)
    shapes = dict(re.findall(r"in_(\w+): \w+ \[(.*)\]", header.read_text()))
    inputs: list[object] = []
    for array, name in zip(arrays, files, strict=True):
        shape = [int(extent) for extent in shapes[name].split(", ")]
        np.save(tmp_path / f"{name}.npy", array.reshape(shape))
        inputs += ["--input", f"{name}={tmp_path / f'{name}.npy'}"]
    (tmp_path / "here").mkdir()
    succeed("run", model, "--target", "x86-64-v3", *inputs, "--output-dir", "here", *dims, folder=tmp_path)
    names = re.findall(r" out_(\w+)\[", header.read_text().split("perpend_run_h")[1])
    results = run_object(tmp_path, model, target, arrays, dims)
    assert len(results) == len(names) > 0
    for name, array in zip(names, results, strict=True):
        other = np.load(tmp_path / "here" / f"{name}.npy").ravel()
        if array.dtype.kind == "f":
            np.testing.assert_allclose(array, other, rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(array, other)
        assert len(np.unique(array)) > 1


@emulated
def test_an_object_has_the_instructions_of_its_extensions(tmp_path: Path) -> None:
    model, values, results = save_small_integers(tmp_path)
    arrays = run_object(tmp_path, model, f"{TARGET},+i8mm,+bf16", list(values.values()), ["--precision", "bf16"])
    code = output_of("llvm-objdump-19", "-d", "--mattr=+bf16,+i8mm", "--no-show-raw-insn", tmp_path / "m.o")
    assert "\tbfmmla" in code
    for (name, expected), array in zip(results.items(), arrays, strict=True):
        np.testing.assert_array_equal(array, expected.ravel(), name)


def test_what_an_object_cannot_be_is_one_error(tmp_path: Path) -> None:
    def refused(*words: object, code: int = 1) -> str:
        return reject(*words, "--target", TARGET, *DIM, folder=tmp_path, code=code)

    text = refused("compile", DIGITS, "-o", "m.so", code=USAGE_ERROR)
    assert "expected a name ending in .o or .a" in text
    assert "there are no programs for arm64-macos\nhint: write a library, '-o model.o'" in refused(
        "compile", DIGITS, "--exe", "-o", "m"
    )
    for command in ("run", "check", "bench"):
        text = refused(command, DIGITS)
        assert f"target '{TARGET}': nothing here runs or measures its objects\nhint: link the object" in text
    assert "'image' has the shape [n, 1, 8, 8], expected numbers" in reject(
        "compile", DIGITS, "-o", "m.o", "--target", TARGET, folder=tmp_path
    )
    assert "contains its weights" in refused("compile", DIGITS, "-o", "m.o", "--weights", "beside")
    text = reject("compile", DIGITS, "-o", "m.o", "--target", f"{TARGET},{TARGET},+bf16", *DIM, folder=tmp_path)
    assert "nothing chooses among machines" in text
    text = reject(
        "compile", DIGITS, "-o", "m.o", "--target", f"{TARGET},+sve256", *DIM, folder=tmp_path, code=USAGE_ERROR
    )
    assert f"a {TARGET} cannot have 'sve256'" in text
    nonzero = [helper.make_node("NonZero", ["x"], ["y"])]
    outputs = [value("y", [1, "k"], TensorProto.INT64)]
    model = save(tmp_path / "nonzero.onnx", nonzero, [value("x", [5])], outputs)
    assert "calls of the runtime's library" in reject(
        "compile", model, "-o", "m.o", "--target", TARGET, folder=tmp_path
    )


@pytest.mark.parametrize("kind", ["aarch64-linux-gnu", "arm64-apple-macos11"])
def test_objects_of_users_are_refused(tmp_path: Path, kind: str) -> None:
    compile_c(tmp_path, CODE, "gemm", f"--target={kind}", "-ffreestanding")
    (tmp_path / "gemm.mlir").write_text(INTRINSIC)
    options = ["--target", TARGET, "--dim", "n=2", "--intrinsics", "gemm.mlir"]
    text = reject("compile", save_tiny(tmp_path), "-o", "m.o", *options, folder=tmp_path)
    assert "the object 'gemm.o': expected none: the compiler cannot join objects of this target" in text


def test_an_object_is_inspected_as_a_library(tmp_path: Path) -> None:
    succeed("compile", DIGITS, "-o", "m.o", "--target", TARGET, *DIM, folder=tmp_path)
    text = succeed("inspect", "m.o", folder=tmp_path)
    assert "probabilities" in text and TARGET in text
    assert "nothing here runs or measures its objects" in reject("run", "m.o", folder=tmp_path)
