"""Operators with kernels in Python: compiled, interpreted, and what descriptions say of extents and effects."""

from __future__ import annotations

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


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError


def raise_(error: Exception) -> Any:
    raise error


def test_a_node_does_not_choose_what_is_called() -> None:
    wicked = model(COUNT)
    wicked.graph.node[0].attribute.append(onnx.helper.make_attribute("perpend.function", 0x1000))
    with pytest.raises(perpend.CompileError, match=r"names that begin with 'perpend\.' are reserved"):
        perpend.compile(wicked, operators=[twice(lambda x: x)])


DESCRIPTION = {
    "domain": "mine",
    "name": "Twice",
    "function": "mine.twice",
    "inputs": [{"type": "f32", "shape": ["a", "b"]}],
    "outputs": [{"type": "f32", "shape": ["a", "b"]}],
}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"sinse": 2}, r"operator 'Twice': unknown key 'sinse'\nhint: did you mean 'since'\? keys: domain, name,"),
        ({"domains": "x"}, "unknown key 'domains'\nhint: did you mean 'domain'"),
        ({"zzzzzzzzzzzz": 1}, "unknown key 'zzzzzzzzzzzz'\nhint: keys: domain"),
        ({"since": "1"}, "'since': expected a whole number of at least 1, got \"1\""),
        ({"since": 0}, "'since': expected a whole number of at least 1, got 0"),
        ({"since": 1.5}, "'since': expected a whole number of at least 1, got 1.5"),
        ({"pure": "no"}, "'pure': expected true or false, got \"no\""),
        ({"pure": 0}, "'pure': expected true or false, got 0"),
        ({"domain": 3}, "'domain': expected a text, got 3"),
        ({"name": ""}, "'name': expected the name"),
        ({"object": 1}, "'object': expected a text"),
        ({"object": "nothing.o"}, "there is no file '.*nothing.o'"),
        ({"function": "twice"}, "'function': expected LIBRARY.NAME, such as \"mine.scale\", got 'twice'"),
        ({"function": "mine.two.times"}, "'function': expected LIBRARY.NAME"),
        ({"function": None}, "'function': expected a text, got null"),
        ({"inputs": {}}, "'inputs': expected a list, got {}"),
        ({"outputs": []}, "'outputs': expected at least one"),
        ({"outputs": ["f32"]}, r"outputs\[0\]: expected an object, got \"f32\""),
        ({"outputs": [{"type": "f32"}]}, r"outputs\[0\]: the key 'shape' is missing"),
        ({"outputs": [{"typ": "f32", "shape": []}]}, r"outputs\[0\]: unknown key 'typ'\nhint: did you mean 'type'"),
        (
            {"outputs": [{"type": "float", "shape": []}]},
            r"outputs\[0\]: 'type': no element type is called 'float'\nhint",
        ),
        (
            {"outputs": [{"type": "f32", "shape": ["2*"]}]},
            "'shape': expected numbers, names and expressions.*got \"2[*]\"",
        ),
        ({"outputs": [{"type": "f32", "shape": [-1]}]}, "'shape': expected numbers, names and expressions.*got -1"),
        ({"outputs": [{"type": "f32", "shape": "n"}]}, "'shape': expected a list, got \"n\""),
        ({"attributes": []}, "'attributes': expected an object"),
        ({"attributes": {"flag": True}}, "attribute 'flag': expected a number, a text or a list of these, got true"),
        ({"attributes": {"none": [1, None]}}, "attribute 'none': expected a number"),
    ],
)
def test_wrong_descriptions(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps([{**DESCRIPTION, **change}]))
    with pytest.raises(perpend.CompileError, match=message) as raised:
        perpend.import_model(model(COUNT), operators=[path])
    assert f"operators in '{path}': " in str(raised.value) and str(raised.value).count("hint: ") < 2


@pytest.mark.parametrize("key", ["name", "function", "inputs", "outputs"])
def test_keys_that_a_description_needs(tmp_path: Path, key: str) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({name: value for name, value in DESCRIPTION.items() if name != key}))
    with pytest.raises(perpend.CompileError, match=f"the key '{key}' is missing"):
        perpend.import_model(model(COUNT), operators=[path])


def test_one_operator_needs_no_list(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(DESCRIPTION))
    for given in (str(path), path, [path], (str(path),)):
        assert perpend.import_model(model(COUNT), operators=given).input_names == ["x"]
    compiled = perpend.compile(model(COUNT), operators=twice(lambda x: 2 * x))
    assert compiled(np.ones((1, 1), np.float32)).tolist() == [[4]]


@pytest.mark.parametrize("given, kind", [(5, "int"), ([5], "int"), (b"x.json", "bytes"), ([b"x.json"], "bytes")])
def test_operators_of_a_wrong_type(given: Any, kind: str) -> None:
    with pytest.raises(TypeError, match=f"operators: expected paths of descriptions, or perpend.Operator, got {kind}"):
        perpend.compile(model(COUNT), operators=given)


@pytest.mark.parametrize("shapes", [["f32"], [("f32", "n")], [("f32",)], [["f32", 3]]])
def test_shapes_that_are_no_lists(shapes: Any) -> None:
    with pytest.raises(TypeError, match=r"inputs: expected a list of \(type, shape\)"):
        Operator("mine", "Twice", lambda x: x, inputs=shapes, outputs=[("f32", [])])


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
    fails(lambda x: (x, x), "expected 1 results, got 2")
    fails(lambda x: raise_(ValueError("not UTF-8: \udcff")), r"node 'first': ValueError: not UTF-8: \\udcff")
    fails(lambda x: raise_(Unspeakable()), r"node 'first': Unspeakable: \(it has no text\)")
    compiled = perpend.compile(model(COUNT), operators=[twice(lambda x: x[:1])])
    with pytest.raises(ValueError, match="another shape than the model says"):
        compiled(x)


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
