"""Every ONNX operator at the edges of its types: a sample of the groups in each run, all with PERPEND_LONG."""

from __future__ import annotations

import numpy as np
import onnx
from edge_cases import Call
from edge_conformance import complaints, sample
from edge_onnx import OnnxFrontEnd, call_of
from edge_onnx_forms import allowed_types, forms_of, seeds

PARTS = 25


def test_operators_are_those_of_the_schemas() -> None:
    names = {schema.name for schema in onnx.defs.get_all_schemas() if schema.domain == "" and not schema.deprecated}
    missing = names - {name.partition("-")[0] for name in seeds()}
    # Random ones apart, these are tried in test/frontend/onnx: no node of the suite is one of them alone.
    sequences = {"SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceLength"}
    assert missing <= sequences | {"ConcatFromSequence", "Optional", "RandomUniformLike"}


def test_types_are_those_of_the_schema() -> None:
    schema = onnx.defs.get_schema("Add")
    assert {dtype.name for dtype in allowed_types(schema, 0)} >= {"int8", "uint64", "bfloat16", "float64"}
    assert {"float16", "int8"} <= forms_of("Add").keys()


def test_options_and_shapes_change() -> None:
    labels = " ".join(form.label for form in forms_of("Softmax")["float32"])
    assert "axis=-2" in labels and "3 -> 0" in labels and "scalars" in labels and "table" in labels


def test_what_the_checker_refuses_is_no_case() -> None:
    forms = {form.label: form for form in forms_of("Transpose")["float32"]}
    calls: dict[str, Call | None] = {label: call_of(form) for label, form in forms.items()}
    assert any(calls.values()) and not all(calls.values())
    trials = next(filter(None, calls.values())).trials
    assert {trial.fill for trial in trials} >= {"own", "signed zeros", "some NaN"}
    assert all(isinstance(trial.inputs[0], np.ndarray) for trial in trials)


def test_edges() -> None:
    front = OnnxFrontEnd()
    assert complaints(front, sample(front.groups(), PARTS)) == []
