"""Artifacts of another architecture than this machine's: what is in them, that they compute the same in an emulator,
and what is said where they cannot run."""

from __future__ import annotations

import os
import re
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import pytest
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


def save_integers(folder: Path) -> Path:
    """Sums of products of bytes, divisions, shifts and remainders: the same bits everywhere."""
    generator = np.random.default_rng(3)
    weights = [
        numpy_helper.from_array(generator.integers(-128, 128, (37, 21)).astype(np.int8), "w"),
        numpy_helper.from_array(np.array(3, np.uint8), "zero"),
        numpy_helper.from_array(np.array([7], np.int32), "seven"),
    ]
    nodes = [
        helper.make_node("MatMulInteger", ["x", "w", "zero"], ["sums"]),
        helper.make_node("Div", ["sums", "seven"], ["quotient"]),
        helper.make_node("Mod", ["sums", "seven"], ["rest"]),
        helper.make_node("ReduceSum", ["rest"], ["total"]),
        helper.make_node("TopK", ["quotient", "two"], ["most", "places"]),
    ]
    weights.append(numpy_helper.from_array(np.array([2], np.int64), "two"))
    outputs = [value("quotient", ["n", 21], TensorProto.INT32), value("total", None, TensorProto.INT32)]
    outputs += [value(name, None, kind) for name, kind in (("most", TensorProto.INT32), ("places", TensorProto.INT64))]
    return save(folder / "integers.onnx", nodes, [value("x", ["n", 37], TensorProto.UINT8)], outputs, weights)


def save_quantised(folder: Path) -> Path:
    """A product of bytes with whole tiles."""
    weights = np.random.default_rng(6).integers(-128, 128, (64, 32)).astype(np.int8)
    nodes = [helper.make_node("MatMulInteger", ["x", "w"], ["y"])]
    outputs = [value("y", [48, 32], TensorProto.INT32)]
    inputs = [value("x", [48, 64], TensorProto.UINT8)]
    return save(folder / "bytes.onnx", nodes, inputs, outputs, [numpy_helper.from_array(weights, "w")])


def save_convolutions(folder: Path) -> Path:
    """A stem, a depthwise and a pointwise convolution, with an average at the end."""
    generator = np.random.default_rng(4)

    def weight(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array((generator.standard_normal(shape) / 3).astype(np.float32), name)

    weights = [weight("w0", 16, 3, 3, 3), weight("w1", 16, 1, 3, 3), weight("w2", 24, 16, 1, 1), weight("b2", 24)]
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["c0"], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("Clip", ["c0", "zero", "six"], ["r0"]),
        helper.make_node("Conv", ["r0", "w1"], ["c1"], group=16, pads=[1, 1, 1, 1]),
        helper.make_node("Sigmoid", ["c1"], ["s1"]),
        helper.make_node("Conv", ["s1", "w2", "b2"], ["c2"]),
        helper.make_node("GlobalAveragePool", ["c2"], ["p"]),
        helper.make_node("Flatten", ["p"], ["y"]),
    ]
    weights += [
        numpy_helper.from_array(np.array(number, np.float32), name) for name, number in (("zero", 0), ("six", 6))
    ]
    return save(folder / "conv.onnx", nodes, [value("x", ["n", 3, 19, 23])], [value("y", ["n", 24])], weights)


def save_loop(folder: Path) -> Path:
    """Doubles x while it is small, at most n times, and gathers what it passes."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["state", "state"], ["next"]),
            helper.make_node("ReduceMax", ["next"], ["largest"], keepdims=0),
            helper.make_node("Less", ["largest", "limit"], ["again"]),
            helper.make_node("Identity", ["next"], ["passed"]),
        ],
        "body",
        [value("i", [], TensorProto.INT64), value("c", [], TensorProto.BOOL), value("state", ["k"])],
        [value("again", [], TensorProto.BOOL), value("next", ["k"]), value("passed", ["k"])],
    )
    nodes = [helper.make_node("Loop", ["n", "", "x"], ["last", "all"], body=body)]
    weights = [numpy_helper.from_array(np.array(40, np.float32), "limit")]
    inputs = [value("n", [], TensorProto.INT64), value("x", ["k"])]
    return save(folder / "loop.onnx", nodes, inputs, [value("last", ["k"]), value("all", None)], weights)


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


def save_product(folder: Path, weights: np.ndarray | None = None) -> Path:
    """By default of small whole numbers, with exact sums in every order and type."""
    if weights is None:
        weights = np.random.default_rng(7).integers(-9, 10, (64, 32)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    constants = [numpy_helper.from_array(weights, "w")]
    return save(folder / "product.onnx", nodes, [value("x", [48, 64])], [value("y", [48, 32])], constants)


def save_doubles(folder: Path) -> Path:
    weights = np.random.default_rng(11).standard_normal((64, 32))
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    constants = [numpy_helper.from_array(weights, "w")]
    inputs, outputs = ([value(name, [48, count], TensorProto.DOUBLE)] for name, count in (("x", 64), ("y", 32)))
    return save(folder / "doubles.onnx", nodes, inputs, outputs, constants)


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


def save_pairs(
    folder: Path, cases: Sequence[tuple[int, int, int]], is_signed: bool
) -> tuple[Path, dict[str, np.ndarray]]:
    """Products of bytes, many of them the least or the greatest, and inputs for them."""
    left = np.int8 if is_signed else np.uint8
    generator = np.random.default_rng(13)

    def extreme(least: int, greatest: int, *shape: int) -> np.ndarray:
        numbers = generator.integers(least, greatest + 1, shape)
        return np.choose(generator.integers(0, 3, shape), [np.full(shape, least), np.full(shape, greatest), numbers])

    nodes, inputs, outputs, weights, values = [], [], [], [], {}
    for number, (m, k, n) in enumerate(cases):
        nodes.append(helper.make_node("MatMulInteger", [f"x{number}", f"w{number}"], [f"y{number}"]))
        inputs.append(value(f"x{number}", [m, k], helper.np_dtype_to_tensor_dtype(np.dtype(left))))
        outputs.append(value(f"y{number}", [m, n], TensorProto.INT32))
        weights.append(numpy_helper.from_array(extreme(-128, 127, k, n).astype(np.int8), f"w{number}"))
        values[f"x{number}"] = extreme(np.iinfo(left).min, np.iinfo(left).max, m, k).astype(left)
    return save(folder / "pairs.onnx", nodes, inputs, outputs, weights), values


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


def save_small_integers(folder: Path) -> tuple[Path, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Products of f32, inputs and results: bf16 and sums of f32 hold all of these. Odd rows, depths that are no
    multiple of 4, columns of a part of a panel."""
    cases = [
        (1, 64, 16),
        (2, 6, 8),
        (3, 17, 5),
        (7, 23, 12),
        (8, 131, 64),
        (9, 7, 21),
        (17, 64, 37),
        (5, 1, 8),
        (33, 50, 3),
    ]
    generator = np.random.default_rng(17)
    nodes, inputs, outputs, weights, values, results = [], [], [], [], {}, {}
    for number, (m, k, n) in enumerate(cases):
        x, w = (generator.integers(-8, 9, shape).astype(np.float32) for shape in ((m, k), (k, n)))
        nodes.append(helper.make_node("MatMul", [f"x{number}", f"w{number}"], [f"y{number}"]))
        inputs.append(value(f"x{number}", [m, k]))
        outputs.append(value(f"y{number}", [m, n]))
        weights.append(numpy_helper.from_array(w, f"w{number}"))
        values[f"x{number}"], results[f"y{number}"] = x, x @ w
    return save(folder / "integers.onnx", nodes, inputs, outputs, weights), values, results


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
            assert re.search(r"\t\w+dot\tz", text) and not re.search(r"\t\w+dot\tv", text)
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
