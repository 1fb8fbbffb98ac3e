"""--precision: products on operands that are rounded, with sums in f32, or that are integers."""

import re
from pathlib import Path

import numpy as np
import pytest
from cli.tool import perpend, reject, save, succeed, value
from onnx import NodeProto, TensorProto, helper, numpy_helper

HAS_BF16 = "avx512_bf16" in Path("/proc/cpuinfo").read_text()
MACHINE = "x86-64-v4,+avx512bf16"
PRECISIONS = ["bf16", "f16", "int8"]
FLAGS = set(Path("/proc/cpuinfo").read_text().split())
# Each multiplies bytes and bf16 in another way, of those that this processor has.
MACHINES = ["x86-64-v3"]
MACHINES += ["x86-64-v4"] if "avx512bw" in FLAGS else []
MACHINES += ["host"] if FLAGS & {"avx_vnni", "avx512_vnni"} else []


def rounded(numbers: np.ndarray, precision: str = "bf16") -> np.ndarray:
    """To nearest even."""
    if precision == "f16":
        return numbers.astype(np.float16).astype(np.float32)
    bits = numbers.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def quantised(numbers: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Integers of -127..127, and their scales."""
    largest = np.abs(numbers).max(axis, keepdims=True).astype(np.float32)
    inverse = np.where(largest > 2.0**-120, np.float32(127) / np.maximum(largest, np.float32(2.0**-120)), np.float32(0))
    return np.rint(numbers * inverse.astype(np.float32)), largest * np.float32(1 / 127)


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


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("n", "m"), [(0, 4), (1, 1), (13, 8), (20, 77)])
def test_attention_agrees(tmp_path: Path, n: int, m: int, precision: str) -> None:
    model = save_attention(tmp_path / "attention.onnx")
    symbols = ["--symbol", f"n={n}", "--symbol", f"m={m}"]
    said = succeed("check", model, "--precision", precision, *symbols, folder=tmp_path)
    assert "the outputs agree" in said and ("root mean square" in said) == (n > 0)


def save_product(path: Path, w: np.ndarray, *nodes: NodeProto) -> Path:
    return save(
        path,
        [*nodes, helper.make_node("MatMul", ["z" if nodes else "x", "w"], ["y"])],
        [value("x", ["n", w.shape[0]])],
        [value("y", ["n", w.shape[1]])],
        [numpy_helper.from_array(w, "w")],
    )


def run(model: Path, x: np.ndarray, precision: str, *options: str) -> np.ndarray:
    np.save(model.parent / "x.npy", x)
    arguments = ["--precision", precision, "--input", "x.npy", "--output-dir", "results"]
    succeed("run", model, *arguments, *options, folder=model.parent)
    result: np.ndarray = np.load(model.parent / "results" / "y.npy")
    return result


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("precision", ["bf16", "f16"])
@pytest.mark.parametrize("rows", [1, 5, 40])
def test_operands_are_rounded_and_sums_are_not(tmp_path: Path, machine: str, precision: str, rows: int) -> None:
    random = np.random.default_rng(1)
    x, w = (1 + random.random((rows, 64))).astype(np.float32), random.standard_normal((64, 9)).astype(np.float32)
    model = save_product(tmp_path / "product.onnx", w)
    exact = rounded(x, precision).astype(np.float64) @ rounded(w, precision).astype(np.float64)
    np.testing.assert_allclose(run(model, x, precision, "--target", machine), exact, atol=1e-4)
    assert np.abs(run(model, x, "f32") - exact).max() > (1e-2 if precision == "bf16" else 5e-4)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("level", ["-O3", "-O0"])
@pytest.mark.parametrize("rows", [1, 5, 40])
def test_quantised_products_are_exact(tmp_path: Path, machine: str, level: str, rows: int) -> None:
    """Sums of integers, so that every machine computes the same, bit for bit."""
    random = np.random.default_rng(2)
    x = random.standard_normal((rows, 300)).astype(np.float32)
    x[0] = 0
    w = random.standard_normal((300, 50)).astype(np.float32)
    w[:, 3] *= 1e-30
    (left, left_scale), (right, right_scale) = quantised(x, 1), quantised(w, 0)
    sums = (left.astype(np.int64) @ right.astype(np.int64)).astype(np.float32)
    result = run(save_product(tmp_path / "product.onnx", w), x, "int8", "--target", machine, level)
    np.testing.assert_array_equal(result, sums * left_scale * right_scale)


@pytest.mark.parametrize("level", ["-O3", "-O0"])
def test_convolutions_of_one_position_are_products(tmp_path: Path, level: str) -> None:
    random = np.random.default_rng(4)
    x = random.standard_normal((2, 20, 5, 7)).astype(np.float32)
    w = random.standard_normal((18, 20, 1, 1)).astype(np.float32)
    model = save(
        tmp_path / "pointwise.onnx",
        [helper.make_node("Conv", ["x", "w"], ["y"])],
        [value("x", list(x.shape))],
        [value("y", [2, 18, 5, 7])],
        [numpy_helper.from_array(w, "w")],
    )
    (left, left_scale), (right, right_scale) = quantised(x, 1), quantised(w, 1)
    sums = np.einsum("nchw,oc->nohw", left, right[:, :, 0, 0]).astype(np.float32)
    result = run(model, x, "int8", level)
    np.testing.assert_array_equal(result, sums * left_scale * right_scale[None, :, 0])


@pytest.mark.parametrize("machine", MACHINES)
def test_subnormal_numbers_of_bf16(tmp_path: Path, machine: str) -> None:
    """Instructions for bf16 take them as 0, which others do not: at most 2^-126 of the other operand."""
    x, w = np.full((5, 32), 2.0**-130, np.float32), np.full((32, 32), 2.0**100, np.float32)
    result = run(save_product(tmp_path / "product.onnx", w), x, "bf16", "--target", machine)
    flushes = machine == "host" and HAS_BF16
    np.testing.assert_array_equal(result, 0 if flushes else 32 * 2.0**-30)
    assert np.abs(result - 32 * 2.0**-30).max() <= 32 * 2.0**-126 * 2.0**100


@pytest.mark.skipif("avx512vl" not in FLAGS, reason="the processor has no AVX-512")
def test_powers_of_two_are_the_same_on_every_machine(tmp_path: Path) -> None:
    """Exponentials beyond the range of normal numbers, and of none, have the bits of two exact steps."""
    x = np.linspace(-110, 95, 20001).astype(np.float32)
    x[:6] = np.inf, -np.inf, np.nan, 0, -0.0, 1e30
    model = save(
        tmp_path / "exp.onnx", [helper.make_node("Exp", ["x"], ["y"])], [value("x", [x.size])], [value("y", [x.size])]
    )
    fast, slow = (run(model, x, "f32", "--target", machine) for machine in ("x86-64-v4", "x86-64-v3"))
    np.testing.assert_array_equal(fast.view(np.uint32), slow.view(np.uint32))
    assert (fast[0], fast[1], fast[5]) == (np.inf, 0, np.inf) and np.isnan(fast[2])


def test_subnormal_operands_are_zero(tmp_path: Path) -> None:
    """What is rounded for a product may be 0 below 2^-126; the bound is that of products."""
    nodes = [helper.make_node("Mul", ["x", "two"], ["z"])]
    w, two = np.ones((32, 32), np.float32), numpy_helper.from_array(np.float32(2), "two")
    model = save(
        tmp_path / "product.onnx",
        [*nodes, helper.make_node("MatMul", ["z", "w"], ["y"])],
        [value("x", [5, 32])],
        [value("y", [5, 32])],
        [numpy_helper.from_array(w, "w"), two],
    )
    result = run(model, np.full((5, 32), 2.0**-130, np.float32), "bf16")
    assert np.abs(result - 2.0**-124).max() <= 32 * 2.0**-126
    x = np.full((5, 32), np.nan, np.float32)
    x[1:] = np.array([-np.inf, np.inf, 3e38, 3.4e38])[:, None]
    result = run(model, x, "bf16")
    assert np.isnan(result).sum() == 32 and np.isinf(result).sum() == 4 * 32


def test_outputs_of_another_type(tmp_path: Path) -> None:
    """What is as exact as bf16 is not measured as f16, because the model's type is."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    x, w = (np.full(shape, 1 + 2.0**-8, np.float16) for shape in ((4, 32), (32, 32)))  # ties, which become 1
    half = TensorProto.FLOAT16
    inputs, outputs = [value("x", [4, 32], half)], [value("y", [4, 32], half)]
    model = save(tmp_path / "half.onnx", nodes, inputs, outputs, [numpy_helper.from_array(w, "w")])
    np.save(tmp_path / "x.npy", x)
    options = ["--precision", "bf16", "--input", "x.npy"]
    assert "the outputs agree" in succeed("check", model, *options, folder=tmp_path)


def test_half_precision_instructions(tmp_path: Path) -> None:
    """None of AVX512-FP16: LLVM 19 exchanges operands of a masked comparison. f32 is computed, then rounded."""
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["square"]),
        helper.make_node("Add", ["square", "x"], ["sum"]),
        helper.make_node("MatMul", ["sum", "w"], ["p"]),
        helper.make_node("ReduceSum", ["p"], ["y"], keepdims=0),
    ]
    weights = numpy_helper.from_array(np.ones((64, 64), np.float16), "w")
    half = TensorProto.FLOAT16
    inputs, outputs = [value("x", [9, 64], half)], [value("sum", [9, 64], half), value("y", [], half)]
    model = save(tmp_path / "half.onnx", nodes, inputs, outputs, [weights])
    text = succeed("inspect", model, "--stage", "asm", "--target", "sapphirerapids", folder=tmp_path)
    assert set(re.findall(r"\tv(\w+[ps]h)\t", text)) == {"cvtps2ph"}
    assert "vcvtph2ps" in text and "vfmadd231ps" in text


@pytest.mark.parametrize("machine", MACHINES)
def test_numbers_that_are_no_integers(tmp_path: Path, machine: str) -> None:
    """A row with a NaN or an infinity has no finite result, and others do not see it."""
    x = np.ones((4, 64), np.float32)
    x[1, 5], x[2, 63], x[3] = np.nan, -np.inf, 1e-40
    result = run(save_product(tmp_path / "product.onnx", np.ones((64, 32), np.float32)), x, "int8", "--target", machine)
    np.testing.assert_allclose(result[0], 64, rtol=1e-6)
    assert not np.isfinite(result[1:3]).any() and (result[3] == 0).all()


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("level", ["-O3", "-O0"])
def test_rows_are_quantised_in_the_groups_of_weights(tmp_path: Path, machine: str, level: str) -> None:
    """An outlier, a NaN or an infinity takes the precision of its group alone, or of its row."""
    random = np.random.default_rng(5)
    q, scales = random.integers(-128, 128, (96, 48), np.int8), random.uniform(0.5, 1.5, (3, 48)).astype(np.float32)
    q[:32] = 0
    model = save(
        tmp_path / "groups.onnx",
        [
            helper.make_node("DequantizeLinear", ["q", "scales"], ["w"], axis=0, block_size=32),
            helper.make_node("MatMul", ["x", "w"], ["y"]),
        ],
        [value("x", ["n", 96])],
        [value("y", ["n", 48])],
        [numpy_helper.from_array(q, "q"), numpy_helper.from_array(scales, "scales")],
        opset=21,
    )
    x = random.standard_normal((6, 96)).astype(np.float32)
    x[1, 3] = 1e6
    x[2, 40], x[3, 90], x[4] = np.nan, -np.inf, 1e-40
    result = run(model, x, "int8", "--target", machine, level)
    groups, group_scales = quantised(np.where(np.isfinite(x), x, 0).reshape(6, 3, 32), 2)
    rows = (groups * group_scales).reshape(6, 96)
    expected = rows @ (q.astype(np.float32) * np.repeat(scales, 32, 0))
    np.testing.assert_allclose(result[[0, 1, 5]], expected[[0, 1, 5]], rtol=1e-4, atol=1e-2)
    assert not np.isfinite(result[2:4]).any() and (result[4] == 0).all()


@pytest.mark.parametrize(
    ("precision", "target", "size"),
    [("f16", "host", 2), ("bf16", "host", 2), ("int8", "alderlake", 1), ("int8", "haswell", 2)],
)
def test_constant_weights_lie_in_fewer_bytes(tmp_path: Path, precision: str, target: str, size: int) -> None:
    """Without an instruction for bytes, whole numbers are multiplied in 16 bits."""
    w = np.random.default_rng(3).standard_normal((2048, 2112)).astype(np.float32)
    model = save_product(tmp_path / "product.onnx", w)
    succeed("compile", model, "-o", "a.so", "--precision", precision, "--target", target, folder=tmp_path)
    assert (tmp_path / "a.so").stat().st_size < 1.05 * size * w.size


def test_weights_beyond_a_type(tmp_path: Path) -> None:
    w = np.full((32, 32), 1e5, np.float32)
    model = save_product(tmp_path / "product.onnx", w)
    said = succeed("compile", model, "-o", "a.so", "--precision", "f16", folder=tmp_path)
    assert "0 of 1 products" in said and "still in f32: 1 product of weights that are infinite in the type" in said
    assert np.isfinite(run(model, np.ones((3, 32), np.float32), "f16")).all()


def test_it_is_said(tmp_path: Path) -> None:
    model = save_attention(tmp_path / "attention.onnx")
    options = ["--precision", "bf16", "--target", MACHINE]
    said = succeed("compile", model, "-o", "a.so", *options, folder=tmp_path)
    assert "precision bf16: the operands of 3 of 3 products and convolutions; sums and all else are f32\n" in said
    said = succeed("compile", model, "-o", "plain.so", *options, "-O0", folder=tmp_path)
    assert "precision bf16: the operands of 3 of 3 products" in said
    said = succeed("compile", model, "-o", "few.so", "--precision", "int8", folder=tmp_path)
    assert "precision int8: the operands of 1 of 3 products and convolutions; sums and all else are f32\n" in said
    assert "still in f32: 2 products without constant weights\n" in said
    assert "products int8 with sums of i32\n" in succeed("inspect", "few.so", folder=tmp_path)
    if HAS_BF16:
        assert "products bf16 with sums of f32\n" in succeed("inspect", "a.so", folder=tmp_path)
    assert b'"precision":"bf16"' in (tmp_path / "a.so").read_bytes()


def test_check_says_when_nothing_has_it(tmp_path: Path) -> None:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    inputs, outputs = [value("x", [4, 32]), value("w", [32, 32])], [value("y", [4, 32])]
    model = save(tmp_path / "values.onnx", nodes, inputs, outputs, [])
    line = "nothing of this model can be int8\n"
    said = succeed("check", model, "--precision", "int8", folder=tmp_path)
    assert line in said and "root mean square" not in said, "judged as f32"
    assert "nothing" not in succeed("check", model, folder=tmp_path)
    model = save_product(tmp_path / "product.onnx", np.ones((32, 32), np.float32))
    assert "nothing" not in succeed("check", model, "--precision", "int8", folder=tmp_path)


def test_peers_are_compared_by_the_precision(tmp_path: Path) -> None:
    model = save_product(tmp_path / "product.onnx", np.random.default_rng(5).random((64, 64), np.float32))
    options = ["--precision", "int8", "--against", "onnxruntime", "--symbol", "n=2"]
    done = perpend("bench", model, *options, folder=tmp_path)
    assert "| product | 2x64 | 1 |" in done.stdout and "wrong" not in done.stdout, done.stderr


@pytest.mark.parametrize("m", [66, 307, "m"])
def test_products_of_rows_stay_in_one_kernel(tmp_path: Path, m: int | str) -> None:
    """Words of pairs: rows of probabilities, with a zero behind odd ones, are bf16 in a block of the cache."""
    options = ["--precision", "bf16", "--target", MACHINE, "--stop-after", "schedule"]
    text = succeed("compile", save_attention(tmp_path / "attention.onnx", m), *options, folder=tmp_path)
    kernel = next(part for part in text.split("func.func private ") if "reduce" in part.split("(")[0])
    assert kernel.count('tensorized = "bf16.block"') == 2
    assert "x bf16, local>" in kernel


def test_rows_that_are_stored_end_a_kernel(tmp_path: Path) -> None:
    """Scales are the largest numbers of rows, which a product behind what is stored of them does not see."""
    random = np.random.default_rng(5)
    weights = {"w": random.standard_normal((96, 96)), "v": random.standard_normal((96, 4))}
    model = save(
        tmp_path / "stored.onnx",
        [
            helper.make_node("MatMul", ["x", "w"], ["h"]),
            helper.make_node("Relu", ["h"], ["r"]),
            helper.make_node("MatMul", ["r", "v"], ["s"]),
            helper.make_node("Sigmoid", ["s"], ["p"]),
            helper.make_node("ReduceMean", ["p"], ["y"], axes=[1], keepdims=1),
        ],
        [value("x", ["n", 96])],
        [value("h", ["n", 96]), value("y", ["n", 1])],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()],
    )
    said = succeed("check", model, "--precision", "int8", "--symbol", "n=7", folder=tmp_path)
    assert "the outputs agree" in said


def test_what_is_computed_is_rounded_before_it_is_moved(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["q"]),
        helper.make_node("Transpose", ["q"], ["t"], perm=[1, 0]),
        helper.make_node("MatMul", ["a", "t"], ["y"]),
    ]
    weights = numpy_helper.from_array(np.ones((64, 48), np.float32), "w")
    inputs = [value("x", [96, 64]), value("a", [80, 48])]
    model = save(tmp_path / "moved.onnx", nodes, inputs, [value("y", [80, 96])], [weights])
    options = ["--precision", "bf16", "--target", MACHINE, "--stop-after", "fuse"]
    text = succeed("compile", model, *options, folder=tmp_path)
    assert "call_kernel @matmul_trunc_" in text
    assert "graph.transpose" in text and not any(
        "f32" in line for line in text.splitlines() if "graph.transpose" in line
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["f64"], "'x86-64-v4,+avx512bf16' multiplies bf16, f16, f32, int8, got 'f64'"),
        (["f16", "--target", "x86-64"], "'x86-64' multiplies bf16, f32, int8, got 'f16'"),
        (["fp32"], "got 'fp32'\nhint: did you mean 'f32'?"),
        (["bfloat16"], "got 'bfloat16'\nhint: did you mean 'bf16'?"),
        (["half"], "got 'half'\nhint: did you mean 'f16'?"),
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
    assert "'bf16.block' is for another machine: the target has no avx512vl, avx512bf16, nor bf16\nhint: pack" in said
