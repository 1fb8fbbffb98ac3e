"""--precision: products on operands that are rounded, with sums in f32."""

from pathlib import Path

import numpy as np
import pytest
from cli.tool import reject, save, succeed, value
from onnx import helper, numpy_helper

HAS_BF16 = "avx512_bf16" in Path("/proc/cpuinfo").read_text()
MACHINE = "x86-64-v4,+avx512bf16"
needs_bf16 = pytest.mark.skipif(not HAS_BF16, reason="this processor multiplies no bf16")


def rounded(numbers: np.ndarray) -> np.ndarray:
    """To bf16, to nearest even."""
    bits = numbers.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def save_attention(path: Path, m: int | str = "m", depth: int = 24) -> Path:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["q"]),
        helper.make_node("MatMul", ["q", "k"], ["s"]),
        helper.make_node("Softmax", ["s"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "v"], ["y"]),
    ]
    weights = np.random.default_rng(0).standard_normal((depth, depth)).astype(np.float32)
    inputs = [
        value("x", [3, "n", depth]),
        value("k", [3, depth, m]),
        value("v", [3, m, 40]),
    ]
    outputs = [value("y", [3, "n", 40])]
    return save(path, nodes, inputs, outputs, [numpy_helper.from_array(weights, "w")])


@needs_bf16
@pytest.mark.parametrize(("n", "m"), [(0, 4), (1, 1), (13, 8), (20, 77)])
def test_attention_agrees(tmp_path: Path, n: int, m: int) -> None:
    model = save_attention(tmp_path / "attention.onnx")
    symbols = ["--symbol", f"n={n}", "--symbol", f"m={m}"]
    said = succeed("check", model, "--precision", "bf16", *symbols, folder=tmp_path)
    assert "the outputs agree" in said


@needs_bf16
def test_operands_are_rounded_and_sums_are_not(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    x, w = (1 + random.random((5, 64))).astype(np.float32), random.standard_normal((64, 9)).astype(np.float32)
    model = save(
        tmp_path / "product.onnx",
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [value("x", [5, 64])],
        [value("y", [5, 9])],
        [numpy_helper.from_array(w, "w")],
    )
    np.save(tmp_path / "x.npy", x)
    results = {}
    for precision in ("f32", "bf16"):
        options = ["--precision", precision, "--input", "x.npy", "--output-dir", precision]
        succeed("run", model, *options, folder=tmp_path)
        results[precision] = np.load(tmp_path / precision / "y.npy")
    exact = rounded(x).astype(np.float64) @ rounded(w).astype(np.float64)
    np.testing.assert_allclose(results["bf16"], exact, atol=1e-4)
    assert np.abs(results["f32"] - exact).max() > 1e-2


def test_it_is_said(tmp_path: Path) -> None:
    model = save_attention(tmp_path / "attention.onnx")
    options = ["--precision", "bf16", "--target", MACHINE]
    said = succeed("compile", model, "-o", "a.so", *options, folder=tmp_path)
    assert "precision bf16: the operands of 3 of 3 products and convolutions; sums and all else are f32\n" in said
    said = succeed("compile", model, "-o", "plain.so", *options, "-O0", folder=tmp_path)
    assert "precision bf16: the operands of 0 of 3 products" in said
    assert b'"precision":"f32"' in (tmp_path / "plain.so").read_bytes()
    if HAS_BF16:
        assert "products bf16 with sums of f32\n" in succeed("inspect", "a.so", folder=tmp_path)
    assert b'"precision":"bf16"' in (tmp_path / "a.so").read_bytes()


def test_products_of_rows_stay_in_one_kernel(tmp_path: Path) -> None:
    """Words of pairs, whose rows of probabilities are bf16 in a block of the cache."""
    options = ["--precision", "bf16", "--target", MACHINE, "--stop-after", "schedule"]
    text = succeed("compile", save_attention(tmp_path / "attention.onnx", 66), *options, folder=tmp_path)
    kernel = next(part for part in text.split("func.func private ") if "reduce" in part.split("(")[0])
    assert kernel.count('tensorized = "bf16.block"') == 2
    assert "x bf16, local>" in kernel


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["f16"], "'x86-64-v4,+avx512bf16' multiplies bf16, f32 with sums of f32, got 'f16'"),
        (["bf16", "--target", "x86-64-v3"], "'x86-64-v3' multiplies f32 with sums of f32, got 'bf16'"),
        (["fp32"], "got 'fp32'\nhint: leave it out, or compile for another machine"),
    ],
)
def test_what_the_machine_has_not(tmp_path: Path, options: list[str], expected: str) -> None:
    model = save_attention(tmp_path / "attention.onnx")
    target = [] if "--target" in options else ["--target", MACHINE]
    said = reject("compile", model, "-o", "a.so", "--precision", *options, *target, folder=tmp_path)
    assert expected in said and not (tmp_path / "a.so").exists()


def test_packed_for_another_machine(tmp_path: Path) -> None:
    model = save_attention(tmp_path / "attention.onnx")
    options = ["--precision", "bf16", "--target", MACHINE, "--stop-after", "plan", "-o", "plan.mlir"]
    succeed("compile", model, *options, folder=tmp_path)
    other = ["--start-from", "lower", "--target", "x86-64-v3", "-o", "a.so"]
    said = reject("compile", "plan.mlir", *other, folder=tmp_path)
    assert "'bf16.block' is for another machine: the target has no avx512vl, avx512bf16\nhint: pack the oper" in said
