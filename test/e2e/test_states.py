"""States: values that a session keeps from run to run, from graph text, ONNX and PyTorch."""

from __future__ import annotations

import copy
import re
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import perpend
import pytest
from cli.tool import reject, succeed


def rows(extent: str, width: int = 4) -> str:
    return f'tensor<?x{width}xf32, #graph.shape<["{extent}", {width}]>>'


def mapped(result: str, operands: list[str], kind: str, body: str) -> str:
    """An elementwise operator: %result = body(a, b)."""
    letters = ", ".join(f"%{letter}: f32" for letter in "abc"[: len(operands)])
    types = ", ".join([kind] * len(operands))
    return (
        f"%{result} = graph.map ({', '.join('%' + name for name in operands)}) : ({types}) -> {kind} {{\n"
        f"^bb0({letters}):\n  %body = {body}\n  graph.yield %body : f32\n}}\n"
    )


COUNTER = f"""
func.func @main(%step: tensor<4xf32> {{graph.name = "step"}}, %count: tensor<4xf32> {{graph.state = "count"}})
    -> (tensor<4xf32> {{graph.name = "doubled"}}, tensor<4xf32> {{graph.state = "count"}}) {{
  {mapped("next", ["count", "step"], "tensor<4xf32>", "arith.addf %a, %b : f32")}
  {mapped("doubled", ["next"], "tensor<4xf32>", "arith.addf %a, %a : f32")}
  return %doubled, %next : tensor<4xf32>, tensor<4xf32>
}}"""

# Squares of rows are appended; the sums of all rows come back.
APPEND = f"""
func.func @main(%x: {rows("n")} {{graph.name = "x"}},
                %k: {rows("length")} {{graph.state = "k", graph.capacity = 20 : i64}})
    -> (tensor<4xf32> {{graph.name = "sums"}}, {rows("length + n")} {{graph.state = "k"}}) {{
  {mapped("row", ["x"], rows("n"), "arith.mulf %a, %a : f32")}
  %k1 = graph.update %k, %row at <["length"]> axis 0 : ({rows("length")}, {rows("n")}) -> {rows("length + n")}
  %sums = graph.reduce sum %k1 dims [0] : {rows("length + n")} -> tensor<4xf32>
  return %sums, %k1 : tensor<4xf32>, {rows("length + n")}
}}"""


def ring(capacity: int, before: str = "") -> str:
    """One row goes to position mod capacity; `before`: "old" also returns the sums of the old value."""
    kind = f"tensor<{capacity}x4xf32>"
    sums = f"%sums = graph.reduce sum %{'k' if before else 'k1'} dims [0] : {kind} -> tensor<4xf32>"
    return f"""
func.func @main(%x: tensor<1x4xf32> {{graph.name = "x"}}, %k: {kind} {{graph.state = "k"}},
                %position: tensor<i64> {{graph.state = "position"}})
    -> (tensor<4xf32> {{graph.name = "sums"}}, {kind} {{graph.state = "k"}},
        tensor<i64> {{graph.state = "position"}}) {{
  graph.measure %position as "p" : tensor<i64>
  {mapped("row", ["x"], "tensor<1x4xf32>", "arith.mulf %a, %a : f32")}
  %k1 = graph.update %k, %row at <["mod(p, {capacity})"]> axis 0 : ({kind}, tensor<1x4xf32>) -> {kind}
  {sums}
  %next = graph.map (%position) : (tensor<i64>) -> tensor<i64> {{
  ^bb0(%a: i64):
    %one = arith.constant 1 : i64
    %v = arith.addi %a, %one : i64
    graph.yield %v : i64
  }}
  return %sums, %k1, %next : tensor<4xf32>, {kind}, tensor<i64>
}}"""


def write(folder: Path, text: str, name: str = "model") -> Path:
    path = folder / f"{name}.mlir"
    path.write_text(text)
    return path


def compiled(folder: Path, text: str, **options: Any) -> Any:
    return perpend.compile(write(folder, text), **options)


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_counter(tmp_path: Path, level: int, threads: int) -> None:
    model = compiled(tmp_path, COUNTER, opt_level=level, threads=threads)
    step = np.arange(4, dtype=np.float32)
    for run in range(1, 6):
        np.testing.assert_array_equal(model(step), 2 * run * step)
    np.testing.assert_array_equal(model.states["count"], 5 * step)
    model.reset()
    np.testing.assert_array_equal(model(step), 2 * step)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_rows_are_appended(tmp_path: Path, level: int) -> None:
    model = compiled(tmp_path, APPEND, opt_level=level)
    expected = np.zeros((0, 4), np.float32)
    for count in (1, 3, 0, 5, 1, 10):
        x = np.random.default_rng(count).standard_normal((count, 4)).astype(np.float32)
        expected = np.concatenate([expected, x * x])
        np.testing.assert_allclose(model(x), expected.sum(0), rtol=1e-6)
        np.testing.assert_array_equal(model.states["k"], expected)
    with pytest.raises(ValueError, match=r"state 'k' needs length \+ n <= 20.*got 21"):
        model(np.ones((1, 4), np.float32))
    np.testing.assert_array_equal(model.states["k"], expected)
    model.truncate(2)
    np.testing.assert_allclose(model(x[:0]), expected[:2].sum(0), rtol=1e-6)


def test_sessions_fork_save_and_load(tmp_path: Path) -> None:
    model = compiled(tmp_path, APPEND)
    one, two = np.ones((1, 4), np.float32), np.full((1, 4), 2, np.float32)
    model(one)
    fork, fresh = model.fork(), model.session()
    np.testing.assert_array_equal(model(two), [5] * 4)
    np.testing.assert_array_equal(fork(one), [2] * 4)
    np.testing.assert_array_equal(fresh(two), [4] * 4)
    np.testing.assert_array_equal(copy.deepcopy(model)(one), [6] * 4)
    saved = model.save_states()
    np.testing.assert_array_equal(model(one), [6] * 4)
    other = perpend.load(Path(model.path))
    other.load_states(saved)
    np.testing.assert_array_equal(other(one), [6] * 4)
    for damaged in (b"", saved[:-1], saved + b"\0", saved[:40] + b"\xff" + saved[41:], b"x" * len(saved)):
        with pytest.raises(RuntimeError, match="states: "):
            other.load_states(damaged)
    np.testing.assert_array_equal(other.states["k"], model.states["k"])


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_ring(tmp_path: Path, level: int) -> None:
    model = compiled(tmp_path, ring(3), opt_level=level)
    expected = np.zeros((3, 4), np.float32)
    for run in range(8):
        x = np.full((1, 4), run + 1, np.float32)
        expected[run % 3] = x * x
        np.testing.assert_array_equal(model(x), expected.sum(0))
    np.testing.assert_array_equal(model.states["k"], expected)
    assert model.states["position"] == 8


@pytest.mark.parametrize("text", [COUNTER, APPEND, ring(5), ring(5, "old")], ids=["counter", "append", "ring", "old"])
@pytest.mark.parametrize("level", ["0", "2"])
def test_the_interpreter_agrees(tmp_path: Path, text: str, level: str) -> None:
    said = succeed("check", write(tmp_path, text), "-O", level, "--against", "interpreter,plan", folder=tmp_path)
    assert said.count("the outputs agree") == 2, said


def plan(folder: Path, text: str) -> str:
    return succeed("inspect", write(folder, text), "--stage", "plan", folder=folder)


def test_the_plan_copies_nothing(tmp_path: Path) -> None:
    """Where the position is data, the row is computed apart and copied, but nothing as large as the state is."""
    for text in (COUNTER, APPEND, ring(1000000), ring(1000000, "old")):
        copies = [line for line in plan(tmp_path, text).splitlines() if "host.copy" in line]
        assert len(copies) == text.count("mod(")
        assert all(": <[1, 4] x f32> to <[1, 4] x f32>" in line for line in copies)
    assert re.search(r"host\.state @s0 \"k\" : !host\.place<\[20, 4\] x f32> growing 0", plan(tmp_path, APPEND))


def test_an_input_is_copied_row_by_row(tmp_path: Path) -> None:
    text = APPEND.replace("graph.update %k, %row", "graph.update %k, %x")
    copies = [line for line in plan(tmp_path, text).splitlines() if "host.copy" in line]
    assert len(copies) == 1
    assert ": <[n, 4] x f32> to <[n, 4] x f32>" in copies[0]


def test_one_row_of_many_costs_one_row(tmp_path: Path) -> None:
    """All of the state are 64 MB, which take some milliseconds to copy."""
    count, width = 1000000, 16
    kind = f"tensor<{count}x{width}xf32>"
    model = compiled(
        tmp_path,
        f"""
func.func @main(%x: tensor<1x{width}xf32> {{graph.name = "x"}}, %at: tensor<i64> {{graph.name = "at"}},
                %k: {kind} {{graph.state = "k"}})
    -> (tensor<1x{width}xf32> {{graph.name = "row"}}, {kind} {{graph.state = "k"}}) {{
  graph.measure %at as "p" : tensor<i64>
  {mapped("row", ["x"], f"tensor<1x{width}xf32>", "arith.addf %a, %a : f32")}
  %k1 = graph.update %k, %row at <["p"]> axis 0 : ({kind}, tensor<1x{width}xf32>) -> {kind}
  %read = graph.slice %k1 <["p", 0]> [1, 1] : {kind} -> tensor<1x{width}xf32>
  return %read, %k1 : tensor<1x{width}xf32>, {kind}
}}""",
        threads=1,
    )
    x, times = np.ones((1, width), np.float32), []
    for run in range(50):
        start = time.perf_counter()
        row = model(x, np.array(run * 19997, np.int64))
        times.append(time.perf_counter() - start)
        np.testing.assert_array_equal(row, 2 * x)
    assert sorted(times)[len(times) // 2] < 1e-3
    assert model.states["k"].sum() == 50 * 2 * width
    with pytest.raises(ValueError, match="expected"):
        model(x, np.array(count, np.int64))


def test_a_reader_of_the_old_value_comes_before_the_update(tmp_path: Path) -> None:
    model = compiled(tmp_path, ring(4, "old"))
    before = 0.0
    for run in range(6):
        np.testing.assert_array_equal(model(np.full((1, 4), run + 1, np.float32)), [before] * 4)
        before = model.states["k"][:, 0].sum()


def test_a_state_that_would_be_copied_is_refused(tmp_path: Path) -> None:
    kind = "tensor<5x4xf32>"
    text = f"""
func.func @main(%x: tensor<1x4xf32> {{graph.name = "x"}}, %k: {kind} {{graph.state = "k"}})
    -> ({kind} {{graph.name = "y"}}, {kind} {{graph.state = "k"}}) {{
  %k1 = graph.update %k, %x at <["2"]> axis 0 : ({kind}, tensor<1x4xf32>) -> {kind}
  %sums = graph.reduce sum %k1 dims [1] : {kind} -> tensor<5xf32>
  %wide = graph.broadcast %sums dims [0] : tensor<5xf32> -> {kind}
  {mapped("y", ["k", "wide"], kind, "arith.mulf %a, %b : f32").strip()} loc("difference")
  return %y, %k1 : {kind}, {kind}
}}"""
    said = reject("compile", write(tmp_path, text), "-o", tmp_path / "model.so", folder=tmp_path)
    assert "node 'difference'" in said
    assert "expected a state that is read before it is updated, got a reader of its old value" in said
    assert "hint: " in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (COUNTER.replace('graph.state = "count"})', 'graph.state = "other"})', 1), "S2: expected the states"),
        (APPEND.replace(", graph.capacity = 20 : i64", ""), "S4: expected graph.capacity"),
        (APPEND.replace("= 20", "= 0"), "S4: expected graph.capacity"),
        (
            COUNTER.replace('"count"}', '"count", graph.initial = dense<0.0> : tensor<3xf32>}', 1),
            "S5: expected an init",
        ),
        (COUNTER.replace('"count"}', '"count", graph.capacity = 3 : i64}', 1), "S4: expected graph.capacity"),
    ],
    ids=["order", "no capacity", "no rows", "initial value", "capacity of a fixed state"],
)
def test_states_that_are_none_are_refused(tmp_path: Path, text: str, message: str) -> None:
    assert message in reject("compile", write(tmp_path, text), "-o", tmp_path / "model.so", folder=tmp_path)


def test_an_initial_value(tmp_path: Path) -> None:
    text = COUNTER.replace('"count"}', '"count", graph.initial = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>}', 1)
    for target in ("host", ["x86-64", "x86-64-v3"]):
        model = compiled(tmp_path, text, target=target)
        for _ in range(2):
            np.testing.assert_array_equal(model.states["count"], [1, 2, 3, 4])
            np.testing.assert_array_equal(model(np.ones(4, np.float32)), [4, 6, 8, 10])
            model.reset()


def test_initial_rows(tmp_path: Path) -> None:
    text = APPEND.replace("= 20 : i64", "= 20 : i64, graph.initial = dense<2.0> : tensor<3x4xf32>")
    model = compiled(tmp_path, text)
    np.testing.assert_array_equal(model(np.ones((1, 4), np.float32)), [7] * 4)
    model.reset()
    assert model.states["k"].shape == (3, 4)


def test_a_model_without_states_links_nothing_of_them(tmp_path: Path) -> None:
    graph = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 20]>\nt (float[3] x) => (float[3] y) { y = Relu (x) }'
    )
    plain, counting = perpend.compile(graph), compiled(tmp_path, COUNTER)
    symbols = [Path(model.path).read_bytes().count(b"perpend_session_fork") for model in (plain, counting)]
    assert symbols[0] == 0 and symbols[1] > 0


UPDATE = f"""
func.func @main(%x: {rows("n")} {{graph.name = "x"}}, %y: {rows("m")} {{graph.name = "y"}})
    -> ({rows("n")} {{graph.name = "inside"}}, {rows("n + m")} {{graph.name = "behind"}}) {{
  %inside = graph.update %x, %y at <["n - m"]> axis 0 : ({rows("n")}, {rows("m")}) -> {rows("n")}
  %behind = graph.update %x, %y at <["n"]> axis 0 : ({rows("n")}, {rows("m")}) -> {rows("n + m")}
  {mapped("negated", ["behind"], rows("n + m"), "arith.negf %a : f32")}
  return %inside, %negated : {rows("n")}, {rows("n + m")}
}}"""


@pytest.mark.parametrize("level", [0, 1, 2])
def test_an_update_of_what_is_no_state(tmp_path: Path, level: int) -> None:
    model = compiled(tmp_path, UPDATE, opt_level=level)
    generator = np.random.default_rng(0)
    for n, m in ((5, 2), (1, 1), (3, 0), (0, 0), (7, 7)):
        x, y = (generator.standard_normal((count, 4)).astype(np.float32) for count in (n, m))
        inside, behind = model(x, y)
        np.testing.assert_array_equal(inside, np.concatenate([x[: n - m], y]))
        np.testing.assert_array_equal(behind, -np.concatenate([x, y]))
    with pytest.raises(ValueError, match="needs"):
        model(x[:1], y[:2])


def test_inspect_lists_them(tmp_path: Path) -> None:
    line = "state    k: f32 [20, 4]; dimension 0 grows, this is the most"
    path = write(tmp_path, APPEND)
    assert line in succeed("inspect", path, folder=tmp_path).splitlines()
    succeed("compile", path, "-o", tmp_path / "model.so", folder=tmp_path)
    said = succeed("inspect", tmp_path / "model.so", folder=tmp_path).splitlines()
    assert line in said
    assert [text for text in said if text.startswith(("input", "output"))] == [
        "input    x: f32 [n, 4]",
        "output   sums: f32 [4]",
    ]


def test_bench_runs_with_one_length(tmp_path: Path) -> None:
    said = succeed("bench", write(tmp_path, APPEND), "--symbol", "n=8", "--time", "20", folder=tmp_path)
    assert "median ms" in said


def test_states_in_memory_of_the_caller(tmp_path: Path) -> None:
    """As torch.compile calls: the model's own states stay as they are."""
    counter, append = compiled(tmp_path, COUNTER), compiled(tmp_path, APPEND)
    step, x = np.arange(4, dtype=np.float32), np.full((2, 4), 3, np.float32)
    counter(step)
    append(x)
    given, rows = np.full(4, 100, np.float32), np.ones((7, 4), np.float32)
    np.testing.assert_array_equal(counter.call_with([(given.ctypes.data, [4])], step), 2 * (100 + step))
    np.testing.assert_array_equal(given, 100 + step)
    np.testing.assert_array_equal(append.call_with([(rows.ctypes.data, [3, 4])], x), [21] * 4)
    np.testing.assert_array_equal(rows[:, 0], [1, 1, 1, 9, 9, 1, 1])
    with pytest.raises(ValueError, match=r"state 'k' needs length \+ n <= 20.*got 21"):
        append.call_with([(rows.ctypes.data, [19, 4])], x)
    for extents in ([21, 4], [-1, 4], [3, 5]):
        with pytest.raises(ValueError, match="state 'k': the caller's memory has other extents"):
            append.call_with([(rows.ctypes.data, extents)], x)
    for states in ([], [(rows.ctypes.data, [3])], [(rows.ctypes.data, [3, 4])] * 2):
        with pytest.raises(ValueError, match="expected an address and extents for each state"):
            append.call_with(states, x)
    np.testing.assert_array_equal(counter(step), 4 * step)
    np.testing.assert_array_equal(append(x), [36] * 4)


def test_threads_take_turns(tmp_path: Path) -> None:
    model = compiled(tmp_path, COUNTER)
    step = np.ones(4, np.float32)
    threads = [threading.Thread(target=lambda: [model(step) for _ in range(100)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(model.states["count"], [400] * 4)


# One head of attention with a cache: what a front end for language models makes.
ATTENTION = f"""
func.func @main(%q: {rows("n", 8)} {{graph.name = "q"}}, %k: {rows("n", 8)} {{graph.name = "k"}},
                %v: {rows("n", 8)} {{graph.name = "v"}},
                %keys: {rows("length", 8)} {{graph.state = "keys", graph.capacity = 64 : i64}},
                %values: {rows("length", 8)} {{graph.state = "values", graph.capacity = 64 : i64}})
    -> ({rows("n", 8)} {{graph.name = "y"}}, {rows("length + n", 8)} {{graph.state = "keys"}},
        {rows("length + n", 8)} {{graph.state = "values"}}) {{
  {mapped("turned", ["k"], rows("n", 8), "arith.negf %a : f32")}
  {mapped("halved", ["v"], rows("n", 8), "arith.addf %a, %a : f32")}
  %all_keys = graph.concat %keys, %turned axis 0 : ({rows("length", 8)}, {rows("n", 8)}) -> {rows("length + n", 8)}
  %all_values = graph.concat %values, %halved axis 0 : ({rows("length", 8)}, {rows("n", 8)}) -> {rows("length + n", 8)}
  %scores = graph.contract %q, %all_keys batch [] x [] over [1] x [1]
    : ({rows("n", 8)}, {rows("length + n", 8)}) -> tensor<?x?xf32, #graph.shape<["n", "length + n"]>>
  %y = graph.contract %scores, %all_values batch [] x [] over [1] x [0]
    : (tensor<?x?xf32, #graph.shape<["n", "length + n"]>>, {rows("length + n", 8)}) -> {rows("n", 8)}
  return %y, %all_keys, %all_values : {rows("n", 8)}, {rows("length + n", 8)}, {rows("length + n", 8)}
}}"""


@pytest.mark.parametrize("level", [0, 2])
def test_attention_over_a_cache(tmp_path: Path, level: int) -> None:
    assert "host.copy" not in plan(tmp_path, ATTENTION)
    model = compiled(tmp_path, ATTENTION, opt_level=level)
    generator = np.random.default_rng(0)
    keys = values = np.zeros((0, 8), np.float32)
    for count in (5, 1, 1, 3):
        q, k, v = (generator.standard_normal((count, 8)).astype(np.float32) for _ in range(3))
        keys, values = np.concatenate([keys, -k]), np.concatenate([values, 2 * v])
        np.testing.assert_allclose(model(q, k, v), q @ keys.T @ values, rtol=1e-4, atol=1e-5)


DECODER = """t (float[batch, 2, n, 4] x, float[batch, 2, past, 4] past_key_0, float[batch, 2, past, 4] past_value_0)
  => (float[batch, 2, n, m] y, float[batch, 2, m, 4] present_key_0, float[batch, 2, m, 4] present_value_0) {
  turned = Neg (x)
  present_key_0 = Concat <axis = 2> (past_key_0, turned)
  doubled = Add (x, x)
  present_value_0 = Concat <axis = 2> (past_value_0, doubled)
  product = Mul (present_key_0, present_value_0)
  sums = ReduceSum <keepdims = 1> (product)
  across = Transpose <perm = [0, 1, 3, 2]> (present_key_0)
  scores = MatMul (x, across)
  y = Add (scores, sums)
}"""


def test_inputs_and_outputs_of_onnx(tmp_path: Path) -> None:
    proto = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 20]>\n' + DECODER)
    path = tmp_path / "decoder.onnx"
    onnx.save(proto, path)
    plain = perpend.compile(path, dims={"batch": 1})
    model = perpend.compile(path, dims={"batch": 1}, states={"past_*": "present_*:32"})
    assert [info.name for info in model.inputs] == ["x"]
    assert [info.name for info in model.outputs] == ["y"]
    past = [np.zeros((1, 2, 0, 4), np.float32)] * 2
    for count in (3, 1, 1, 4):
        x = np.random.default_rng(count).standard_normal((1, 2, count, 4)).astype(np.float32)
        y, *past = plain(x, *past)
        np.testing.assert_allclose(model(x), y, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(model.states["past_key_0"], past[0].transpose(2, 0, 1, 3))
    said = succeed(
        "inspect", path, "--dim", "batch=1", "--state", "past_*=present_*:32", "--stage", "plan", folder=tmp_path
    )
    assert "host.copy" not in said
    arguments = ("--dim", "batch=1", "--state", "past_*=present_*:32", "--symbol", "n=2")
    said = succeed("check", path, *arguments, "--against", "interpreter,plan", folder=tmp_path)
    assert said.count("the outputs agree") == 2, said


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("past_*", "option '--state': expected INPUT=OUTPUT"),
        ("old_*=present_*", "option 'old_*=present_*': no input is called 'old_*'"),
        ("past_*=next_*", "expected an output 'next_key_0'"),
        ("past_key_0=y", "S3: expected a result with the element type and the extents"),
    ],
)
def test_options_that_are_wrong(tmp_path: Path, state: str, message: str) -> None:
    path = tmp_path / "decoder.onnx"
    onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 20]>\n' + DECODER), path)
    arguments = ("--dim", "batch=1", "--dim", "m=9") if "y" in state else ("--dim", "batch=1")
    assert message in reject(
        "compile", path, *arguments[:2], "--state", state, "-o", tmp_path / "model.so", folder=tmp_path
    )


def test_a_batch_of_any_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "decoder.onnx"
    onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 20]>\n' + DECODER), path)
    said = reject("compile", path, "--state", "past_*=present_*", "-o", tmp_path / "model.so", folder=tmp_path)
    assert "expected extents that are numbers, but for the one that grows" in said
    assert "--dim batch=1" in said
