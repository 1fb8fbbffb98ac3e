"""The cases of the official ONNX suite, as the installed `onnx` package holds them.

Kinds: node (one operator, or the expansion of one that is a function), simple, pytorch-converted, pytorch-operator and
light (whole networks with constant weights). Inputs and expected outputs are numpy arrays (ml_dtypes where numpy has no
type, object arrays of text), lists for sequences and None for empty optionals.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.backend.test.case.model
import onnx.backend.test.case.node
from onnx import numpy_helper

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "light")
DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"
RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE = 1e-3, 1e-7


@dataclass(frozen=True)
class Case:
    """A serialized model and what it must compute: (inputs, outputs) for each data set."""

    name: str
    kind: str
    operator: str
    since: int
    type: str
    model: bytes = field(repr=False)
    data_sets: Sequence[tuple[list[Any], list[Any]]] = field(repr=False)
    rtol: float = RELATIVE_TOLERANCE
    atol: float = ABSOLUTE_TOLERANCE


def normal(value: Any) -> Any:
    """A test value as an array, a list of arrays or None."""
    if value is None:
        return None
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, (list, tuple)):
        return [normal(item) for item in value]
    return np.asarray(value)


def type_name(values: Sequence[Any]) -> str:
    """The element type of the first tensor among the values."""
    for value in values:
        if isinstance(value, list):
            return f"sequence of {type_name(value)}"
        if value is not None:
            return "string" if value.dtype == object or value.dtype.kind in "US" else str(value.dtype.name)
    return "none"


def versions_of(model: onnx.ModelProto) -> dict[str, int]:
    return {imported.domain or "ai.onnx": imported.version for imported in model.opset_import}


def operator_of(model: onnx.ModelProto) -> tuple[str, int]:
    """The name of a model's only operator with its domain, and the operator set that introduced its form."""
    node = model.graph.node[0]
    domain = node.domain if node.domain != "ai.onnx" else ""
    version = versions_of(model).get(domain or "ai.onnx", 1)
    try:
        since = onnx.defs.get_schema(node.op_type, version, domain).since_version
    except onnx.defs.SchemaError:
        since = version
    return (f"{domain}.{node.op_type}" if domain else node.op_type), since


def normal_sets(data_sets: Any) -> list[tuple[list[Any], list[Any]]]:
    return [([normal(v) for v in inputs], [normal(v) for v in outputs]) for inputs, outputs in data_sets]


def from_test_case(case: Any, kind: str, operator: tuple[str, int]) -> Case:
    data_sets = normal_sets(case.data_sets)
    inputs, outputs = data_sets[0]
    return Case(
        name=case.name,
        kind=kind,
        operator=operator[0],
        since=operator[1],
        type=type_name([*inputs, *outputs]),
        model=case.model.SerializeToString(),
        data_sets=data_sets,
        rtol=case.rtol,
        atol=case.atol,
    )


def node_cases() -> Iterator[Case]:
    """Expanded cases follow the case that they expand, and count for its operator."""
    np.random.seed(0)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        collected = onnx.backend.test.case.node.collect_testcases()
    operators: dict[str, tuple[str, int]] = {}
    for case in collected:
        base = case.name.split("_expanded")[0]
        if case.name == base or base not in operators:
            operators[base] = operator_of(case.model)
        yield from_test_case(case, "node", operators[base])


def made_model_cases() -> Iterator[Case]:
    """Cases of whole models that the package makes in Python. Some of them are stored as well."""
    onnx.backend.test.case.model.collect_testcases()
    for case in onnx.backend.test.case.model._SimpleModelTestCases:
        yield from_test_case(case, "simple", ("(simple)", 0))


def read_value(path: Path, declared: onnx.TypeProto) -> Any:
    content = path.read_bytes()
    if declared.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if declared.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    return numpy_helper.to_array(onnx.TensorProto.FromString(content))


def read_values(folder: Path, what: str, declared: Sequence[onnx.ValueInfoProto]) -> list[Any]:
    count = len(list(folder.glob(f"{what}_*.pb")))
    return [normal(read_value(folder / f"{what}_{i}.pb", declared[i].type)) for i in range(count)]


def stored_case(folder: Path, kind: str) -> Case:
    content = (folder / "model.onnx").read_bytes()
    graph = onnx.ModelProto.FromString(content).graph
    data = folder / "data.json"
    tolerances = json.loads(data.read_text()) if data.exists() else {}
    sets = [
        (read_values(each, "input", graph.input), read_values(each, "output", graph.output))
        for each in sorted(folder.glob("test_data_set*"))
    ]
    return Case(
        name=folder.name,
        kind=kind,
        operator=f"({kind})",
        since=0,
        type=type_name([*sets[0][0], *sets[0][1]]),
        model=content,
        data_sets=sets,
        rtol=tolerances.get("rtol", RELATIVE_TOLERANCE),
        atol=tolerances.get("atol", ABSOLUTE_TOLERANCE),
    )


def ramp(declared: onnx.ValueInfoProto) -> np.ndarray:
    """The suite's input of a light model: i / n for the i-th of n elements."""
    shape = [d.dim_value if d.HasField("dim_value") else 1 for d in declared.type.tensor_type.shape.dim]
    count = int(np.prod(shape))
    return (np.arange(count).reshape(shape) / count).astype(np.float32)


def light_case(folder: Path) -> Case:
    entry = json.loads((folder / "data.json").read_text())
    path = DATA / "light" / Path(entry["url"]).name
    content = path.read_bytes()
    graph = onnx.ModelProto.FromString(content).graph
    weights = {tensor.name for tensor in graph.initializer}
    inputs = [ramp(declared) for declared in graph.input if declared.name not in weights]
    outputs = [
        normal(read_value(path.with_name(f"{path.stem}_output_{i}.pb"), declared.type))
        for i, declared in enumerate(graph.output)
    ]
    return Case(
        name=folder.name,
        kind="light",
        operator="(light)",
        since=0,
        type=type_name(inputs),
        model=content,
        data_sets=[(inputs, outputs)],
        rtol=entry.get("rtol", RELATIVE_TOLERANCE),
        atol=entry.get("atol", ABSOLUTE_TOLERANCE),
    )


def stored_cases() -> Iterator[Case]:
    for kind in ("simple", "pytorch-converted", "pytorch-operator"):
        for folder in sorted((DATA / kind).iterdir()):
            if (folder / "model.onnx").exists():
                yield stored_case(folder, kind)
    for folder in sorted((DATA / "real").iterdir()):
        if (folder / "data.json").exists():
            yield light_case(folder)


def collect() -> list[Case]:
    """Every case of the suite, sorted by kind and name."""
    cases: dict[tuple[str, str], Case] = {}
    for source in (node_cases(), stored_cases(), made_model_cases()):
        for case in source:
            cases.setdefault((case.kind, case.name), case)
    return sorted(cases.values(), key=lambda case: (KINDS.index(case.kind), case.name))
