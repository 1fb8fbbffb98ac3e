"""Rows that are longer than the stack allows, or of symbolic length: each thread keeps them in memory of its own."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import perpend
import pytest
from cli.tool import succeed
from numpy.typing import NDArray

generator = np.random.default_rng(0)
SOFTMAX = "t (float[r, n] x) => (float[r, n] y) { y = Softmax (x) }"
# Two rows are kept: the scores, of two inputs, and what they give.
MASKED = """t (float[h, r, n] x, float[r, n] m) => (float[h, r, n] y) <float c = {0.125}> {
  scaled = Mul (x, c)
  scores = Add (scaled, m)
  y = Softmax (scores)
}"""
# Around the ends of vectors, primes, more than 64 KiB; 0 and 1.
LENGTHS = [0, 1, 2, 7, 15, 16, 17, 1009, 16384, 16385, 70001]


def parse(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 20]>\n' + text)


def compiled(text: str, *counts: int) -> list[Any]:
    return [perpend.compile(parse(text), threads=threads) for threads in counts or (1, 2, 4)]


def softmax(x: NDArray[Any]) -> NDArray[Any]:
    if x.size == 0:
        return x
    powers = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    quotient: NDArray[Any] = powers / powers.sum(-1, keepdims=True)
    return quotient


def expect(models: list[Any], expected: NDArray[Any], *inputs: NDArray[Any]) -> None:
    alone, *together = (model(*inputs) for model in models)
    long = expected.shape[-1] / 50_000  # the error of a sum grows with its length
    np.testing.assert_allclose(alone, expected, 1e-5 * max(1.0, long), 1e-7)
    for other in together:
        np.testing.assert_array_equal(other, alone)


def normal(*shape: int) -> NDArray[np.float32]:
    return generator.standard_normal(shape).astype(np.float32)


def test_rows_of_symbolic_length() -> None:
    models = compiled(SOFTMAX)
    for n in LENGTHS:
        for rows in (0, 1, 3, 65 if n < 5000 else 9):
            x = normal(rows, n)
            expect(models, softmax(x), x)


def test_several_rows_of_symbolic_length() -> None:
    models = compiled(MASKED)
    for n in LENGTHS:
        for heads, rows in [(0, 2), (1, 1), (3, 7)]:
            x, mask = normal(heads, rows, n), normal(rows, n)
            expect(models, softmax(x / 8 + mask), x, mask)


def test_no_two_threads_share_a_part() -> None:
    """Every row is another one, so that what another thread left would show."""
    models = compiled(SOFTMAX, 1, 2, 4, 7)
    for rows, n in [(4000, 300), (100, 20_000), (6, 300_000)]:
        x = normal(rows, n) * np.linspace(0.1, 9, rows, dtype=np.float32)[:, None]
        for _ in range(3):
            expect(models, softmax(x), x)


def test_what_lives_meanwhile_stays() -> None:
    """A small value behind the parts of all threads in the arena."""
    models = compiled("""t (float[r, n] x, float[n, 2] v, float[2, 3] w) => (float[r, n] y, float[r, 3] z) {
      some = MatMul (x, v)
      y = Softmax (x)
      z = MatMul (some, w)
    }""")
    for n in (2000, 30_000):
        x, v, w = normal(40, n), normal(n, 2), normal(2, 3)
        alone, *together = ([model(x, v, w) for _ in range(3)] for model in models)
        for results in (*alone, *(each for runs in together for each in runs)):
            np.testing.assert_array_equal(results[0], alone[0][0])
            np.testing.assert_allclose(results[1], x @ v @ w, 1e-3, 1e-2)


def test_sessions_at_the_same_time() -> None:
    model = perpend.compile(parse(SOFTMAX), threads=2)
    given = [normal(50 + i, 5000) for i in range(4)]
    wrong: list[int] = []

    def run(number: int) -> None:
        for _ in range(10):
            if not np.allclose(model(given[number]), softmax(given[number]), 1e-5, 1e-7):
                wrong.append(number)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(given))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("n", [16_385, 40_000, 262_144])
def test_rows_of_a_known_length_beyond_the_stack(n: int) -> None:
    models = compiled(f"t (float[r, {n}] x) => (float[r, {n}] y) {{ y = Softmax (x) }}")
    for rows in (0, 1, 5):
        x = normal(rows, n)
        expect(models, softmax(x), x)


def test_lengths_that_the_data_decide() -> None:
    models = compiled("""t (float[r, n] x, bool[n] keep) => (float[r, k] y) {
      some = Compress <axis = 1> (x, keep)
      y = Softmax (some)
    }""")
    for n in LENGTHS:
        x, keep = normal(9, n), generator.random(n) < 0.7
        expect(models, softmax(x[:, keep]), x, keep)


def test_inside_branches_and_loops() -> None:
    models = compiled("""t (float[r, n] x, bool go, int64 count) => (float[r, n] y, float[r, n] z) <bool yes = {1}> {
      y = If (go) <
        then_branch = a () => (float[r, n] p) { p = Softmax (x) },
        else_branch = b () => (float[r, n] q) { q = Neg (x) }>
      z = Loop (count, yes, x) <
        body = body (int64 i, bool more, float[r, n] h) => (bool again, float[r, n] next) {
          again = Identity (more)
          next = Softmax (h)
        }>
    }""")
    for n in (1, 17, 20_000):
        x = normal(5, n)
        once = softmax(x)
        for go, count in [(True, 0), (False, 1), (True, 3)]:
            expected = x
            for _ in range(count):
                expected = softmax(expected)
            for model in models:
                y, z = model(x, np.array(go), np.array(count))
                np.testing.assert_allclose(y, once if go else -x, 1e-5, 1e-7)
                np.testing.assert_allclose(z, expected, 1e-5, 1e-7)


@pytest.mark.parametrize(
    "lengths", [("r=0", "n=5"), ("r=1", "n=1"), ("r=3", "n=0"), ("r=5", "n=17"), ("r=2", "n=17000")]
)
def test_the_interpreter_agrees(tmp_path: Path, lengths: tuple[str, str]) -> None:
    onnx.save(parse(MASKED.replace("h, r", "2, r")), tmp_path / "m.onnx")
    symbols = [part for symbol in lengths for part in ("--symbol", symbol)]
    for options in (["-O0"], ["-O1"], ["-O3", "--checked"]):
        text = succeed("check", "m.onnx", "--against", "interpreter", *symbols, *options, folder=tmp_path)
        assert "the outputs agree" in text


def test_the_plan_says_what_each_thread_has(tmp_path: Path) -> None:
    onnx.save(parse(SOFTMAX), tmp_path / "m.onnx")
    text = succeed("inspect", "m.onnx", folder=tmp_path)
    assert "memory plan, where every symbol is 2, with one thread: 128 bytes\n" in text
    assert "64*floordiv(n + 15, 16) + 64 for each of at most r threads\n" in text
    text = succeed("compile", "m.onnx", "-o", "m.so", folder=tmp_path)
    assert "arena depends on the inputs or the threads" in text
    # A single unit needs a single part.
    row = parse(SOFTMAX.replace("[r, n]", "[1, 40000]"))
    assert perpend.compile(row).report.arena_bytes == 40000 * 4 + 64
