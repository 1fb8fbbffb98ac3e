"""Rows of bytes times numbers in groups, in tiles (AMX): the bits of the products in vectors, on every x86-64 that has
these. Where there are no tiles, test/amx executes them."""

import itertools
import os
import platform
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest
from e2e.models import BUILD, PERPEND
from e2e.test_grouped_weights import nbits, saved

FLAGS = Path("/proc/cpuinfo").read_text()
HAS_TILES = "amx_tile" in FLAGS
pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or "avx512_vnni" not in FLAGS, reason="both forms are of x86-64 with AVX-512 VNNI"
)
VECTORS, TILES = "host,-amx", "host,+amx"


def perpend(folder: Path, *arguments: object) -> str:
    environment = os.environ | {"PERPEND_AMX_COUNTS": str(folder / "counts")}
    if not HAS_TILES:
        environment["LD_PRELOAD"] = str(BUILD / "lib" / "libperpend_amx.so")
    command = [str(PERPEND), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def compiled(folder: Path, model: onnx.ModelProto, target: str, *options: str) -> Path:
    onnx.save(model, folder / "model.onnx")
    path = folder / f"{target}.so"
    perpend(folder, "compile", "model.onnx", "-o", path, "--target", target, "--precision", "int8", *options)
    return path


def result(folder: Path, artifact: Path, x: np.ndarray, threads: int = 1) -> np.ndarray:
    np.save(folder / "x.npy", x)
    perpend(folder, "run", artifact, "--input", "x=x.npy", "--output-dir", folder, "--threads", threads)
    y: np.ndarray = np.load(folder / "y.npy")
    return y


def counts(folder: Path) -> Counter[str]:
    """What the last run executed, where test/amx does."""
    lines = (folder / "counts").read_text().splitlines() if not HAS_TILES else []
    return Counter({name: int(count) for name, count in map(str.split, lines)})


def rows_of(count: int, depth: int) -> np.ndarray:
    """Groups of very different magnitudes."""
    random = np.random.default_rng(count)
    return (random.standard_normal((count, depth)) * np.exp2(random.integers(-4, 5, (count, depth)))).astype(np.float32)


# Columns, depth and group: whole panels, a cut one, a single register's; several parts of the depth, and one; groups of
# one step and of several.
SHAPES = [(64, 2048, 32), (200, 96, 16), (16, 256, 128), (32, 512, 256), (48, 320, 64)]


@pytest.mark.parametrize(
    ("bits", "zeros"),
    [*itertools.product([2, 4, 8], ["none", "packed", "floats"]), (5, "none"), (6, "none")],
)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bits_of_vectors(tmp_path: Path, bits: int, zeros: str, shape: tuple[int, int, int]) -> None:
    model, _ = nbits("n", *shape, bits, zeros)
    vectors, tiles = (compiled(tmp_path, model, target, "--batch-invariant") for target in (VECTORS, TILES))
    x = rows_of(37, shape[1])
    whole = result(tmp_path, vectors, x)
    assert np.isfinite(whole).all()
    for first, count in ((0, 37), (0, 1), (3, 5), (7, 16), (5, 32)):
        np.testing.assert_array_equal(result(tmp_path, tiles, x[first : first + count]), whole[first : first + count])
        assert HAS_TILES or (counts(tmp_path)["tdpbssd"] > 0) == (count > 5)  # few rows are faster in vectors
    assert counts(tmp_path)["configured"] == 0, "tiles are released at the end"


def dequantised(bits: int, columns: int, depth: int, block: int) -> onnx.ModelProto:
    """Blocks of any length, of signed numbers."""
    random = np.random.default_rng(block)
    numbers = random.integers(0, 256, depth * columns * bits // 8).astype(np.uint8).tobytes()
    kind = {4: onnx.TensorProto.INT4, 8: onnx.TensorProto.INT8}[bits]
    weights = onnx.helper.make_tensor("w", kind, (depth, columns), numbers, raw=True)
    scales = random.uniform(0.5, 1, (depth // block, columns)).astype(np.float32)
    nodes = [
        onnx.helper.make_node("DequantizeLinear", ["w", "s"], ["m"], axis=0, block_size=block),
        onnx.helper.make_node("MatMul", ["x", "m"], ["y"]),
    ]
    return saved(nodes, "n", depth, {"w": weights, "s": scales}, columns)


@pytest.mark.parametrize(
    ("bits", "block"), [(4, 40), (8, 20), (4, 80), (4, 136), (8, 68), (8, 192), (8, 512), (4, 512), (8, 600)]
)
def test_steps_that_are_not_full(tmp_path: Path, bits: int, block: int) -> None:
    """Groups that are no multiple of a register, up to the longest that tiles take, and one group for all."""
    for groups in (1, 3):
        model = dequantised(bits, 32, groups * block, block)
        vectors, tiles = (compiled(tmp_path, model, target) for target in (VECTORS, TILES))
        x = rows_of(21, groups * block)
        np.testing.assert_array_equal(result(tmp_path, tiles, x), result(tmp_path, vectors, x))


@pytest.mark.parametrize("rows", [1, 2, 5, 16, 128, 145])
def test_rows_that_are_known(tmp_path: Path, rows: int) -> None:
    """One row is faster in vectors; many are in tiles, which a call configures once."""
    model, _ = nbits(rows, 64, 128, 32, 4, "none")
    x = rows_of(rows, 128)
    vectors = result(tmp_path, compiled(tmp_path, model, VECTORS), x)
    np.testing.assert_array_equal(result(tmp_path, compiled(tmp_path, model, TILES), x), vectors)
    if not HAS_TILES:
        if rows != 5:  # which is faster depends on the processor's vectors
            assert (counts(tmp_path)["tdpbssd"] > 0) == (rows >= 16)
        assert counts(tmp_path)["ldtilecfg"] == counts(tmp_path)["tilerelease"]


@pytest.mark.parametrize("bits", [4, 8])
def test_threads_and_an_epilogue(tmp_path: Path, bits: int) -> None:
    model, _ = nbits("n", 160, 192, 32, bits, "none")
    model.graph.node[0].output[0] = "p"
    model.graph.node.append(onnx.helper.make_node("Relu", ["p"], ["y"]))
    x = rows_of(40, 192)
    vectors = result(tmp_path, compiled(tmp_path, model, VECTORS), x)
    artifact = compiled(tmp_path, model, TILES, "--batch-invariant")
    for threads in (1, 2, 3):
        np.testing.assert_array_equal(result(tmp_path, artifact, x, threads), vectors)


def test_several_machines_share_the_weights(tmp_path: Path) -> None:
    model, _ = nbits("n", 256, 512, 32, 4, "packed")
    both = compiled(tmp_path, model, f"{TILES},{VECTORS}")
    one = compiled(tmp_path, model, VECTORS)
    assert both.stat().st_size < one.stat().st_size + 100_000  # less than the weights again
    x = rows_of(20, 512)
    np.testing.assert_array_equal(result(tmp_path, both, x), result(tmp_path, one, x))


def test_the_greatest_sums(tmp_path: Path) -> None:
    """All bytes of rows and all numbers are the least or the greatest."""
    model, _ = nbits("n", 32, 512, 512, 8, "none")
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    numbers = np.zeros((32, 1, 512), np.uint8)
    numbers[::2] = 255
    tensors["b"].CopyFrom(onnx.numpy_helper.from_array(numbers, "b"))
    x = np.repeat([[127.0], [-127.0]], 8, 0).astype(np.float32) * np.ones((16, 512), np.float32)
    tiles = result(tmp_path, compiled(tmp_path, model, TILES), x)
    scales = onnx.numpy_helper.to_array(tensors["s"])
    np.testing.assert_allclose(tiles, x.astype(np.float64) @ ((numbers[:, 0] - 128.0) * scales).T, rtol=1e-6)
