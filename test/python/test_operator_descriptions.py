"""Descriptions of operators in JSON, and what may be given as operators."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import perpend
import pytest
from perpend import Operator
from python.user_operators import COUNT, HEAD, model, twice

ROOT = Path(__file__).resolve().parents[2]
SCALE = """
#include <perpend_operator.h>
perpend_status perpend_mine_scale(perpend_call *call) {
  const perpend_tensor *x = &call->inputs[0];
  float *to = perpend_call_allocate(call, 0, x->shape, x->rank);
  if (!to)
    return PERPEND_OUT_OF_MEMORY;
  for (int64_t i = 0; i < x->shape[0]; ++i)
    to[i] = ((const float *)x->data)[i] * FACTOR;
  return PERPEND_OK;
}
"""
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
        (
            {"outputs": [{"type": "T", "shape": []}]},
            r"outputs\[0\]: 'type': no input has the type 'T'\nhint: name the element type",
        ),
        ({"kinds": []}, "'kinds': expected an object"),
        ({"kinds": {"a": "float"}}, "'kinds': 'a': expected number, text, numbers or texts, got \"float\""),
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


def test_the_same_operator_twice(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(DESCRIPTION))
    message = r"operator 'Twice' of the domain 'mine', from version 1 on, is given twice\nhint: "
    for given in ([path, path], [path, twice(lambda x: x)], [twice(lambda x: x), twice(lambda x: x)]):
        with pytest.raises(perpend.CompileError, match=message):
            perpend.import_model(model(COUNT), operators=given)
    perpend.import_model(model(COUNT), operators=[path, twice(lambda x: x, since=2)])


def nothing() -> None: ...


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"domain": 3}, TypeError, "Operator: domain: expected a text, got int"),
        ({"name": None}, TypeError, "Operator: name: expected a text, got NoneType"),
        ({"name": ""}, ValueError, "'name': expected the name of an operator"),
        ({"kernel": 3}, TypeError, r"mine\.Twice: kernel: expected a function, got int"),
        (
            {"kernel": nothing},
            TypeError,
            "the kernel cannot be called with 1 array: too many positional arguments\nhint",
        ),
        ({"kernel": lambda x, y: x}, TypeError, "missing a required argument: 'y'\nhint"),
        ({"kernel": lambda x, a, y, /, **b: x}, TypeError, "missing a required argument: 'a'\nhint"),
        ({"attributes": {"b": 1}}, TypeError, "1 array and the attributes b: got an unexpected keyword argument 'b'"),
        ({"attributes": [1]}, TypeError, "attributes: expected a dict of defaults, got list"),
        ({"attributes": {"a": [1, "x"]}}, TypeError, r"expected a list of numbers or of texts, got both: \[1, 'x'\]"),
        ({"inputs": 3}, TypeError, r"inputs: expected a list of \(type, shape\)"),
        ({"inputs": [("float", ["n"])]}, ValueError, r"inputs\[0\]: 'type': no element type is called 'float'\nhint"),
        ({"inputs": [(np.float32, ["n"])]}, TypeError, r"mine\.Twice: .* not JSON serializable\nhint"),
        ({"inputs": [("f32", ["n", -1])]}, ValueError, "'shape': expected numbers, names and expressions.*got -1"),
        ({"outputs": []}, ValueError, "'outputs': expected at least one"),
        ({"outputs": [("T", ["n"])]}, ValueError, "no input has the type 'T'"),
        ({"since": 0}, ValueError, "'since': expected a whole number of at least 1, got 0"),
        ({"since": "1"}, ValueError, "'since': expected a whole number of at least 1"),
        ({"pure": 1}, ValueError, "'pure': expected true or false, got 1"),
    ],
)
def test_operators_that_cannot_be(change: dict[str, Any], kind: type[Exception], message: str) -> None:
    tensors = [("f32", [np.int64(3)])]
    given: dict[str, Any] = {"domain": "mine", "name": "Twice", "kernel": lambda x, a=1: x}
    given |= {"inputs": tensors, "outputs": tensors}
    assert Operator(**given, attributes={"a": 2}).label == "mine.Twice"
    assert Operator(**{**given, "kernel": lambda x, *, a: x}).label == "mine.Twice"  # the nodes give it
    with pytest.raises(kind, match=message):
        Operator(**{**given, **change})


def test_the_interpreter_runs_what_the_object_holds_now(tmp_path: Path) -> None:
    """Other objects with functions of the same names, and an object that is compiled again."""
    compiler = shutil.which("clang-19") or shutil.which("cc")
    assert compiler

    def description(folder: Path, factor: int) -> str:
        folder.mkdir(exist_ok=True)
        (folder / "scale.c").write_text(SCALE.replace("FACTOR", str(factor)))
        command = [
            compiler,
            "-fPIC",
            "-I",
            ROOT / "runtime/include",
            "-c",
            folder / "scale.c",
            "-o",
            folder / "scale.o",
        ]
        subprocess.run(command, check=True)
        entry = {"domain": "mine", "name": "Scale", "function": "mine.scale", "object": "scale.o"}
        tensors = [{"type": "f32", "shape": ["n"]}]
        (folder / "operators.json").write_text(json.dumps([{**entry, "inputs": tensors, "outputs": tensors}]))
        return str(folder / "operators.json")

    scaled = model(HEAD + "scale (float[n] x) => (float[n] y) { y = mine.Scale (x) }")
    x = np.ones(2, np.float32)
    two, three = (
        perpend.import_model(scaled, operators=[description(tmp_path / str(factor), factor)]) for factor in (2, 3)
    )
    for _ in range(2):
        assert [module.evaluate(x)[0].tolist() for module in (two, three)] == [[2, 2], [3, 3]]
    description(tmp_path / "2", 5)
    assert [module.evaluate(x)[0].tolist() for module in (three, two)] == [[3, 3], [5, 5]]
    assert perpend.compile(two)(x).tolist() == [5, 5]
