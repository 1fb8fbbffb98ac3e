"""ONNX operators at the edges: models of the forms of edge_onnx_forms.py, and what others say of them."""

from __future__ import annotations

import re
import signal
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import onnx
import onnxruntime
import perpend
from edge_cases import Call, Group, Trial
from edge_judge import Witness, is_elementwise
from edge_onnx_forms import TABLE, Form, allowed_types, data_places, forms_of, seeds
from edge_values import filled, fills, is_float, is_text
from onnx import NodeProto, TensorProto, TypeProto, helper
from onnx.reference import ReferenceEvaluator

STRICT = ("signed zeros",)

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


WITNESS_LIMIT_S = 5


@contextmanager
def limited_time() -> Iterator[None]:
    """The reference samples a region of interest of 1e16 elements one by one."""

    def stop(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, WITNESS_LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def answer(run: Run | None, inputs: Sequence[Any]) -> list[Any] | None:
    try:
        with limited_time():
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


LINKS = re.compile(r"nodes_(node|truenode|falsenode)ids=")


def is_endless(form: Form) -> bool:
    """What a witness does not end on, in one call of C: a tensor without elements is repeated 2^63 times, if that is
    its scale, and trees with other links have circles."""
    is_empty = form.node.op_type == "Upsample" and len(form.inputs) > 1 and form.inputs[0].size == 0
    return is_empty or bool(form.schema.name.startswith("TreeEnsemble") and LINKS.search(form.label))


def call_of(form: Form) -> Call | None:
    if is_endless(form):
        return None
    types = types_of_outputs(form)
    trials = trials_of(form, types) if types is not None else []
    return Call(form.label, trials, form) if trials else None


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
