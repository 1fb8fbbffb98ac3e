"""Operators with kernels in Python: compiled and interpreted, calls that are not pure, and their life."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import perpend
import pytest
from perpend import Operator
from python.user_operators import COUNT, HEAD, model, twice


def test_compiled_and_interpreted() -> None:
    operator = twice(lambda x, factor: (x * factor).astype(x.dtype), attributes={"factor": 2})
    text = HEAD + "f (float[n, m] x) => (float[n, m] y) { a = mine.Twice <factor = 3> (x)\n y = mine.Twice (a) }"
    compiled = perpend.compile(model(text), operators=[operator])
    module = perpend.import_model(model(text), operators=[operator])
    del operator  # models keep what they call
    for rows in (3, 0, 1):
        x = np.arange(rows * 2, dtype=np.float32).reshape(rows, 2)
        np.testing.assert_array_equal(compiled(x), 6 * x)
        np.testing.assert_array_equal(module.evaluate(x)[0], 6 * x)


def test_any_type_texts_and_several_results() -> None:
    def split(words: np.ndarray, letters: str = "") -> tuple[Any, Any]:
        kept = [word for word in words.tolist() if word[:1] in letters]
        return np.array(kept, dtype=object), np.int64(len(words) - len(kept))

    operator = Operator(
        "mine", "Starts", split, inputs=[("T", ["n"])], outputs=[("T", ["k"]), ("i64", [])], attributes={"letters": "b"}
    )
    text = HEAD + 'f (string[n] x) => (string[k] y, int64 rest) { y, rest = mine.Starts <letters = "ab"> (x) }'
    for run in (
        perpend.compile(model(text), operators=[operator]),
        lambda x: perpend.import_model(model(text), operators=[operator]).evaluate(x),
    ):
        kept, rest = run(np.array(["axe", "cat", "bär", ""], dtype=object))
        assert kept.tolist() == ["axe", "bär", ""] and rest == 1
        kept, rest = run(np.array([], dtype=object))
        assert kept.shape == (0,) and rest == 0


@pytest.mark.parametrize(("pure", "calls"), [(True, 1), (False, 2)])
def test_calls_that_are_not_pure_are_neither_merged_nor_left_out(pure: bool, calls: int) -> None:
    seen: list[int] = []
    operator = twice(lambda x: (seen.append(len(x)), 2 * x)[1], pure=pure)
    x = np.ones((1, 1), np.float32)
    assert perpend.compile(model(COUNT), operators=[operator])(x) == 4
    assert len(seen) == calls
    seen.clear()
    text = HEAD + "f (float[n, m] x) => (float[n, m] y) { a = mine.Twice (x)\n y = Neg (x) }"
    perpend.compile(model(text), operators=[operator])(x)
    assert len(seen) == calls - 1


def test_calls_that_are_not_pure_are_not_folded() -> None:
    seen: list[int] = []
    operator = twice(lambda x: (seen.append(1), x + len(seen))[1], pure=False)
    text = HEAD + "f (float[1, 1] x) => (float[1, 1] y) <float[1, 1] c = {3}> { a = mine.Twice (c)\n y = Add (a, x) }"
    compiled = perpend.compile(model(text), operators=[operator])
    assert not seen
    x = np.zeros((1, 1), np.float32)
    assert [compiled(x).item() for _ in range(3)] == [4, 5, 6]


def test_calls_that_are_not_pure_stay_in_their_loop_and_branch() -> None:
    seen: list[int] = []
    operator = twice(lambda x: (seen.append(1), 2 * x)[1], pure=False)
    text = (
        HEAD
        + """f (float[n, m] x, int64 count, bool go) => (float[n, m] y) <bool yes = {1}> {
      y = Loop (count, yes, x) <body = body (int64 i, bool c, float[n, m] h) => (bool again, float[n, m] next) {
          again = Identity (c)
          t = mine.Twice (x)
          next = Add (t, h)
        }>
      z = If (go) <
        then_branch = yes_graph () => (float[n, m] t) { t = mine.Twice (x) },
        else_branch = no_graph () => (float[n, m] e) { e = Identity (x) }>
    }"""
    )
    compiled = perpend.compile(model(text), operators=[operator])
    x = np.ones((1, 1), np.float32)
    for count, go in ((3, True), (0, True), (2, False)):
        seen.clear()
        assert compiled(x, np.int64(count), np.bool_(go)) == 1 + 2 * count
        assert len(seen) == count + go


def test_a_node_does_not_choose_what_is_called() -> None:
    wicked = model(COUNT)
    wicked.graph.node[0].attribute.append(onnx.helper.make_attribute("perpend.function", 0x1000))
    with pytest.raises(perpend.CompileError, match=r"names that begin with 'perpend\.' are reserved"):
        perpend.compile(wicked, operators=[twice(lambda x: x)])


def test_an_operator_that_is_gone(tmp_path: Path) -> None:
    operator = twice(lambda x: 2 * x)
    number = operator.description["attributes"]["perpend.operator"]
    perpend.import_model(model(COUNT), operators=[operator]).compile(str(tmp_path / "model.so"))
    compiled = perpend.load(tmp_path / "model.so")
    assert compiled(np.ones((1, 1), np.float32)) == 4 and perpend.operators.table[number] is operator
    del operator
    gc.collect()
    with pytest.raises(ValueError, match=r"the perpend\.Operator is gone; hint: keep it for as long as models call it"):
        compiled(np.ones((1, 1), np.float32))
    assert number not in perpend.operators.table


def test_operators_in_reference_cycles_leave_nothing_behind() -> None:
    gc.collect()
    before = len(perpend.operators.table)
    for _ in range(10):
        operator = twice(lambda x: 2 * x)
        operator.itself = operator  # type: ignore[attr-defined]
    del operator
    gc.collect()
    assert len(perpend.operators.table) == before


def test_lists_are_refused() -> None:
    operator = Operator("mine", "Any", lambda x: x, inputs=[("T", [])], outputs=[("T", [])])
    text = HEAD + "f (seq(float[n]) x) => (seq(float[n]) y) { y = mine.Any (x) }"
    with pytest.raises(ValueError, match="lists are not supported by operators in Python; hint"):
        perpend.compile(model(text), operators=[operator])([np.ones(2, np.float32)])


def test_the_interpreter_lock_is_free_between_calls() -> None:
    """Two threads meet inside their kernels: neither run may hold the lock while the other one calls Python."""
    meeting = threading.Barrier(2, timeout=60)
    operator = twice(lambda x: (meeting.wait(), 2 * x)[1])
    compiled = perpend.compile(model(COUNT), operators=[operator])
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(compiled(np.ones((1, 1), np.float32)))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert results == [4, 4]


def test_kernels_may_call_models() -> None:
    inner = perpend.compile(model(COUNT), operators=[twice(lambda x: 2 * x)])
    outer = perpend.compile(model(COUNT), operators=[twice(lambda x: inner(x))])
    assert outer(np.ones((1, 1), np.float32)) == 8


def test_such_a_model_is_not_saved(tmp_path: Path) -> None:
    operator = twice(lambda x: 2 * x)
    compiled = perpend.compile(model(COUNT), operators=[operator])
    with pytest.raises(ValueError, match=r"Python functions of this process \(mine\.Twice\).*\n.*bring a C function"):
        compiled.save(tmp_path / "model.so")
    unused = perpend.compile(model(HEAD + "f (float[n] x) => (float[n] y) { y = Neg (x) }"), operators=[operator])
    unused.save(tmp_path / "model.so")
    perpend.import_model(model(COUNT), operators=[operator]).compile(str(tmp_path / "own.so"))
    program = (
        "import numpy, perpend, sys\n"
        "try: perpend.load(sys.argv[1])(numpy.ones((1, 1), numpy.float32))\n"
        "except ValueError as error: print(error)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "own.so")]
    environment = {**os.environ, "PYTHONPATH": str(Path(perpend.__file__).parents[1])}
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert "its function is part of the process that compiled the model" in result.stdout, result.stderr
