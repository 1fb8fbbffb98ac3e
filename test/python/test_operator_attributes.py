"""Attributes of operators with kernels in Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import perpend
import pytest
from perpend import Operator
from python.user_operators import COUNT, HEAD, model, twice


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
    with pytest.raises(perpend.CompileError, match=r"attribute 'f': expected a number, got NaN\ninputs: .*\nhint"):
        received(twice(keep), onnx.helper.make_node("Twice", [], [], f=float("nan")))


@pytest.mark.parametrize(
    ("default", "given", "message"),
    [
        (1.0, "x", "expected number, got text"),
        ("x", 1, "expected text, got number"),
        (1, [1], "expected number, got numbers"),
        ([1], 2.0, "expected numbers, got number"),
        ([1], ["x"], "expected numbers, got texts"),
    ],
)
def test_attributes_of_nodes_are_of_the_defaults_kind(default: Any, given: Any, message: str) -> None:
    node = onnx.helper.make_node("Twice", [], [], a=given)
    with pytest.raises(perpend.CompileError, match=rf"attribute 'a': {message}\ninputs: .*\nhint"):
        received(twice(keep, attributes={"a": default}), node)


def test_kinds_of_description_files(tmp_path: Path) -> None:
    path = tmp_path / "operators.json"
    tensor = {"type": "f32", "shape": ["a", "b"]}
    entry = {"domain": "mine", "name": "Twice", "function": "mine.twice", "inputs": [tensor], "outputs": [tensor]}
    path.write_text(json.dumps({**entry, "kinds": {"a": "numbers"}}))
    for given, is_right in (([1.5], True), ("x", False), (2, False)):
        text = model(HEAD + "f (float[n, m] x) => (float[n, m] y) { y = mine.Twice (x) }")
        text.graph.node[0].attribute.append(onnx.helper.make_attribute("a", given))
        if is_right:
            perpend.import_model(text, operators=[path])
        else:
            with pytest.raises(perpend.CompileError, match="attribute 'a': expected numbers, got"):
                perpend.import_model(text, operators=[path])


@pytest.mark.parametrize("value", [True, None, {"a": 1}, [[1]], [False]])
def test_attributes_of_description_files(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "operators.json"
    tensor = {"type": "f32", "shape": ["a", "b"]}
    entry = {"domain": "mine", "name": "Twice", "function": "mine.twice", "inputs": [tensor], "outputs": [tensor]}
    path.write_text(json.dumps([{**entry, "attributes": {"a": value}}]))
    message = "operator 'Twice': attribute 'a': expected a number, a text or a list of these, got .*\nhint"
    with pytest.raises(perpend.CompileError, match=message):
        perpend.compile(model(COUNT), operators=[path])
