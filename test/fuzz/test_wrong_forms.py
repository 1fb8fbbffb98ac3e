"""Operators with one input of another rank, or one attribute of another length or value: the official suite's, and
those of test_microsoft_operators.py and default_cases.py.

Most are wrong and must end with one error, as in test_hostile_models.py; none may end with a signal. Each run tries one
part of them; PERPEND_SEED chooses another, PERPEND_LONG all.
"""

import os
import warnings
from collections.abc import Iterator

import onnx
import onnx.backend.test.case.node as node_cases
import pytest
from default_cases import other_models
from microsoft_token_cases import CASES as MICROSOFT_CASES
from onnx import AttributeProto
from test_hostile_models import compile_model, complaint_about
from test_microsoft_operators import build as build_microsoft

PARTS, BATCHES = 8, 16
RANKS = ("scalar", "less", "more", "empty")


def changed_dimensions(model: onnx.ModelProto, index: int, change: str) -> bool:
    """False: the input cannot be changed so."""
    dimensions = model.graph.input[index].type.tensor_type.shape.dim
    if len(dimensions) < {"scalar": 1, "less": 2, "more": 0, "empty": 1}[change]:
        return False
    if change == "scalar":
        del dimensions[:]
    elif change == "less":
        del dimensions[-1]
    elif change == "more":
        dimensions.add().dim_value = 3
    else:
        dimensions[0].dim_value = 0
    return True


def other_values(attribute: AttributeProto) -> list[object]:
    nan, infinity = float("nan"), float("inf")
    kind = attribute.type
    if kind == AttributeProto.INT:
        return [-1, 0, -7, 2**62, -(2**63)]
    if kind == AttributeProto.FLOAT:
        return [nan, -1.0, 0.0, infinity]
    if kind == AttributeProto.STRING:
        return [b"", b"other"]
    lists = {AttributeProto.INTS: "ints", AttributeProto.FLOATS: "floats", AttributeProto.STRINGS: "strings"}
    if kind not in lists:
        return []
    values = list(getattr(attribute, lists[kind]))
    same = {AttributeProto.INTS: [-1, 0, 2**40], AttributeProto.FLOATS: [nan], AttributeProto.STRINGS: [b""]}[kind]
    return [values[:-1], [*values, same[0]], [], *([value] * len(values) for value in same)]


def assign(attribute: AttributeProto, value: object) -> None:
    changed = onnx.helper.make_attribute(attribute.name, value, attr_type=attribute.type)
    attribute.CopyFrom(changed)


def right_models() -> Iterator[tuple[str, onnx.ModelProto]]:
    """Of one operator each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = [case for case in node_cases.collect_testcases(None) if case.model and len(case.model.graph.node) == 1]
    yield from ((case.name, case.model) for case in cases)
    yield from ((str(case), build_microsoft(case, dynamic=False)[0]) for case in MICROSOFT_CASES)
    yield from ((model.graph.node[0].op_type, model) for model in other_models())


def wrong_forms() -> Iterator[tuple[str, bytes]]:
    """What and the model; each change of an operator once for each set of inputs that are given."""
    seen = set()

    def is_new(node: onnx.NodeProto, *change: object) -> bool:
        key = (node.domain, node.op_type, *map(bool, node.input), *change)
        return key not in seen and not seen.add(key)

    for name, right in right_models():
        node = right.graph.node[0]
        for index, declared in enumerate(right.graph.input):
            rank = len(declared.type.tensor_type.shape.dim)
            for change in RANKS:
                if declared.type.HasField("tensor_type") and is_new(node, index, rank, change):
                    model = onnx.ModelProto()
                    model.CopyFrom(right)
                    if changed_dimensions(model, index, change):
                        yield f"{name}: input {index} {change}", model.SerializeToString()
        for index, attribute in enumerate(node.attribute):
            for number, value in enumerate(other_values(attribute)):
                if is_new(node, attribute.name, number):
                    model = onnx.ModelProto()
                    model.CopyFrom(right)
                    assign(model.graph.node[0].attribute[index], value)
                    yield f"{name}: {attribute.name} = {str(value)[:60]}", model.SerializeToString()


@pytest.fixture(scope="module")
def drawn() -> list[tuple[str, bytes]]:
    forms = list(wrong_forms())
    assert len(forms) > 7500
    return forms if os.environ.get("PERPEND_LONG") else forms[int(os.environ.get("PERPEND_SEED", "1")) % PARTS :: PARTS]


@pytest.mark.parametrize("batch", range(BATCHES))
def test_wrong_forms(batch, drawn, tmp_path):
    complaints = {name: complaint_about(compile_model(tmp_path, data)) for name, data in drawn[batch::BATCHES]}
    assert {name: text for name, text in complaints.items() if text} == {}
