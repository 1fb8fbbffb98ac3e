"""Every node is held against its operator's schema, as ONNX's checker and ONNX Runtime do.

Attributes that an operator does not have, or of other types, are errors, and so are more or fewer inputs and outputs,
and inputs of different types where the schema has one type variable.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
import perpend
import pytest
from onnx import TensorProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state as runtime_state

TABLES = Path(__file__).resolve().parents[3] / "src/frontend/onnx"
LETTERS = {"FLOAT": "f", "INT": "i", "STRING": "s", "TENSOR": "t", "GRAPH": "g", "FLOATS": "f*", "INTS": "i*",
           "STRINGS": "s*"}  # fmt: skip
Rows = dict[tuple[str, str], dict[int, str]]


def model(operation: str, attributes: dict[str, Any], version: int = 17, domain: str = "", inputs: int = 1) -> Any:
    names = ["x", "z", "w"][:inputs]
    node = helper.make_node(operation, names, ["y"], name="node", domain=domain, **attributes)
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in names]
    graph = helper.make_graph([node], "g", tensors, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    opsets = [helper.make_opsetid("", version), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("Relu", {"alpha": 1.0}), "no attribute 'alpha'\nhint: in operator set 17 it has none"),
        (("Softmax", {"axes": 1}), "no attribute 'axes'\nhint: did you mean 'axis'? in operator set 17 it has axis"),
        (("ReduceSum", {"axes": [1]}), "no attribute 'axes'\nhint: in operator set 17 it has keepdims, noop_with_"),
        (("Softmax", {"axis": 1.0}), "attribute 'axis': expected an integer, got a float"),
        (("Softmax", {"axis": [1]}), "attribute 'axis': expected an integer, got integers"),
        (("LeakyRelu", {"alpha": 1}), "attribute 'alpha': expected a float, got an integer"),
        (("Transpose", {"perm": "10"}), "attribute 'perm': expected integers, got a text"),
        (("BitShift", {}, 17, "", 2), "expected the attribute 'direction', which is required, got none"),
        (("BiasGelu", {"axis": 1}, 17, "com.microsoft", 2), "no attribute 'axis'\nhint: in operator set 1 it has none"),
    ],
)
def test_wrong_attributes(arguments: tuple[Any, ...], message: str) -> None:
    wrong = model(*arguments)
    with pytest.raises(Exception, match=r"attribute|Attribute"):
        onnxruntime.InferenceSession(wrong.SerializeToString(), providers=["CPUExecutionProvider"])
    with pytest.raises(perpend.CompileError, match=re.escape(message)) as raised:
        perpend.import_model(wrong)
    assert f"node 'node' ({arguments[0]}): " in str(raised.value)


def test_an_attribute_that_is_given_twice() -> None:
    wrong = model("Softmax", {"axis": 1})
    wrong.graph.node[0].attribute.append(wrong.graph.node[0].attribute[0])
    with pytest.raises(perpend.CompileError, match="the attribute 'axis' is given twice"):
        perpend.import_model(wrong)


def test_an_attribute_belongs_to_its_operator_set() -> None:
    assert perpend.import_model(model("ReduceSum", {"axes": [1]}, version=11)).input_names == ["x"]
    assert perpend.import_model(model("Add", {"axis": 0, "broadcast": 1}, version=6, inputs=2)).input_names == [
        "x",
        "z",
    ]


def values_model(
    operation: str, inputs: list[str], outputs: list[str], version: int = 17, domain: str = "", **attributes: Any
) -> Any:
    node = helper.make_node(operation, inputs, outputs, name="node", domain=domain, **attributes)
    given = [
        *(helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in "xyz"),
        *(helper.make_tensor_value_info(name, TensorProto.INT64, [2]) for name in "ij"),
    ]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs if name]
    opsets = [helper.make_opsetid("", version), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(helper.make_graph([node], "g", given, results), opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize(
    "wrong, message",
    [
        (values_model("Tile", ["x", "i", "j"], ["o"]), "expected 2 inputs, got 3\nhint: remove the last inputs"),
        (values_model("Tile", ["x"], ["o"]), "expected 2 inputs, got 1\nhint: give the missing inputs"),
        (values_model("Tile", ["x", ""], ["o"]), "expected the input 1, got an empty name\nhint: only optional"),
        (values_model("Relu", ["x"], ["o", "more"]), "expected 1 output, got 2\nhint: remove the last outputs"),
        (values_model("Relu", ["x"], [""]), "expected the output 0, got an empty name"),
        (values_model("Clip", ["x", "", "", ""], ["o"]), "expected 1 to 3 inputs, got 4\nhint: remove the last"),
        (values_model("Concat", [], ["o"], axis=0), "expected 1 or more inputs, got 0\nhint: give the missing inputs"),
        (
            values_model("Gemm", ["x", "y"], ["o"], 7),
            "expected 3 inputs, got 2\nhint: in operator set 11 it has as many",
        ),
        (values_model("Gelu", ["x", "y"], ["o"], 1, "com.microsoft"), "expected 1 input, got 2\nhint: remove the last"),
        (values_model("Hardmax", ["x", "y"], ["o"]), "expected 1 input, got 2\nhint: remove the last inputs"),
    ],
)
def test_wrong_numbers_of_values(wrong: Any, message: str) -> None:
    with pytest.raises(Exception, match=r"input|output|Input|Output"):
        onnxruntime.InferenceSession(wrong.SerializeToString(), providers=["CPUExecutionProvider"])
    with pytest.raises(perpend.CompileError, match=re.escape(message)) as raised:
        perpend.import_model(wrong)
    assert f"node 'node' ({wrong.graph.node[0].op_type}): " in str(raised.value)


@pytest.mark.parametrize(
    "operation, inputs, attributes, message",
    [
        (
            "ScatterElements",
            "xji",
            {"axis": 0},
            "expected inputs of one element type, got f32 and i64 for 'x' and 'i'",
        ),
        ("Concat", "xyi", {"axis": 0}, "expected inputs of one element type, got f32 and i64 for 'x' and 'i'"),
        ("Add", "ix", {}, "expected inputs of one element type, got i64 and f32 for 'i' and 'x'"),
    ],
)
def test_inputs_of_different_types(operation: str, inputs: str, attributes: dict[str, Any], message: str) -> None:
    wrong = values_model(operation, list(inputs), ["o"], **attributes)
    with pytest.raises(Exception, match=r"bound to different types"):
        onnxruntime.InferenceSession(wrong.SerializeToString(), providers=["CPUExecutionProvider"])
    with pytest.raises(perpend.CompileError, match=re.escape(message)) as raised:
        perpend.import_model(wrong)
    assert f"node 'node' ({operation}): " in str(raised.value)


def test_numbers_of_values_in_branches() -> None:
    branches = [
        helper.make_graph(
            [helper.make_node("Relu", names, ["r"], name=f"in {branch}")],
            branch,
            [],
            [helper.make_tensor_value_info("r", TensorProto.FLOAT, None)],
        )
        for branch, names in (("then", ["x"]), ("else", ["x", "y"]))
    ]
    wrong = values_model("If", ["c"], ["o"], then_branch=branches[0], else_branch=branches[1])
    wrong.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    with pytest.raises(perpend.CompileError, match=r"node 'in else' \(Relu\): expected 1 input, got 2"):
        perpend.import_model(wrong)


FORMALS = {"Single": "1", "Optional": "0"}


def formals(parameters: Any) -> str:
    """ONNX Runtime does not say of its own operators that a variadic one may be empty; none that is supported may."""
    return "".join(
        FORMALS.get(parameter.option.name) or ("*" if getattr(parameter, "min_arity", 1) == 0 else "+")
        for parameter in parameters
    )


def types(parameters: Any) -> str:
    """The same letter for parameters of the same type variable, a dot for those whose type is like no other."""
    names = [getattr(parameter, "type_str", None) or parameter.typeStr for parameter in parameters]
    letters: dict[str, str] = {}
    text = ""
    for name, parameter in zip(names, parameters, strict=True):
        is_alike = "(" not in name and (names.count(name) > 1 or parameter.option.name == "Variadic")
        homogeneous = getattr(parameter, "is_homogeneous", None)
        if homogeneous is None:
            homogeneous = parameter.isHomogeneous
        text += letters.setdefault(name, chr(ord("A") + len(letters))) if is_alike and homogeneous else "."
    return text.rstrip(".")


def schemas() -> Rows:
    """Per operator and version: "110>1 AA. axis:i", as in the table."""
    rows: Rows = {}
    for schema in [*onnx.defs.get_all_schemas_with_history(), *runtime_state.get_all_operator_schema()]:
        letters = {name: LETTERS.get(str(a.type).rsplit(".")[-1], "?") for name, a in schema.attributes.items()}
        required = {name: "!" * a.required for name, a in schema.attributes.items()}
        attributes = " ".join(f"{name}:{letters[name]}{required[name]}" for name in sorted(letters))
        text = f"{formals(schema.inputs)}>{formals(schema.outputs)} {types(schema.inputs)} {attributes}"
        domain = schema.domain if schema.domain != "ai.onnx" else ""
        rows.setdefault((domain, schema.name), {}).setdefault(schema.since_version, text)
    return rows


def table() -> Rows:
    rows: Rows = {}
    for path in ("Operators.def", "microsoft/Operators.def"):
        for row in re.findall(
            r'^ONNX_\w+\("(.*?)", "(.*?)", (\d+), \w+, "(.*)", "(.*)", "(.*)"\)$', (TABLES / path).read_text(), re.M
        ):
            rows.setdefault(row[:2], {})[int(row[2])] = " ".join(row[3:])
    return rows


def at(rows: dict[int, str], version: int) -> str:
    return rows[max(since for since in rows if since <= version)]


def test_the_table_is_what_the_schemas_say() -> None:
    """Of every operator that has a schema, in every version from the first that is supported on."""
    known, rows = schemas(), table()
    assert set(rows) - set(known) == {("com.microsoft", "SimplifiedLayerNormalization")}
    for key in set(rows) & set(known):
        for version in {*rows[key], *known[key]}:
            if version >= min(rows[key]):
                assert at(rows[key], version) == at(known[key], version), (key, version)
