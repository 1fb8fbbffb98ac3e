"""Artifacts of another architecture than this machine's: what is in them, that they compute the same in an emulator,
and what is said where they cannot run."""

from __future__ import annotations

import os
import re
import struct
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import pytest
from cli.small_models import (
    save_convolutions,
    save_doubles,
    save_integers,
    save_loop,
    save_pairs,
    save_product,
    save_quantised,
    save_small_integers,
)
from cli.test_machines import save_block
from cli.tool import BUILD, DIGITS, USAGE_ERROR, reject, save, save_tiny, succeed, value
from conformance.onnx_foreign import emulator, missing
from e2e.test_grouped_weights import nbits, whole_rows
from onnx import TensorProto, helper, numpy_helper


class Facts(NamedTuple):
    machine: int  # ELF's number
    loader: bytes
    libc: bytes  # the first version
    processor: str  # a target
    others: tuple[str, ...]  # more of them, the base level first


ARCHITECTURES = {
    "aarch64": Facts(
        183, b"/lib/ld-linux-aarch64.so.1", b"GLIBC_2.17", "cortex-a76", ("aarch64", "neoverse-v1", "neoverse-v2")
    ),
    "riscv64": Facts(
        243,
        b"/lib/ld-linux-riscv64-lp64d.so.1",
        b"GLIBC_2.27",
        "rv64gcv",
        ("riscv64", "rv64gcv_zvl256b", "spacemit-x60"),
    ),
}


def where(why: str, *values: object) -> object:
    return pytest.param(*values, marks=pytest.mark.skipif(bool(why), reason=why))


def each(reason_of) -> list[object]:  # type: ignore[no-untyped-def]
    return [where(reason_of(name), name) for name in ARCHITECTURES]


def without_runtime(architecture: str) -> str:
    is_there = (BUILD / "lib" / architecture / "libperpend_runtime.a").exists()
    return "" if is_there else f"the runtime was not built for {architecture}"


needs_runtime = pytest.mark.parametrize("architecture", each(without_runtime))
emulated = pytest.mark.parametrize("architecture", each(missing))
emulated_targets = pytest.mark.parametrize(
    ("architecture", "target"),
    [
        where(missing(name), name, target)
        for name, facts in ARCHITECTURES.items()
        for target in (facts.processor, *facts.others)
    ],
)


def machine_of(path: Path) -> int:
    data = path.read_bytes()
    start = data.index(b"\x7fELF")
    number: int = struct.unpack_from("<H", data, start + 18)[0]
    return number


@needs_runtime
def test_every_kind_of_artifact_is_of_the_architecture(tmp_path: Path, architecture: str) -> None:
    tiny, facts = save_tiny(tmp_path), ARCHITECTURES[architecture]
    for name in ("m.so", "m.a"):
        succeed("compile", tiny, "-o", tmp_path / name, "--target", facts.processor, folder=tmp_path)
    succeed("compile", tiny, "--exe", "-o", tmp_path / "m", "--target", facts.processor, folder=tmp_path)
    for name in ("m.so", "m.a", "m"):
        assert machine_of(tmp_path / name) == facts.machine, name
    library, program = (tmp_path / "m.so").read_bytes(), (tmp_path / "m").read_bytes()
    assert facts.loader + b"\0" in program
    for content in (library, program):
        assert facts.libc + b"\0" in content and b"GLIBC_2.2.5\0" not in content
        assert b"__aarch64_" not in content, "functions of a compiler's own library"


@needs_runtime
def test_a_foreign_artifact_is_described(tmp_path: Path, architecture: str) -> None:
    target = ARCHITECTURES[architecture].processor
    succeed("compile", DIGITS, "-o", tmp_path / "m.so", "--target", target, folder=tmp_path)
    text = succeed("inspect", tmp_path / "m.so", folder=tmp_path)
    assert "not here" in text and f"got one for {architecture}" in text
    assert "image: f32 [n, 1, 8, 8]" in text
    needs = "v" if architecture == "riscv64" else "lse fullfp16 rdm rcpc dotprod"
    assert f"\nneeds    {needs}\n" in text
    runner = "qemu-riscv64-static -L /usr/riscv64-linux-gnu -cpu rv64,v=true,vext_spec=v1.0,vlen=128"
    if architecture == "riscv64" and not missing(architecture):
        assert f"\n         run and check start it with {runner}\n" in text


@needs_runtime
def test_what_no_runner_starts_is_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, architecture: str) -> None:
    facts = ARCHITECTURES[architecture]
    machines = f"{facts.processor},{facts.others[0]}"
    succeed("compile", save_tiny(tmp_path), "-o", tmp_path / "m.so", "--target", machines, folder=tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("PERPEND_RUNNER", raising=False)
    text = succeed("inspect", tmp_path / "m.so", folder=tmp_path)
    assert f"run and check have no runner for it: the emulator 'qemu-{architecture}-static'" in text
    assert "(apt-get install qemu-user-static" in text
    base = next(line for line in text.splitlines() if line.startswith(f"variant  {facts.others[0]}:"))
    assert base.endswith(f", isa {'d' if architecture == 'riscv64' else 'neon'}"), "what its base level has"


def test_targets_of_both_are_listed(tmp_path: Path) -> None:
    text = succeed("targets", folder=tmp_path)
    assert "\nx86-64-v3: 16 vectors of 32 bytes" in text
    assert "\ncortex-a76: 32 vectors of 16 bytes" in text
    line = next(line for line in text.splitlines() if line.startswith("neoverse-v1: "))
    assert {"dotprod", "bf16", "i8mm", "sve256"} <= set(line.split(" isa ")[1].split(";")[0].split())
    assert "32 vectors of 32 bytes" in line
    assert "\nneoverse-v2: 32 vectors of 16 bytes" in text
    assert "\nriscv64: no vectors, L1 32 KiB" in text and "\nrv64gcv_zvl256b: 32 vectors of 32 bytes" in text
    line = next(line for line in text.splitlines() if line.startswith("spacemit-x60: "))
    assert {"v", "zvfh", "zvl256b", "zba"} <= set(line.split(" isa ")[1].split(";")[0].split())


def test_machines_of_two_architectures_are_refused(tmp_path: Path) -> None:
    for target, expected in (
        ("x86-64,aarch64", "expected machines of one architecture, got x86-64 and aarch64\nhint: "),
        ("aarch64,+avx2", "unknown feature 'avx2'\nhint: "),
    ):
        arguments = ["compile", save_tiny(tmp_path), "-o", tmp_path / "m.so", "--target", target]
        assert expected in reject(*arguments, folder=tmp_path, code=USAGE_ERROR)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_without_the_runtime_the_error_names_the_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, architecture: str
) -> None:
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    for file in (BUILD / "lib").iterdir():
        if file.name != architecture:
            (runtime / file.name).symlink_to(file)
    monkeypatch.setenv("PERPEND_RUNTIME_DIR", str(runtime))
    text = reject("compile", save_tiny(tmp_path), "-o", tmp_path / "m.so", "--target", architecture, folder=tmp_path)
    assert re.search(rf"this installation has no libperpend_\w+\.a for {architecture}\nhint: `\./dev setup`", text)
    lines = succeed("targets", folder=tmp_path).splitlines()
    marked = [line.split(":")[0] for line in lines if line.endswith("which has no runtime for it")]
    assert ARCHITECTURES[architecture].processor in marked and "x86-64" not in marked


@needs_runtime
class TestRefusals:
    def test_times_of_an_emulator_are_none(self, tmp_path: Path, architecture: str) -> None:
        tiny = save_tiny(tmp_path)
        text = reject("bench", tiny, "--target", architecture, folder=tmp_path)
        assert "an emulator's times say nothing" in text and "hint: " in text
        text = reject("run", tiny, "--target", architecture, "--repeat", 2, folder=tmp_path)
        assert "option '--repeat'" in text

    def test_no_emulator(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, architecture: str) -> None:
        succeed("compile", save_tiny(tmp_path), "-o", tmp_path / "m.so", "--target", architecture, folder=tmp_path)
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("PERPEND_RUNNER", raising=False)
        text = reject("run", tmp_path / "m.so", folder=tmp_path)
        program = f"qemu-{architecture}-static"
        assert f"m.so' is for {architecture}, and this machine is x86-64; the emulator '{program}'" in text
        assert "hint: apt-get install qemu-user-static" in text

    def test_a_runner_that_is_none(self, tmp_path: Path, architecture: str) -> None:
        succeed("compile", save_tiny(tmp_path), "-o", tmp_path / "m.so", "--target", architecture, folder=tmp_path)
        text = reject("run", tmp_path / "m.so", "--runner", "no-such-program", folder=tmp_path)
        assert "the runner 'no-such-program' is no program\nhint: " in text
        text = reject("run", tmp_path / "m.so", "--runner", "false", folder=tmp_path)
        assert "the runner 'false' ended before it answered: exit status 1" in text
        broken = tmp_path / "broken"
        broken.write_text("#!/bin/sh\nkill -SEGV $$\n")
        broken.chmod(0o755)
        text = reject("run", tmp_path / "m.so", "--runner", broken, folder=tmp_path)
        assert "ended before it answered: signal Segmentation fault\nhint: emulators have faults of their own" in text
        text = reject("check", save_tiny(tmp_path), "--target", architecture, "--runner", "false", folder=tmp_path)
        assert "ended before it answered" in text


@pytest.mark.parametrize(
    ("architecture", "cpu", "machines"),
    [
        where(missing(name), name, cpu, machines)
        for name, cpu, machines in (
            ("aarch64", "cortex-a53", "neoverse-v2,aarch64"),
            ("aarch64", "cortex-a53", "neoverse-v1,aarch64"),
            ("aarch64", "max,sve-default-vector-length=16", "neoverse-v1,neoverse-v2"),
            ("aarch64", "max,sve-default-vector-length=64", "neoverse-v1,neoverse-v2"),
            ("riscv64", "rv64", "rv64gcv,riscv64"),
            ("riscv64", "rv64,v=true,vext_spec=v1.0,vlen=128", "rv64gcv_zvl256b,rv64gcv"),
            ("riscv64", "rv64,v=true,vext_spec=v1.0,vlen=512", "spacemit-x60,rv64gcv_zvl256b"),
        )
    ],
)
def test_a_processor_without_the_extensions(tmp_path: Path, architecture: str, cpu: str, machines: str) -> None:
    old = f"{emulator(architecture)[0]} -cpu {cpu} -L /usr/{architecture}-linux-gnu"
    for target in (machines.split(",")[0], machines):
        succeed("compile", save_tiny(tmp_path), "-o", tmp_path / "m.so", "--target", target, folder=tmp_path)
        if target == machines:
            assert "runs through qemu" in succeed("run", tmp_path / "m.so", "--runner", old, folder=tmp_path)
        else:
            assert "which this machine lacks" in reject("run", tmp_path / "m.so", "--runner", old, folder=tmp_path)


@pytest.mark.skipif(bool(missing("riscv64")), reason=missing("riscv64"))
@pytest.mark.parametrize(
    ("isa", "runs"),
    [
        ("rv64imafdcv_zicsr_zba_zbb_zbs_zfh_zfhmin_zvfh_zvfhmin", True),
        ("rv64imafdcv_zicsr_zbb_zbs_zfh_zfhmin_zvfh_zvfhmin_zbad", False),
        ("rv64imafdcv_zicsr_zba_zbb_zbs_zfh_zfhmin_zvfhmin", False),
    ],
)
def test_extensions_are_read_from_the_text_of_a_system(tmp_path: Path, isa: str, runs: bool) -> None:
    root = tmp_path / "root"  # in which the emulator looks for files first
    (root / "proc").mkdir(parents=True)
    (root / "lib").symlink_to("/usr/riscv64-linux-gnu/lib")
    (root / "proc" / "cpuinfo").write_text(f"processor\t: 0\nhart\t\t: 0\nisa\t\t: {isa}\nmmu\t\t: sv39\n\n")
    succeed("compile", save_tiny(tmp_path), "-o", tmp_path / "m.so", "--target", "spacemit-x60", folder=tmp_path)
    runner = f"qemu-riscv64-static -cpu rv64,v=true,vext_spec=v1.0,vlen=256,Zfh=true -L {root}"
    if runs:
        succeed("run", tmp_path / "m.so", "--runner", runner, folder=tmp_path)
    else:
        text = reject("run", tmp_path / "m.so", "--runner", runner, folder=tmp_path)
        assert f"needs {'zba' if 'zba_' not in isa else 'zvfh'}, which this machine lacks" in text


def test_kernels_use_the_instructions_of_the_machine(tmp_path: Path) -> None:
    integers, block = save_integers(tmp_path), save_block(tmp_path)
    for target, instruction in (("cortex-a76", "sdot"), ("neoverse-v2", "usmmla"), ("aarch64", "mla")):
        text = succeed("inspect", integers, "--stage", "asm", "--target", target, folder=tmp_path)
        assert f"\t{instruction}\tv" in text, target
    assert "\tsdot\tv" not in text
    text = succeed("inspect", block, "--stage", "asm", "--target", "neoverse-n1", folder=tmp_path)
    assert re.search(r"\tfmla\tv\d+\.4s, v\d+\.4s, v\d+\.s\[0\]", text), "by the lane of a register"
    assert not re.search(r"\bz\d+\.s\b", text), "no vectors whose length is not known"


def inner_loops(assembly: str, instruction: str) -> list[str]:
    """The basic blocks that end with a jump to themselves and have the instruction."""
    parts = re.split(r"^(\.LBB\w+):\n", assembly, flags=re.MULTILINE)
    blocks = zip(parts[1::2], parts[2::2], strict=True)
    loops = (re.split(rf"\tb[\w.]+\t.*{re.escape(name)}\n", text, maxsplit=1) for name, text in blocks)
    return [loop[0] for loop in loops if len(loop) > 1 and f"\t{instruction}\t" in loop[0]]


@pytest.mark.parametrize(
    ("make", "options", "target", "step", "element", "word"),
    [
        (save_quantised, (), "neoverse-n1", "sdot", "16b", "4b"),
        (save_product, ("--precision", "f16"), "neoverse-v2", "fmlal", "4h", "h"),
    ],
)
def test_words_are_lanes_of_a_vector(  # type: ignore[no-untyped-def]
    tmp_path: Path, make, options: tuple[str, ...], target: str, step: str, element: str, word: str
) -> None:
    """A row's words of four steps are loaded at once, none is broadcast, and nothing else computes with vectors."""
    text = succeed("inspect", make(tmp_path), *options, "--stage", "asm", "--target", target, folder=tmp_path)
    best = max(inner_loops(text, step), key=lambda loop: loop.count(f"\t{step}\t"))
    lanes = re.findall(rf"\t{step}\tv\d+\.4s, v\d+\.{element}, v\d+\.{word}\[(\d)\]", best)
    assert len(lanes) == 64 and {lanes.count(lane) for lane in "0123"} == {16}
    vectors = re.findall(r"\t(\w+)\t(?:\{ )?v\d", best)
    assert set(vectors) == {step}, "no ld1r, dup, eor or shl"


@pytest.mark.parametrize(
    ("make", "options", "target", "step"),
    [
        (save_quantised, (), "neoverse-v2", "usmmla"),
        (save_quantised, (), "neoverse-n1,+i8mm", "usmmla"),
        (save_product, ("--precision", "bf16"), "neoverse-v1,-sve256", "bfmmla"),
    ],
)
def test_pairs_of_rows_are_multiplied_with_pairs_of_columns(  # type: ignore[no-untyped-def]
    tmp_path: Path, make, options: tuple[str, ...], target: str, step: str
) -> None:
    """Nothing else computes with vectors than what pairs the words of two rows, and nothing is spilled."""
    text = succeed("inspect", make(tmp_path), *options, "--stage", "asm", "--target", target, folder=tmp_path)
    best = max(inner_loops(text, step), key=lambda loop: loop.count(f"\t{step}\t"))
    assert best.count(f"\t{step}\t") == 32 and "sp" not in best
    vectors = re.findall(r"\t(\w+)\t(?:\{ )?v\d", best)
    assert len(vectors) == 32 + 8 and set(vectors) <= {step, "zip1", "zip2", "mov"}


@pytest.mark.skipif(bool(missing("aarch64")), reason=missing("aarch64"))
@pytest.mark.parametrize("is_signed", [False, True])
@pytest.mark.parametrize("target", ["neoverse-v2", "neoverse-v1", "neoverse-n1"])
def test_products_of_bytes_of_all_sizes_are_exact(tmp_path: Path, target: str, is_signed: bool) -> None:
    """Odd rows, depths that no word divides, columns of a part of a panel."""
    cases = [(1, 64, 16), (2, 8, 8), (3, 16, 4), (7, 24, 12), (8, 131, 64), (9, 7, 21), (16, 40, 8), (17, 64, 37)]
    model, values = save_pairs(tmp_path, [*cases, (5, 1, 8), (6, 256, 20), (33, 12, 3)], is_signed)
    if target == "neoverse-v2":
        text = succeed("inspect", model, "--stage", "asm", "--target", target, folder=tmp_path)
        assert f"\t{'smmla' if is_signed else 'usmmla'}\t" in text
    files: list[object] = []
    for name, array in values.items():
        np.save(tmp_path / f"{name}.npy", array)
        files += ["--input", f"{name}={tmp_path / f'{name}.npy'}"]
    succeed("run", model, "--target", target, *files, "--output-dir", tmp_path / "out", folder=tmp_path)
    for tensor in onnx.load(model).graph.initializer:
        number = tensor.name[1:]
        expected = values[f"x{number}"].astype(np.int32) @ numpy_helper.to_array(tensor).astype(np.int32)
        np.testing.assert_array_equal(np.load(tmp_path / "out" / f"y{number}.npy"), expected, number)


@pytest.mark.skipif(bool(missing("aarch64")), reason=missing("aarch64"))
@pytest.mark.parametrize(
    ("target", "step"), [("neoverse-v2", "bfmmla"), ("neoverse-v1,-sve256", "bfmmla"), ("neoverse-v1", "bfdot")]
)
def test_products_of_bf16_of_all_sizes_are_exact(tmp_path: Path, target: str, step: str) -> None:
    model, values, results = save_small_integers(tmp_path)
    options: list[object] = ["--precision", "bf16", "--target", target]
    assert f"\t{step}\t" in succeed("inspect", model, "--stage", "asm", *options, folder=tmp_path)
    for name, array in values.items():
        np.save(tmp_path / f"{name}.npy", array)
        options += ["--input", f"{name}={tmp_path / f'{name}.npy'}"]
    succeed("run", model, *options, "--output-dir", tmp_path / "out", folder=tmp_path)
    for name, expected in results.items():
        np.testing.assert_array_equal(np.load(tmp_path / "out" / f"{name}.npy"), expected, name)


@pytest.mark.parametrize(
    ("make", "options", "step", "element"),
    [
        (save_product, (), "fmla", "s"),
        (save_doubles, (), "fmla", "d"),
        (save_quantised, (), "sudot", "b"),
        (save_quantised, ("-i8mm",), "sdot", "b"),
        (save_product, ("--precision", "bf16"), "bfdot", "h"),
    ],
)
def test_words_are_selected_in_each_part_of_a_long_vector(  # type: ignore[no-untyped-def]
    tmp_path: Path, make, options: tuple[str, ...], step: str, element: str
) -> None:
    """The words of a row are loaded once to all parts of 16 bytes, and nothing but the steps computes."""
    changes = [option for option in options if not option.startswith("--") and option[0] == "-"]
    others = [option for option in options if option not in changes]
    target = ",".join(["neoverse-v1", *changes])
    text = succeed("inspect", make(tmp_path), *others, "--stage", "asm", "--target", target, folder=tmp_path)
    best = max(inner_loops(text, step), key=lambda loop: loop.count(f"\t{step}\t"))
    lanes = re.findall(rf"\t{step}\tz\d+\.\w, z\d+\.{element}, z\d+\.{element}\[(\d)\]", best)
    words = 2 if element == "d" else 4
    assert len(lanes) == 64 and {lanes.count(str(lane)) for lane in range(words)} == {64 // words}
    vectors = re.findall(r"\t(\w+)\t(?:\{ )?z\d", best)
    loads = {"b": "ld1b", "h": "ld1h", "s": "ld1w", "d": "ld1d"}[element]
    assert set(vectors) == {step, loads, f"ld1rq{loads[-1]}"}, "no copy, no broadcast, no spill"


@pytest.mark.parametrize(
    ("rows", "machine", "extensions"),
    [(48, "neoverse-n1", 8), (1, "neoverse-n1", 0), (1, "neoverse-n1,l2=256K,l3=1M", 8)],
)
def test_an_instruction_extends_weights_of_f16(tmp_path: Path, rows: int, machine: str, extensions: int) -> None:
    """They stay f16 with many rows, and where one row reads them from memory; in a cache, f32 takes less time."""
    generator = np.random.default_rng(8)
    weights = numpy_helper.from_array(generator.standard_normal((256, 2048)).astype(np.float16), "w")
    cast = helper.make_node("Cast", ["w"], ["v"], to=TensorProto.FLOAT)
    nodes = [cast, helper.make_node("MatMul", ["x", "v"], ["y"])]
    model = save(tmp_path / "half.onnx", nodes, [value("x", [rows, 256])], [value("y", [rows, 2048])], [weights])
    text = succeed("inspect", model, "--stage", "asm", "--target", machine, folder=tmp_path)
    best = max(inner_loops(text, "fmla"), key=lambda loop: loop.count("\tfmla\t"))
    assert best.count("\tfcvtl") == extensions and best.count("\tfmla\t") == (64 if rows > 1 else 8)


def narrow_products(folder: Path, x: np.ndarray, model: Path, precision: str) -> dict[str, np.ndarray]:
    """y on each machine."""
    np.save(folder / "x.npy", x)
    products = {}
    for target in ("host", "aarch64", "neoverse-n1", "neoverse-v1", "neoverse-v2"):
        arguments = ["--input", folder / "x.npy", "--output-dir", folder / target, "--precision", precision]
        succeed("run", model, *arguments, "--target", target, folder=folder)
        products[target] = np.load(folder / target / "y.npy")
    return products


@pytest.mark.skipif(bool(missing("aarch64")), reason=missing("aarch64"))
@pytest.mark.parametrize("precision", ["bf16", "f16"])
def test_exact_sums_of_narrow_numbers_have_the_same_bits_as_here(tmp_path: Path, precision: str) -> None:
    model = save_product(tmp_path)
    x = np.random.default_rng(9).integers(-9, 10, (48, 64)).astype(np.float32)
    weights = numpy_helper.to_array(onnx.load(model).graph.initializer[0])
    for target, y in narrow_products(tmp_path, x, model, precision).items():
        np.testing.assert_array_equal(y, x @ weights, target)


def rounded(x: np.ndarray, precision: str) -> np.ndarray:
    """To the nearest number of this type, ties to even."""
    if precision == "f16":
        return x.astype(np.float16).astype(np.float64)
    bits = x.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32).astype(np.float64)


@pytest.mark.skipif(bool(missing("aarch64")), reason=missing("aarch64"))
@pytest.mark.parametrize("precision", ["bf16", "f16"])
def test_sums_of_narrow_numbers_are_rounded_as_f32(tmp_path: Path, precision: str) -> None:
    """Operands are rounded once; 64 terms, each added with an error of at most 2^-23 of the sum of magnitudes."""
    generator = np.random.default_rng(10)
    x, weights = (generator.standard_normal(shape).astype(np.float32) for shape in ((48, 64), (64, 32)))
    products = narrow_products(tmp_path, x, save_product(tmp_path, weights), precision)
    narrow_x, narrow_weights = rounded(x, precision), rounded(weights, precision)
    bound = 64 * 2**-23 * (np.abs(narrow_x) @ np.abs(narrow_weights))
    for target, y in products.items():
        assert (np.abs(y - narrow_x @ narrow_weights) <= bound).all(), target


@pytest.mark.skipif(bool(missing("aarch64")), reason=missing("aarch64"))
@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zeros", ["none", "packed"])
@pytest.mark.parametrize("target", ["neoverse-n1", "neoverse-v1", "neoverse-v1,-i8mm", "neoverse-v2"])
def test_rows_of_bytes_times_numbers_in_groups(tmp_path: Path, bits: int, zeros: str, target: str) -> None:
    """Few rows, where numbers are the unsigned bytes, and many, where rows are."""
    for rows in (1, 11):
        model, matrix = nbits(rows, 150, 192, 32, bits, zeros)
        onnx.save(model, tmp_path / "groups.onnx")
        options = ["--precision", "int8", "--target", target]
        text = succeed("inspect", tmp_path / "groups.onnx", *options, "--stage", "asm", folder=tmp_path)
        # Which of the operands is a row's: with few rows, numbers are the unsigned bytes. Two signed bytes need no
        # other sums, which have vectors of one number.
        dots = set(re.findall(r"\t((?:s|us|su)dot)\t", text))
        if target == "neoverse-n1" or target.endswith("-i8mm"):
            assert dots == {"sdot"}
        else:
            assert "usdot" in dots and ("sudot" in dots) == (target == "neoverse-v2" and rows > 1)
        if "v1" in target:
            # udot adds the bytes of a row, for all columns at once
            assert re.search(r"\t\w+dot\tz", text) and not re.search(r"\t(?:s|us|su)dot\tv", text)
            assert "\tstrb\t" not in text, "words of bytes are not taken apart"
        else:
            lanes = re.findall(r"\t\w+dot\tv\d+\.4s, v\d+\.16b, v\d+\.4b\[(\d)\]", text)
            assert {lanes.count(lane) for lane in "0123"} == {len(lanes) // 4} != {0}, "no word is broadcast"
        assert "\tfcvtl" not in text, "scales are f32"
        x = whole_rows(rows, 192, 32)
        np.save(tmp_path / "x.npy", x)
        files = ["--input", tmp_path / "x.npy", "--output-dir", tmp_path]
        succeed("run", tmp_path / "groups.onnx", *options, *files, folder=tmp_path)
        error = np.abs(np.load(tmp_path / "y.npy") - x.astype(np.float64) @ matrix)
        assert (error <= 2e-6 * (np.abs(x) @ np.abs(matrix)) + 1e-6).all()


@pytest.mark.parametrize(("target", "bytes_"), [("rv64gcv", 16), ("rv64gcv_zvl256b", 32)])
def test_the_loops_of_products_change_no_type_of_vectors(tmp_path: Path, target: str, bytes_: int) -> None:
    for make, instruction in ((save_block, "vfmacc.vf"), (save_integers, "vmacc.vx")):
        text = succeed("inspect", make(tmp_path), "--stage", "asm", "--target", target, folder=tmp_path)
        loops = inner_loops(text, instruction)
        assert loops, f"{instruction}: a number times a vector\n{text}"
        best = max(loops, key=lambda loop: loop.count(instruction))
        assert "vset" not in best and "vslide" not in best and "vrgather" not in best, best
        assert f"vsetivli\tzero, {bytes_ // 4}, e32, m1" in text


def test_without_vectors_there_are_none(tmp_path: Path) -> None:
    text = succeed("inspect", save_block(tmp_path), "--stage", "asm", "--target", "riscv64", folder=tmp_path)
    assert "\tfmadd.s\t" in text and not re.search(r"\tv(set|l|s|f)\w*\.?\w*\t", text)
    text = succeed("inspect", save_block(tmp_path), "--stage", "asm", "--target", "spacemit-x60,-v", folder=tmp_path)
    assert "\tfmadd.s\t" in text and "\tvset" not in text


@emulated_targets
@pytest.mark.parametrize("make", [save_block, save_integers, save_quantised, save_convolutions, save_loop])
def test_models_compute_the_same(tmp_path: Path, make, architecture: str, target: str) -> None:  # type: ignore[no-untyped-def]
    text = succeed("check", make(tmp_path), "--target", target, "--against", "interpreter", folder=tmp_path)
    assert text.startswith(f"emulated by qemu-{architecture}-static: code for {architecture}\n")
    assert text.endswith("the outputs agree\n")


@emulated
def test_every_variant_is_checked(tmp_path: Path, architecture: str) -> None:
    facts = ARCHITECTURES[architecture]
    machines = (*facts.others, facts.processor)
    text = succeed("check", DIGITS, "--target", ",".join(machines), folder=tmp_path)
    assert text.count("the outputs agree") == len(machines)
    for name in machines:
        assert f"\n{name} against interpreter:\n" in text


@pytest.mark.skipif(bool(missing("aarch64")), reason=missing("aarch64"))
def test_the_processor_decides_which_variant_runs(tmp_path: Path) -> None:
    """Instructions for bf16 round otherwise than those for f32, so that results tell variants apart."""
    generator = np.random.default_rng(12)
    np.save(tmp_path / "x.npy", generator.standard_normal((48, 64)).astype(np.float32))
    model = save_product(tmp_path, generator.standard_normal((64, 32)).astype(np.float32))

    def arguments(target: str, processor: str) -> list[object]:
        runner = " ".join([*emulator("aarch64"), "-cpu", processor])
        options = ["--precision", "bf16", "--target", target, "--runner", runner, "--input", tmp_path / "x.npy"]
        return ["run", model, *options, "--output-dir", tmp_path / "out"]

    def product(target: str, processor: str) -> np.ndarray:
        succeed(*arguments(target, processor), folder=tmp_path)
        return np.load(tmp_path / "out" / "y.npy")

    plain, narrow = product("aarch64", "cortex-a57"), product("neoverse-v2", "max")
    assert (plain != narrow).any()
    np.testing.assert_array_equal(product("aarch64,neoverse-v2", "cortex-a57"), plain)
    np.testing.assert_array_equal(product("aarch64,neoverse-v2", "max"), narrow)
    text = reject(*arguments("neoverse-n1,neoverse-v2", "cortex-a57"), folder=tmp_path)
    assert "needs lse,fullfp16" in text and "(neoverse-n1)" in text and "which this machine lacks" in text


@emulated
def test_integers_have_the_same_bits_as_here(tmp_path: Path, architecture: str) -> None:
    model, facts = save_integers(tmp_path), ARCHITECTURES[architecture]
    machines = (facts.processor, *facts.others)
    np.save(tmp_path / "x.npy", np.random.default_rng(5).integers(0, 256, (9, 37)).astype(np.uint8))
    for target in ("host", *machines):
        arguments = ["--input", tmp_path / "x.npy", "--output-dir", tmp_path / target, "--target", target]
        succeed("run", model, *arguments, folder=tmp_path)
    for name in ("quotient", "total", "most", "places"):
        here = np.load(tmp_path / "host" / f"{name}.npy")
        for target in machines:
            there = np.load(tmp_path / target / f"{name}.npy")
            assert here.dtype == there.dtype and np.array_equal(here, there), (name, target)


@emulated
def test_a_program_runs_by_itself(tmp_path: Path, architecture: str) -> None:
    target = ARCHITECTURES[architecture].processor
    succeed("compile", DIGITS, "--exe", "-o", tmp_path / "digits", "--target", target, folder=tmp_path)
    image = np.random.default_rng(6).random((2, 1, 8, 8)).astype(np.float32)
    np.save(tmp_path / "image.npy", image)
    start = emulator(architecture, ["v"])
    command = [*start, tmp_path / "digits", "--input", tmp_path / "image.npy"]
    subprocess.run([*command, "--output-dir", tmp_path / "there"], check=True, capture_output=True, env={**os.environ})
    succeed("run", DIGITS, "--input", tmp_path / "image.npy", "--output-dir", tmp_path / "here", folder=tmp_path)
    here, there = (np.load(tmp_path / each / "probabilities.npy") for each in ("here", "there"))
    np.testing.assert_allclose(there, here, rtol=1e-5, atol=1e-6)
