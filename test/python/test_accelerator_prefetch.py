"""Constants come to near memory while the steps before their readers run."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from pathlib import Path

import numpy as np
import perpend
import pytest
import torch
from cli.tool import BUILD
from conformance.onnx_foreign import missing
from python.test_accelerators import expect, floats, model_of, node

pytestmark = pytest.mark.skipif(bool(missing("quoin")), reason=missing("quoin") or "it is there")


def read_by_cores(module: perpend.Module, folder: Path) -> list[int]:
    """Bytes that each core of a program reads from DDR."""
    path, report = folder / "program.qn", folder / "report.json"
    module.compile(str(path), {"target": "quoin:c8"})
    command = [BUILD / "bin" / "quoin-sim", path, "--mode=time", f"--json={report}"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return [core["memories"]["DDR"]["read"] for core in json.loads(report.read_text())["cores"]]


def test_only_one_core_reads_weights(tmp_path: Path) -> None:
    """Cores share the columns of a product of one row. Weights of the first product come from DDR to the core that
    needs them; those of the others are copied by one core, once."""
    extent, layers = 512, 4
    x = floats(1, extent)
    weights = {f"w{layer}": floats(extent, extent) / 16 for layer in range(layers)}
    nodes = []
    for layer in range(layers):
        nodes.append(node("MatMul", f"{f'r{layer - 1}' if layer else 'x'} w{layer}", f"p{layer}"))
        nodes.append(node("Relu", f"p{layer}", f"r{layer}" if layer + 1 < layers else "y"))
    model = model_of(nodes, {"x": x}, weights)
    assert expect(model, {"x": x}, "quoin:c8") == []
    read = read_by_cores(perpend.import_model(model), tmp_path)
    one = weights["w0"].nbytes
    assert sum(read[1:]) <= 1.1 * one
    assert sum(read) <= 1.1 * layers * one


def test_cores_share_columns_that_end_within_lines(tmp_path: Path) -> None:
    """Rows are no whole lines: cores write to the same ones in turns, and each reads the weights of its columns."""
    x, w = floats(8, 1024), floats(1000, 1024) / 45
    model = model_of([node("Gemm", "x w", "a", transB=1), node("Relu", "a")], {"x": x}, {"w": w})
    assert expect(model, {"x": x}, "quoin:c8") == []
    assert max(read_by_cores(perpend.import_model(model), tmp_path)) <= w.nbytes / 4


def test_large_weights_come_in_pieces(tmp_path: Path) -> None:
    """LLB has a part of the weights while the product of another part is computed: one core reads them, once."""
    rows, extent, columns = 128, 768, 3072
    x = floats(rows, extent).astype(np.float16)
    weights = {
        name: (floats(*shape) / 32).astype(np.float16)
        for name, shape in {"a": (extent, extent), "b": (extent, columns)}.items()
    }
    model = model_of([node("MatMul", "x a", "t"), node("Relu", "t", "r"), node("MatMul", "r b")], {"x": x}, weights)
    (wanted,) = perpend.import_model(model).evaluate(x)
    (got,) = perpend.compile(model, target="quoin:c8")(x)
    np.testing.assert_allclose(got.astype(np.float32), wanted.astype(np.float32), rtol=2e-3, atol=2e-3)
    path, report = tmp_path / "program.qn", tmp_path / "report.json"
    perpend.import_model(model).compile(str(path), {"target": "quoin:c8"})
    text = subprocess.run([BUILD / "bin" / "quoin-dis", path], check=True, capture_output=True, timeout=120).stdout
    assert text.count(b"sd.") >= weights["b"].nbytes // (1 << 20)
    command = [BUILD / "bin" / "quoin-sim", path, "--mode=time", f"--json={report}"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    read = [core["memories"]["DDR"]["read"] for core in json.loads(report.read_text())["cores"]]
    assert sum(read) <= 1.1 * (sum(weight.nbytes for weight in weights.values()) + 8 * x.nbytes)


def test_a_copy_stays_for_the_next_reader(tmp_path: Path) -> None:
    """Where values leave little of LLB: the first product and the copy read the weights from DDR, and nobody else."""
    x, w, layers = floats(6400, 128), floats(128, 128) / 16, 5
    names = ["x", *(f"r{layer}" for layer in range(layers - 1)), "y"]
    nodes = []
    for layer, (operand, result) in enumerate(itertools.pairwise(names)):
        nodes += [node("MatMul", f"{operand} w", f"p{layer}"), node("Relu", f"p{layer}", result)]
    model = model_of(nodes, {"x": x}, {"w": w})
    assert sum(read_by_cores(perpend.import_model(model), tmp_path)) <= x.nbytes + 2 * w.nbytes


class TwoResults(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, extent: int, columns: int) -> None:
        super().__init__()
        self.row, self.first = torch.nn.Linear(extent, columns), torch.nn.Linear(extent, columns)
        self.second, self.last = torch.nn.Linear(columns, columns), torch.nn.Linear(columns, 16)

    def forward(self, row: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        first = torch.relu(self.first(x) + self.row(row))
        result: torch.Tensor = self.last(torch.relu(self.second(first)))
        return result


def test_a_copy_lies_where_the_next_step_has_values(tmp_path: Path) -> None:
    """LLB holds the two results of 3.7 MB and 1 MB more. What the first one is computed from comes to where the second
    one will lie, so there is space for the weights of that."""
    torch.manual_seed(6)
    rows, extent, columns = 3584, 128, 512
    net, row, x = (
        TwoResults(extent, columns).half().eval(),
        torch.randn(1, extent).half(),
        torch.randn(rows, extent).half(),
    )
    path = tmp_path / "program.qn"
    perpend.import_model(net, example_inputs=(row, x)).compile(str(path), {"target": "quoin:c8,-parts"})
    (got,) = perpend.load(str(path))(row.numpy(), x.numpy())
    with torch.no_grad():
        wanted = net.float()(row.float(), x.float()).numpy()
    np.testing.assert_allclose(got.astype(np.float32), wanted, rtol=4e-3, atol=4e-3)
    run = subprocess.run([BUILD / "bin" / "quoin-verify", path], capture_output=True, text=True, timeout=120)
    assert run.stdout == "verified\n", run.stderr
    text = subprocess.run([BUILD / "bin" / "quoin-dis", path], capture_output=True, text=True, check=True).stdout
    copies = [int(to) for to in re.findall(r"sd\.\w+ \S+ LLB\[(\d+)", text)]
    results = 2 * rows * columns * 2
    assert any(to + x.numel() * 2 <= results for to in copies), copies


def test_what_no_nest_keeps_takes_no_space(tmp_path: Path) -> None:
    """Sums of f32 behind which results are rounded stay in the matrix unit: LLB has no room for them, but for weights,
    which one core reads."""
    torch = pytest.importorskip("torch")
    convolutions = [torch.nn.Conv2d(channels, 256, 3, padding=1) for channels in (128, 256, 256)]
    layers = [layer for convolution in convolutions for layer in (convolution, torch.nn.ReLU())]
    net, x = torch.nn.Sequential(*layers).half().eval(), torch.randn(1, 128, 60, 60).half()
    path, report = tmp_path / "program.qn", tmp_path / "report.json"
    perpend.import_model(net, example_inputs=(x,)).compile(str(path), {"target": "quoin:c8"})
    command = [BUILD / "bin" / "quoin-sim", path, "--mode=time", f"--json={report}"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    read = [core["memories"]["DDR"]["read"] for core in json.loads(report.read_text())["cores"]]
    assert max(read[1:]) < convolutions[0].weight.nbytes / 2, read


def test_an_input_that_several_steps_read_is_near(tmp_path: Path) -> None:
    """Only the first step reads it from DDR: for the others, one core copies it to LLB."""
    x, layers = floats(64, 512), 4
    weights = {f"w{layer}": floats(512, 64) / 16 for layer in range(layers)}
    nodes = [node("MatMul", f"x w{layer}", f"p{layer}") for layer in range(layers)]
    nodes += [node("Relu", f"p{layer}", f"r{layer}") for layer in range(layers)]
    nodes.append(node("Concat", " ".join(f"r{layer}" for layer in range(layers)), axis=1))
    model = model_of(nodes, {"x": x}, weights)
    assert expect(model, {"x": x}, "quoin:c8") == []
    read = read_by_cores(perpend.import_model(model), tmp_path)
    assert sum(read[1:]) <= 1.1 * (x.nbytes + weights["w0"].nbytes), read


@pytest.mark.parametrize(("images", "channels", "columns"), [(2, 256, 256), (4, 128, 128), (3, 64, 160), (4, 512, 96)])
def test_cores_share_rows_and_columns(images: int, channels: int, columns: int) -> None:
    """A product is cut along both, so that each core reads less of both factors; no two cores write to one line."""
    torch = pytest.importorskip("torch")
    net, x = torch.nn.Conv2d(channels, columns, 1, stride=2).half().eval(), torch.randn(images, channels, 14, 14).half()
    got = perpend.compile(net, example_inputs=(x,), target="quoin:c8")(x.numpy())
    with torch.no_grad():
        wanted = net.float()(x.float()).numpy()
    np.testing.assert_allclose(got.astype(np.float32), wanted, rtol=4e-3, atol=4e-3)


@pytest.mark.parametrize(
    "rows, extent, columns, transposed",
    [(768, 768, 768, False), (736, 768, 768, True), (1024, 3072, 256, True), (700, 1536, 448, False)],
)
def test_large_weights_come_in_chunks(rows: int, extent: int, columns: int, transposed: bool, tmp_path: Path) -> None:
    """Cores that have rows of a product read a chunk of the weights while the first core copies the next one."""
    x, b = floats(rows, extent).astype(np.float16), floats(columns).astype(np.float16)
    w = (floats(columns, extent) / 32).astype(np.float16)
    nodes = [node("Gemm", "x w b", "s", transB=1) if transposed else node("Gemm", "x w b", "s"), node("Relu", "s")]
    model = model_of(nodes, {"x": x}, {"w": w if transposed else np.ascontiguousarray(w.T), "b": b})
    (wanted,) = perpend.import_model(model).evaluate(x)
    (got,) = perpend.compile(model, target="quoin:c8")(x)
    np.testing.assert_allclose(got.astype(np.float32), wanted.astype(np.float32), rtol=2e-3, atol=4e-3)
    path, report = tmp_path / "program.qn", tmp_path / "report.json"
    perpend.import_model(model).compile(str(path), {"target": "quoin:c8"})
    text = subprocess.run([BUILD / "bin" / "quoin-dis", path], check=True, capture_output=True, timeout=120).stdout
    assert text.count(b"bar 1, 255") >= 8
    command = [BUILD / "bin" / "quoin-sim", path, "--mode=time", f"--json={report}"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    cores = json.loads(report.read_text())["cores"]
    assert sum(core["memories"]["DDR"]["read"] for core in cores) <= 1.1 * (w.nbytes + x.nbytes)
    assert all(core["units"]["MX"]["busy"] for core in cores[1:])


class FeedForward(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, channels: int, wide: int) -> None:
        super().__init__()
        self.first, self.up = torch.nn.Linear(channels, channels), torch.nn.Linear(channels, wide)
        self.down = torch.nn.Linear(wide, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = self.first(x)
        result: torch.Tensor = a + self.down(torch.relu(self.up(a)))
        return result


def verified_program(net: torch.nn.Module, x: torch.Tensor, path: Path, tolerance: float) -> str:
    """The text of a program whose results are those of torch, and in which the verifier finds nothing."""
    perpend.import_model(net, example_inputs=(x,)).compile(str(path), {"target": "quoin:c8,-parts"})
    (got,) = perpend.load(str(path))(x.numpy())  # a race ends the run
    with torch.no_grad():
        wanted = net.float()(x.float()).numpy()
    np.testing.assert_allclose(got.astype(np.float32), wanted, rtol=tolerance, atol=tolerance)
    run = subprocess.run([BUILD / "bin" / "quoin-verify", path], capture_output=True, text=True, timeout=120)
    assert run.stdout == "verified\n", run.stderr
    command = [BUILD / "bin" / "quoin-dis", path]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def test_first_chunk_comes_beside_the_last_one_of_another_product(tmp_path: Path) -> None:
    """LLB holds the values of 7 MB and one ring, whose slots change hands while cores read the last chunk."""
    torch.manual_seed(0)
    net, x = FeedForward(512, 3072).half(), torch.randn(1024, 512).half()
    text = verified_program(net, x, tmp_path / "program.qn", tolerance=4e-3)
    product, last_product = text.split(".core 1")[0].split("node 'linear_")[1:3]
    assert last_product.index("bar 0") < last_product.index("sd.2d")
    assert not product[product.rindex("sd.2d") :].count("}") and product[product.rindex("sd.2d") :].count("bar 1")


class Normalised(torch.nn.Module):  # type: ignore[misc]
    """Products of one size or different ones, some behind a normalisation."""

    def __init__(self, channels: int, wide: int, count: int) -> None:
        super().__init__()
        extents = [channels, *([wide] * (count - 1)), channels]
        self.layers = torch.nn.ModuleList(torch.nn.Linear(*pair) for pair in itertools.pairwise(extents))
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(extent) for extent in extents[:-1])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for number, (layer, norm) in enumerate(zip(self.layers, self.norms, strict=True)):
            x = torch.relu(layer(norm(x) if number % 3 != 2 else x))
        return x


@pytest.mark.parametrize(
    ("rows", "channels", "wide", "count"), [(788, 768, 768, 4), (1024, 768, 3072, 2), (700, 1536, 1024, 3)]
)
def test_several_chunks_come_before_the_product(
    rows: int, channels: int, wide: int, count: int, tmp_path: Path
) -> None:
    """Beside the normalisation or the product in front of it."""
    torch.manual_seed(0)
    net, x = Normalised(channels, wide, count).half(), torch.randn(rows, channels).half()
    text = verified_program(net, x, tmp_path / "program.qn", tolerance=1e-2)
    places = text.split(".core 1")[0].split(".loc ")
    assert any("sd.2d" in place for place in places if place.startswith("\"node 'layer_norm"))
    assert sum("bar 1, 255" in place for place in places) == count


@pytest.mark.parametrize(("is_added", "transposed"), [(True, False), (False, True)])
def test_odd_rows_are_divided_by_columns(is_added: bool, transposed: bool, tmp_path: Path) -> None:
    """Seven cores have whole tiles of 16 rows each; of the rows behind them, each core has some columns."""
    rows, extent, columns = 788, 1536, 768
    x, r = floats(rows, extent).astype(np.float16), floats(rows, 1).astype(np.float16)
    w, b = (floats(columns, extent) / 32).astype(np.float16), floats(columns).astype(np.float16)
    product = node("Gemm", "x w b", "s", transB=1) if transposed else node("Gemm", "x w b", "s")
    inputs = {"x": x, "r": r} if is_added else {"x": x}
    nodes = [product, node("Add", "s r") if is_added else node("Relu", "s")]
    model = model_of(nodes, inputs, {"w": w if transposed else np.ascontiguousarray(w.T), "b": b})
    (wanted,) = perpend.import_model(model).evaluate(*inputs.values())
    (got,) = perpend.compile(model, target="quoin:c8")(*inputs.values())
    np.testing.assert_allclose(got.astype(np.float32), wanted.astype(np.float32), rtol=2e-3, atol=4e-3)
    path, report = tmp_path / "program.qn", tmp_path / "report.json"
    perpend.import_model(model).compile(str(path), {"target": "quoin:c8"})
    for command in (["quoin-verify", path], ["quoin-sim", path, "--mode=time", f"--json={report}"]):
        subprocess.run([BUILD / "bin" / command[0], *command[1:]], check=True, capture_output=True, timeout=120)
    cores = json.loads(report.read_text())["cores"]
    tiles = -(-rows // 16) * (columns // 16)
    busy = [core["units"]["MX"]["busy"] for core in cores]
    assert busy[0] == 0
    assert 0 < max(busy) <= 1.06 * tiles * (extent // 8) / 7


@pytest.mark.parametrize("channels", [192, 200])
def test_small_constants_come_together(channels: int, tmp_path: Path) -> None:
    """Scales and shifts of channels are less than a copy is worth, but lie side by side: one copy has those of several
    steps, and only the first step reads its own from DDR."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(3)
    modules = []
    for _ in range(6):
        norm = torch.nn.BatchNorm2d(channels)
        for values in (norm.weight.data, norm.running_var):
            values.uniform_(0.5, 1.5)
        for values in (norm.bias.data, norm.running_mean):
            values.normal_()
        modules += [torch.nn.Conv2d(channels, channels, 1, bias=False), norm, torch.nn.ReLU()]
    net, x = torch.nn.Sequential(*modules).half().eval(), torch.randn(1, channels, 8, 8).half()
    got = perpend.compile(net, example_inputs=(x,), target="quoin:c8")(x.numpy())
    path, report = tmp_path / "program.qn", tmp_path / "report.json"
    perpend.import_model(net, example_inputs=(x,)).compile(str(path), {"target": "quoin:c8"})
    with torch.no_grad():
        wanted = net.float()(x.float()).numpy()
    np.testing.assert_allclose(got.astype(np.float32), wanted, rtol=1e-2, atol=1e-2)
    run = subprocess.run([BUILD / "bin" / "quoin-verify", path], capture_output=True, text=True, timeout=120)
    assert run.stdout == "verified\n", run.stderr
    text = subprocess.run([BUILD / "bin" / "quoin-dis", path], capture_output=True, text=True, check=True).stdout
    factors = [line for line in text.splitlines() if "ld.1d f32" in line]
    from_ddr = [line for line in factors if "DDR[" in line]
    assert len(from_ddr) <= 2 * 8 < len(factors), (from_ddr, len(factors))  # of the first step, by eight cores
    command = [BUILD / "bin" / "quoin-sim", path, "--mode=time", f"--json={report}"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    read = [core["memories"]["DDR"]["read"] for core in json.loads(report.read_text())["cores"]]
    first = x.numel() * 2 + channels * channels * 2 + 2 * 4 * channels
    assert max(read[1:]) <= 1.1 * first, read


@pytest.mark.parametrize(("channels", "rows"), [(192, False), (256, True)])
def test_the_core_that_copies_has_a_part(channels: int, rows: bool, tmp_path: Path) -> None:
    """Weights of the next convolution take about as long as this one's products: the first core copies a share of them
    with each iteration of its loops, and computes as much as the others. Those of 256 channels come in two parts of
    their columns."""
    torch.manual_seed(5)
    layers = [layer for _ in range(3) for layer in (torch.nn.Conv2d(channels, channels, 3, padding=1), torch.nn.ReLU())]
    net, x = torch.nn.Sequential(*layers).half().eval(), torch.randn(8, channels, 14, 14).half()
    path, report = tmp_path / "program.qn", tmp_path / "report.json"
    perpend.import_model(net, example_inputs=(x,)).compile(str(path), {"target": "quoin:c8"})
    (got,) = perpend.load(str(path))(x.numpy())
    with torch.no_grad():
        wanted = net.float()(x.float()).numpy()
    np.testing.assert_allclose(got.astype(np.float32), wanted, rtol=1e-2, atol=4e-3)
    run = subprocess.run([BUILD / "bin" / "quoin-verify", path], capture_output=True, text=True, timeout=120)
    assert run.stdout == "verified\n", run.stderr
    text = subprocess.run([BUILD / "bin" / "quoin-dis", path], capture_output=True, text=True, check=True).stdout
    in_loops = [line for line in text.splitlines() if re.search(r"sd\.\w+ .*LLB\[\d+\+@", line)]
    assert in_loops
    assert any("sd.2d" in line for line in in_loops) == rows, in_loops
    command = [BUILD / "bin" / "quoin-sim", path, "--mode=time", f"--json={report}"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    busy = [core["units"]["MX"]["busy"] for core in json.loads(report.read_text())["cores"]]
    assert busy[0] >= 0.9 * max(busy), busy
