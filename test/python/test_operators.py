"""Operators with kernels in Python: compiled, interpreted, and what descriptions say of extents and effects."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import perpend
import pytest
from onnx import parser
from perpend import Operator

HEAD = '<ir_version: 10, opset_import: ["" : 20, "mine" : 1]>\n'
COUNT = HEAD + "count (float[n, m] x) => (float[n, m] y) { a = mine.Twice (x)\n b = mine.Twice (x)\n y = Add (a, b) }"


def model(text: str) -> onnx.ModelProto:
    return parser.parse_model(text)


def twice(kernel: Callable[..., Any], **options: Any) -> Operator:
    return Operator("mine", "Twice", kernel, inputs=[("f32", ["a", "b"])], outputs=[("f32", ["a", "b"])], **options)


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


def test_chosen_extents_keep_their_pattern() -> None:
    def positive(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        kept = x[0][x[0] > 0]
        return np.concatenate([x[:, : len(kept)]] * 2, axis=1), kept, -kept

    operator = Operator(
        "mine",
        "Positive",
        positive,
        inputs=[("f32", ["n", "m"])],
        outputs=[("f32", ["n", "2*k"]), ("f32", ["k"]), ("f32", ["k"])],
    )
    text = HEAD + "f (float[n, m] x) => (float[n, p] wide, float[q] sum) { wide, a, b = mine.Positive (x)\n"
    compiled = perpend.compile(model(text + "sum = Add (a, b) }"), operators=[operator])
    wide, total = (output.shape for output in compiled.outputs)
    assert wide == ["n", f"2*{total[0]}"]
    module = perpend.import_model(model(text + "sum = Add (a, b) }"), operators=[operator])
    for x in ([[1, -1, 2], [3, 4, 5]], [[-1, -2, -3]], [[1, 2, 3]]):
        given = np.array(x, np.float32)
        for results in (compiled(given), module.evaluate(given)):
            assert results[0].shape == (len(x), 2 * (given[0] > 0).sum())
            assert not results[1].any() and results[1].shape == ((given[0] > 0).sum(),)


def test_a_chosen_extent_that_is_only_part_of_expressions() -> None:
    sizes = [(2, 3)]
    operator = Operator(
        "mine",
        "Make",
        lambda x: tuple(np.ones(size, np.float32) for size in sizes[0]),
        inputs=[("f32", ["n"])],
        outputs=[("f32", ["2*k"]), ("f32", ["k + 2"])],
    )
    text = HEAD + "f (float[n] x) => (float[p] a, float[q] b) { a, b = mine.Make (x) }"
    compiled = perpend.compile(model(text), operators=[operator])
    x = np.ones(1, np.float32)
    for sizes[0] in ((2, 3), (0, 2), (10, 7)):
        assert tuple(len(result) for result in compiled(x)) == sizes[0]
    for sizes[0] in ((3, 3), (2, 4)):
        with pytest.raises(ValueError, match="extent"):
            compiled(x)


class Making:
    """An operator whose results have the sizes in `sizes`, compiled and interpreted."""

    def __init__(self, text: str, inputs: list[list[Any]], outputs: list[list[Any]]) -> None:
        self.sizes: tuple[int, ...] = ()
        operator = Operator(
            "mine",
            "Make",
            lambda *x: tuple(np.ones(size, np.float32) for size in self.sizes),
            inputs=[("f32", shape) for shape in inputs],
            outputs=[("f32", shape) for shape in outputs],
        )
        self.compiled = perpend.compile(model(HEAD + text), operators=[operator])
        self.runs = [self.compiled, perpend.import_model(model(HEAD + text), operators=[operator]).evaluate]

    def gives(self, sizes: tuple[int, ...], *inputs: int) -> None:
        self.sizes = sizes
        for run in self.runs:
            results = run(*(np.ones(n, np.float32) for n in inputs))
            assert tuple(len(x) for x in (results if isinstance(results, (tuple, list)) else [results])) == sizes

    def refuses(self, message: str, sizes: tuple[int, ...], *inputs: int) -> None:
        self.sizes = sizes
        for run in self.runs:
            with pytest.raises(ValueError, match=message):
                run(*(np.ones(n, np.float32) for n in inputs))


TWO_RESULTS = "f (float[n] x) => (float[p] a, float[q] b) { a, b = mine.Make (x) }"


def test_equal_patterns_that_have_no_solution_are_one_extent() -> None:
    made = Making(TWO_RESULTS, [["n"]], [["k*j"], ["j*k"]])
    first, second = (output.shape for output in made.compiled.outputs)
    assert first == second and isinstance(first[0], str)
    made.gives((2, 2), 1)
    made.gives((0, 0), 1)
    made.refuses("expected (an extent of|the shape)", (2, 3), 1)


@pytest.mark.parametrize(("pattern", "good", "bad"), [("k + 2", (2, 5), (1, 0)), ("2*k + 2", (2, 6), (0, 3))])
def test_no_name_in_results_is_negative(pattern: str, good: tuple[int, ...], bad: tuple[int, ...]) -> None:
    made = Making(TWO_RESULTS, [["n"]], [[pattern], ["n"]])
    for size in good:
        made.gives((size, 3), 3)
    for size in bad:
        made.refuses("'Make': an extent that the function chose does not fit its description", (size, 3), 3)


def test_no_extent_of_a_result_is_negative() -> None:
    made = Making(TWO_RESULTS, [["n"]], [["n - 2"], ["k"]])
    made.gives((1, 4), 3)
    made.gives((0, 4), 2)
    made.refuses("expected at least 2, got 1|extents of at least 0, got -1", (1, 4), 1)
    with pytest.raises(perpend.CompileError, match=r"node 'a' \(Make\): operator 'Make': its result .* extent -1"):
        Making(TWO_RESULTS.replace("float[n]", "float[1]"), [["n"]], [["n - 2"], ["k"]])


def test_names_that_are_parts_of_expressions_in_inputs() -> None:
    made = Making(TWO_RESULTS, [["2*k + 1"]], [["k"], ["k"]])
    made.gives((2, 2), 5)
    made.gives((0, 0), 1)
    made.refuses("operator 'Make': an input has the extent", (2, 2), 4)
    made.refuses("node 'a' needs floordiv|operator 'Make': an input has the extent", (0, 0), 0)
    unused = Making(TWO_RESULTS, [["2*k + 2"]], [["3"], ["j"]])
    unused.gives((3, 1), 2)
    unused.refuses("operator 'Make': the extents of its inputs leave less than nothing for 'k'", (3, 1), 0)
    two = "f (float[n] x, float[m] z) => (float[p] a) { a = mine.Make (x, z) }"
    Making(two, [["k + j"], ["j"]], [["k"]]).gives((3,), 5, 2)
    chain = "f (float[n] x, float[m] z, float[l] w) => (float[p] a) { a = mine.Make (x, z, w) }"
    Making(chain, [["k + j"], ["2*j + i"], ["i"]], [["k"]]).gives((3,), 5, 7, 3)
    Making(two, [["n"], ["m"]], [["m + n"]]).gives((7,), 5, 2)
    with pytest.raises(perpend.CompileError, match=r"f32 \[k \+ j\] does not say what '[jk]' is\nhint|\[j \+ k\]"):
        Making(TWO_RESULTS, [["k + j"]], [["k"], ["j"]])


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


def received(operator: Operator, node: onnx.NodeProto | None = None) -> dict[str, Any]:
    """What the kernel, which keeps its attributes in `seen`, gets."""
    text = HEAD + "f (float[n, m] x) => (float[n, m] y) { y = mine.Twice (x) }"
    given = model(text)
    if node:
        given.graph.node[0].attribute.extend(node.attribute)
    seen.clear()
    perpend.compile(given, operators=[operator])(np.ones((1, 1), np.float32))
    return dict(seen)


seen: dict[str, Any] = {}


def keep(x: np.ndarray, **attributes: Any) -> np.ndarray:
    seen.update(attributes)
    return x


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (2, 2),
        (2.0, 2.0),
        (-2.0, -2.0),
        (float("inf"), float("inf")),
        (-0.0, -0.0),
        (2**70, 2**70),
        (1e-300, 1e-300),
        (np.int8(-3), -3),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.float32(0.5), 0.5),
        (np.float64(3), 3.0),
        ("text", "text"),
        (np.str_("text"), "text"),
        ([1, 2.0, np.float16(3)], [1, 2.0, 3.0]),
        (["a", ""], ["a", ""]),
        ((), []),
    ],
)
def test_attributes_keep_their_types(given: Any, expected: Any) -> None:
    value = received(twice(keep, attributes={"a": given}))["a"]
    assert repr(value) == repr(expected)
    if isinstance(value, list):
        operator = twice(lambda x, a: (a.append(7), keep(x, a=a))[1], attributes={"a": given})
        received(operator)
        assert received(operator)["a"] == [*expected, 7]


@pytest.mark.parametrize("value", [True, np.True_, None, b"bytes", 1j, {"a": 1}, [[1]], [True], np.ones(2), object()])
def test_attributes_of_other_types_are_refused(value: Any) -> None:
    message = r"mine\.Twice: attribute 'a': expected a number, a text or a list of these, got .*\nhint: "
    with pytest.raises(TypeError, match=message):
        twice(keep, attributes={"a": value})


def test_names_of_attributes() -> None:
    with pytest.raises(TypeError, match="names of attributes: expected texts, got int\nhint"):
        twice(keep, attributes={1: 2})
    with pytest.raises(ValueError, match=r"attribute 'perpend\.x': .* are reserved\nhint"):
        twice(keep, attributes={"perpend.x": 2})


def test_attributes_of_nodes_keep_their_types() -> None:
    values = {"f": 2.0, "i": 2, "fs": [1.0, -3.0], "inf": float("-inf"), "s": "t", "is": [2, 3], "zero": -0.0}
    got = received(twice(keep, attributes={"f": 1}), onnx.helper.make_node("Twice", [], [], **values))
    texts = {key: value.decode() if isinstance(value, bytes) else value for key, value in got.items()}
    assert {key: repr(value) for key, value in texts.items()} == {key: repr(value) for key, value in values.items()}
    with pytest.raises(perpend.CompileError, match="attribute 'f': expected a number, got NaN\nhint"):
        received(twice(keep), onnx.helper.make_node("Twice", [], [], f=float("nan")))


@pytest.mark.parametrize("value", [True, None, {"a": 1}, [[1]], [False]])
def test_attributes_of_description_files(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "operators.json"
    tensor = {"type": "f32", "shape": ["a", "b"]}
    entry = {"domain": "mine", "name": "Twice", "function": "mine.twice", "inputs": [tensor], "outputs": [tensor]}
    path.write_text(json.dumps([{**entry, "attributes": {"a": value}}]))
    message = "operator 'Twice': attribute 'a': expected a number, a text or a list of these, got .*\nhint"
    with pytest.raises(perpend.CompileError, match=message):
        perpend.compile(model(COUNT), operators=[path])


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError


def raise_(error: BaseException) -> Any:
    raise error


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


def test_errors_name_the_node_and_what_was_raised() -> None:
    x = np.ones((2, 2), np.float32)

    def fails(kernel: Callable[..., Any], message: str) -> None:
        operator = twice(kernel)
        text = COUNT.replace("a = mine.Twice", "[first] a = mine.Twice")
        compiled = perpend.compile(model(text), operators=[operator])
        with pytest.raises(ValueError, match=message):
            compiled(x)
        with pytest.raises(perpend.CompileError, match=message.split(": ")[-1]):
            perpend.import_model(model(text), operators=[operator]).evaluate(x)

    fails(lambda x: 1 / 0, "node 'first': ZeroDivisionError: division by zero")
    fails(lambda x: x.astype(np.float64), "result 0: expected an array of f32, got f64")
    fails(
        lambda x: (x, x), r"expected 1 result, got 2; hint: return an array, or a tuple with one array for each output"
    )
    fails(lambda x: raise_(ValueError("not UTF-8: \udcff")), r"node 'first': ValueError: not UTF-8: \\udcff")
    fails(lambda x: raise_(Unspeakable()), r"node 'first': Unspeakable: \(it has no text\)")
    compiled = perpend.compile(model(COUNT), operators=[twice(lambda x: x[:1])])
    with pytest.raises(ValueError, match="another shape than the model says"):
        compiled(x)


def both_runs(operator: Operator) -> list[Callable[..., Any]]:
    module = perpend.import_model(model(COUNT), operators=[operator])
    return [perpend.compile(model(COUNT), operators=[operator]), lambda x: module.evaluate(x)[0]]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_is_no_error_comes_through_as_it_is(kind: type[BaseException]) -> None:
    raised = kind("stop")
    for run in both_runs(twice(lambda x: raise_(raised))):
        with pytest.raises(kind) as caught:
            run(np.ones((1, 1), np.float32))
        assert caught.value is raised
        assert any(entry.name == "raise_" for entry in caught.traceback)


def test_an_error_has_the_kernels_exception_as_its_cause() -> None:
    raised: list[Exception] = []

    def fail(x: np.ndarray) -> np.ndarray:
        raised.append(RuntimeError("no"))
        raise raised[-1]

    x = np.ones((1, 1), np.float32)
    for run in both_runs(twice(fail)):
        for _ in range(2):
            with pytest.raises(ValueError, match="RuntimeError: no") as caught:
                run(x)
            assert caught.value.__cause__ is raised[-1]
    for run in both_runs(twice(lambda x: x[:1, :0])):
        with pytest.raises(ValueError, match="shape") as caught:
            run(x)
        assert caught.value.__cause__ is None


def test_causes_of_nested_runs() -> None:
    """The exception of an inner run that its caller survives is not that of the outer run, and others pass through."""
    x = np.ones((1, 1), np.float32)
    first, second, stop = RuntimeError("first"), RuntimeError("second"), KeyboardInterrupt()
    for failing, stopping in zip(
        both_runs(twice(lambda x: raise_(first))), both_runs(twice(lambda x: raise_(stop))), strict=True
    ):

        def survive(x: np.ndarray, inner: Callable[..., Any] = failing) -> Any:
            with pytest.raises(ValueError, match="first"):
                inner(x)
            raise second

        for outer in both_runs(twice(survive)):
            with pytest.raises(ValueError, match="second") as caught:
                outer(x)
            assert caught.value.__cause__ is second
        for outer in both_runs(twice(failing)):
            with pytest.raises(ValueError, match="first") as caught:
                outer(x)
            assert isinstance(caught.value.__cause__, ValueError) and caught.value.__cause__.__cause__ is first
        for outer in both_runs(twice(stopping)):
            with pytest.raises(KeyboardInterrupt) as interrupted:
                outer(x)
            assert interrupted.value is stop


def test_each_thread_gets_its_own_exception() -> None:
    meeting = threading.Barrier(4, timeout=60)

    def fail(x: np.ndarray) -> Any:
        meeting.wait()
        raise KeyError(x.item())

    compiled = perpend.compile(model(COUNT), operators=[twice(fail)])
    causes: dict[int, Any] = {}

    def run(number: int) -> None:
        try:
            compiled(np.full((1, 1), number, np.float32))
        except ValueError as error:
            causes[number] = error.__cause__ and error.__cause__.args[0]

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert causes == {number: number for number in range(4)}


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
