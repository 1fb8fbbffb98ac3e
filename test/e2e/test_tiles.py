"""Products in tiles (AMX), on every x86-64: test/amx executes them, and the interpreter says what is right."""

import os
import platform
import re
import subprocess
from collections import Counter
from pathlib import Path

import onnx
import pytest
from cli.tool import succeed
from e2e.models import BUILD, PERPEND

LIBRARY = BUILD / "lib" / "libperpend_amx.so"
HAS_TILES = "amx_tile" in Path("/proc/cpuinfo").read_text()
HAS_WIDE_VECTORS = {"avx512f", "avx512bw"} <= set(Path("/proc/cpuinfo").read_text().split())
# The rules weigh tiles against the machine's vectors: with shorter ones than processors with tiles have, blocks differ.
of_wide_vectors = pytest.mark.skipif(not HAS_WIDE_VECTORS, reason="this machine's vectors are shorter")
pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="tiles are of x86-64")

PRODUCT = """t (float[{m}, {k}] x, float[{k}, {n}] w, float[{n}] b) => (float[{m}, {n}] y) {{
  p = MatMul (x, w)
  s = Add (p, b)
  y = Relu (s)
}}"""
BATCH = """t (float[3, {m}, {k}] x, float[3, {k}, {n}] w) => (float[3, {m}, {n}] y) {{ y = MatMul (x, w) }}"""
BYTES = """t (uint8[{m}, {k}] x, int8[{k}, {n}] w, uint8 zx, int8 zw) => (int32[{m}, {n}] y) {{
  y = MatMulInteger (x, w, zx, zw)
}}"""
SIGNED = """t (int8[{m}, {k}] x, int8[{k}, {n}] w) => (int32[{m}, {n}] y) {{ y = MatMulInteger (x, w) }}"""
CONV = """t (float[2, {c}, {h}, {w}] x, float[{o}, {c}, 3, 3] f, float[{o}] b) => (float[2, {o}, p, q] y) {{
  s = Conv <pads = [1, 1, 1, 1], strides = [{stride}, {stride}]> (x, f, b)
  y = Relu (s)
}}"""
RESIDUAL = """t (float[{n}, {c}, {h}, {w}] x, float[{o}, {c}, 3, 3] f, float[{o}] b, float[{n}, {o}, {p}, {q}] r)
  => (float[{n}, {o}, {p}, {q}] y) {{
  s = Conv <pads = [1, 1, 1, 1], strides = [{stride}, {stride}]> (x, f, b)
  t = Add (s, r)
  y = Relu (t)
}}"""
BYTES_CONV = """t (uint8[{n}, {c}, {h}, {w}] x, int8[{o}, {c}, 3, 3] f) => (int32[{n}, {o}, p, q] y) {{
  y = ConvInteger <pads = [1, 1, 1, 1], strides = [{stride}, {stride}]> (x, f)
}}"""
ATTENTION = """t (float[2, {n}, 64] q, float[2, 64, {m}] k, float[2, {m}, 40] v) => (float[2, {n}, 40] y) {{
  s = MatMul (q, k)
  p = Softmax <axis = -1> (s)
  y = MatMul (p, v)
}}"""
BYTES_ATTENTION = """t (uint8[2, {n}, 64] q, int8[2, 64, {n}] k, int8[2, {n}, 40] v) => (int32[2, {n}, 40] y) {{
  t = Constant <value_float = 0.0001> ()
  u = Constant <value_float = 0.004> ()
  s = MatMulInteger (q, k)
  f = Cast <to = 1> (s)
  g = Mul (f, t)
  p = Softmax <axis = -1> (g)
  b = QuantizeLinear (p, u)
  y = MatMulInteger (b, v)
}}"""


def check(
    folder: Path, text: str, *options: str, refused: str = "", target: str = "host,+amx"
) -> subprocess.CompletedProcess[str]:
    """`perpend check` in a process that has tiles."""
    model = folder / "model.onnx"
    onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 20]>\n' + text), model)
    environment = os.environ | {"LD_PRELOAD": str(LIBRARY), "PERPEND_AMX_COUNTS": str(folder / "counts")}
    if refused:
        environment["PERPEND_AMX_REFUSED"] = refused
    command = [str(PERPEND), "check", str(model), "--target", target, *options]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, timeout=300)


def agree(folder: Path, text: str, *options: str) -> Counter[str]:
    """What was executed."""
    done = check(folder, text, *options)
    assert done.returncode == 0 and "the outputs agree" in done.stdout, done.stdout + done.stderr
    counts: Counter[str] = Counter()
    for line in (folder / "counts").read_text().splitlines():
        name, count = line.split()
        counts[name] += int(count)
    assert counts["configured"] == 0, "tiles are released at the end"
    assert counts["tilerelease"] <= counts["ldtilecfg"]
    return counts


def used(counts: Counter[str], instruction: str) -> bool:
    return HAS_TILES or counts[instruction] > 0


# Rows and columns that are whole tiles, less, and more; a depth that is none.
EXTENTS = [(32, 64, 32), (37, 45, 51), (16, 32, 16), (5, 33, 100), (70, 7, 33), (20, 100, 13)]
# Blocks of rows for which the depth is divided; with rows that are left.
EXTENTS += [(96, 1100, 40), (70, 600, 33), (300, 1025, 32)]


@pytest.mark.parametrize(("m", "k", "n"), EXTENTS)
def test_products_of_bf16(tmp_path: Path, m: int, k: int, n: int) -> None:
    counts = agree(tmp_path, PRODUCT.format(m=m, k=k, n=n), "--precision", "bf16")
    assert used(counts, "tdpbf16ps") or k < 8  # mostly zeros


@pytest.mark.parametrize(("m", "k", "n"), EXTENTS)
@pytest.mark.parametrize("text", [BYTES, SIGNED])
def test_products_of_bytes(tmp_path: Path, text: str, m: int, k: int, n: int) -> None:
    counts = agree(tmp_path, text.format(m=m, k=k, n=n))
    assert used(counts, "tdpbusd") or k < 16


@of_wide_vectors
def test_whole_blocks_are_configured_once(tmp_path: Path) -> None:
    counts = agree(tmp_path, PRODUCT.format(m=64, k=64, n=64), "--precision", "bf16")
    assert HAS_TILES or counts["ldtilecfg"] == counts["tilerelease"]
    assert HAS_TILES or counts["tileloadd"] == counts["tdpbf16ps"] == 32


@of_wide_vectors
def test_rows_that_are_left_are_configured(tmp_path: Path) -> None:
    counts = agree(tmp_path, PRODUCT.format(m=37, k=64, n=32), "--precision", "bf16")
    assert HAS_TILES or counts["ldtilecfg"] == counts["tilerelease"] + 2
    assert HAS_TILES or counts["tilestored"] == 6


@pytest.mark.parametrize("rows", [0, 1, 16, 31, 33, 47, 65])
def test_rows_that_a_run_says(tmp_path: Path, rows: int) -> None:
    options = ["--precision", "bf16", "--symbol", f"m={rows}"]
    counts = agree(tmp_path, PRODUCT.format(m="m", k=40, n=40), *options)
    assert used(counts, "tdpbf16ps") or rows == 0


@pytest.mark.parametrize("depth", [0, 1, 32, 65])
def test_a_depth_that_a_run_says(tmp_path: Path, depth: int) -> None:
    agree(tmp_path, PRODUCT.format(m=33, k="k", n=40), "--precision", "bf16", "--symbol", f"k={depth}")
    agree(tmp_path, BYTES.format(m=33, k="k", n=40), "--symbol", f"k={depth}")


@pytest.mark.parametrize("m", [1, 19])
def test_batches(tmp_path: Path, m: int) -> None:
    counts = agree(tmp_path, BATCH.format(m=m, k=45, n=35), "--precision", "bf16")
    assert m == 1 or used(counts, "tdpbf16ps")


@pytest.mark.parametrize(("n", "m"), [(20, 77), (33, 64), ("n", "m")])
def test_chains_of_products(tmp_path: Path, n: int | str, m: int | str) -> None:
    symbols = ["--symbol", "n=37", "--symbol", "m=45"] if n == "n" else []
    counts = agree(tmp_path, ATTENTION.format(n=n, m=m), "--precision", "bf16", *symbols)
    assert used(counts, "tdpbf16ps")


@pytest.mark.parametrize("n", [20, 183, 192])
def test_attention_of_bytes(tmp_path: Path, n: int) -> None:
    assert used(agree(tmp_path, BYTES_ATTENTION.format(n=n)), "tdpbusd")


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(("c", "o"), [(32, 40), (64, 16), (33, 32)])
def test_convolutions(tmp_path: Path, c: int, o: int, stride: int) -> None:
    counts = agree(tmp_path, CONV.format(c=c, o=o, h=5, w=19, stride=stride), "--precision", "bf16")
    assert used(counts, "tdpbf16ps")
    counts = agree(tmp_path, BYTES_CONV.format(n=1, c=2 * c, o=o, h=4, w=19, stride=stride))
    assert used(counts, "tdpbusd")


@pytest.mark.parametrize("rows", [31, 64, 100])
def test_parts_of_a_deep_sum_for_rows_that_a_run_says(tmp_path: Path, rows: int) -> None:
    options = ["--precision", "bf16", "--symbol", f"m={rows}"]
    assert used(agree(tmp_path, PRODUCT.format(m="m", k=700, n=40), *options), "tdpbf16ps")


@pytest.mark.parametrize(("c", "stride"), [(3, 1), (3, 2), (1, 2), (2, 1)])
def test_convolutions_of_few_channels(tmp_path: Path, c: int, stride: int) -> None:
    counts = agree(tmp_path, CONV.format(c=c, o=32, h=5, w=39, stride=stride), "--precision", "bf16")
    assert used(counts, "tdpbf16ps") or c < 3
    agree(tmp_path, BYTES_CONV.format(n=1, c=c, o=32, h=4, w=39, stride=stride))


# Height and width of results, and how many blocks two images are. Where a register has all of a line, two lines are a
# block, and the last one of an odd number is alone; of images of one row or one column, those of two are lines.
IMAGES = [(14, 14, 14), (7, 7, 8), (2, 16, 2), (5, 4, 6), (9, 1, 1), (1, 14, 1), (4, 17, 8), (3, 20, 6)]


def tiles_of_panels(counts: Counter[str], products: str) -> int:
    """How many were loaded, where each of the left operand is for two products."""
    return counts["tileloadd"] - counts[products] // 2


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(("h", "w", "blocks"), IMAGES)
@of_wide_vectors
def test_two_lines_of_bf16_are_a_block(tmp_path: Path, h: int, w: int, blocks: int, stride: int) -> None:
    text = RESIDUAL.format(n=2, c=64, h=h * stride, w=w * stride, o=32, p=h, q=w, stride=stride)
    counts = agree(tmp_path, text, "--precision", "bf16")
    assert HAS_TILES or tiles_of_panels(counts, "tdpbf16ps") == blocks * 9 * 2 * 2


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(("h", "w", "blocks"), IMAGES)
@of_wide_vectors
def test_two_lines_of_bytes_are_a_block(tmp_path: Path, h: int, w: int, blocks: int, stride: int) -> None:
    counts = agree(tmp_path, BYTES_CONV.format(n=2, c=128, o=32, h=h * stride, w=w * stride, stride=stride))
    assert HAS_TILES or tiles_of_panels(counts, "tdpbusd") == blocks * 9 * 2 * 2


@pytest.mark.parametrize("w", range(1, 18))
@of_wide_vectors
def test_lines_of_every_width(tmp_path: Path, w: int) -> None:
    """Of one or two columns, the rows run along the height."""
    counts = agree(tmp_path, RESIDUAL.format(n=1, c=64, h=3, w=w, o=32, p=3, q=w, stride=1), "--precision", "bf16")
    blocks = 1 if w <= 2 else 2 if w <= 16 else 3
    assert HAS_TILES or tiles_of_panels(counts, "tdpbf16ps") == blocks * 9 * 2 * 2


@pytest.mark.parametrize("o", [7, 24, 40])
@pytest.mark.parametrize(("h", "w"), [(3, 7), (5, 16), (1, 9)])
def test_lines_of_panels_that_are_cut(tmp_path: Path, h: int, w: int, o: int) -> None:
    text = RESIDUAL.format(n=2, c=64, h=h, w=w, o=o, p=h, q=w, stride=1)
    assert used(agree(tmp_path, text, "--precision", "bf16"), "tdpbf16ps")
    assert used(agree(tmp_path, BYTES_CONV.format(n=2, c=128, o=o, h=h, w=w, stride=1)), "tdpbusd")


def test_lines_are_configured_once(tmp_path: Path) -> None:
    counts = agree(tmp_path, CONV.format(c=32, o=32, h=5, w=7, stride=1), "--precision", "bf16")
    assert HAS_TILES or counts["ldtilecfg"] == counts["tilerelease"]


@pytest.mark.parametrize("height", [1, 2, 5])
@of_wide_vectors
def test_lines_that_a_run_says(tmp_path: Path, height: int) -> None:
    options = ["--precision", "bf16", "--symbol", f"h={height}"]
    counts = agree(tmp_path, CONV.format(c=32, o=32, h="h", w=7, stride=1), *options)
    assert HAS_TILES or tiles_of_panels(counts, "tdpbf16ps") == 2 * ((height + 1) // 2) * 9 * 2


LINES_BY_HAND = """
  %conv = get_block "conv"
  %i1, %i2, %i3, %k0, %k1, %k2 = get_loops %conv
  %i1_0, %i1_1 = split %i1, [_, 2]
  %i2_0, %i2_1 = split %i2, [_, 8]
  reorder %i1_0, %i2_0, %i1_1, %i2_1, %i3, %k0, %k1, %k2
  %k2_0, %k2_1 = split %k2, [_, 2]
  tensorize %i1_1, "amx.bf16.block"
"""


@of_wide_vectors
def test_two_lines_of_rows_that_a_run_says(tmp_path: Path) -> None:
    """No call has lines of which only a run knows the rows: a last part of a line is loops."""
    text = """t (float[1, 64, 8, w] x, float[32, 64, 3, 3] f) => (float[1, 32, 8, w] y) {
      y = Conv <pads = [1, 1, 1, 1]> (x, f)
    }"""
    onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 20]>\n' + text), tmp_path / "model.onnx")
    options = ["--precision", "bf16", "--target", "host,+amx"]
    traces = succeed("inspect", "model.onnx", "--schedules", *options, folder=tmp_path)
    body = re.search(r"schedule @conv_\w+ [^{]*\{(.*?)\n\}", traces, re.S)
    assert body and "amx.bf16.block" in body[1]
    (tmp_path / "schedules").write_text(traces.replace(body[1], LINES_BY_HAND))
    counts = agree(tmp_path, text, "--precision", "bf16", "--schedules", "schedules", "--symbol", "w=21")
    assert used(counts, "tdpbf16ps")


def test_without_the_permission_there_is_one_error(tmp_path: Path) -> None:
    done = check(tmp_path, BYTES.format(m=32, k=64, n=32), refused="1")
    assert done.returncode == 1
    assert done.stderr.startswith("error: model 't' needs amx-bf16,amx-tile,amx-int8, which the system does not allow ")
    assert done.stderr.count("error: ") == 1 and "\nhint: " in done.stderr


@pytest.mark.parametrize("refused", ["", "1"])
def test_of_several_machines_one_that_runs_is_taken(tmp_path: Path, refused: str) -> None:
    done = check(tmp_path, BYTES.format(m=32, k=64, n=32), refused=refused, target="host,+amx,x86-64")
    assert done.returncode == 0, done.stderr
    is_run = not refused
    assert bool(re.search(r"amx-tile\S* against interpreter", done.stdout)) == is_run
    assert bool(re.search(r"amx-tile\S*: not compared, this machine lacks", done.stdout)) == (not is_run)
    assert "x86-64 against interpreter" in done.stdout
