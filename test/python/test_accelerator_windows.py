"""Windows over images on an accelerator's units: what they share is loaded once, and borders are skipped."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import perpend
import pytest
import torch
from cli.tool import BUILD
from python.test_accelerators import RANDOM, expect, floats, model_of, node

# Strides, dilations and borders of all sides; windows larger than what is stored side by side.
WINDOWS: dict[str, dict[str, Any]] = {
    "same": {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]},
    "sides": {"kernel_shape": [3, 5], "pads": [0, 2, 1, 3]},
    "strides": {"kernel_shape": [3, 3], "strides": [2, 3], "pads": [1, 1, 1, 1]},
    "dilations": {"kernel_shape": [3, 3], "dilations": [2, 3], "pads": [2, 2, 2, 2]},
    "both": {"kernel_shape": [3, 2], "strides": [3, 2], "dilations": [2, 1], "pads": [1, 0, 1, 1]},
    "large": {"kernel_shape": [7, 7], "strides": [2, 2], "pads": [3, 3, 3, 3]},
    "none": {"kernel_shape": [2, 2], "strides": [2, 2]},
    "columns": {"kernel_shape": [3, 3], "pads": [0, 1, 0, 1], "strides": [2, 1]},
    "rows": {"kernel_shape": [3, 3], "pads": [1, 0, 1, 0], "strides": [1, 2]},
}
TARGETS = ["quoin:t1", "quoin:c8"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("channels", [1, 7, 64])
def test_depthwise(name: str, channels: int, target: str) -> None:
    x, w, b = floats(2, channels, 17, 19), floats(channels, 1, *WINDOWS[name]["kernel_shape"]), floats(channels)
    model = model_of([node("Conv", "x w b", "c", group=channels, **WINDOWS[name]), node("Relu", "c")], {"x": x})
    model.graph.initializer.extend([onnx.numpy_helper.from_array(v, n) for v, n in ((w, "w"), (b, "b"))])
    assert expect(model, {"x": x}, target) == []


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool"])
def test_pools(operator: str, name: str, target: str) -> None:
    x = floats(2, 5, 17, 19)
    attributes = dict(WINDOWS[name])
    if operator == "AveragePool" and attributes.pop("dilations", None):
        pytest.skip("of operator set 19")
    assert expect(model_of([node(operator, "x", **attributes)], {"x": x}), {"x": x}, target) == []


@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (1, 2, 3, 3), (1, 3, 2, 31), (1, 67, 4, 3)])
def test_small_images(shape: tuple[int, ...]) -> None:
    x, w = floats(*shape), floats(shape[1], 1, 3, 3)
    nodes = [node("MaxPool", "x", "m", kernel_shape=[3, 3], pads=[1, 1, 1, 1])]
    nodes.append(node("Conv", "m w", group=shape[1], pads=[1, 1, 1, 1]))
    assert expect(model_of(nodes, {"x": x}, {"w": w}), {"x": x}) == []


@pytest.mark.parametrize("name", WINDOWS)
def test_convolutions(name: str) -> None:
    x, w = floats(2, 16, 17, 19), 0.1 * floats(24, 16, *WINDOWS[name]["kernel_shape"])
    assert expect(model_of([node("Conv", "x w", **WINDOWS[name])], {"x": x}, {"w": w}), {"x": x}, "quoin:c8") == []


@pytest.mark.parametrize("kernel", [(3, 3), (5, 2)])
@pytest.mark.parametrize("strides", [[1, 1], [3, 1]])
def test_columns_alone_have_a_border(kernel: tuple[int, int], strides: list[int]) -> None:
    """Of few lines, of which a core has one, and of short ones, which are shorter than those of the result."""
    for rows, columns in ((23, 24), (9, 5)):
        x, w = floats(2, 16, rows, columns), floats(8, 16, *kernel) / 12
        model = model_of([node("Conv", "x w", strides=strides, pads=[0, 1, 0, 1])], {"x": x}, {"w": w})
        assert expect(model, {"x": x}, "quoin:c8") == []


def test_infinities_are_not_of_the_border() -> None:
    x = np.full((1, 1, 4, 4), -np.inf, np.float32)
    x[0, 0, 1, 1] = np.nan
    model = model_of([node("MaxPool", "x", kernel_shape=[3, 3], pads=[1, 1, 1, 1])], {"x": x})
    (got,) = perpend.compile(model, target="quoin:t1")(x)
    assert np.isnan(got[0, 0, :3, :3]).all() and np.isneginf(got[0, 0, 3]).all()


def report_of(nodes: list[Any], x: np.ndarray, weights: dict[str, np.ndarray], folder: Path) -> dict[str, Any]:
    program, report = folder / "program.qn", folder / "report.json"
    perpend.import_model(model_of(nodes, {"x": x}, weights)).compile(str(program), {"target": "quoin:c1"})
    subprocess.run([BUILD / "bin" / "quoin-sim", program, "--mode=time", f"--json={report}"], check=True, timeout=120)
    return dict(json.loads(report.read_text())["cores"][0])


def test_an_image_is_loaded_once(tmp_path: Path) -> None:
    """Elements that several windows have come once, but for those that tiles share."""
    x, w = RANDOM.standard_normal((1, 64, 56, 56)).astype(np.float32), floats(64, 1, 3, 3)
    for operator in (node("Conv", "t w", group=64, pads=[1, 1, 1, 1]), node("MaxPool", "t", kernel_shape=[3, 3])):
        # Transposes to channels that come last, and back, move as much each.
        nodes = [node("Transpose", "x", "t", perm=[0, 3, 1, 2]), operator]
        image = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
        moved = sum(
            report_of(nodes, image, {"w": w}, tmp_path)["memories"][memory]["read"] for memory in ("DDR", "LLB")
        )
        assert moved < 4 * x.nbytes


@pytest.mark.parametrize("strides", [[1, 1], [2, 2]])
def test_depthwise_products_are_those_of_the_matrix_unit(strides: list[int], tmp_path: Path) -> None:
    """Where that is faster than one instruction of the vector unit for each of nine taps."""
    x, w = floats(1, 28, 28, 64).astype(np.float16), (0.3 * floats(64, 1, 3, 3)).astype(np.float16)
    nodes = [node("Transpose", "x", "t", perm=[0, 3, 1, 2])]
    nodes.append(node("Conv", "t w", "c", group=64, pads=[1, 1, 1, 1], strides=strides))
    nodes.append(node("Transpose", "c", perm=[0, 2, 3, 1]))
    model = model_of(nodes, {"x": x}, {"w": w})
    (wanted,), (got,) = perpend.import_model(model).evaluate(x), perpend.compile(model, target="quoin:c1")(x)
    np.testing.assert_allclose(got.astype(np.float32), wanted.astype(np.float32), rtol=2e-3, atol=2e-3)
    core = report_of(nodes, x, {"w": w}, tmp_path)
    results = 28 * 28 // (strides[0] * strides[1])
    taps, lanes = 9, 32
    assert core["products"] >= results * 64 * taps
    assert core["units"]["VX"]["busy"] < results * 64 // lanes * taps // 2
    assert sum(place["cycles"] for place in core["places"]) <= core["end"]


# Of a result: its lines are cut into parts, or L1 holds more of them than the matrix unit's memories, with a rest.
DEPTHWISE: dict[str, tuple[tuple[int, int, int], dict[str, Any]]] = {
    "parts": ((112, 112, 32), {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    "parts of odd lines": ((61, 84, 48), {"kernel_shape": [3, 5], "pads": [2, 1, 0, 3]}),
    "parts and strides": ((57, 112, 96), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "parts without a border": ((30, 114, 32), {"kernel_shape": [3, 3]}),
    "blocks": ((56, 56, 144), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "blocks and a rest": ((29, 30, 160), {"kernel_shape": [3, 3], "strides": [2, 1], "pads": [0, 1, 1, 1]}),
}


def depthwise_of(name: str) -> tuple[list[Any], np.ndarray, dict[str, np.ndarray]]:
    (height, width, channels), attributes = DEPTHWISE[name]
    x = floats(2, height, width, channels).astype(np.float16)
    w = (0.3 * floats(channels, 1, *attributes["kernel_shape"])).astype(np.float16)
    nodes = [node("Transpose", "x", "t", perm=[0, 3, 1, 2]), node("Conv", "t w", "c", group=channels, **attributes)]
    nodes += [node("Clip", "c zero six", "d"), node("Transpose", "d", perm=[0, 2, 3, 1])]
    return nodes, x, {"w": w, "zero": np.array(0, np.float16), "six": np.array(6, np.float16)}


@pytest.mark.parametrize("target", ["quoin:c1", "quoin:c8"])
@pytest.mark.parametrize("name", DEPTHWISE)
def test_depthwise_images_in_parts(name: str, target: str) -> None:
    nodes, x, weights = depthwise_of(name)
    model = model_of(nodes, {"x": x}, weights)
    (wanted,), (got,) = perpend.import_model(model).evaluate(x), perpend.compile(model, target=target)(x)
    np.testing.assert_allclose(got.astype(np.float32), wanted.astype(np.float32), rtol=2e-3, atol=4e-3)


def test_parts_of_lines_are_fed_less_often(tmp_path: Path) -> None:
    """L0A holds four of an image's lines, of which three are read again; of parts it holds more."""
    nodes, x, weights = depthwise_of("parts")
    taps, lines, results = 3, 4, 2
    fed = x.size // 112 * 128 * 2 * taps * lines // results  # bytes: lines begin at fractals
    assert report_of(nodes, x, weights, tmp_path)["units"]["FD"]["busy"] < 0.8 * fed / 128


def test_blocks_of_lines_share_what_is_loaded(tmp_path: Path) -> None:
    """The feeder takes some lines at a time; with them alone, every second one or so would be loaded for two tiles."""
    nodes, x, weights = depthwise_of("blocks")
    memories = report_of(nodes, x, weights, tmp_path)["memories"]
    assert sum(memories[each]["read"] for each in ("DDR", "LLB")) < 1.3 * x.nbytes


def test_lines_are_rows_of_products(tmp_path: Path) -> None:
    """A product of few columns takes no longer than the feed of its rows, which im2col would make half as fast."""
    x, w = floats(1, 56, 56, 64).astype(np.float16), (0.05 * floats(32, 64, 3, 3)).astype(np.float16)
    nodes = [node("Transpose", "x", "t", perm=[0, 3, 1, 2]), node("Conv", "t w", "c", pads=[1, 1, 1, 1])]
    nodes.append(node("Transpose", "c", perm=[0, 2, 3, 1]))
    model = model_of(nodes, {"x": x}, {"w": w})
    (wanted,), (got,) = perpend.import_model(model).evaluate(x), perpend.compile(model, target="quoin:c1")(x)
    np.testing.assert_allclose(got.astype(np.float32), wanted.astype(np.float32), rtol=4e-3, atol=4e-3)
    rows, sums = 56 * 56, 9 * 64
    assert report_of(nodes, x, {"w": w}, tmp_path)["units"]["FD"]["busy"] < 0.8 * rows * sums * 2 / 64


@pytest.mark.parametrize(
    ("size", "strides", "target"), [(4, 2, "quoin:c1,-epilogues"), (2, 1, "quoin:c1"), (4, 2, "quoin:c8")]
)
def test_images_and_weights_that_are_loaded_ahead(size: int, strides: int, target: str) -> None:
    """Both are, in nested loops, and there are no registers for all their turns."""
    x = floats(2, 512, size, size).astype(np.float16)
    w = (0.02 * floats(512, 512, 3, 3)).astype(np.float16)
    more = (0.05 * floats(2048, 512, 1, 1)).astype(np.float16)
    scale = RANDOM.uniform(0.5, 1.5, (2048, 1, 1)).astype(np.float16)
    nodes = [node("Relu", "x", "r"), node("Conv", "r w", "c", strides=[strides] * 2, pads=[1, 1, 1, 1])]
    nodes += [node("Relu", "c", "d"), node("Conv", "d more", "e"), node("Mul", "e scale")]
    model = model_of(nodes, {"x": x}, {"w": w, "more": more, "scale": scale})
    (wanted,), (got,) = perpend.import_model(model).evaluate(x), perpend.compile(model, target=target)(x)
    np.testing.assert_allclose(got.astype(np.float32), wanted.astype(np.float32), rtol=1e-2, atol=2e-2)


def test_programs_with_borders_are_verified(tmp_path: Path) -> None:
    for target in TARGETS:
        nodes = [node("Conv", "x w", "c", group=12, pads=[1, 1, 1, 1]), node("MaxPool", "c", kernel_shape=[3, 3])]
        path = tmp_path / "program.qn"
        model = model_of(nodes, {"x": floats(2, 12, 33, 29)}, {"w": floats(12, 1, 3, 3)})
        perpend.import_model(model).compile(str(path), {"target": target})
        run = subprocess.run([BUILD / "bin" / "quoin-verify", path], capture_output=True, text=True, timeout=120)
        assert run.stdout == "verified\n", run.stderr


@pytest.mark.parametrize(("channels", "width", "name"), [(3, 187, "large"), (3, 187, "same"), (1, 541, "both")])
def test_cores_share_an_image_with_a_border(channels: int, width: int, name: str, tmp_path: Path) -> None:
    """Of few channels, it is a copy. Its rows end within lines, so that cores write the first ones of their parts when
    the others are done."""
    x = RANDOM.standard_normal((1, channels, 48, width)).astype(np.float16)
    w = (0.2 * floats(16, channels, *WINDOWS[name]["kernel_shape"])).astype(np.float16)
    model = model_of([node("Conv", "x w", "c", **WINDOWS[name]), node("Relu", "c")], {"x": x}, {"w": w})
    (wanted,), (got,) = perpend.import_model(model).evaluate(x), perpend.compile(model, target="quoin:c8")(x)
    np.testing.assert_allclose(got.astype(np.float32), wanted.astype(np.float32), rtol=4e-3, atol=4e-3)
    path, report = tmp_path / "program.qn", tmp_path / "report.json"
    perpend.import_model(model).compile(str(path), {"target": "quoin:c8"})
    run = subprocess.run([BUILD / "bin" / "quoin-verify", path], capture_output=True, text=True, timeout=120)
    assert run.stdout == "verified\n", run.stderr
    subprocess.run([BUILD / "bin" / "quoin-sim", path, "--mode=time", f"--json={report}"], check=True, timeout=120)
    read = [core["memories"]["DDR"]["read"] for core in json.loads(report.read_text())["cores"]]
    assert min(read[1:]) > x.nbytes // 16, read


@pytest.mark.parametrize("rows", [19, 25, 50, 57])
def test_cores_share_rows_without_a_border(rows: int, tmp_path: Path) -> None:
    """Numbers of rows that do not divide evenly; the rows of one channel begin where those of another end."""
    x = RANDOM.standard_normal((1, 8, 2 * rows + 1, 375)).astype(np.float16)
    model = model_of([node("MaxPool", "x", kernel_shape=[2, 2], strides=[2, 2])], {"x": x})
    (wanted,), (got,) = perpend.import_model(model).evaluate(x), perpend.compile(model, target="quoin:c8")(x)
    np.testing.assert_array_equal(got, wanted)
    path, report = tmp_path / "program.qn", tmp_path / "report.json"
    perpend.import_model(model).compile(str(path), {"target": "quoin:c8"})
    run = subprocess.run([BUILD / "bin" / "quoin-verify", path], capture_output=True, text=True, timeout=120)
    assert run.stdout == "verified\n", run.stderr
    subprocess.run([BUILD / "bin" / "quoin-sim", path, "--mode=time", f"--json={report}"], check=True, timeout=120)
    assert all(core["units"]["ST"]["busy"] for core in json.loads(report.read_text())["cores"])


@pytest.mark.parametrize(
    ("kernel", "attributes"),
    [
        ((3, 3), {"padding": 1}),
        ((3, 3), {"padding": 1, "stride": 2}),
        ((5, 3), {"padding": (2, 1)}),
        ((3, 3), {"padding": 2, "dilation": 2}),
    ],
)
def test_an_image_comes_in_chunks_of_channels(kernel: tuple[int, int], attributes: Any, tmp_path: Path) -> None:
    """A core has a single tile, of which products begin with some of the channels, while others are loaded."""
    torch.manual_seed(0)
    first, second = torch.nn.Conv2d(128, 128, 1), torch.nn.Conv2d(128, 32, kernel, **attributes)
    x = torch.randn(2, 128, 28, 28).half()
    net = torch.nn.Sequential(first, torch.nn.ReLU(), second).half().eval()
    model = perpend.import_model(net, example_inputs=(x,))
    (wanted,) = model.evaluate(x.numpy())
    path = tmp_path / "program.qn"
    model.compile(str(path), {"target": "quoin:c8"})
    (got,) = perpend.load(str(path))(x.numpy())
    np.testing.assert_allclose(got.astype(np.float32), wanted.astype(np.float32), rtol=4e-3, atol=4e-3)
    run = subprocess.run([BUILD / "bin" / "quoin-verify", path], capture_output=True, text=True, timeout=120)
    assert run.stdout == "verified\n", run.stderr
    run = subprocess.run([BUILD / "bin" / "quoin-dis", path], capture_output=True, text=True, timeout=120)
    assert re.search(r" ld\.3d f16 .*e0=(32|64), e1=\d+, e2=\d+, s1=\(\1,128,", run.stdout)
