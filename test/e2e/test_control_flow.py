"""Branches, loops and sizes that depend on data, written at the graph level and run from the artifact."""

import resource
import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import perpend
import pytest
from e2e.models import CLANG, ROOT, run_tool

Run = Callable[..., Any]


def tensor(*shape: int | str, of: str = "f32") -> str:
    """The text of a tensor type."""
    extents = "".join(f"{'?' if isinstance(extent, str) else extent}x" for extent in shape)
    expressions = ", ".join(f'"{extent}"' for extent in shape)
    encoding = f", #graph.shape<[{expressions}]>" if any(isinstance(extent, str) for extent in shape) else ""
    return f"tensor<{extents}{of}{encoding}>"


def module(inputs: dict[str, str], body: str, outputs: dict[str, str]) -> str:
    arguments = ", ".join(f'%{name}: {kind} {{graph.name = "{name}"}}' for name, kind in inputs.items())
    results = ", ".join(f'{kind} {{graph.name = "{name}"}}' for name, kind in outputs.items())
    returned = f"return {', '.join('%' + name for name in outputs)} : {', '.join(outputs.values())}"
    return f"func.func @main({arguments}) -> ({results}) {{\n{body}\n{returned}\n}}"


def binary(result: str, function: str, a: str, b: str, kind: str, scalar: str = "f32", out: str = "") -> str:
    """result = function(a, b), elementwise."""
    return f"""
    %{result} = graph.map (%{a}, %{b}) : ({kind}, {kind}) -> {out or kind} {{
      ^bb0(%p: {scalar}, %q: {scalar}):
      %r = {function} %p, %q : {scalar}
      graph.yield %r : {"i1" if out else scalar}
    }}"""


def element(result: str, source: str, source_kind: str, index: str, of: str = "f32") -> str:
    """result[1] = source[index], for an index of rank 0."""
    return f"""
    %{result}_at = graph.reshape %{index} : tensor<i64> -> tensor<1xi64>
    %{result} = graph.gather %{source}[%{result}_at] axis 0 : ({source_kind}, tensor<1xi64>) -> tensor<1x{of}>"""


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape) + 1).standard_normal(shape).astype(np.float32)


def cumulate(start: np.ndarray, steps: np.ndarray) -> np.ndarray:
    return start + np.cumsum(np.concatenate([np.zeros((1, 4), np.float32), steps + np.zeros_like(start)]), axis=0)


class Checked:
    """A compiled model whose outputs are also compared with the interpreter's."""

    def __init__(self, text: str, level: int, threads: int) -> None:
        self.module = perpend.Module.from_text(text)
        self.model = perpend.compile(self.module, opt_level=level, threads=threads)

    def __call__(self, *inputs: Any) -> Any:
        outputs = self.model(*inputs)
        results = outputs if isinstance(outputs, tuple) else (outputs,)
        for got, expected in zip(results, self.module.evaluate(*map(np.asarray, inputs)), strict=True):
            assert got.shape == expected.shape and got.dtype == expected.dtype
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
        return outputs


@pytest.fixture(params=[(0, 1), (0, 2), (3, 1), (3, 2)], ids=lambda p: f"O{p[0]}-{p[1]}threads")
def build(request: pytest.FixtureRequest) -> Callable[[str], Checked]:
    level, threads = request.param
    return lambda text: Checked(text, level, threads)


# Loops

ROWS, STATE = tensor("n", 4), tensor(4)
ROW = element("x_1", "x", tensor("n"), "i")


def accumulate(loop: str, inputs: dict[str, str], stop: str = "", count: str = "n") -> str:
    """h += x[i]; every h and every 2 h are results."""
    ys = tensor(count, 4)
    body = f"""
    %h, %ys, %zs = graph.loop {loop} -> ({STATE}, {ys}, {ys}) {{
      ^bb0(%i: tensor<i64>, %c: {STATE}):
      {ROW}
      %b = graph.broadcast %x_1 dims [0] : tensor<1xf32> -> {STATE}
      {binary("s", "arith.addf", "b", "c", STATE)}
      {binary("t", "arith.addf", "s", "s", STATE)}
      {stop}
      graph.yield {"%go, " if stop else ""}%s, %s, %t : {"tensor<i1>, " if stop else ""}{STATE}, {STATE}, {STATE}
    }}"""
    return module({"x": tensor("n"), "h0": STATE, **inputs}, body, {"h": STATE, "ys": ys, "zs": ys})


@pytest.mark.parametrize("iterations", [0, 1, 2, 7])
def test_known_count(build: Run, iterations: int) -> None:
    model = build(accumulate(f'count <["n"]> carried (%h0 : {STATE}) symbols []', {}))
    x, start = floats(iterations), floats(4)
    expected = cumulate(start, x[:, None])
    h, ys, zs = model(x, start)
    np.testing.assert_allclose(h, expected[-1], rtol=1e-5)
    np.testing.assert_allclose(ys, expected[1:], rtol=1e-5)
    np.testing.assert_allclose(zs, 2 * expected[1:], rtol=1e-5)


LIMITED = accumulate(
    f'count <["steps"]> limit %limit : tensor<i64> carried (%h0 : {STATE}) symbols ["steps"]',
    {"limit": "tensor<i64>"},
    count="steps",
)


def test_limit(build: Run) -> None:
    model = build(LIMITED)
    x, start = floats(20), floats(4)
    expected = cumulate(start, x[:, None])
    assert model.model.outputs[1].shape == ["steps", 4]
    for count in [3, 0, 20, 1, -5, 8]:
        h, ys, zs = model(x, start, np.int64(count))
        count = max(count, 0)
        assert ys.shape == (count, 4)
        np.testing.assert_allclose(h, expected[count], rtol=1e-5)
        np.testing.assert_allclose(ys, expected[1 : count + 1], rtol=1e-5)
        np.testing.assert_allclose(zs, 2 * expected[1 : count + 1], rtol=1e-5)


def test_limit_and_condition(build: Run) -> None:
    """Goes on while the first element is below a bound."""
    stop = f"""
      %first = graph.slice %s <["0"]> [1] : {STATE} -> tensor<1xf32>
      %go_1 = graph.map (%first, %bound) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1> {{
        ^bb0(%p: f32, %q: f32):
        %r = arith.cmpf olt, %p, %q : f32
        graph.yield %r : i1
      }}
      %go = graph.reshape %go_1 : tensor<1xi1> -> tensor<i1>"""
    text = accumulate(
        'count <["steps"]> limit %limit : tensor<i64> while %go0 : tensor<i1> '
        f'carried (%h0 : {STATE}) symbols ["steps"]',
        {"limit": "tensor<i64>", "go0": "tensor<i1>", "bound": "tensor<1xf32>"},
        stop,
        "steps",
    )
    model = build(text)
    x, start = np.ones(20, np.float32), np.zeros(4, np.float32)
    for limit, first, bound, count in [(9, True, 5.0, 5), (3, True, 5.0, 3), (9, False, 5.0, 0), (9, True, -1.0, 1)]:
        h, ys, _ = model(x, start, np.int64(limit), np.bool_(first), np.array([bound], np.float32))
        np.testing.assert_array_equal(h, np.full(4, count, np.float32))
        np.testing.assert_array_equal(ys, np.tile(np.arange(1, count + 1, dtype=np.float32)[:, None], (1, 4)))


def test_carried_values_exchange(build: Run) -> None:
    """Values that are yielded as they came: exchanged, kept, replaced by one from outside."""
    kinds = f"{STATE}, {STATE}, {STATE}, {STATE}"
    body = f"""
    %a, %b, %c, %d = graph.loop count <["n"]> carried (%a0, %b0, %c0, %c0 : {kinds}) symbols [] -> ({kinds}) {{
      ^bb0(%i: tensor<i64>, %p: {STATE}, %q: {STATE}, %r: {STATE}, %s: {STATE}):
      graph.yield %q, %p, %r, %a0 : {kinds}
    }}"""
    inputs = {"x": tensor("n"), "a0": STATE, "b0": STATE, "c0": STATE}
    model = build(module(inputs, body, dict.fromkeys("abcd", STATE)))
    a0, b0, c0 = floats(4), floats(4) + 1, floats(4) + 2
    for count in [0, 1, 2, 5]:
        a, b, c, d = model(np.zeros(count, np.float32), a0, b0, c0)
        np.testing.assert_array_equal(a, b0 if count % 2 else a0)
        np.testing.assert_array_equal(b, a0 if count % 2 else b0)
        np.testing.assert_array_equal(c, c0)
        np.testing.assert_array_equal(d, a0 if count else c0)


NESTED = module(
    {"x": tensor("n"), "m": "tensor<i64>", "h0": STATE},
    f"""
    %h, %ys = graph.loop count <["n"]> carried (%h0 : {STATE}) symbols [] -> ({STATE}, {tensor("n", 4)}) {{
      ^bb0(%i: tensor<i64>, %c: {STATE}):
      {ROW}
      %b = graph.broadcast %x_1 dims [0] : tensor<1xf32> -> {STATE}
      %e = graph.loop count <["inner"]> limit %m : tensor<i64> carried (%c : {STATE}) symbols ["inner"] -> ({STATE}) {{
        ^bb0(%j: tensor<i64>, %d: {STATE}):
        {binary("s", "arith.addf", "b", "d", STATE)}
        graph.yield %s : {STATE}
      }}
      graph.yield %e, %b : {STATE}, {STATE}
    }}""",
    {"h": STATE, "ys": tensor("n", 4)},
)


def test_nested_loops(build: Run) -> None:
    model = build(NESTED)
    start = floats(4)
    for n, m in [(3, 2), (3, 3), (2, 0), (1, 1), (0, 4)]:
        x = floats(n)
        h, ys = model(x, np.int64(m), start)
        np.testing.assert_allclose(h, start + m * x.sum(), rtol=1e-4)
        np.testing.assert_array_equal(ys, np.repeat(x[:, None], 4, axis=1))


GROWING = module(
    {"x": STATE, "limit": "tensor<i64>", "h0": tensor("n")},
    f"""
    %h, %lasts = graph.loop count <["steps"]> limit %limit : tensor<i64> carried (%h0 : {tensor("n")})
        symbols ["steps", "k"] -> ({tensor("k")}, {tensor("steps", 4)}) {{
      ^bb0(%i: tensor<i64>, %c: {tensor("k")}):
      %d = graph.concat %c, %x axis 0 : ({tensor("k")}, {STATE}) -> {tensor("k + 4")}
      {binary("e", "arith.addf", "d", "d", tensor("k + 4"))}
      %f = graph.slice %e <["k"]> [1] : {tensor("k + 4")} -> {STATE}
      graph.yield %e, %f : {tensor("k + 4")}, {STATE}
    }}""",
    {"h": tensor("k"), "lasts": tensor("steps", 4)},
)


def test_growing_value(build: Run) -> None:
    model = build(GROWING)
    x = floats(4)
    for n, count in [(3, 4), (3, 5), (1, 0), (2, 1), (5, 40), (3, 4)]:
        start = floats(n)
        h, lasts = model(x, np.int64(count), start)
        expected = start
        for _ in range(count):
            expected = 2 * np.concatenate([expected, x])
        np.testing.assert_array_equal(h, expected)
        np.testing.assert_array_equal(lasts, np.tile(2 * x, (count, 1)))


ELEMENTS = module(
    {"sizes": tensor("n", of="i64"), "x": tensor("m")},
    f"""
    %ys = graph.loop count <["n"]> carried () symbols ["width"] -> ({tensor("n", "width")}) {{
      ^bb0(%i: tensor<i64>):
      {element("size_1", "sizes", tensor("n", of="i64"), "i", "i64")}
      graph.measure %size_1 as "part" : tensor<1xi64>
      graph.require <["m - part"]> "too wide"
      %y = graph.slice %x <["0"]> [1] : {tensor("m")} -> {tensor("part")}
      {binary("z", "arith.addf", "y", "y", tensor("part"))}
      graph.yield %z : {tensor("part")}
    }}""",
    {"ys": tensor("n", "width")},
)


def test_elements_of_unknown_extent(build: Run) -> None:
    model = build(ELEMENTS)
    x = floats(9)
    for width, count in [(3, 2), (9, 5), (0, 2), (1, 1)]:
        ys = model(np.full(count, width, np.int64), x)
        np.testing.assert_array_equal(ys, np.tile(2 * x[:width], (count, 1)))
    assert model(np.zeros(0, np.int64), x).shape == (0, 0)
    with pytest.raises(ValueError, match="expected elements of one shape for result 0, got 4"):
        model(np.array([3, 4]), x)


# Branches

BRANCHES = module(
    {"c": "tensor<i1>", "x": tensor("n")},
    f"""
    %y, %z, %w = graph.if %c symbols ["k"] : tensor<i1> -> ({tensor("k")}, {tensor("n")}, {tensor("n")}) {{
      {binary("s", "arith.addf", "x", "x", tensor("n"))}
      graph.yield %s, %s, %x : {tensor("n")}, {tensor("n")}, {tensor("n")}
    }} else {{
      %t = graph.concat %x, %x axis 0 : ({tensor("n")}, {tensor("n")}) -> {tensor("2*n")}
      {binary("u", "arith.mulf", "x", "x", tensor("n"))}
      {binary("v", "arith.subf", "u", "x", tensor("n"))}
      graph.yield %t, %u, %v : {tensor("2*n")}, {tensor("n")}, {tensor("n")}
    }}
    {binary("y2", "arith.addf", "y", "y", tensor("k"))}""",
    {"y": tensor("k"), "z": tensor("n"), "w": tensor("n"), "y2": tensor("k")},
)


def test_branches_of_different_extents(build: Run) -> None:
    model = build(BRANCHES)
    for n in [3, 1, 9, 0]:
        x = floats(n)
        for condition in [True, False, True]:
            y, z, w, y2 = model(np.bool_(condition), x)
            expected = 2 * x if condition else np.concatenate([x, x])
            np.testing.assert_array_equal(y, expected)
            np.testing.assert_array_equal(y2, 2 * expected)
            np.testing.assert_allclose(z, 2 * x if condition else x * x, rtol=1e-6)
            np.testing.assert_allclose(w, x if condition else x * x - x, rtol=1e-5, atol=1e-6)


def test_loop_in_a_branch(build: Run) -> None:
    text = module(
        {"c": "tensor<i1>", "x": tensor("n"), "h0": STATE},
        f"""
        %h = graph.if %c symbols [] : tensor<i1> -> ({STATE}) {{
          %l = graph.loop count <["n"]> carried (%h0 : {STATE}) symbols [] -> ({STATE}) {{
            ^bb0(%i: tensor<i64>, %d: {STATE}):
            {ROW}
            %b = graph.broadcast %x_1 dims [0] : tensor<1xf32> -> {STATE}
            {binary("s", "arith.addf", "b", "d", STATE)}
            graph.yield %s : {STATE}
          }}
          graph.yield %l : {STATE}
        }} else {{
          graph.yield %h0 : {STATE}
        }}""",
        {"h": STATE},
    )
    model = build(text)
    start = floats(4)
    for n in [4, 5, 1]:
        x = floats(n)
        np.testing.assert_allclose(model(np.bool_(True), x, start), start + x.sum(), rtol=1e-5)
        np.testing.assert_array_equal(model(np.bool_(False), x, start), start)


# Sizes from data

MEASURED = module(
    {"k": "tensor<i64>", "x": tensor("n", 3)},
    f"""
    graph.measure %k as "kept" : tensor<i64>
    graph.require <["n - kept"]> "too many rows"
    %y = graph.slice %x <["0", "0"]> [1, 1] : {tensor("n", 3)} -> {tensor("kept", 3)}
    {binary("z", "arith.addf", "y", "y", tensor("kept", 3))}
    %s = graph.reduce sum %z dims [0] : {tensor("kept", 3)} -> tensor<3xf32>""",
    {"y": tensor("kept", 3), "z": tensor("kept", 3), "s": "tensor<3xf32>"},
)


def test_measured_slice(build: Run) -> None:
    model = build(MEASURED)
    x = floats(6, 3)
    for count in [2, 6, 0, 1, 5]:
        y, z, s = model(np.int64(count), x)
        np.testing.assert_array_equal(y, x[:count])
        np.testing.assert_array_equal(z, 2 * x[:count])
        np.testing.assert_allclose(s, 2 * x[:count].sum(axis=0), rtol=1e-5, atol=1e-6)


def test_errors_of_a_run(build: Run) -> None:
    model = build(MEASURED)
    x = floats(6, 3)
    with pytest.raises(ValueError, match=r"at least 0 for kept, got -4; hint"):
        model(np.int64(-4), x)
    with pytest.raises(ValueError, match=r"too many rows: expected n >= kept, got"):
        model(np.int64(7), x)
    np.testing.assert_array_equal(model(np.int64(2), x)[0], x[:2])


def test_absurd_sizes_are_errors(build: Run) -> None:
    text = module(
        {"k": "tensor<i64>", "x": tensor(1, 8)},
        f"""
        graph.measure %k as "m" : tensor<i64>
        %y = graph.broadcast %x dims [0, 1] : {tensor(1, 8)} -> {tensor("m", 8)}""",
        {"y": tensor("m", 8)},
    )
    model = build(text)
    x = floats(1, 8)
    for count in [2**62, 2**61, 2**59, 2**55]:
        with pytest.raises(MemoryError):
            model(np.int64(count), x)
    np.testing.assert_array_equal(model(np.int64(3), x), np.tile(x, (3, 1)))


def test_extents_that_must_agree(build: Run) -> None:
    """A branch that yields another extent than the result has."""
    text = module(
        {"c": "tensor<i1>", "k": "tensor<i64>", "x": tensor("n")},
        f"""
        graph.measure %k as "m" : tensor<i64>
        graph.require <["n - m"]> "too many"
        %part = graph.slice %x <["0"]> [1] : {tensor("n")} -> {tensor("m")}
        %y = graph.if %c symbols [] : tensor<i1> -> ({tensor("n")}) {{
          {binary("s", "arith.addf", "part", "part", tensor("m"))}
          graph.yield %s : {tensor("m")}
        }} else {{
          graph.yield %x : {tensor("n")}
        }}""",
        {"y": tensor("n")},
    )
    model = build(text)
    x = floats(5)
    np.testing.assert_array_equal(model(np.bool_(True), np.int64(5), x), 2 * x)
    np.testing.assert_array_equal(model(np.bool_(False), np.int64(2), x), x)
    with pytest.raises(ValueError, match=r"value 0, dimension 0: expected n, got 2"):
        model(np.bool_(True), np.int64(2), x)


def test_symbols_must_be_defined_before_use() -> None:
    text = module(
        {"k": "tensor<i64>", "x": tensor("n")},
        f"""
        %y = graph.slice %x <["0"]> [1] : {tensor("n")} -> {tensor("m")}
        graph.measure %k as "m" : tensor<i64>""",
        {"y": tensor("m")},
    )
    with pytest.raises(perpend.CompileError, match="'m' is used, which no input has and no operator before defines"):
        perpend.compile(perpend.Module.from_text(text))


def test_memory_stays_flat() -> None:
    """Many runs with changing sizes."""
    model = perpend.compile(perpend.Module.from_text(GROWING), threads=2)
    x, start = floats(4), floats(300)
    generator = np.random.default_rng(1)

    def peak_after(runs: int) -> int:
        for _ in range(runs):
            model(x, np.int64(generator.integers(0, 30)), start[: generator.integers(1, 300)])
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = peak_after(300)
    assert peak_after(3000) - before < 2000, "KiB"


COUNTING_PROGRAM = """
#include <perpend.h>
#include <perpend_module.h>
#include <stdio.h>
#include <stdlib.h>

static long allocations;
void *__libc_malloc(size_t);
void *__libc_memalign(size_t, size_t);
void *malloc(size_t bytes) { ++allocations; return __libc_malloc(bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) { ++allocations; return __libc_memalign(alignment, bytes); }
const perpend_module *perpend_module_growing(void);

int main(void) {
  static float data[100];
  int64_t four = 4, n, limit;
  perpend_model *model;
  perpend_session *session;
  if (perpend_model_from_module(perpend_module_growing(), &model) || perpend_session_create(model, NULL, &session))
    return 1;
  for (int turn = 0; turn < 3; ++turn) {
    long before = allocations;
    for (limit = 40; limit >= 0; --limit)
      for (n = 1; n < 100; n += 49) {
        perpend_tensor inputs[3] = {{data, &four, 1, PERPEND_F32}, {&limit, NULL, 0, PERPEND_I64},
                                    {data, &n, 1, PERPEND_F32}}, outputs[2] = {{0}};
        if (perpend_session_run(session, inputs, 3, outputs, 2) || outputs[0].shape[0] != n + 4 * limit)
          return 2;
      }
    printf("%ld\\n", allocations - before);
    fflush(stdout);
  }
  return 0;
}
"""


def test_nothing_is_allocated_for_sizes_seen_before(tmp_path: Any) -> None:
    """Carried values exchange their memory; a later run still finds each buffer as large as it needs."""
    (tmp_path / "growing.mlir").write_text(GROWING)
    run_tool("compile", "growing.mlir", "-o", "growing.a", "--name", "growing", folder=tmp_path)
    (tmp_path / "main.c").write_text(COUNTING_PROGRAM)
    sources = [tmp_path / "main.c", tmp_path / "growing.a", "-lm", "-lpthread"]
    subprocess.run([CLANG, "-I", ROOT / "runtime/include", *sources, "-o", tmp_path / "main"], check=True, timeout=120)
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True, timeout=60)
    first, *others = map(int, done.stdout.split())
    assert first > 0 and others == [0, 0]


def test_executable(tmp_path: Any) -> None:
    perpend.Module.from_text(MEASURED).compile(str(tmp_path / "rows"), {}, True)
    np.save(tmp_path / "k.npy", np.int64(2))
    np.save(tmp_path / "x.npy", floats(6, 3))
    command = [tmp_path / "rows", "--input", tmp_path / "k.npy", "--input", tmp_path / "x.npy"]
    done = subprocess.run([*command, "--output-dir", tmp_path], capture_output=True, text=True, check=True, timeout=60)
    assert "y: f32 [2, 3]" in done.stdout
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), floats(6, 3)[:2])


@pytest.mark.parametrize("level", [0, 3])
def test_a_scan_of_nothing(level: int) -> None:
    """Its body has places in memory of 0 bytes, and never runs."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[0, 2, 4] x) => (float[0, 2, 4] y) {
      y = Scan <num_scan_inputs = 1, body = b (float[2, 4] e) => (float[2, 4] f) { t = Neg(e)  f = Softmax(t) }> (x)
    }"""
    compiled = perpend.compile(onnx.parser.parse_model(text), opt_level=level)
    assert np.asarray(compiled(np.zeros((0, 2, 4), np.float32))).shape == (0, 2, 4)
