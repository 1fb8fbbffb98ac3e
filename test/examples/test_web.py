"""The example of a page that reads digits: in Node.js, with a canvas made of numbers, and where there is a browser, in
that."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from examples.demos import load

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


@pytest.mark.skipif(not BROWSER, reason="there is no chromium")
def test_in_a_browser(site: Path, tmp_path: Path) -> None:
    """The page draws by events of its own, and posts what its bars say."""
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

    page = """
      const wait = async (holds) => { while (!holds()) await new Promise((next) => setTimeout(next, 20)); };
      const board = document.getElementById("board"), rows = [...document.querySelectorAll("li")];
      await wait(() => document.getElementById("note").textContent === "ready");
      const send = (kind, [x, y]) => {
        const box = board.getBoundingClientRect();
        board.dispatchEvent(new PointerEvent(kind, { clientX: box.left + x, clientY: box.top + y }));
      };
    """
    post = 'await fetch("/result", { method: "POST", body: JSON.stringify(seen) });'
    (site / "browser.mjs").write_text('import "./page.mjs";' + page + STROKES + RESULT + post)
    index = (site / "index.html").read_text().replace('src="page.mjs"', 'src="browser.mjs"')
    (site / "browser.html").write_text(index)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        command = [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}"]
        browser = subprocess.Popen(
            [*command, f"http://127.0.0.1:{server.server_port}/browser.html"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert done.wait(60), "the page has posted nothing"
        browser.terminate()
        browser.wait(20)
        server.shutdown()
    assert posted == [{digit: int(digit) for digit in posted[0]}] and len(posted[0]) == 6
