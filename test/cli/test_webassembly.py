"""Modules of WebAssembly: what is in them, that they compute the same in Node.js, and how perpend.mjs runs them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from cli.small_models import save_convolutions, save_integers, save_loop
from cli.tool import BUILD, DIGITS, USAGE_ERROR, reject, save, save_tiny, succeed, value
from onnx import TensorProto, helper, numpy_helper

RUNTIME = BUILD / "lib" / "wasm32"
pytestmark = pytest.mark.skipif(
    not (RUNTIME / "libperpend_runtime.a").exists(), reason="the runtime was not built for wasm32"
)
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")


def compile_here(model: Path, folder: Path, *options: object) -> Path:
    succeed("compile", model, "-o", folder / "m.wasm", "--target", "wasm32", *options, folder=folder)
    return folder / "m.wasm"


def node(folder: Path, script: str) -> str:
    """What a script prints that has the function `load`, the model m.wasm, and `refused`, which returns a message."""
    head = """
      import { load, PerpendError } from "./perpend.mjs";
      const refused = (call) => {
        try { call(); } catch (error) { if (error instanceof PerpendError) return error.message; throw error; }
        return "was not refused";
      };
      const model = await load("m.wasm");
    """
    (folder / "script.mjs").write_text(head + script)
    done = subprocess.run(["node", "script.mjs"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def save_texts(folder: Path) -> Path:
    """Joins texts, reads numbers from them, and prints these again."""
    text = TensorProto.STRING
    nodes = [
        helper.make_node("StringConcat", ["a", "b"], ["joined"]),
        helper.make_node("Cast", ["joined"], ["number"], to=TensorProto.DOUBLE),
        helper.make_node("Cast", ["number"], ["printed"], to=text),
        helper.make_node("Cast", ["number"], ["single"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["single"], ["short"], to=text),
    ]
    inputs = [value(name, ["n"], text) for name in "ab"]
    graph = helper.make_graph(nodes, "g", inputs, [value(name, ["n"], text) for name in ("printed", "short")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), folder / "texts.onnx")
    return folder / "texts.onnx"


def save_sums(folder: Path) -> Path:
    """Adds x to what was added before."""
    nodes = [helper.make_node("Add", ["before", "x"], ["after"]), helper.make_node("Identity", ["after"], ["y"])]
    inputs = [value("x", [3]), value("before", [3])]
    return save(folder / "sums.onnx", nodes, inputs, [value("y", [3]), value("after", [3])])


def save_outer(folder: Path) -> Path:
    """y[i, j] = x[i] * x[j], and its sum."""
    nodes = [
        helper.make_node("Unsqueeze", ["x", "one"], ["column"]),
        helper.make_node("Mul", ["column", "x"], ["y"]),
        helper.make_node("Softmax", ["y"], ["soft"]),
        helper.make_node("ReduceSum", ["soft"], ["sum"], keepdims=0),
    ]
    one = numpy_helper.from_array(np.array([1], np.int64), "one")
    return save(folder / "outer.onnx", nodes, [value("x", ["n"])], [value("soft", None), value("sum", None)], [one])


def test_a_module_lies_beside_what_loads_it(tmp_path: Path) -> None:
    text = succeed("compile", DIGITS, "-o", tmp_path / "m.wasm", "--target", "wasm32", folder=tmp_path)
    assert f"loaded by {tmp_path / 'perpend.mjs'}" in text
    assert (tmp_path / "m.wasm").read_bytes().startswith(b"\0asm\1\0\0\0")
    assert {path.name for path in tmp_path.iterdir()} == {
        "m.wasm", "perpend.mjs", "perpend-engine.mjs", "perpend.d.mts",
    }  # fmt: skip


def test_digits_are_small(tmp_path: Path) -> None:
    module = compile_here(DIGITS, tmp_path)
    weights = re.search(rb'"weightsBytes":(\d+)', module.read_bytes())
    assert weights
    bytes_all = module.stat().st_size + (tmp_path / "perpend.mjs").stat().st_size
    assert bytes_all - int(weights[1]) <= 60_000


def test_a_module_is_described(tmp_path: Path) -> None:
    text = succeed("inspect", compile_here(DIGITS, tmp_path), folder=tmp_path)
    assert "not here" in text and "got one for wasm32" in text
    assert "image: f32 [n, 1, 8, 8]" in text


def test_endings_are_those_of_the_target(tmp_path: Path) -> None:
    tiny = save_tiny(tmp_path)
    for name, target, expected in (
        ("m.so", "wasm32", "expected a name ending in .wasm or .a\nhint: "),
        ("m.wasm", "x86-64", "expected a name ending in .so or .a\nhint: the ending is that of another target's"),
        ("m.o", "wasm32", "expected a name ending in .wasm or .a\nhint: "),
    ):
        text = reject("compile", tiny, "-o", tmp_path / name, "--target", target, folder=tmp_path, code=USAGE_ERROR)
        assert expected in text


def test_what_a_module_cannot_be_is_refused(tmp_path: Path) -> None:
    tiny = save_tiny(tmp_path)
    text = reject("compile", tiny, "--exe", "-o", tmp_path / "m", "--target", "wasm32", folder=tmp_path)
    assert "wasm32" in text and "hint: " in text


def test_without_node_the_error_names_the_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = compile_here(save_tiny(tmp_path), tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("PERPEND_RUNNER", raising=False)
    text = reject("run", module, folder=tmp_path)
    assert "m.wasm' is for wasm32, and this machine is " in text
    assert "'node' is not installed\nhint: apt-get install nodejs" in text


@needs_node
@pytest.mark.parametrize("make", [save_tiny, save_convolutions, save_loop, save_integers, save_outer])
@pytest.mark.parametrize("options", [[], ["-O", "0"], ["--checked"]], ids=["O3", "O0", "checked"])
def test_models_compute_the_same(tmp_path: Path, make: Callable[[Path], Path], options: list[str]) -> None:
    text = succeed("check", make(tmp_path), "--target", "wasm32", *options, folder=tmp_path)
    assert text.startswith("runs through node: code for wasm32\n")
    assert text.endswith("the outputs agree\n")


@needs_node
def test_integers_have_the_same_bits_as_here(tmp_path: Path) -> None:
    model = save_integers(tmp_path)
    np.save(tmp_path / "x.npy", np.random.default_rng(5).integers(0, 256, (9, 37)).astype(np.uint8))
    for target in ("host", "wasm32"):
        arguments = ["--input", tmp_path / "x.npy", "--output-dir", tmp_path / target, "--target", target]
        succeed("run", model, *arguments, folder=tmp_path)
    for name in ("quotient", "total", "most", "places"):
        here, there = (np.load(tmp_path / target / f"{name}.npy") for target in ("host", "wasm32"))
        assert here.dtype == there.dtype and np.array_equal(here, there), name


@needs_node
def test_times_are_those_of_the_engine(tmp_path: Path) -> None:
    tiny = save_tiny(tmp_path)
    text = succeed("bench", tiny, "--target", "wasm32", "--time", "5", "--json", tmp_path / "t.json", folder=tmp_path)
    assert text.startswith("runs through node: code for wasm32\n") and "median ms" in text
    assert json.loads((tmp_path / "t.json").read_text())["rows"][0]["runs"] > 0
    text = succeed("bench", tiny, "--target", "wasm32", "--time", "5", "--threads", "1,2", folder=tmp_path)
    assert re.search(r"\n +1 +\d+.*\n +2 +\d+", text)
    text = reject("bench", tiny, "--target", "wasm32", "--profile", folder=tmp_path)
    assert "runs in another program, which measures whole runs" in text
    text = reject("run", tiny, "--target", "wasm32", "--repeat", 3, folder=tmp_path)
    assert "option '--repeat'" in text and "perpend bench measures it there" in text


@needs_node
class TestLoader:
    def test_a_module_imports_only_what_the_loader_gives(self, tmp_path: Path) -> None:
        for make in (save_tiny, save_texts, save_loop):
            compile_here(make(tmp_path), tmp_path)
            script = 'import { readFileSync } from "node:fs"; import { load as _ } from "./perpend.mjs";'
            script += 'const m = new WebAssembly.Module(readFileSync("m.wasm"));'
            script += "console.log(WebAssembly.Module.imports(m).map((i) => `${i.module}.${i.name}`).join());"
            imports = set(node(tmp_path, script).strip().split(","))
            assert imports == {"perpend.now", "perpend.share", "perpend.awake"}

    def test_declarations_and_shapes(self, tmp_path: Path) -> None:
        compile_here(DIGITS, tmp_path)
        script = """
          const [input] = model.inputs, [output] = model.outputs;
          console.log(model.name, input.name, input.type, input.shape.join(), output.name, output.shape.join());
          const one = model.run(new Float32Array(64)).probabilities;
          console.log(one.type, one.shape.join(), one.data.constructor.name);
          const data = Float32Array.from({ length: 3 * 64 }, (_, i) => (i % 7) / 7);
          const three = model.run({ image: { data, shape: [3, 1, 8, 8] } }).probabilities;
          console.log(three.shape.join(), model.run([data]).probabilities.data.every((x, i) => x === three.data[i]));
          console.log(JSON.stringify(model.outputShapes([[5, 1, 8, 8]])));
          const none = { data: new Float32Array(0), shape: [0, 1, 8, 8] };
          console.log(model.run({ image: none }).probabilities.shape.join());
          model.free();
          console.log(refused(() => model.run([data])));
        """
        assert node(tmp_path, script).splitlines() == [
            "m image f32 n,1,8,8 probabilities n,10",
            "f32 1,10 Float32Array",
            "3,10 true",
            '{"probabilities":[5,10]}',
            "0,10",
            "the model has been freed",
        ]

    def test_errors_are_those_of_perpend(self, tmp_path: Path) -> None:
        compile_here(DIGITS, tmp_path)
        script = """
          const data = new Float32Array(64);
          console.log(refused(() => model.run({ image: { data, shape: [1, 1, 4, 16] } })));
          console.log(refused(() => model.run({ image: { data, shape: [64] } })));
          console.log(refused(() => model.run({ image: new Float64Array(64) })));
          console.log(refused(() => model.run({ picture: data })));
          console.log(refused(() => model.run({})));
          console.log(refused(() => model.run([])));
          console.log(refused(() => model.run(new Float32Array(65))));
          console.log(refused(() => model.run({ image: { data, shape: [2, 1, 8, 8] } })));
          console.log(refused(() => model.run({ image: { data, shape: [-1, 1, 8, 8] } })));
          console.log(refused(() => model.entry("other")));
          console.log(refused(() => model.reset()));
        """
        assert node(tmp_path, script).splitlines() == [
            "input 'image', dimension 2: expected 8, got 4; hint: its shape is [n, 1, 8, 8]",
            "input 'image': rank: expected 4, got 1; hint: its shape is [n, 1, 8, 8]",
            "input 'image': expected a Float32Array for f32, got Float64Array",
            "model 'm': no input is named 'picture'; hint: its inputs are 'image'",
            "model 'm': the input 'image' is missing; hint: its inputs are 'image'",
            "model 'm': number of inputs: expected 1, got 0; hint: they are 'image'",
            "input 'image': its shape is [n, 1, 8, 8], and 65 elements do not tell it; hint: pass {data, shape}",
            "input 'image': expected 128 elements for the shape [2, 1, 8, 8], got 64; hint: its shape is [n, 1, 8, 8]",
            "input 'image': expected extents of at least 0, got [-1, 1, 8, 8]",
            "entry: expected one of 'main', got 'other'; hint: perpend inspect lists them",
            "model 'm' has no states",
        ]

    def test_texts_and_numbers(self, tmp_path: Path) -> None:
        compile_here(save_texts(tmp_path), tmp_path)
        numbers = [0.1, 1e23, 5e-324, 1.7976931348623157e308, 123456.789, 2.5, -0.0, 9007199254740993.0, 1 / 3]
        script = f"""
          const a = {json.dumps([repr(number) for number in numbers])};
          const out = model.run({{ a, b: a.map(() => "") }});
          console.log(JSON.stringify([out.printed.data, out.short.data]));
          console.log(refused(() => model.run([["1"], ["grün"]])));
        """
        there, message = node(tmp_path, script).splitlines()
        printed, short = json.loads(there)
        assert [float(text) for text in printed] == numbers
        with np.errstate(over="ignore"):
            assert [np.float32(text) for text in short] == [np.float32(number) for number in numbers]
        assert max(len(text) for text in printed) <= max(len(repr(number)) for number in numbers) + 2
        assert "expected a number of type f64, got '1grün'" in message

    def test_states_stay_from_run_to_run(self, tmp_path: Path) -> None:
        compile_here(save_sums(tmp_path), tmp_path, "--state", "before=after")
        script = """
          const x = Float32Array.of(1, 2, 3);
          for (let i = 0; i < 3; ++i) console.log(model.run({ x }).y.data.join());
          console.log(model.states[0].name, model.state()[model.states[0].name].data.join());
          model.reset();
          console.log(model.run({ x }).y.data.join());
          const other = await load("m.wasm");
          console.log(other.run([x]).y.data.join());
        """
        lines = ["1,2,3", "2,4,6", "3,6,9", "before 3,6,9", "1,2,3", "1,2,3"]
        assert node(tmp_path, script).splitlines() == lines

    def test_memory_that_no_address_reaches_is_an_error(self, tmp_path: Path) -> None:
        compile_here(save_outer(tmp_path), tmp_path)
        script = """
          const x = new Float32Array(70000);
          console.log(refused(() => model.run([x])));
          console.log(model.run([new Float32Array(100).fill(1)]).sum.data[0].toFixed(3));
        """
        first, second = node(tmp_path, script).splitlines()
        assert re.fullmatch(r"could not allocate 19600\d+ bytes; hint: use a smaller batch or fewer sessions", first)
        assert second == "100.000"

    def test_memory_grows_and_is_used_again(self, tmp_path: Path) -> None:
        compile_here(save_outer(tmp_path), tmp_path)
        script = """
          for (const n of [2000, 10, 3000, 2999, 1, 3001])
            console.log(n, Math.abs(model.run([new Float32Array(n).fill(0.5)]).sum.data[0] - n) < 0.01 * n);
          for (let i = 0; i < 2000; ++i) model.run([new Float32Array(100)]);
          console.log(process.memoryUsage().arrayBuffers < 400e6);
        """
        assert "false" not in node(tmp_path, script)

    def test_other_files_are_no_models(self, tmp_path: Path) -> None:
        compile_here(DIGITS, tmp_path)
        script = """
          const failed = async (source) => load(source).then(() => "loaded", (error) => error.message);
          console.log(await failed(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)));
          console.log(await failed(new TextEncoder().encode("no module at all")));
          const { readFile } = await import("node:fs/promises");
          const bytes = await readFile("m.wasm");
          console.log((await load(bytes)).name, (await load(new URL("m.wasm", import.meta.url))).name);
          bytes[bytes.length - 50000] ^= 1;
          console.log(await failed(bytes));
        """
        lines = node(tmp_path, script).splitlines()
        assert lines[0] == "this module of WebAssembly is no compiled model"
        assert lines[1].startswith("no model: ") and "hint: the engine needs WebAssembly 2.0" in lines[1]
        assert lines[2] == "m m"
        assert "checksum: expected" in lines[3]


def save_halves(folder: Path) -> Path:
    """f16 to f32 and back, and chains of operations that round after each step."""
    half, single = TensorProto.FLOAT16, TensorProto.FLOAT
    nodes = [
        helper.make_node("Cast", ["h"], ["wide"], to=single),
        helper.make_node("Cast", ["f"], ["narrow"], to=half),
        helper.make_node("Add", ["h", "h2"], ["sum"]),
        helper.make_node("Mul", ["sum", "h2"], ["product"]),
        helper.make_node("Sub", ["product", "h"], ["steps"]),
        helper.make_node("Max", ["steps", "h2"], ["most"]),
        helper.make_node("Neg", ["most"], ["opposite"]),
    ]
    inputs = [value("h", ["n"], half), value("h2", ["n"], half), value("f", ["n"], single)]
    outputs = [value("wide", ["n"], single), value("narrow", ["n"], half), value("opposite", ["n"], half)]
    return save(folder / "halves.onnx", nodes, inputs, outputs)


@needs_node
def test_halves_have_the_same_bits_as_numpy(tmp_path: Path) -> None:
    generator = np.random.default_rng(7)
    h = np.arange(65536, dtype=np.uint16).view(np.float16)
    h2 = generator.permutation(65536).astype(np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        f = generator.integers(0, 1 << 32, 65536, dtype=np.uint32).view(np.float32)
        between = h[:-1].astype(np.float32) / 2 + h[1:].astype(np.float32) / 2  # halves of the last bit
        f[:40000] = between[generator.permutation(65535)[:40000]]
        f[40000:50000] = np.nextafter(f[:10000], np.float32(np.inf))
        steps = (h + h2) * h2 - h
        most = np.where(np.isnan(steps) | np.isnan(h2), np.float16(np.nan), np.maximum(steps, h2))
        expected = {"wide": h.astype(np.float32), "narrow": f.astype(np.float16), "opposite": -most}
    for name, array in (("h", h), ("h2", h2), ("f", f)):
        np.save(tmp_path / f"{name}.npy", array)
    given = [part for name in ("h", "h2", "f") for part in ("--input", f"{name}={tmp_path / name}.npy")]
    for level in (0, 3):
        arguments = [*given, "--output-dir", tmp_path / "out", "--target", "wasm32", "-O", level]
        succeed("run", save_halves(tmp_path), *arguments, folder=tmp_path)
        for name, wanted in expected.items():
            got = np.load(tmp_path / "out" / f"{name}.npy")
            bits = np.uint32 if got.itemsize == 4 else np.uint16
            isnan = np.isnan(wanted)
            assert np.array_equal(np.isnan(got), isnan), name
            assert np.array_equal(got.view(bits)[~isnan], wanted.view(bits)[~isnan]), name
