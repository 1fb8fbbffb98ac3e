"""What a module of WebAssembly does with what an engine has: relaxed SIMD, threads, files of weights."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from cli.small_models import save_convolutions
from cli.test_webassembly import pytestmark, save_outer, save_sums  # noqa: F401
from cli.tool import DIGITS, reject, save, save_tiny, succeed, value
from onnx import helper, numpy_helper

BOTH = "wasm32,wasm32,+relaxed-simd"
RELAXED_MADD = b"\xfd\x85\x02"
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")

# `refused` gives the message of an error, `madeOf` the bytes that the engine compiled last.
HEAD = """
  import { load, PerpendError } from "./perpend.mjs";
  const refused = async (call) => {
    try { await call(); } catch (error) { if (error instanceof PerpendError) return error.message; throw error; }
    return "was not refused";
  };
  const { compile } = WebAssembly;
  let madeOf;
  WebAssembly.compile = (bytes) => compile(madeOf = bytes);
"""


def compile_here(model: Path, folder: Path, target: str = "wasm32", *options: object) -> Path:
    succeed("compile", model, "-o", folder / "m.wasm", "--target", target, *options, folder=folder)
    return folder / "m.wasm"


def relaxed_option() -> list[str]:
    """Node.js 20 has relaxed SIMD behind an option, which later ones do not know."""
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    return ["--experimental-wasm-relaxed-simd"] if int(version[1:].split(".")[0]) < 22 else []


def node(folder: Path, script: str, *options: str) -> list[str]:
    (folder / "script.mjs").write_text(HEAD + script)
    command = ["node", *options, "script.mjs"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def save_products(folder: Path, n: int = 384, name: str = "products") -> Path:
    """A chain of products that is worth sharing among threads."""
    generator = np.random.default_rng(3)
    weights = [
        numpy_helper.from_array((generator.standard_normal((n, n)) / n**0.5).astype(np.float32), f"w{i}")
        for i in (0, 1)
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["a"]),
        helper.make_node("Tanh", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "w1"], ["c"]),
        helper.make_node("Softmax", ["c"], ["y"]),
    ]
    return save(folder / f"{name}.onnx", nodes, [value("x", ["n", n])], [value("y", None)], weights)


def save_column(folder: Path) -> Path:
    """y[n, 1] = x[n, 3] @ w[3, 1]"""
    weights = [numpy_helper.from_array(np.array([[0.3], [-1.7], [0.9]], np.float32), "w")]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    return save(folder / "column.onnx", nodes, [value("x", ["n", 3])], [value("y", None)], weights)


class TestRelaxed:
    def test_products_and_sums_are_one_instruction(self, tmp_path: Path) -> None:
        for target, has in (("wasm32", False), ("wasm32,+relaxed-simd", True)):
            module = compile_here(save_convolutions(tmp_path), tmp_path, target).read_bytes()
            assert (module.count(RELAXED_MADD) > 4) == has, target

    def test_one_file_has_both_machines_and_the_weights_once(self, tmp_path: Path) -> None:
        sizes = {}
        for target in ("wasm32", "wasm32,+relaxed-simd", BOTH):
            text = succeed("compile", DIGITS, "-o", tmp_path / "m.wasm", "--target", target, folder=tmp_path)
            sizes[target] = (tmp_path / "m.wasm").stat().st_size
        assert re.search(r"target wasm32: code .*\(0 bytes of its own\)", text)
        weights = re.search(rb'"weightsBytes":(\d+)', (tmp_path / "m.wasm").read_bytes())
        assert weights
        one, other, both = sizes.values()
        assert one < both < one + other - int(weights[1])

    def test_the_same_machine_twice_is_refused(self, tmp_path: Path) -> None:
        tiny = save_tiny(tmp_path)
        for target, expected in (
            ("wasm32,wasm32", "twice"),
            ("wasm32,+relaxed-simd,wasm32,+avx2", "unknown feature 'avx2'"),
            ("wasm32,x86-64", "machines of one architecture"),
        ):
            assert expected in reject(
                "compile", tiny, "-o", tmp_path / "m.wasm", "--target", target, folder=tmp_path, code=2
            )
        text = reject("compile", tiny, "-o", tmp_path / "m.a", "--target", BOTH, folder=tmp_path)
        assert "expected one machine for a static library" in text

    def test_phases_are_dumped_for_each(self, tmp_path: Path) -> None:
        compile_here(save_tiny(tmp_path), tmp_path, BOTH, "--dump-phases", tmp_path / "phases")
        names = {path.parent.name for path in (tmp_path / "phases").rglob("1-*.mlir")}
        assert names == {"wasm32", "wasm32,+relaxed-simd"}

    @needs_node
    def test_the_loader_chooses_what_the_engine_knows(self, tmp_path: Path) -> None:
        """In either engine it compiles, to the byte, what a compilation for that machine writes."""
        model = save_convolutions(tmp_path)
        for target in ("wasm32", "wasm32,+relaxed-simd"):
            compile_here(model, tmp_path, target).rename(tmp_path / f"{target}.bytes")
        compile_here(model, tmp_path, BOTH)
        script = """
          const { writeFileSync, readFileSync } = await import("node:fs");
          const knows = WebAssembly.validate(readFileSync("wasm32,+relaxed-simd.bytes"));
          await load("m.wasm");
          const alone = readFileSync(knows ? "wasm32,+relaxed-simd.bytes" : "wasm32.bytes");
          console.log(knows, Buffer.compare(alone, madeOf.subarray(0, alone.length)));
        """
        assert node(tmp_path, script, *relaxed_option()) == ["true 0"]
        if relaxed_option():
            assert node(tmp_path, script) == ["false 0"]

    @needs_node
    def test_an_engine_without_it_says_so(self, tmp_path: Path) -> None:
        compile_here(save_tiny(tmp_path), tmp_path, "wasm32,+relaxed-simd")
        script = "WebAssembly.validate = () => false; console.log(await refused(() => load('m.wasm')));"
        assert node(tmp_path, script) == [
            "the model needs relaxed-simd of the engine, which has none; hint: compile it with --target "
            "wasm32,wasm32,+relaxed-simd, which runs with and without"
        ]

    @needs_node
    @pytest.mark.parametrize("target", ["wasm32,+relaxed-simd", BOTH])
    def test_results_agree(self, tmp_path: Path, target: str) -> None:
        for make in (save_convolutions, save_products):
            text = succeed("check", make(tmp_path), "--target", target, "--dim", "n=5", folder=tmp_path)
            assert text.startswith("runs through node: code for wasm32\n") and text.endswith("the outputs agree\n")


# Of all parts, those that the thread of the caller computes.
COUNT_PARTS = """
  const { add } = Atomics;
  let all = 0, own = 0;
  Atomics.add = (words, at, value) => {
    const before = add(words, at, value);
    if (at === 0) all += words[2]; // a turn, with its parts
    else if (at >= 7 && before < words[2] / words[3]) ++own;
    return before;
  };
"""


def save_page(folder: Path) -> Path:
    """What makes perpend.mjs a page's here: there is no process."""
    if not (folder / "perpend.mjs").exists():
        compile_here(save_tiny(folder), folder)
    (folder / "page").mkdir()
    shutil.copy(folder / "perpend-engine.mjs", folder / "page")
    text = (folder / "perpend.mjs").read_text()
    (folder / "page/perpend.mjs").write_text("const process = undefined;" + text)
    return folder


@needs_node
class TestThreads:
    @pytest.mark.parametrize("target", ["wasm32", BOTH])
    def test_bits_are_those_of_one_thread(self, tmp_path: Path, target: str) -> None:
        """Each turn is shared: with relaxed SIMD, with one column, and where rows are few."""
        cases = ((save_products, "[150, 384]"), (save_outer, "[1500]"), (save_column, "[100000, 3]"))
        for make, shape in cases:
            compile_here(make(tmp_path), tmp_path, target)
            script = (
                COUNT_PARTS
                + f"""
              const shape = {shape}, count = shape.reduce((a, b) => a * b);
              const data = Float32Array.from({{ length: count }}, (_, i) => Math.sin(i * i));
              const textOf = (out) => Buffer.from(out.data.buffer).toString("base64");
              const bitsOf = (model) => Object.values(model.run([{{ data, shape }}])).map(textOf).join();
              const one = await load("m.wasm"), first = bitsOf(one);
              for (const threads of [2, 3]) {{
                const several = await load("m.wasm", {{ threads }});
                let isSame = true;
                all = own = 0;
                for (let i = 0; i < 20 || (i < 500 && own >= all); ++i) isSame &&= bitsOf(several) === first;
                console.log(several.threads, isSame, own < all);
                several.free();
              }}
              console.log(one.threads);
            """
            )
            options = relaxed_option() if target == BOTH else []
            assert node(tmp_path, script, *options) == ["2 true true", "3 true true", "1"], make

    def test_a_worker_takes_part(self, tmp_path: Path) -> None:
        """Of the parts that the thread of the caller claims in a run, some are taken."""
        compile_here(save_products(tmp_path), tmp_path)
        script = (
            COUNT_PARTS
            + """
          const model = await load("m.wasm", { threads: 2 });
          const input = { data: new Float32Array(300 * 384).fill(1), shape: [300, 384] };
          for (let i = 0; i < 500 && own >= all; ++i) model.run([input]);
          console.log(all > 0, own < all);
        """
        )
        assert node(tmp_path, script) == ["true true"]

    def test_whoever_is_awake_helps(self, tmp_path: Path) -> None:
        """In a task of two shares the last of three workers may be the one that was woken."""
        compile_here(save_products(tmp_path), tmp_path)
        loader = (tmp_path / "perpend-engine.mjs").read_text()
        for old, new in (
            ("pool.share(...job)", "pool.share(job[0], job[1], 2)"),
            ("=>work(", "=>share===3&&work("),
        ):
            assert loader.count(old) == 1
            loader = loader.replace(old, new)
        (tmp_path / "perpend-engine.mjs").write_text(loader)
        script = (
            COUNT_PARTS
            + """
          const model = await load("m.wasm", { threads: 4 });
          const input = { data: new Float32Array(300 * 384).fill(1), shape: [300, 384] };
          for (let i = 0; i < 500 && own >= all; ++i) model.run([input]);
          console.log(all > 0, own < all);
        """
        )
        assert node(tmp_path, script) == ["true true"]

    def test_states_entries_and_free(self, tmp_path: Path) -> None:
        compile_here(save_sums(tmp_path), tmp_path, "wasm32", "--state", "before=after")
        script = """
          const model = await load("m.wasm", { threads: 2 }), x = Float32Array.of(1, 2, 3);
          model.run({ x });
          console.log(model.run({ x }).y.data.join(), model.entry("main").threads);
          model.free();
          model.free();
          console.log(await refused(() => model.run({ x })));
        """
        assert node(tmp_path, script) == ["2,4,6 2", "the model has been freed"]

    def test_what_threads_cannot_be(self, tmp_path: Path) -> None:
        compile_here(save_tiny(tmp_path), tmp_path)
        script = """
          const { default: os } = await import("node:os"), { syncBuiltinESMExports } = await import("node:module");
          for (const threads of [-1, 1.5, 65, "two"]) console.log(await refused(() => load("m.wasm", { threads })));
          const { readFileSync } = await import("node:fs");
          const module = new WebAssembly.Module(readFileSync("m.wasm"));
          console.log(await refused(() => load(module, { threads: 2 })));
          console.log((await load(module)).threads);
          os.availableParallelism = () => 3;
          syncBuiltinESMExports();
          console.log((await load("m.wasm", { threads: 0 })).threads);
        """
        expected = "threads: expected an integer from 0 (all cores) to 64, got "
        assert node(tmp_path, script) == [
            *(expected + text for text in ("-1", "1.5", "65", "two")),
            "threads: expected the module's bytes or its address, got a WebAssembly.Module; hint: leave threads out",
            "1",
            "3",
        ]

    def test_a_page_that_is_not_isolated_has_one(self, tmp_path: Path) -> None:
        folder = save_page(tmp_path)
        script = """
          const { readFileSync } = await import("node:fs"), page = await import("./page/perpend.mjs");
          globalThis.Worker = class {
            addEventListener(kind, call) { if (kind === "message") this.call = call; }
            postMessage() { setTimeout(() => this.call({ data: {} })); }
            terminate() {}
          };
          for (globalThis.crossOriginIsolated of [false, true])
            console.log((await page.load(readFileSync("m.wasm"), { threads: 4 })).threads);
        """
        assert node(folder, script) == ["1", "4"]

    def test_a_failing_worker_is_an_error(self, tmp_path: Path) -> None:
        compile_here(save_products(tmp_path), tmp_path)
        loader = (tmp_path / "perpend-engine.mjs").read_text()
        broken = loader.replace("exports.perpend_part(job, other", "exports.perpend_part(share ? -1 : job, other")
        assert broken != loader
        (tmp_path / "perpend-engine.mjs").write_text(broken)
        script = """
          const model = await load("m.wasm", { threads: 2 });
          const input = { data: new Float32Array(300 * 384).fill(1), shape: [300, 384] };
          console.log(await refused(() => { for (let i = 0; i < 500; ++i) model.run([input]); }));
          for (let i = 0; i < 2; ++i) console.log(await refused(() => model.run([input])));
          console.log(await refused(() => model.outputShapes([input])));
          model.free();
          console.log(await refused(() => model.run([input])));
        """
        again = "the model has failed before; hint: load it again"
        assert node(tmp_path, script) == ["a worker of the model has failed", *[again] * 3, "the model has been freed"]

    def test_a_worker_that_does_not_start_is_an_error(self, tmp_path: Path) -> None:
        """In a browser, nobody is told of a promise that a worker has rejected, as here."""
        compile_here(save_tiny(tmp_path), tmp_path)
        loader = (tmp_path / "perpend-engine.mjs").read_text()
        line = "exports.__stack_pointer.value=stack;"
        assert loader.count(line) == 1
        (tmp_path / "perpend-engine.mjs").write_text(loader.replace(line, "throw RangeError('no stack');"))
        script = "console.log(await refused(() => load('m.wasm', { threads: 3 })));"
        done = ["a worker did not start: RangeError: no stack"]
        assert node(tmp_path, script, "--unhandled-rejections=none") == done

    @pytest.mark.parametrize(
        ("event", "expected"),
        [
            (
                "error",
                "its file could not be loaded; hint: serve perpend-engine.mjs with Cross-Origin-Embedder-Policy, too",
            ),
            ("messageerror", "its answer could not be read"),
        ],
    )
    def test_events_of_a_page_that_say_nothing(self, tmp_path: Path, event: str, expected: str) -> None:
        folder = save_page(tmp_path)
        script = f"""
          const {{ readFileSync }} = await import("node:fs"), page = await import("./page/perpend.mjs");
          globalThis.crossOriginIsolated = true;
          let ended = 0;
          globalThis.Worker = class {{
            addEventListener(kind, call) {{ if (kind === "{event}") setTimeout(() => call({{ type: kind }})); }}
            postMessage() {{}}
            terminate() {{ ++ended; }}
          }};
          await page.load(readFileSync("m.wasm"), {{ threads: 3 }}).catch(({{ message }}) => console.log(message));
          console.log(ended);
        """
        assert node(folder, script) == [f"a worker did not start: {expected}", "2"]

    def test_memory_for_threads_may_be_missing(self, tmp_path: Path) -> None:
        compile_here(save_products(tmp_path, 32), tmp_path)
        script = """
          const { Memory } = WebAssembly, x = { data: new Float32Array(32), shape: [1, 32] };
          WebAssembly.Memory = function (limits) { return new Memory({ ...limits, maximum: limits.initial + 20 }); };
          console.log(await refused(() => load("m.wasm", { threads: 8 })));
          WebAssembly.Memory = function () { throw new RangeError("no addresses"); };
          const model = await load("m.wasm", { threads: 8 });
          console.log(model.threads, model.run([x]).y.shape.join());
        """
        assert node(tmp_path, script) == ["no memory for 8 threads; hint: fewer threads", "1 1,32"]


@needs_node
class TestWeightsInFiles:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        text = succeed(
            "compile", save_products(tmp_path), "-o", tmp_path / "m.wasm", "--target", "wasm32", "--weights", "beside",
            folder=tmp_path,
        )  # fmt: skip
        assert f"needs {tmp_path / 'm.weights'}: " in text
        assert (tmp_path / "m.wasm").stat().st_size < 100_000 < (tmp_path / "m.weights").stat().st_size
        return tmp_path

    RUN = """
      const runs = async (options, source = "m.wasm") => {
        const model = await load(source, options), input = { data: new Float32Array(384).fill(0.5), shape: [1, 384] };
        return model.run([input]).y.data.reduce((a, b) => a + b).toFixed(4);
      };
      const { readFileSync, writeFileSync, renameSync, truncateSync } = await import("node:fs");
    """

    def test_they_are_read_from_beside_the_module(self, folder: Path) -> None:
        script = (
            self.RUN
            + """
          const seen = [];
          console.log(await runs({ progress: (step) => seen.push(step) }));
          const { size } = await import("node:fs").then((fs) => fs.statSync("m.weights"));
          console.log(seen.length > 1, seen.every(({ total }) => total === size), seen.at(-1).loaded === size);
          console.log(await runs({ threads: 2 }), await runs({}, new URL("m.wasm", import.meta.url)));
        """
        )
        assert node(folder, script) == ["1.0000", "true true true", "1.0000 1.0000"]

    def test_they_may_be_given(self, folder: Path) -> None:
        script = (
            self.RUN
            + """
          const weights = readFileSync("m.weights"), module = readFileSync("m.wasm");
          renameSync("m.weights", "other.weights");
          console.log(await runs({ weights }, module), await runs({ weights: "other.weights" }));
          console.log(await runs({ weights: async (file) => (file === "m.weights" ? weights.buffer : null) }));
          console.log(await refused(() => runs({}, module)));
          console.log(await refused(() => runs({})));
        """
        )
        assert node(folder, script) == [
            "1.0000 1.0000",
            "1.0000",
            "weights: the file 'm.weights' is missing; hint: pass {weights: its address or bytes}",
            "cannot load 'm.weights': there is no such file",
        ]

    def test_other_files_are_refused(self, folder: Path) -> None:
        script = (
            self.RUN
            + """
          const weights = readFileSync("m.weights"), size = weights.length;
          console.log(await refused(() => runs({ weights: weights.subarray(0, size - 1) })));
          console.log(await refused(() => runs({ weights: Buffer.concat([weights, Buffer.alloc(1)]) })));
          const damaged = Buffer.from(weights);
          damaged[size - 5] ^= 1;
          console.log(await refused(() => runs({ weights: damaged })));
          const foreign = Buffer.from(weights);
          foreign.fill(1, 0, 16);
          console.log(await refused(() => runs({ weights: foreign })));
          const old = Buffer.from(weights);
          old[24] ^= 1;
          console.log(await refused(() => runs({ weights: old })));
          console.log(size);
        """
        )
        *lines, size = node(folder, script)
        hint = "; hint: copy the file that was compiled with the model"
        assert lines[0] == f"weights: 'm.weights': expected {size} bytes, got {int(size) - 1}{hint}"
        assert lines[1] == f"weights: 'm.weights': expected {size} bytes, got more{hint}"
        assert re.fullmatch(r"weights: the file 'm.weights': checksum: expected \w{8}, got \w{8}; hint: .*", lines[2])
        assert re.fullmatch(
            r"weights: 'm.weights': expected weights with checksum \w+, got another kind of.*", lines[3]
        )
        assert re.fullmatch(
            r"weights: 'm.weights': expected weights with checksum \w+, got checksum \w+; h.*", lines[4]
        )

    SERVE = """
      const { createServer } = await import("node:http"), { once } = await import("node:events");
      const server = createServer((request, answer) => {
        const name = decodeURIComponent(request.url.split("/").at(-1)), content = readFileSync(name);
        if (!request.url.startsWith("/cut/")) return answer.end(content);
        answer.writeHead(200, { "content-length": content.length });
        answer.write(content.subarray(0, 100_000), () => setTimeout(() => answer.destroy(), 100));
      }).listen(0, "127.0.0.1");
      await once(server, "listening");
      const root = `http://127.0.0.1:${server.address().port}`;
    """

    def test_they_are_where_the_page_looks(self, folder: Path) -> None:
        """Addresses are from the base of the document, and names of files are no addresses."""
        save_page(folder)
        script = (
            self.RUN
            + self.SERVE
            + """
          writeFileSync("a #1?%41.wasm", Buffer.from(readFileSync("m.wasm").toString("latin1")
            .replaceAll("m.weights", "?.weights"), "latin1"));
          renameSync("m.weights", "?.weights");
          const page = await import("./page/perpend.mjs"), { fetch } = globalThis;
          globalThis.document = { baseURI: `${root}/folder/page.html` };
          globalThis.location = { href: "about:srcdoc" };
          globalThis.fetch = (source) => fetch(new URL(source, document.baseURI));
          const model = await page.load("a%20%231%3F%2541.wasm");
          console.log(model.run([{ data: new Float32Array(384), shape: [1, 384] }]).y.shape.join());
          server.close();
        """
        )
        assert node(folder, script) == ["1,384"]

    def test_a_connection_that_breaks_is_one_error(self, folder: Path) -> None:
        script = (
            self.RUN
            + self.SERVE
            + """
          const hidden = (text) => text.replace(root, "server").replace(/: [^:]*$/, "");
          console.log(hidden(await refused(() => runs({ weights: `${root}/cut/m.weights` }))));
          writeFileSync("large.wasm", Buffer.concat([readFileSync("m.wasm"), Buffer.alloc(200_000)]));
          console.log(hidden(await refused(() => runs({}, `${root}/cut/large.wasm`))));
          server.close();
        """
        )
        assert node(folder, script) == [
            "cannot load 'server/cut/m.weights'",
            "cannot load 'server/cut/large.wasm'",
        ]

    def test_more_than_an_engine_can_load_is_refused(self, tmp_path: Path) -> None:
        """The plan puts weights behind each other: one that begins at 2 GiB is refused before anything is written."""
        tiny = save_tiny(tmp_path)
        words = ["--target", "wasm32", "--weights", "beside"]
        succeed("compile", tiny, "-o", "m.wasm", *words, "--dump-phases", "phases", folder=tmp_path)
        (path,) = (tmp_path / "phases").glob("*-plan.mlir")
        text, count = re.subn(r"(host\.segment @\w+ at) 0\b", rf"\1 {1 << 31}", path.read_text())
        assert count
        path.write_text(text)
        error = reject("compile", tiny, "-o", "n.wasm", *words, "--override-phase", f"plan:{path}", folder=tmp_path)
        assert re.search(
            r"the weights have 21474\d+ bytes, and a model for 'wasm32' has at most 2147418112\nhint: ", error
        )

    def test_both_machines_read_one_file(self, tmp_path: Path) -> None:
        model = save_products(tmp_path)
        text = succeed("check", model, "--target", BOTH, "--weights", "beside", "--dim", "n=3", folder=tmp_path)
        assert text.endswith("the outputs agree\n")
        compile_here(model, tmp_path, BOTH, "--weights", "beside")
        assert {path.name for path in tmp_path.iterdir()} == {
            "products.onnx", "m.wasm", "m.weights", "perpend.mjs", "perpend-engine.mjs", "perpend.d.mts",
        }  # fmt: skip


@needs_node
def test_a_module_that_is_not_there(tmp_path: Path) -> None:
    compile_here(save_tiny(tmp_path), tmp_path)
    script = "console.log(await refused(() => load('none.wasm'))); console.log(await refused(() => load('data:,x')));"
    first, second = node(tmp_path, script)
    assert first == "cannot load 'none.wasm': there is no such file"
    assert second.startswith("no model: ")
