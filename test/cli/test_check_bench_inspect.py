"""perpend check, bench and inspect."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from cli.tool import DIGITS, GOOD, USAGE_ERROR, USER_ERROR, perpend, reject, save, succeed, value
from onnx import TensorProto, helper, numpy_helper


@pytest.mark.parametrize("against", ["interpreter", "onnxruntime", "interpreter,onnxruntime"])
def test_check(tmp_path: Path, tiny: Path, against: str) -> None:
    text = succeed("check", tiny, "--against", against, "--symbol", "n=3", "--seed", 5, folder=tmp_path)
    assert text.count("the outputs agree") == len(against.split(","))
    assert "ok       y: f32 [3, 7]  max abs error" in text


def save_text(path: Path, text: str) -> Path:
    onnx.save(onnx.parser.parse_model('<ir_version: 9, opset_import: ["" : 20]>\n' + text), path)
    return path


LOOP = """counted (int64 steps, int64 which, int64[2] lengths, float[2] x)
  => (float[2] y, float[k, 2] all, float[2] z) {
  yes = Constant <value = bool {1}> ()
  y, all = Loop (steps, yes, x) <body = body (int64 i, bool go, float[2] h) =>
    (bool again, float[2] next, float[2] out) {
    again = Identity (go)
    next = Add (h, x)
    out = Sin (next)
  }>
  chosen = Gather (x, which)
  scale = Cast <to = 1> (lengths)
  scaled = Mul (chosen, scale)
  z = Add (x, scaled)
}"""


@pytest.mark.parametrize("seed", range(6))
def test_check_runs_loops(tmp_path: Path, seed: int) -> None:
    """Half of the seeds had a count of 0, and everything agreed."""
    model = save_text(tmp_path / "loop.onnx", LOOP)
    text = succeed("check", model, "--seed", seed, folder=tmp_path)
    drawn = re.search(r"^drawn: steps = ([12]), which = [01], lengths = \[[12], [12]\] \(--input", text, re.MULTILINE)
    assert drawn, text
    assert f"all: f32 [{drawn[1]}, 2]  max abs" in text


@pytest.mark.parametrize("seed", range(8))
def test_integers_are_not_all_zero(tmp_path: Path, seed: int) -> None:
    """They may be lengths, of which nothing says that they are."""
    text = "chosen (int64[2] which, float[2] x) => (float[2] y) { y = Gather (x, which) }"
    model = save_text(tmp_path / "chosen.onnx", text)
    text = succeed("check", model, "--seed", seed, folder=tmp_path)
    assert re.search(r"drawn: which = \[(0, 1|1, 0|1, 1)\] ", text), text


def test_check_says_what_is_empty(tmp_path: Path) -> None:
    model = save_text(tmp_path / "loop.onnx", LOOP)
    np.save(tmp_path / "steps.npy", np.int64(0))
    text = succeed("check", model, "--input", "steps=steps.npy", folder=tmp_path)
    assert "all: f32 [0, 2]  is empty: no element was compared" in text
    assert "drawn: which = " in text


WHILE = """iterated (int64 steps, float[2] x) => (float[2] y) {
  zero = Constant <value_int = 0> () one = Constant <value_int = 1> ()
  first = Less (zero, steps)
  last, y = Loop (, first, steps, x) <body = body (int64 i, bool go, int64 left, float[2] h) =>
    (bool again, int64 less, float[2] next) {
    less = Sub (left, one)
    again = Less (zero, less)
    next = Add (h, h)
  }>
}"""
SIZED = """sized (int64[2] sizes, int64 most, float x) => (float[a, b] y, int64[c] z) {
  y = Expand (x, sizes)
  zero = Constant <value_int = 0> () one = Constant <value_int = 1> ()
  z = Range (zero, most, one)
}"""


@pytest.mark.parametrize(("text", "counts"), [(WHILE, "steps = N"), (SIZED, "sizes = [N, N], most = N")])
def test_counts_of_other_kinds(tmp_path: Path, text: str, counts: str) -> None:
    model = save_text(tmp_path / "counts.onnx", text)
    pattern = "drawn: " + re.escape(counts).replace("N", "[12]") + " "
    for seed in range(4):
        assert re.search(pattern, succeed("check", model, "--seed", seed, folder=tmp_path))


def test_check_without_onnxruntime(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERPEND_PYTHON", "no-such-python")
    assert "cannot run 'no-such-python'" in reject("check", tiny, "--against", "onnxruntime", folder=tmp_path)


def test_check_where_onnxruntime_aborts(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nprintf '\\033[1;31mno elements\\033[m\\n' >&2\nkill -ABRT $$\n")
    python.chmod(0o755)
    monkeypatch.setenv("PERPEND_PYTHON", str(python))
    done = perpend("check", tiny, "--against", "onnxruntime", folder=tmp_path)
    assert done.returncode == 1
    assert re.match(r"no elements\nerror: onnxruntime aborted on these inputs: Abort", done.stderr)


def test_check_sees_a_difference(tmp_path: Path, tiny: Path) -> None:
    """A phase is overridden by one that computes something else; the interpreter sees the model as it is."""
    succeed("compile", tiny, "--stop-after", "simplify", "-o", "part.mlir", folder=tmp_path)
    text = (tmp_path / "part.mlir").read_text()
    (tmp_path / "changed.mlir").write_text(text.replace("arith.maximumf", "arith.minimumf"))
    done = perpend("check", tiny, "--override-phase", "simplify:changed.mlir", folder=tmp_path)
    assert done.returncode == USER_ERROR
    assert "DIFFERS  y: f32" in done.stdout and "the outputs DIFFER" in done.stdout
    assert "first difference: " in done.stdout and "hint" not in done.stdout


def test_check_knows_steps_of_quantised_values(tmp_path: Path) -> None:
    """Sums of tenths lie half-way between steps of two tenths but for the last bits."""
    weights = [
        numpy_helper.from_array(array, name)
        for name, array in {"w": np.ones((33, 8), np.float32), "s": np.float32(0.2), "z": np.uint8(9)}.items()
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("QuantizeLinear", ["p", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    save(tmp_path / "tenths.onnx", nodes, [value("x", [64, 33])], [value("y", [64, 8])], weights)
    x = np.random.default_rng(0).integers(0, 9, (64, 33))
    np.save(tmp_path / "x.npy", np.float32(0.1) * x.astype(np.float32))
    done = perpend("check", "tenths.onnx", "--input", "x.npy", folder=tmp_path)
    assert done.returncode == USER_ERROR
    assert re.search(r"\nhint: \d+ of 512 elements differ, each by one step of 1: ", done.stdout)


@pytest.mark.parametrize(
    ("precision", "size"), [("f16", 1e-3), *((p, s) for p in ("f32", "bf16", "int8") for s in (1e-3, 1e-6, 1e-30))]
)
def test_check_sees_differences_of_small_outputs(tmp_path: Path, precision: str, size: float) -> None:
    """Probabilities of many classes, say: each is less than what rounding does to a one."""
    weights = [numpy_helper.from_array(np.full((32, 32), size, np.float32), "w")]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])]
    save(tmp_path / "small.onnx", nodes, [value("x", [4, 32])], [value("y", [4, 32])], weights)
    assert "the outputs agree" in succeed("check", "small.onnx", "--precision", precision, folder=tmp_path)
    succeed("compile", "small.onnx", "--stop-after", "simplify", "-o", "part.mlir", folder=tmp_path)
    text = (tmp_path / "part.mlir").read_text()
    (tmp_path / "changed.mlir").write_text(text.replace("arith.maximumf", "arith.minimumf"))
    options = ["--precision", precision, "--override-phase", "simplify:changed.mlir"]
    done = perpend("check", "small.onnx", *options, folder=tmp_path)
    assert done.returncode == USER_ERROR and "DIFFERS  y: f32" in done.stdout


def test_outputs_that_have_few_digits(tmp_path: Path) -> None:
    """Of f16, below 6e-5: one step of those is no error."""
    half, size = TensorProto.FLOAT16, 3e-7
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    weights = [numpy_helper.from_array(np.full((32, 32), size, np.float16), "w")]
    save(tmp_path / "few.onnx", nodes, [value("x", [4, 32], half)], [value("y", [4, 32], half)], weights)
    text = succeed("check", "few.onnx", "--against", "interpreter,onnxruntime", folder=tmp_path)
    assert all(5 * 2**-24 <= float(found) < 6 * 2**-24 for found in re.findall(r"tolerance (\S+)\)", text)), text


def test_check_sees_a_difference_from_onnxruntime(tmp_path: Path, tiny: Path) -> None:
    succeed("compile", tiny, "--stop-after", "simplify", "-o", "part.mlir", folder=tmp_path)
    text = (tmp_path / "part.mlir").read_text()
    (tmp_path / "changed.mlir").write_text(text.replace("arith.maximumf", "arith.minimumf"))
    options = ["--override-phase", "simplify:changed.mlir", "--against", "onnxruntime"]
    done = perpend("check", tiny, *options, folder=tmp_path)
    assert done.returncode == USER_ERROR
    assert done.stdout.startswith("against onnxruntime:\n  DIFFERS  y: f32")
    assert done.stdout.endswith("the outputs DIFFER\n")


def test_check_without_the_optimiser_of_onnxruntime(tmp_path: Path) -> None:
    """Its softmax of quantised numbers never gives 255; by the operators' definitions, 0.9993 * 255 is that."""
    numbers = {"scale": np.float32(0.1), "zero": np.uint8(128), "step": np.float32(1 / 255), "none": np.uint8(0)}
    weights = [numpy_helper.from_array(np.array(number), name) for name, number in numbers.items()]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
        helper.make_node("Softmax", ["d"], ["s"]),
        helper.make_node("QuantizeLinear", ["s", "step", "none"], ["p"]),
        helper.make_node("DequantizeLinear", ["p", "step", "none"], ["y"]),
    ]
    save(tmp_path / "softmax.onnx", nodes, [value("x", [2, 10])], [value("y", [2, 10])], weights)
    np.save(tmp_path / "x.npy", np.eye(2, 10, dtype=np.float32) * 12)
    text = succeed("check", "softmax.onnx", "--against", "onnxruntime", "--input", "x.npy", folder=tmp_path)
    header, output, agreement = text.splitlines()
    assert header == "against onnxruntime without graph optimisations:"
    assert output.startswith("  ok       y: f32 [2, 10]  max abs error 0,")
    before, _, difference = agreement.rpartition(" differs by up to ")
    assert before.startswith("the outputs agree; with its graph optimisations, ") and before.endswith("onnxruntime")
    assert float(difference) == pytest.approx(1 / 255, rel=1e-3)


def test_bench(tmp_path: Path, library: Path) -> None:
    text = succeed(
        "bench", library, "--threads", "1,2", "--time", 100, "--json", "b.json", "--profile", folder=tmp_path
    )
    assert "median ms" in text
    for threads, table in zip([1, 2], text.split("\nkernels, ")[1:], strict=True):
        title, header, *rows = table.splitlines()
        assert re.fullmatch(rf"{threads} threads: in one run, the median of \d\d+", title)
        assert header.split() == ["calls", "median", "us", "%", "name"]
        kernels = [row.split() for row in rows if row]
        assert kernels and all(int(calls) == 1 and float(us) >= 0 for calls, us, _, _ in kernels)
        assert abs(sum(float(part) for _, _, part, _ in kernels) - 100) < 0.1 * len(kernels)
    rows = json.loads((tmp_path / "b.json").read_text())["rows"]
    assert [row["threads"] for row in rows] == [1, 2]
    assert all(row["runs"] > 0 and row["median_ms"] >= row["least_ms"] > 0 for row in rows)


def test_profile_of_a_model(tmp_path: Path) -> None:
    """What a kernel computes: the nodes, and 2 * 48 * 64 * n operations of the product and n * 64 sums."""
    weights = [
        numpy_helper.from_array(np.ones((48, 64), np.float32), "w"),
        numpy_helper.from_array(np.ones(64, np.float32), "b"),
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"], "product"),
        helper.make_node("Add", ["p", "b"], ["y"], "bias"),
    ]
    save(tmp_path / "m.onnx", nodes, [value("x", ["n", 48])], [value("y", ["n", 64])], weights)
    text = succeed("bench", "m.onnx", "--symbol", "n=96", "--time", 100, "--profile", folder=tmp_path)
    header, row = text.split("\nkernels, ")[1].splitlines()[1:]
    assert header.split() == ["calls", "median", "us", "%", "GFLOP/s", "GB/s", "roof", "name", "nodes"]
    calls, us, _, gflops, gigabytes, roof, name, *nodes_of_kernel = row.split()
    assert (calls, name[:11], nodes_of_kernel) == ("1", "matmul_add_", ["bias,", "product"])
    assert float(gflops) * float(us) == pytest.approx((2 * 48 + 1) * 64 * 96 / 1e3, rel=0.1)
    assert float(gigabytes) * float(us) == pytest.approx(4 * (96 * 48 + 48 * 64 + 64 + 96 * 64) / 1e3, rel=0.1)
    assert 0 < float(roof.rstrip("%")) < 200
    page = succeed("inspect", "m.onnx", "--html", "m.html", folder=tmp_path) and (tmp_path / "m.html").read_text()
    assert "<code>bias, product</code></td><td><code>6208*n</code>" in page


def test_bench_runs_once_without_time(tmp_path: Path, library: Path) -> None:
    inputs, header, row = succeed("bench", library, "--time", 0, folder=tmp_path).splitlines()
    assert inputs == "input  x: f32 [2, 5]"
    assert header.split()[:2] == ["threads", "runs"] and row.split()[:2] == ["1", "1"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--profile"], "'--profile' is not for --against"),
        (["--time", 1000], "'--time' is not for --against"),
        (["--operators", "mine.json"], "'--operators' is not for --against"),
        (["--input", "x.npy"], "'--input' is not for --against"),
        (["--dim", "n=m"], "'--dim': with --against, expected NAME=N, got 'n=m'"),
        (["--threads", "1,x"], "'--threads': expected numbers"),
    ],
)
def test_options_that_do_not_go_together(tmp_path: Path, tiny: Path, options: list[object], message: str) -> None:
    assert message in reject("bench", tiny, "--against", "onnxruntime", *options, folder=tmp_path, code=USAGE_ERROR)


def test_bench_against_what_is_not_there(tmp_path: Path, tiny: Path) -> None:
    text = reject("bench", tiny, "--against", "onnxruntime,tvn", folder=tmp_path)
    hint = "the engines are onnxruntime, openvino, torch, inductor"
    assert text == f"error: no engine 'tvn' to compare with\nhint: {hint}\n"
    (tmp_path / "notes.onnx").write_text("no model")
    done = perpend("bench", "notes.onnx", "--against", "onnxruntime", folder=tmp_path)
    assert done.returncode != GOOD and "error: 'notes.onnx': no ONNX model\nhint: " in done.stderr


def test_bench_against_without_onnxruntime(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    monkeypatch.setenv("PERPEND_PYTHON", str(bare))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    message = reject("bench", tiny, "--against", "onnxruntime", folder=tmp_path)
    assert "cannot import numpy" in message and "\nhint: ./dev setup makes one that can" in message


def test_bench_against_compiles_as_it_is_told(tmp_path: Path, tiny: Path) -> None:
    (tmp_path / "s").write_text("// nothing\n")
    compiling = ["--target=x86-64-v3", "-O0", "--dim=n=3", "--schedules=s", "--unpacked"]
    options = [*compiling, "--seed", 4, "--threads", 1, "--json", "b.json"]
    done = perpend("bench", tiny, "--against", "onnxruntime", *options, folder=tmp_path)
    assert done.returncode == GOOD and f"| {tiny.stem} | 3x5 | 1 |" in done.stdout, done.stderr
    content = json.loads((tmp_path / "b.json").read_text())
    assert content["rows"][0]["timings"]["perpend"]["error"] is None
    for option in compiling:
        assert f"--compile-option={option}" in content["machine"]["command"]


def test_bench_against_names_dimensions_as_other_commands(tmp_path: Path) -> None:
    """Dimensions without a name have that of `perpend inspect`; those without a value are 2."""
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    save(tmp_path / "open.onnx", nodes, [value("x", [None, None, "rows.", 5])], [value("y", None)])
    for names, shape in [((), "2x2x2x5"), (("x_dim1=3", "x:0=1", "rows_=4"), "1x3x4x5"), (("rows.=6",), "2x2x6x5")]:
        options = [part for name in names for part in ("--dim" if ":" in name else "--symbol", name)]
        done = perpend("bench", "open.onnx", "--against", "onnxruntime", "--threads", "1", *options, folder=tmp_path)
        assert done.returncode == GOOD and f"| open | {shape} | 1 |" in done.stdout, (done.stdout, done.stderr)
    done = perpend("bench", "open.onnx", "--against", "onnxruntime", "--symbol", "row=3", folder=tmp_path)
    assert done.returncode != GOOD
    assert "no dimension has the name 'row'; the names are x_dim0, x_dim1, rows_, x_dim3" in done.stdout


def test_inspect(tmp_path: Path, library: Path, tiny: Path) -> None:
    for model in [library, tiny]:
        text = succeed("inspect", model, folder=tmp_path)
        assert "input    x: f32 [n, 5]" in text and "output   y: f32 [n, 7]" in text
        assert "symbols  n\n" in text and "kernels: " in text and "weights  " in text


def test_inspect_requirements(tmp_path: Path) -> None:
    """What a run asks of the extents of inputs: of a file, of a library, and as a page."""
    weights = numpy_helper.from_array(np.ones((1, 1, 5), np.float32), "w")
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="wide"),
        helper.make_node("Concat", ["c", "z"], ["y"], axis=1, name="beside"),
    ]
    inputs = [value("x", [1, 1, "n"]), value("z", [1, 3, "m"])]
    model = save(tmp_path / "m.onnx", nodes, inputs, [value("y", None)], [weights])
    succeed("compile", model, "-o", "m.so", folder=tmp_path)
    for name in ["m.onnx", "m.so"]:
        text = succeed("inspect", name, folder=tmp_path)
        lines = [line for line in text.splitlines() if line.startswith("requires ")]
        assert lines == ["requires node 'wide' needs n >= 4", "requires node 'beside' needs m + 4 = n"]
        succeed("inspect", name, "--html", "m.html", folder=tmp_path)
        page = (tmp_path / "m.html").read_text()
        assert "node 'wide' needs n &gt;= 4" in page and "m + 4 = n" in page.split("Operators")[0]


def test_inspect_stages(tmp_path: Path, tiny: Path) -> None:
    for stage, words in {
        "graph": "graph.contract",
        "fuse": "graph.call_kernel",
        "tile": "memref",
        "llvm": "define",
        "asm": ".text",
    }.items():
        assert words in succeed("inspect", tiny, "--stage", stage, folder=tmp_path), stage


@pytest.mark.parametrize(("extent", "vectors"), [("n", 4), (1029, 4), (32, 2), (16, 1)])
def test_long_iterations_go_several_at_once(tmp_path: Path, extent: str | int, vectors: int) -> None:
    """A processor does not see the next vector of an exponential in time."""
    shape = [extent]
    model = save(tmp_path / "m.onnx", [helper.make_node("Exp", ["x"], ["y"])], [value("x", shape)], [value("y", shape)])
    text = succeed("inspect", model, "--stage", "llvm", "--target", "znver5", folder=tmp_path)
    inside = [part.count("@llvm.fma.v16f32(") for part in re.split(r"^\S+:", text, flags=re.MULTILINE)]
    assert max(inside) == 9 * vectors


def test_inspect_page(tmp_path: Path) -> None:
    assert succeed("inspect", DIGITS, "--html", "report.html", folder=tmp_path) == "wrote report.html\n"
    page = (tmp_path / "report.html").read_text()
    assert page.startswith("<!doctype html>") and "<svg" in page and page.count("<details>") > 5
    assert "http" not in page.replace("http://www.w3.org", "")
    assert len(page) < 2_000_000
