"""The example of a page that reads digits: in Node.js, with a canvas made of numbers, and where there is a browser, in
that."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from examples.demos import load
from onnx import TensorProto, helper, numpy_helper

BUILD = Path(os.environ.get("PERPEND_BUILD", Path(__file__).resolve().parents[2] / "build"))
pytestmark = pytest.mark.skipif(
    not (BUILD / "lib/wasm32/libperpend_runtime.a").exists(), reason="the runtime was not built for wasm32"
)
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

# Lines of digits on a board of 288 x 288, as a person draws them.
STROKES = """
  const arc = (x, y, rx, ry, from, to) => Array.from({ length: 25 }, (_, i) => {
    const angle = ((from + ((to - from) * i) / 24) * Math.PI) / 180;
    return [x + rx * Math.cos(angle), y + ry * Math.sin(angle)];
  });
  const DIGITS = {
    0: [arc(144, 144, 60, 95, -90, 270)],
    1: [[[110, 90], [150, 50], [150, 240]]],
    3: [arc(135, 95, 55, 45, -160, 80), arc(135, 190, 60, 50, -80, 150)],
    4: [[[150, 45], [80, 165], [215, 165]], [[165, 110], [165, 245]]],
    6: [arc(190, 150, 100, 105, 250, 130), arc(145, 185, 50, 50, 0, 360)],
    7: [[[80, 55], [210, 55], [130, 240]]],
  };
"""

# What draw.mjs and page.mjs use of a page. A line of the canvas inks all points near it.
PAGE = """
  class Context {
    constructor(canvas) {
      Object.assign(this, { canvas, data: new Uint8ClampedArray(4 * canvas.width * canvas.height) });
    }
    clearRect() { this.data.fill(0); }
    beginPath() {}
    moveTo(x, y) { this.from = [x, y]; }
    lineTo(x, y) { this.to = [x, y]; }
    stroke() {
      const [x0, y0] = this.from, dx = this.to[0] - x0, dy = this.to[1] - y0, square = dx * dx + dy * dy || 1;
      for (let y = 0; y < this.canvas.height; ++y)
        for (let x = 0; x < this.canvas.width; ++x) {
          const at = Math.min(1, Math.max(0, ((x - x0) * dx + (y - y0) * dy) / square));
          if (Math.hypot(x - x0 - at * dx, y - y0 - at * dy) <= this.lineWidth / 2)
            this.data[4 * (y * this.canvas.width + x) + 3] = 255;
        }
    }
    getImageData() { return { data: this.data, width: this.canvas.width, height: this.canvas.height }; }
  }
  const element = () => ({
    style: {}, parts: {}, children: [], listeners: {}, textContent: "",
    classList: { names: new Set(), toggle(name, on) { this.names[on ? "add" : "delete"](name); } },
    append(child) { this.children.push(child); },
    querySelector(name) { return (this.parts[name] ??= element()); },
    addEventListener(kind, listen) { this.listeners[kind] = listen; },
  });
  const board = { ...element(), width: 288, height: 288 };
  board.context = new Context(board);
  board.getContext = () => board.context;
  board.getBoundingClientRect = () => ({ left: 10, top: 20, width: 144, height: 144 }); // shown at half its size
  const elements = { board };
  globalThis.document = { getElementById: (name) => (elements[name] ??= element()), createElement: element };
  await import("./page.mjs");
  const send = (kind, [x, y]) => board.listeners[kind]({ clientX: 10 + x / 2, clientY: 20 + y / 2 });
  const rows = elements.bars.children;
  const read = () => rows.map((row) => row.parts[".bar"].style.width);
"""

RESULT = """
  const seen = {};
  for (const [digit, strokes] of Object.entries(DIGITS)) {
    document.getElementById("clear").click();
    for (const [first, ...rest] of strokes) {
      send("pointerdown", first);
      for (const place of rest) send("pointermove", place);
      send("pointerup", first);
    }
    seen[digit] = rows.findIndex((row) => row.classList.contains("best"));
  }
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    load("web").build(folder, BUILD / "bin/perpend")
    return folder


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_drawings_are_read(site: Path) -> None:
    glue = """
      elements.clear.click = () => elements.clear.listeners.click();
      for (const row of rows) row.classList.contains = (name) => row.classList.names.has(name);
      const empty = read();
    """
    script = PAGE + STROKES + glue + RESULT + "console.log(JSON.stringify({ seen, empty, last: read() }));"
    (site / "test.mjs").write_text(script)
    done = subprocess.run(["node", "test.mjs"], cwd=site, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["seen"] == {digit: int(digit) for digit in result["seen"]} and len(result["seen"]) == 6
    assert result["empty"] == ["0%"] * 10, "nothing is drawn yet"
    assert sum(float(width.rstrip("%")) for width in result["last"]) == pytest.approx(100, abs=1e-3)


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_size_and_place_of_a_drawing_do_not_matter(site: Path) -> None:
    script = """
      import { imageOf } from "./draw.mjs";
      const drawn = (x0, y0, size) => {
        const pixels = { width: 200, height: 150, data: new Uint8ClampedArray(4 * 200 * 150) };
        for (let i = 0; i < size; ++i)
          for (let j = 0; j < size; ++j)
            if (i < size / 4 || j < size / 2) pixels.data[4 * ((y0 + i) * 200 + x0 + j) + 3] = 255;
        return imageOf(pixels);
      };
      const one = drawn(3, 5, 64), other = drawn(40, 20, 128);
      console.log(one.join() === other.join(), Math.max(...one), one.reduce((a, b) => a + b));
      console.log(imageOf({ width: 4, height: 4, data: new Uint8ClampedArray(64) }));
    """
    (site / "place.mjs").write_text(script)
    done = subprocess.run(["node", "place.mjs"], cwd=site, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == ["true 1 40", "null"], done.stderr


def posted_by(site: Path, page: str, profile: Path) -> Any:
    """What a page sends to the address /result, in a browser."""
    assert BROWSER
    posted: list[Any] = []
    done = threading.Event()

    class Handler(load("web").Handler):  # type: ignore[misc]
        def do_POST(self) -> None:
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()
            done.set()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        command = [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
        browser = subprocess.Popen(
            [*command, f"http://127.0.0.1:{server.server_port}/{page}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        answered = done.wait(60)
        browser.terminate()
        browser.wait(20)
        server.shutdown()
    assert answered, "the page has posted nothing"
    return posted[0]


POST = 'await fetch("/result", { method: "POST", body: JSON.stringify(seen) });'
WAIT = "const wait = async (holds) => { while (!holds()) await new Promise((next) => setTimeout(next, 20)); };"


@pytest.mark.skipif(not BROWSER, reason="there is no chromium")
def test_in_a_browser(site: Path, tmp_path: Path) -> None:
    """The page draws by events of its own, and posts what its bars say."""
    page = """
      const board = document.getElementById("board"), rows = [...document.querySelectorAll("li")];
      await wait(() => document.getElementById("note").textContent === "ready");
      const send = (kind, [x, y]) => {
        const box = board.getBoundingClientRect();
        board.dispatchEvent(new PointerEvent(kind, { clientX: box.left + x, clientY: box.top + y }));
      };
    """
    (site / "browser.mjs").write_text('import "./page.mjs";' + WAIT + page + STROKES + RESULT + POST)
    index = (site / "index.html").read_text().replace('src="page.mjs"', 'src="browser.mjs"')
    (site / "browser.html").write_text(index)
    seen = posted_by(site, "browser.html", tmp_path)
    assert seen == {digit: int(digit) for digit in seen} and len(seen) == 6


def save_classifier(folder: Path, channels_last: bool = False) -> Path:
    """A convolution of stripes: class 0 has lines from left to right, 1 from top to bottom, 2 neither. Enough channels
    that its first kernel is worth sharing among threads."""
    kernels = np.zeros((64, 3, 3, 3), np.float32)
    kernels[0, :, 0], kernels[0, :, 2] = 1, -1
    kernels[1, :, :, 0], kernels[1, :, :, 2] = 1, -1
    kernels[3:] = np.random.default_rng(1).standard_normal((61, 3, 3, 3)) / 100
    head = np.zeros((64, 3), np.float32)
    head[0, 0] = head[1, 1] = 10
    weights = [numpy_helper.from_array(kernels, "kernels"), numpy_helper.from_array(head, "head")]
    weights.append(numpy_helper.from_array(np.array([0, 0, 1], np.float32), "bias"))
    nodes = [
        *([helper.make_node("Transpose", ["image"], ["planes"], perm=[0, 3, 1, 2])] if channels_last else []),
        helper.make_node("Conv", ["planes" if channels_last else "image", "kernels"], ["edges"]),
        helper.make_node("Abs", ["edges"], ["strength"]),
        helper.make_node("GlobalAveragePool", ["strength"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("Gemm", ["flat", "head", "bias"], ["scores"]),
    ]
    shape = [1, 96, 128, 3] if channels_last else [1, 3, 96, 128]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)
    scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 3])
    graph = helper.make_graph(nodes, "g", [image], [scores], weights)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "photo.onnx"
    )
    return folder / "photo.onnx"


@pytest.fixture(scope="module", params=[False, True], ids=["planes", "pixels"])
def photo_site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photo")
    load("web").build(folder, BUILD / "bin/perpend", save_classifier(folder, request.param))
    return folder


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_pictures_are_classified(photo_site: Path) -> None:
    script = """
      import { load } from "./perpend.mjs";
      import { best, layoutOf, tensorOf } from "./photo.mjs";
      const model = await load("photo.wasm"), layout = layoutOf(model.inputs[0]);
      console.log(layout.width, layout.height, layout.channels);
      const pictureOf = (inkAt) => {
        const { width, height } = layout, data = new Uint8ClampedArray(4 * width * height).fill(255);
        for (let i = 0; i < width * height; ++i)
          if (inkAt(i % width, Math.floor(i / width))) data.fill(0, 4 * i, 4 * i + 3);
        return { data, width, height };
      };
      const inks = [(x, y) => y % 8 < 4, (x) => x % 8 < 4, () => false];
      for (const ink of inks) {
        const { scores } = model.run([tensorOf(pictureOf(ink), layout, "0 … 1")]);
        const [first] = best(scores, ["across", "down"]);
        console.log(first.label, first.part > 0.5);
      }
    """
    (photo_site / "classify.mjs").write_text(script)
    done = subprocess.run(["node", "classify.mjs"], cwd=photo_site, capture_output=True, text=True, timeout=60)
    lines = ["128 96 3", "across true", "down true", "class 2 true"]
    assert done.stdout.splitlines() == lines, done.stderr


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_inputs_and_outputs_of_pictures(site: Path) -> None:
    script = """
      import { best, fromHalf, layoutOf, maskOf, tensorOf, toHalf } from "./photo.mjs";
      const pixels = { data: Uint8ClampedArray.of(255, 0, 51, 255, 0, 102, 255, 255) };
      const input = (type, shape) => layoutOf({ name: "x", type, shape }), pixelsAs = input("f32", [1, 1, 2, 3]);
      const numbers = (scale) => Array.from(tensorOf(pixels, pixelsAs, scale).data, (x) => x.toFixed(1));
      const bytes = tensorOf(pixels, input("u8", [1, 1, 2, 3]), "0 … 1");
      console.log(tensorOf(pixels, input("u8", [1, 3, 1, 2]), "0 … 1").data.join());
      console.log(bytes.shape.join(), input("f32", ["n", 3, "h", "w"]).height);
      console.log(numbers("0 … 1").join());
      console.log(numbers("BGR - mean").slice(0, 3).join());
      try { input("f32", [1, 10]); } catch (error) { console.log(error.message); }
      const maskIn = (shape, data) => maskOf({ type: "f32", shape, data });
      console.log(maskIn([1, 1, 3], [1, 2, 3]), maskIn([1, 2, 2, 1], [0, 1, 1, 0]).width);
      const partsOf = (data, count) => best({ type: "f32", data }, [], count).map(({ part }) => part).join();
      console.log(partsOf([0.1, 0.7, 0.2], 1), partsOf([0, 0, 1000], 2));
      let wrong = 0;
      for (let bits = 1024; bits < 0x7c00; ++bits) {
        const value = fromHalf(bits);
        wrong += toHalf(value) !== bits || toHalf(-value) !== (bits | 0x8000);
      }
      console.log(wrong, toHalf(0), toHalf(1e6), toHalf(1 + 2 ** -11 + 2 ** -20) - toHalf(1));
    """
    (site / "pictures.mjs").write_text(script)
    done = subprocess.run(["node", "pictures.mjs"], cwd=site, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == [
        "255,0,0,102,51,255",
        "1,1,2,3 224",
        "1.0,0.0,0.2,0.0,0.4,1.0",
        "-52.9,-116.8,131.3",
        "expected an input of pictures, [1, 3, height, width] or [1, height, width, 3]; 'x' has [1, 10]",
        "null 2",
        "0.7 1,0",
        "0 0 31744 1",
    ], done.stderr


@pytest.mark.skipif(not BROWSER, reason="there is no chromium")
def test_a_dropped_picture_in_a_browser(photo_site: Path, tmp_path: Path) -> None:
    """The page has workers, as the server isolates it."""
    page = """
      const note = document.getElementById("note");
      await wait(() => note.textContent === "drop a picture" || note.textContent.includes("error"));
      const canvas = new OffscreenCanvas(256, 192), context = canvas.getContext("2d");
      context.fillStyle = "white";
      context.fillRect(0, 0, 256, 192);
      context.fillStyle = "black";
      for (let x = 0; x < 256; x += 16) context.fillRect(x, 0, 8, 192);
      const files = new DataTransfer();
      files.items.add(new File(["across\\ndown"], "classes.txt"));
      files.items.add(new File([await canvas.convertToBlob()], "lines.png", { type: "image/png" }));
      dispatchEvent(new DragEvent("drop", { dataTransfer: files }));
      await wait(() => note.textContent.startsWith("one run"));
      const seen = {
        first: document.querySelector("li span").textContent, isolated: crossOriginIsolated,
        model: document.getElementById("model").textContent, width: document.getElementById("picture").width,
      };
    """
    (photo_site / "browser.mjs").write_text('import "./photo-page.mjs";' + WAIT + page + POST)
    text = (photo_site / "photo.html").read_text().replace('src="photo-page.mjs"', 'src="browser.mjs"')
    (photo_site / "browser.html").write_text(text)
    seen = posted_by(photo_site, "browser.html", tmp_path)
    threads = int(re.findall(r"photo\.wasm: 128 x 96, (\d+) thread", seen.pop("model"))[0])
    assert seen == {"first": "down", "isolated": True, "width": 256}
    assert threads == os.cpu_count() or threads > 1
