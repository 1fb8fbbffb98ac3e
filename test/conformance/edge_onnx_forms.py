"""Calls of ONNX operators at the edges: what the schemas allow, starting from forms that are known to work.

Schemas say which types, attributes and results an operator has, but not which shapes fit together. So each operator
starts from the nodes of the official suite (and of default_cases.py for those that have none there); then its types,
attributes, parameters, shapes and values are changed, one kind at a time. Whatever the checker and a witness accept
counts.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import onnx
from edge_values import fills, is_float, is_text, special_values, table
from onnx import NodeProto, TensorProto, TypeProto, helper
from onnx_cases import Case, node_cases

SEEDS = 8
DOMAINS = ("", "ai.onnx.ml")


@dataclass(frozen=True)
class Form:
    """A node, its inputs, and the version of its operator set. types: those of inputs that are no tensors."""

    label: str
    node: NodeProto
    inputs: list[Any]
    schema: Any
    types: dict[int, TypeProto]

    def with_inputs(self, label: str, inputs: Sequence[Any]) -> Form:
        return replace(self, label=f"{self.label}, {label}" if self.label else label, inputs=list(inputs))

    def with_attribute(self, name: str, value: Any) -> Form:
        node = NodeProto()
        node.CopyFrom(self.node)
        kept = [attribute for attribute in node.attribute if attribute.name != name]
        del node.attribute[:]
        kind = onnx.AttributeProto.AttributeType.Value(self.schema.attributes[name].type.name)
        node.attribute.extend([*kept, helper.make_attribute(name, value, attr_type=kind)])
        shown = f"{name}={value!r}".replace("'", "")
        return replace(self, label=f"{self.label}, {shown}" if self.label else shown, node=node)


# ----------------------------------------------------------------------------------------------------------------------
# Where forms start
# ----------------------------------------------------------------------------------------------------------------------


def schema_of(model: onnx.ModelProto) -> Any:
    node = model.graph.node[0]
    domain = "" if node.domain == "ai.onnx" else node.domain
    version = next((each.version for each in model.opset_import if each.domain in (domain, domain or "ai.onnx")), 1)
    try:
        return onnx.defs.get_schema(node.op_type, version, domain)
    except onnx.defs.SchemaError:
        return None


def is_wanted(schema: Any) -> bool:
    return schema is not None and schema.domain in DOMAINS and not schema.deprecated


def operator_name(schema: Any) -> str:
    """With its version where there is a later one."""
    name = f"{schema.domain}.{schema.name}".strip(".")
    latest = onnx.defs.get_schema(schema.name, domain=schema.domain).since_version
    return name if latest == schema.since_version else f"{name}-{schema.since_version}"


def attributes_of(node: NodeProto) -> str:
    shown = []
    for attribute in sorted(node.attribute, key=lambda each: each.name):
        value = helper.get_attribute_value(attribute)
        if isinstance(value, bytes):
            value = value.decode()
        text = str(value) if isinstance(value, (int, float, str)) else f"#{zlib.crc32(str(value).encode()) % 1000}"
        shown.append(f"{attribute.name}={text}")
    return " ".join(shown)


def likeness(node: NodeProto, inputs: Sequence[Any]) -> str:
    """Of forms that are alike for this purpose."""
    ranks = [value.ndim if isinstance(value, np.ndarray) else type(value).__name__ for value in inputs]
    return f"{attributes_of(node)} {ranks} {list(map(bool, node.input))} {list(map(bool, node.output))}"


def from_case(case: Case) -> Form | None:
    model = onnx.ModelProto.FromString(case.model)
    if len(model.graph.node) != 1 or model.functions or model.graph.initializer:
        return None
    schema = schema_of(model)
    if not is_wanted(schema):
        return None
    given = dict(zip((each.name for each in model.graph.input), case.data_sets[0][0], strict=False))
    declared = {each.name: each.type for each in model.graph.input}
    node = model.graph.node[0]
    inputs = [given.get(name) for name in node.input]
    types = {place: declared[name] for place, name in enumerate(node.input) if name in declared}
    types = {place: kind for place, kind in types.items() if not kind.HasField("tensor_type")}
    label = case.name.removeprefix("test_")
    return Form(label, node, inputs, schema, types)


def from_declaration(model: onnx.ModelProto) -> Form | None:
    """Inputs that nobody gives: small numbers."""
    schema = schema_of(model)
    tensors = [each.type.tensor_type for each in model.graph.input]
    if not is_wanted(schema) or not all(each.type.HasField("tensor_type") for each in model.graph.input):
        return None
    given = {}
    for each, tensor in zip(model.graph.input, tensors, strict=True):
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
        shape = tuple(extent.dim_value for extent in tensor.shape.dim)
        given[each.name] = fills(dtype)["small"](np.random.default_rng(0), shape, dtype)
    node = model.graph.node[0]
    return Form(f"version {schema.since_version}", node, [given.get(name) for name in node.input], schema, {})


@cache
def seeds() -> dict[str, list[Form]]:
    """By operator; those that are not alike."""
    from default_cases import other_models

    forms: dict[str, dict[str, Form]] = defaultdict(dict)
    found = [from_case(case) for case in node_cases() if "_expanded" not in case.name]
    found += [from_declaration(model) for model in other_models() if len(model.graph.node) == 1]
    for form in filter(None, found):
        forms[operator_name(form.schema)].setdefault(likeness(form.node, form.inputs), form)
    return {name: list(each.values())[:SEEDS] for name, each in sorted(forms.items())}


# ----------------------------------------------------------------------------------------------------------------------
# Changes of forms
# ----------------------------------------------------------------------------------------------------------------------


def formal(schema: Any, place: int) -> Any:
    return schema.inputs[min(place, len(schema.inputs) - 1)]


def allowed_types(schema: Any, place: int) -> list[np.dtype]:
    """Element types that a tensor at this input may have."""
    kind = formal(schema, place).type_str
    found = [each.allowed_type_strs for each in schema.type_constraints if each.type_param_str == kind]
    names = found[0] if found else [kind]
    by_name = {f"tensor({name})": number for name, number in onnx_names().items()}
    return [np.dtype(helper.tensor_dtype_to_np_dtype(by_name[name])) for name in names if name in by_name]


@cache
def onnx_names() -> dict[str, int]:
    """The names of element types in schemas."""
    names = {name.lower(): number for name, number in TensorProto.DataType.items() if number}
    return {name: number for name, number in names.items() if not name.startswith("complex")}


REGIONS = {"RoiAlign": 1, "MaxRoiPool": 1}  # the time that samples of a region take grows with it


def is_data(form: Form, place: int) -> bool:
    """Not an index, an axis, an extent or a region."""
    value = form.inputs[place]
    if not isinstance(value, np.ndarray) or REGIONS.get(form.schema.name) == place:
        return False
    allowed = allowed_types(form.schema, place)
    return len(allowed) > 2 or any(is_float(dtype) or is_text(dtype) or dtype == np.bool_ for dtype in allowed)


def data_places(form: Form) -> list[int]:
    """Single elements beside tensors are parameters."""
    places = [place for place in range(len(form.inputs)) if is_data(form, place)]
    larger = [place for place in places if form.inputs[place].size > 1]
    return larger or places


def cast(value: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if value.dtype.kind == "V":  # such types convert to few others
        value = value.astype(np.float64)
    if is_text(dtype):
        return value.astype(str).astype(object)
    if is_text(value.dtype):
        return np.resize(special_values(dtype), value.shape)
    with np.errstate(all="ignore"):
        return value.astype(dtype)


def of_types(form: Form) -> Iterator[tuple[str, Form]]:
    """(types, form): each of its own types, and each other one in place of that of one type parameter."""
    own = types_text(form.inputs)
    yield own, form
    variables = dict.fromkeys(
        formal(form.schema, place).type_str for place in range(len(form.inputs)) if is_data(form, place)
    )
    for variable in variables:
        places = [i for i in range(len(form.inputs)) if formal(form.schema, i).type_str == variable]
        places = [i for i in places if isinstance(form.inputs[i], np.ndarray) and i not in form.types]
        if not places:
            continue
        for dtype in allowed_types(form.schema, places[0]):
            changed = [cast(x, dtype) if i in places else x for i, x in enumerate(form.inputs)]
            if types_text(changed) != own:
                yield types_text(changed), replace(form, inputs=changed)


def types_text(inputs: Sequence[Any]) -> str:
    names = []
    for value in inputs:
        if isinstance(value, np.ndarray):
            names.append("string" if is_text(value.dtype) else value.dtype.name)
        elif value is not None:
            names.append("list" if isinstance(value, list) else type(value).__name__)
    return ",".join(dict.fromkeys(names))


WORD = re.compile(r"[`'\"]([A-Za-z_0-9]+)[`'\"]")


def other_values(form: Form, name: str) -> list[Any]:
    """Of an attribute."""
    about = form.schema.attributes[name]
    kind = about.type.name
    if kind == "INT":
        types = sorted(helper.get_all_tensor_dtypes()) if "type" in name or name == "to" else []
        return list(dict.fromkeys([-2, -1, 0, 1, 2, 3, *types]))
    if kind == "FLOAT":
        return [-1.0, 0.0, 0.5, 1.0, 2.0]
    if kind == "STRING":
        return list(dict.fromkeys(word for word in WORD.findall(about.description) if len(word) > 1))[:12]
    if kind == "INTS":
        given = next((list(each.ints) for each in form.node.attribute if each.name == name), None)
        if given is None:
            return [[0], [-1], [1], [0, 1], [-1, -2], [1, 1], [2, 2], [1, 1, 1, 1], [0, 1, 1, 0]]
        return [
            [-1 - v for v in given],
            given[::-1],
            [v + 1 for v in given],
            [1] * len(given),
            [0] * len(given),
            given[:1],
        ]
    return []


def with_options(form: Form) -> Iterator[Form]:
    for name in form.schema.attributes:
        for value in other_values(form, name):
            yield form.with_attribute(name, value)
    most = len(form.schema.outputs)
    if len(form.node.output) < most:
        node = NodeProto()
        node.CopyFrom(form.node)
        node.output.extend(f"more{i}" for i in range(len(form.node.output), most))
        yield replace(form, label=f"{form.label}, all outputs", node=node)


def with_parameters(form: Form) -> Iterator[Form]:
    """Other indices, axes and extents."""
    for place, value in enumerate(form.inputs):
        if not isinstance(value, np.ndarray) or is_data(form, place) or value.dtype.kind != "i":
            continue
        changes = {
            "negative": -1 - value,
            "opposite": -value,
            "zero": value * 0,
            "one": value * 0 + 1,
            "more": value + 1,
        }
        if value.ndim:
            changes |= {"reversed": value[::-1], "first": value[:1], "none": value[:0]}
        for label, changed in changes.items():
            inputs = [np.ascontiguousarray(changed) if i == place else x for i, x in enumerate(form.inputs)]
            yield form.with_inputs(f"input {place} {label}", inputs)


def resized(value: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    return np.resize(value, shape) if value.size else np.zeros(shape, value.dtype)


def with_shapes(form: Form) -> Iterator[Form]:
    """Extents of 0 and 1 in place of each one of the first tensor, wherever it occurs; scalars; a table of values."""
    places = data_places(form)
    if not places:
        return
    extents = dict.fromkeys(form.inputs[places[0]].shape)
    for extent in extents:
        for other in (0, 1):
            if extent != other:
                shapes = [[other if e == extent else e for e in form.inputs[i].shape] for i in places]
                inputs = list(form.inputs)
                for place, shape in zip(places, shapes, strict=True):
                    inputs[place] = resized(inputs[place], shape)
                yield form.with_inputs(f"{extent} -> {other}", inputs)
    if len({form.inputs[place].shape for place in places}) == 1:
        scalars = [resized(x, ()) if i in places else x for i, x in enumerate(form.inputs)]
        yield form.with_inputs("scalars", scalars)


TABLE = "table"


def as_table(form: Form) -> Form | None:
    """Vectors in place of tensors of one shape, such as an elementwise operator takes."""
    places = data_places(form)
    if len({form.inputs[place].shape for place in places}) != 1:
        return None
    rng = np.random.default_rng(0)
    vectors = [special_values(form.inputs[place].dtype) for place in places]
    if len(places) == 2 and len({x.dtype for x in (form.inputs[p] for p in places)}) == 1:
        vectors = table(2, form.inputs[places[0]].dtype, rng)
    elif len(places) > 1:
        vectors = [values[rng.integers(0, len(values), 2000)] for values in vectors]
    inputs = list(form.inputs)
    for place, vector in zip(places, vectors, strict=True):
        inputs[place] = vector
    return form.with_inputs(TABLE, inputs)


def forms_of(operator: str) -> dict[str, list[Form]]:
    """By types. The first seed is taken in all types, with its shapes; the others in their own; options of the first
    two."""
    by_types: dict[str, list[Form]] = defaultdict(list)
    for number, seed in enumerate(seeds()[operator]):
        for types, form in of_types(seed):
            is_own = types == types_text(seed.inputs)
            if number < 2 or is_own:
                by_types[types].append(form)
                by_types[types] += filter(None, [as_table(form)])
            if number == 0:
                by_types[types] += with_shapes(form)
            if is_own:
                by_types[types] += with_parameters(form)
                if number < 2:
                    by_types[types] += with_options(form)
    return {types: list({form.label: form for form in forms}.values()) for types, forms in by_types.items()}
