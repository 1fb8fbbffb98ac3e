"""An attribute that is left out means the same as its default in the operator's schema, in every operator set.

The schemas are those of the onnx package and of ONNX Runtime's own operators; the models are the official suite's,
those of test_operators.py and test_microsoft_operators.py, and a few of forms that these lack.
"""

import warnings
from collections import defaultdict
from collections.abc import Iterator

import onnx
import onnx.backend.test.case.node as node_cases
import perpend
import pytest
from microsoft_token_cases import CASES as MICROSOFT_CASES
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state as runtime
from operator_cases import CASES
from test_microsoft_operators import build as build_microsoft
from test_operators import build

FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING

TREE = {
    "nodes_treeids": [0] * 3,
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [1, 0, 0],
    "nodes_values": [0.5, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
    "nodes_missing_value_tracks_true": [0] * 3,
}
TARGETS = {"target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [1.0, 2.0]}
CLASSES = {"class_treeids": [0, 0], "class_nodeids": [1, 2], "class_ids": [0, 1], "class_weights": [1.0, 2.0]}
VECTORS = {"support_vectors": [1.0] * 6, "coefficients": [1.0, -1.0], "rho": [0.5], "kernel_params": [1.0, 0.0, 3.0]}
LABELS = {"classlabels_int64s": [0, 1]}
ROWS, IMAGE, ML = (FLOAT, (2, 3)), (FLOAT, (2, 3, 4, 5)), "ai.onnx.ml"

# Per operator: operator set, element types and shapes of the inputs, attributes, and domain where there is one.
OTHER_FORMS = [
    ("Affine", 1, [ROWS], {}),
    ("BatchNormalization", 1, [(FLOAT, (2, 3, 4)), *[(FLOAT, (3,))] * 4], {"consumed_inputs": [0, 0, 0, 1, 1]}),
    ("GlobalLpPool", 22, [IMAGE], {}),
    ("GroupNormalization", 18, [(FLOAT, (2, 6, 4)), (FLOAT, (3,)), (FLOAT, (3,))], {"num_groups": 3}),
    ("ImageScaler", 1, [IMAGE], {"bias": [0.0, 1.0, 2.0]}),
    ("LpPool", 1, [(FLOAT, (2, 3, 9))], {"kernel_shape": [3]}),
    ("MaxRoiPool", 22, [IMAGE, (FLOAT, (1, 5))], {"pooled_shape": [2, 2]}),
    ("Multinomial", 22, [ROWS], {"seed": 1.0}),
    ("Pad", 1, [ROWS], {"paddings": [0, 1, 0, 1]}),
    ("RandomNormal", 22, [], {"shape": [2, 3], "seed": 1.0}),
    ("RandomNormalLike", 22, [ROWS], {"seed": 1.0}),
    ("RandomUniform", 22, [], {"shape": [2, 3], "seed": 1.0}),
    ("Resize", 11, [IMAGE, (FLOAT, (8,)), (FLOAT, (4,))], {}),
    ("Scale", 1, [ROWS], {}),
    ("Scatter", 11, [(FLOAT, (3, 4)), (INT64, (1, 2)), (FLOAT, (1, 2))], {}),
    ("TopK", 1, [(FLOAT, (3, 4))], {"k": 2}),
    ("Upsample", 7, [IMAGE], {"scales": [1.0, 1.0, 2.0, 2.0]}),
    *[(op, version, [ROWS] * 2, {}) for op in ("Add", "Div", "Mul", "Sub") for version in (1, 6)],
    *[(op, 1, [ROWS] * 2, {}) for op in ("Equal", "Greater", "Less", "Pow")],
    *[
        ("CategoryMapper", 1, [(kind, (4,))], {"cats_int64s": [1, 2], "cats_strings": ["a", "b"]}, ML)
        for kind in (INT64, STRING)
    ],
    ("Imputer", 1, [ROWS], {"imputed_value_floats": [1.0]}, ML),
    ("Imputer", 1, [(INT64, (2, 3))], {"imputed_value_int64s": [1]}, ML),
    *[("LabelEncoder", 1, [(kind, (4,))], {"classes_strings": ["a", "b"]}, ML) for kind in (INT64, STRING)],
    (
        "LinearClassifier",
        1,
        [ROWS],
        {"coefficients": [1.0] * 6, "intercepts": [0.0, 1.0], "classlabels_ints": [0, 1]},
        ML,
    ),
    ("LinearRegressor", 1, [ROWS], {"coefficients": [1.0, 2.0, 3.0]}, ML),
    ("Normalizer", 1, [ROWS], {}, ML),
    ("OneHotEncoder", 1, [(INT64, (4,))], {"cats_int64s": [1, 2]}, ML),
    ("SVMClassifier", 1, [ROWS], {**VECTORS, "vectors_per_class": [1, 1], "classlabels_ints": [0, 1]}, ML),
    ("SVMRegressor", 1, [ROWS], {**VECTORS, "n_supports": 2}, ML),
    ("SVMRegressor", 1, [ROWS], {**VECTORS, "coefficients": [1.0, 2.0, 3.0]}, ML),
    ("TreeEnsembleClassifier", 3, [ROWS], {**TREE, **CLASSES, **LABELS}, ML),
    ("TreeEnsembleRegressor", 3, [ROWS], {**TREE, **TARGETS, "n_targets": 1}, ML),
]

# Attributes that no model here has in a form that is imported.
NEED_OTHER_INPUTS = {"ConcatFromSequence", "CastMap"}  # lists, maps
NOT_SUPPORTED = {("MeanVarianceNormalization", 1), ("Upsample", 1)}
WITHDRAWN = {
    *[(op, 10) for op in ("Affine", "ImageScaler", "Scale", "Upsample")],
    *[(op, 5) for op in ("TreeEnsembleClassifier", "TreeEnsembleRegressor")],
}


def other_models() -> Iterator[ModelProto]:
    for op, version, inputs, attributes, *domain in OTHER_FORMS:
        values = [helper.make_tensor_value_info(f"i{at}", *declared) for at, declared in enumerate(inputs)]
        outputs = ["o", "second"] if op == "TopK" or op.endswith("Classifier") else ["o"]
        node = helper.make_node(op, [value.name for value in values], outputs, domain="".join(domain), **attributes)
        graph = helper.make_graph(
            [node], "form", values, [helper.make_empty_tensor_value_info(name) for name in outputs]
        )
        sets = [helper.make_opsetid("".join(domain), version)] + [helper.make_opsetid("", 17)] * bool(domain)
        yield helper.make_model(graph, opset_imports=sets, ir_version=8)


def models() -> Iterator[ModelProto]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from (case.model for case in node_cases.collect_testcases(None) if case.model)
    yield from (build(case, dynamic=False)[0] for case in CASES)
    yield from (build_microsoft(case, dynamic=False)[0] for case in MICROSOFT_CASES)
    yield from other_models()


def defaults() -> dict[tuple[str, str], dict[int, dict[str, AttributeProto]]]:
    """Per operator and version: the attributes that have one."""
    rows: dict[tuple[str, str], dict[int, dict[str, AttributeProto]]] = defaultdict(dict)
    for schema in onnx.defs.get_all_schemas_with_history():
        row = {name: attribute.default_value for name, attribute in schema.attributes.items()}
        rows[schema.domain, schema.name][schema.since_version] = row
    for schema in runtime.get_all_operator_schema():
        row = {name: AttributeProto.FromString(a._default_value) for name, a in schema.attributes.items()}
        rows["" if schema.domain == "ai.onnx" else schema.domain, schema.name].setdefault(schema.since_version, row)
    for versions in rows.values():
        for version, row in versions.items():
            versions[version] = {name: value for name, value in row.items() if value.type}
    return rows


def with_attribute(model: ModelProto, index: int, name: str, value: AttributeProto | None) -> ModelProto:
    changed = ModelProto.FromString(model.SerializeToString())
    node = changed.graph.node[index]
    kept = [attribute for attribute in node.attribute if attribute.name != name]
    if value:
        kept.append(AttributeProto.FromString(value.SerializeToString()))
        kept[-1].name = name
    rest = NodeProto(attribute=kept)
    node.ClearField("attribute")
    node.attribute.extend(rest.attribute)
    return changed


def at_version(model: ModelProto, domain: str, version: int) -> ModelProto:
    changed = ModelProto.FromString(model.SerializeToString())
    for used in changed.opset_import:
        if used.domain in (domain, domain or "ai.onnx"):
            used.version = version
    return changed


def imported(model: ModelProto) -> str:
    """The module; empty where the form is one of a later operator set."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of shapes that are declared otherwise
        try:
            return str(perpend.import_model(model))
        except perpend.CompileError:
            return ""


@pytest.fixture(scope="module")
def compared() -> dict[tuple[str, str, int, str], bool]:
    """Per operator, version and attribute with a default: whether every model imports the same with and without it."""
    known, same, seen = defaults(), {}, set()
    for model in models():
        sets = {used.domain if used.domain != "ai.onnx" else "": used.version for used in model.opset_import}
        for index, node in enumerate(model.graph.node):
            key = node.domain, node.op_type
            versions = sorted(version for version in known.get(key, ()) if version <= sets.get(node.domain, 0))
            for since, following in zip(versions, [*versions[1:], sets.get(node.domain, 0) + 1], strict=True):
                form = (*map(bool, node.input), len(node.output), *sorted(a.name for a in node.attribute))
                for name, default in known[key][since].items():
                    if (*key, since, name, form) in seen:
                        continue
                    older = at_version(model, node.domain, following - 1)
                    absent = imported(with_attribute(older, index, name, None))
                    given = imported(with_attribute(older, index, name, default))
                    if absent or given:
                        seen.add((*key, since, name, form))
                        same[*key, since, name] = same.get((*key, since, name), True) and absent == given
    return same


def test_attributes_that_are_left_out(compared):
    assert [key for key, value in compared.items() if not value] == []


def test_all_are_reached(compared):
    missed = {
        (*key, since, name)
        for key, versions in defaults().items()
        for since, row in versions.items()
        for name in row
        if key[0] in ("", "ai.onnx.ml")
        and key[1] not in NEED_OTHER_INPUTS
        and (key[1], since) not in NOT_SUPPORTED | WITHDRAWN
    }
    assert missed - set(compared) == set()
