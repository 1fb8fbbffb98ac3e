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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import onnx
import onnxruntime
import perpend
from edge_cases import Call, Group, Trial
from edge_judge import Witness, is_elementwise
from edge_values import filled, fills, is_float, is_text, special_values, table
from onnx import NodeProto, TensorProto, TypeProto, helper
from onnx.reference import ReferenceEvaluator
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


def is_data(form: Form, place: int) -> bool:
    """Not an index, an axis or an extent."""
    value = form.inputs[place]
    if not isinstance(value, np.ndarray):
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
STRICT = ("signed zeros",)


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


# ----------------------------------------------------------------------------------------------------------------------
# Models and witnesses
# ----------------------------------------------------------------------------------------------------------------------


def declared(name: str, value: Any, kind: TypeProto | None) -> onnx.ValueInfoProto:
    if kind is not None or not isinstance(value, np.ndarray):
        return helper.make_value_info(name, kind)
    element = TensorProto.STRING if is_text(value.dtype) else helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_value_info(name, element, value.shape)


def renamed(form: Form, prefix: str) -> tuple[NodeProto, list[onnx.ValueInfoProto], list[onnx.ValueInfoProto]]:
    """The node with names of its own, and its inputs and outputs."""
    node = NodeProto()
    node.CopyFrom(form.node)
    node.name = f"{prefix}{node.op_type}"
    inputs = []
    for place, name in enumerate(form.node.input):
        if name:
            node.input[place] = f"{prefix}x{place}"
            inputs.append(declared(node.input[place], form.inputs[place], form.types.get(place)))
    outputs = []
    for place, name in enumerate(form.node.output):
        if name:
            node.output[place] = f"{prefix}y{place}"
            outputs.append(onnx.ValueInfoProto(name=node.output[place]))
    return node, inputs, outputs


IR_VERSION = 10


def model_of(forms: Sequence[Form], ir_version: int = 13) -> onnx.ModelProto:
    """One graph with a node for each form."""
    nodes, inputs, outputs = [], [], []
    for number, form in enumerate(forms):
        node, mine, theirs = renamed(form, f"c{number}_")
        nodes.append(node)
        inputs += mine
        outputs += theirs
    schema = forms[0].schema
    imported = [helper.make_opsetid(schema.domain, schema.since_version)]
    if schema.domain:
        imported.append(helper.make_opsetid("", 21))
    graph = helper.make_graph(nodes, "edges", inputs, outputs)
    return helper.make_model(graph, opset_imports=imported, ir_version=ir_version)


def present(form: Form, inputs: Sequence[Any]) -> list[Any]:
    return [value for value, name in zip(inputs, form.node.input, strict=True) if name]


Run = Callable[[Sequence[Any]], list[Any]]


def reference(form: Form) -> Run | None:
    try:
        evaluator = ReferenceEvaluator(model_of([form]))
    except Exception:
        return None
    names = [each.name for each in model_of([form]).graph.input]
    return lambda inputs: evaluator.run(None, dict(zip(names, present(form, inputs), strict=True)))


def in_double(form: Form) -> Run | None:
    """The reference with every floating-point tensor in double precision, if the schema allows that."""

    def widened(inputs: Sequence[Any]) -> list[Any]:
        return [x.astype(np.float64) if isinstance(x, np.ndarray) and is_float(x.dtype) else x for x in inputs]

    floats = [i for i, x in enumerate(form.inputs) if isinstance(x, np.ndarray) and is_float(x.dtype)]
    if not floats or not all(np.dtype(np.float64) in allowed_types(form.schema, place) for place in floats):
        return None
    run = reference(replace(form, inputs=widened(form.inputs)))
    return (lambda inputs: run(widened(inputs))) if run else None


def runtime(form: Form) -> Run | None:
    """ONNX Runtime, without its rewriting of models; None where it lacks the operator or the type."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        data = model_of([form], IR_VERSION).SerializeToString()
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception:
        return None
    names = [each.name for each in session.get_inputs()]
    return lambda inputs: session.run(None, dict(zip(names, present(form, inputs), strict=True)))


Ask = Callable[[Sequence[Any]], list[Witness]]


def answer(run: Run | None, inputs: Sequence[Any]) -> list[Any] | None:
    try:
        return run(inputs) if run else None
    except Exception:
        return None


def witnesses_of(form: Form) -> Ask:
    """None where ONNX Runtime has the operator and refuses the inputs: the reference takes much that is wrong."""
    by_reference, by_runtime, by_double = reference(form), runtime(form), in_double(form)

    def ask(inputs: Sequence[Any]) -> list[Witness]:
        theirs = answer(by_runtime, inputs)
        if by_runtime and theirs is None:
            return []
        answers = [("ONNX Runtime", theirs, True), ("reference", answer(by_reference, inputs), True)]
        answers.append(("double", answer(by_double, inputs), False))
        return [Witness(name, outputs, rounded) for name, outputs, rounded in answers if outputs is not None]

    return ask


def types_of_outputs(form: Form) -> list[int] | None:
    """The element types of outputs that are tensors, 0 for others; None where the checker refuses the node."""
    try:
        model = onnx.shape_inference.infer_shapes(model_of([form]), check_type=True, strict_mode=True, data_prop=True)
        onnx.checker.check_model(model, full_check=True)
    except Exception:
        return None
    return [each.type.tensor_type.elem_type for each in model.graph.output]


def has_types(witness: Witness, types: Sequence[int]) -> bool:
    """The reference forgets about some."""
    pairs = zip(witness.outputs, types, strict=True)
    return not witness.rounded or all(
        not kind or np.asarray(value).dtype == element_type(kind) for value, kind in pairs
    )


def element_type(kind: int) -> np.dtype:
    return np.dtype(object) if kind == TensorProto.STRING else np.dtype(helper.tensor_dtype_to_np_dtype(kind))


# ----------------------------------------------------------------------------------------------------------------------
# Trials
# ----------------------------------------------------------------------------------------------------------------------


def trials_of(form: Form, types: Sequence[int]) -> list[Trial]:
    ask = witnesses_of(form)
    trials = []
    is_table = form.label.endswith(TABLE) and is_elementwise(lambda inputs: first_answer(ask(inputs)), form.inputs)
    for fill, inputs in inputs_of(form):
        witnesses = [witness for witness in ask(inputs) if has_types(witness, types)]
        if any(witness.rounded for witness in witnesses):
            trials.append(Trial(fill, present(form, inputs), witnesses, is_strict=fill in STRICT or is_table))
    return trials


def first_answer(witnesses: Sequence[Witness]) -> Sequence[Any] | None:
    return next((witness.outputs for witness in witnesses if witness.rounded), None)


def inputs_of(form: Form) -> Iterator[tuple[str, list[Any]]]:
    yield "own", list(form.inputs)
    places = data_places(form)
    if form.label.endswith(TABLE) or not places or max(form.inputs[place].size for place in places) <= 1:
        return
    rng = np.random.default_rng(zlib.crc32(form.label.encode()))
    tensors = {place: (form.inputs[place].shape, form.inputs[place].dtype) for place in places}
    for fill in dict.fromkeys(fill for _, dtype in tensors.values() for fill in fills(dtype)):
        made = filled(fill, tensors, rng)
        yield fill, [made.get(place, value) for place, value in enumerate(form.inputs)]


def is_random(schema: Any) -> bool:
    return "seed" in schema.attributes


def call_of(form: Form) -> Call | None:
    types = types_of_outputs(form)
    trials = trials_of(form, types) if types is not None else []
    return Call(form.label, trials, form) if trials else None


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


class OnnxFrontEnd:
    name = "onnx"

    def groups(self) -> list[Group]:
        found = []
        for operator in seeds():
            if not is_random(seeds()[operator][0].schema):
                for types, forms in forms_of(operator).items():
                    makers = {form.label: partial(call_of, form) for form in forms}
                    found.append(Group(operator, types, partial(dict, makers)))
        return found

    def compile(self, calls: Sequence[Call]) -> Any:
        forms = [call.payload for call in calls]
        model = perpend.compile(model_of(forms), dims=ranks_of_lists(forms))
        counts = [sum(map(bool, form.node.output)) for form in forms]

        def execute(inputs: list[list[Any]]) -> list[list[Any]]:
            results = model(*(value for each in inputs for value in each))
            results = list(results) if isinstance(results, tuple) else [results]
            return [[results.pop(0) for _ in range(count)] for count in counts]

        return execute


def ranks_of_lists(forms: Sequence[Form]) -> dict[str, int | str]:
    """Lists are declared without the ranks of their elements; the values have them."""
    ranks: dict[str, int | str] = {}
    for number, form in enumerate(forms):
        for place in form.types:
            value = form.inputs[place]
            dimensions = {
                each.ndim for each in (value if isinstance(value, list) else [value]) if hasattr(each, "ndim")
            }
            if len(dimensions) == 1:
                ranks[f"c{number}_x{place}:rank"] = dimensions.pop()
    return ranks
